// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-strategy-data-parallel

// A batch that the mesh does not divide.
dist.mesh @mesh <data = 4>
// expected-error@+1 {{the global batch of 126 cannot be divided over the mesh axis "data" of 4 devices; use a batch that is a multiple of 4, or a mesh whose size divides 126}}
func.func private @f(tensor<126x8xf32> {dgc.batch_dim = 0 : i64})

// -----

// A mesh without the axis.
// expected-error@+1 {{has no axis "data", which the strategy data-parallel cuts the batch by; name one, as in --mesh data=2}}
dist.mesh @mesh <model = 4>

// -----

// A batch dimension that the value does not have.
dist.mesh @mesh <data = 4>
// expected-error@+1 {{'dgc.batch_dim' is 2, which is not a dimension of 'tensor<126x8xf32>'}}
func.func private @f(tensor<126x8xf32> {dgc.batch_dim = 2 : i64})
