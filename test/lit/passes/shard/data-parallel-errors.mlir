// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-strategy-data-parallel

// A mesh without the axis.
// expected-error@+1 {{has no axis "data", which the strategy data-parallel cuts the batch by; name one, as in --mesh data=2}}
dist.mesh @mesh <model = 4>

// -----

// A batch dimension that the value does not have.
dist.mesh @mesh <data = 4>
// expected-error@+1 {{'dgc.batch_dim' is 2, which is not a dimension of 'tensor<126x8xf32>'}}
func.func private @f(tensor<126x8xf32> {dgc.batch_dim = 2 : i64})

// -----

// More workers than examples is no error: some have none. It is said once.
dist.mesh @mesh <data = 8>
// expected-warning@+1 {{a batch of 5 examples over 8 workers (axis "data") leaves 3 of them without an example: use a --batch that is a multiple of 8, or fewer workers}}
func.func private @train(tensor<5x2xf32> {dgc.batch_dim = 0 : i64})
func.func private @evaluate(tensor<5x2xf32> {dgc.batch_dim = 0 : i64})

// -----

// Blocks of two examples: the last worker gets none, although there are more examples than workers.
dist.mesh @mesh <data = 4>
// expected-warning@+1 {{a batch of 5 examples over 4 workers (axis "data") leaves 1 of them without an example: use a --batch that is a multiple of 4, or fewer workers}}
func.func private @train(tensor<5x2xf32> {dgc.batch_dim = 0 : i64})

// -----

// Uneven blocks alone are no reason for a warning.
dist.mesh @mesh <data = 4>
func.func private @train(tensor<7x2xf32> {dgc.batch_dim = 0 : i64})
