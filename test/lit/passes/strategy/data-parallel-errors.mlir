// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-strategy-data-parallel

// A mesh without the axis.
// expected-error@+1 {{has no axis "data", which the strategy data-parallel cuts the batch by; name one, as in --mesh data=2}}
dist.mesh @mesh <model = 4>

// -----

// A batch dimension that the value does not have.
dist.mesh @mesh <data = 4>
// expected-error@+1 {{'dgc.batch_dim' is 2, which is not a dimension of 'tensor<126x8xf32>'}}
func.func private @f(tensor<126x8xf32> {dgc.batch_dim = 2 : i64})
