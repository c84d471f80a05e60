// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-strategy-zero="stage=3"
// RUN: not dgc-opt %s -split-input-file -dgc-strategy-zero="stage=4" 2>&1 | FileCheck %s
// CHECK: there is no ZeRO stage 4: 1 cuts the optimizer's state, 2 gradients as well, 3 variables as well

// What cannot be cut stays whole, and that is said.
dist.mesh @mesh <data = 4>
// expected-warning@+1 {{no dimension of 'tensor<3x5xf32>' can be divided over the 4 devices of the axis "data": strategy zero3 keeps 'w' whole on each of them}}
dgc.state @w weight zeros rng 0 : tensor<3x5xf32>
func.func private @f(tensor<3x5xf32> {dgc.state = @w})

// -----

// A mesh without the axis.
// expected-error@+1 {{the mesh has no axis "data", which the strategy zero3 cuts the optimizer's state by; name one, as in --mesh data=2}}
dist.mesh @mesh <model = 4>
