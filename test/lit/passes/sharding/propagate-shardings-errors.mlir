// RUN: dgc-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect -dgc-propagate-shardings

// Two meshes in one module.
dist.mesh @a <data = 2>
dist.mesh @b <data = 2>
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@a, [{"data"}]>})
// expected-error@+1 {{is spread over the mesh @b, other values over @a; all shardings of a module must name one mesh}}
func.func private @g(tensor<8xf32> {dist.sharding = #dist.sharding<@b, [{"data"}]>})

// -----

// Control flow.
dist.mesh @mesh <data = 2>
// expected-error@+1 {{has several blocks; only straight-line functions can be partitioned}}
func.func @blocks(%x: tensor<8xf32>) {
  "test.br"()[^next] : () -> ()
^next:
  return
}
