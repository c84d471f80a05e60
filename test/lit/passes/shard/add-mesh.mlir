// RUN: dgc-opt %s -dgc-add-mesh="mesh=data=4,model=2" | FileCheck %s
// RUN: dgc-opt %s -dgc-add-mesh="mesh=data=3 name=m" | FileCheck %s --check-prefix=NAMED
// RUN: dgc-opt %s -dgc-add-mesh="mesh=data=2" -dgc-add-mesh="mesh=data=2" | FileCheck %s --check-prefix=TWICE
// RUN: dgc-opt %s -dgc-add-mesh | FileCheck %s --check-prefix=NONE
// RUN: not dgc-opt %s -dgc-add-mesh="mesh=data" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not dgc-opt %s -dgc-add-mesh="mesh=data=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not dgc-opt %s -dgc-add-mesh="mesh=data=2" -dgc-add-mesh="mesh=data=3" 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: dist.mesh @mesh <data = 4, model = 2>
// NAMED: dist.mesh @m <data = 3>
// TWICE-COUNT-1: dist.mesh @mesh <data = 2>
// TWICE-NOT: dist.mesh
// NONE-NOT: dist.mesh
// SYNTAX: mesh 'data': expected NAME=NUMBER for each axis, as in data=4,model=2
// ZERO: mesh 'data=0': mesh axis "data" has size 0; expected at least 1
// OTHER: the module has '@mesh' already, and not as the mesh 'data=3' that was asked for
