// RUN: dgc-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect -dgc-propagate-shardings

// Two meshes in one module.
dist.mesh @a <data = 2>
dist.mesh @b <data = 2>
func.func private @f(tensor<8xf32> {dist.sharding = #dist.sharding<@a, [{"data"}]>})
// expected-error@+1 {{is distributed over the mesh @b, other values over @a; all shardings of a module must name one mesh}}
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

// -----

// A variable with two annotations.
dist.mesh @mesh <data = 2, model = 2>
func.func private @f(tensor<8xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
// expected-error@+1 {{the variable @w is annotated as [{model}] here and as [{data}] elsewhere; a variable has one sharding: annotate it once, or alike}}
func.func private @g(tensor<8xf32> {dgc.state = @w, dist.sharding = #dist.sharding<@mesh, [{"model"}]>})
