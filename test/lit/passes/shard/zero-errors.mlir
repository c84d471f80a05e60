// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-strategy-zero="stage=3"
// RUN: not dgc-opt %s -split-input-file -dgc-strategy-zero="stage=4" 2>&1 | FileCheck %s
// CHECK: there is no ZeRO stage 4: 1 cuts the optimizer's state, 2 gradients as well, 3 variables as well

// A mesh without the axis.
// expected-error@+1 {{the mesh has no axis "data", which the strategy zero3 cuts the optimizer's state by; name one, as in --mesh data=2}}
dist.mesh @mesh <model = 4>
