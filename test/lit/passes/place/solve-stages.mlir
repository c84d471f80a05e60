// RUN: dgc-opt %s -dgc-assign-stages="stages=2" | FileCheck %s
// RUN: dgc-opt %s -dgc-assign-stages="stages=2 solver=greedy" | FileCheck %s --check-prefix=ANY
// RUN: dgc-opt %s -dgc-assign-stages="stages=2 solver=exact" | FileCheck %s --check-prefix=ANY
// RUN: not dgc-opt %s -dgc-assign-stages="stages=2 solver=best" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dgc-opt %s -dgc-assign-stages="stages=2 capacity=1000" 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: dgc-opt %s -dgc-assign-stages="stages=2 cuts=3,1" | FileCheck %s --check-prefix=CUT
// RUN: not dgc-opt %s -dgc-assign-stages="stages=2 cuts=3,2" 2>&1 | FileCheck %s --check-prefix=MORE
// RUN: not dgc-opt %s -dgc-assign-stages="stages=2 cuts=2,1,1" 2>&1 | FileCheck %s --check-prefix=MORE
// RUN: not dgc-opt %s -dgc-assign-stages="stages=2 cuts=4,0" 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: the cuts must give each of 2 stages at least one op, and all 4 of them together
// NAME: for the --solver option: 'best': chain, greedy or exact is expected
// SMALL: no placement on 2 stages of 1000 bytes each was found; use more stages

// The work of the second product is as much as that of the first and the third together: the cut is behind the first or
// behind the second. What follows from data alone is with its user. Another function follows the variables.
// CHECK-LABEL: func.func @train
// CHECK: dgc.abs %{{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = [[S:[01]]] : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.add {{.*}} {dist.stage = 1 : i64}
// CHECK-LABEL: func.func @predict
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = [[S]] : i64}
// What the cuts say holds, whatever it costs.
// CUT-LABEL: func.func @train
// CUT: dgc.abs %{{.*}} {dist.stage = 1 : i64}
// CUT-COUNT-3: dgc.dot_general {{.*}} {dist.stage = 0 : i64}
// CUT: dgc.add {{.*}} {dist.stage = 1 : i64}
// CUT-LABEL: func.func @predict
// CUT-COUNT-2: dgc.dot_general {{.*}} {dist.stage = 0 : i64}
// ANY-LABEL: func.func @train
// ANY-COUNT-3: dgc.dot_general {{.*}} {dist.stage = {{[01]}} : i64}
func.func @train(%w0: tensor<32x32xf32> {dgc.state = @w0}, %w1: tensor<32x64xf32> {dgc.state = @w1},
    %w2: tensor<64x16xf32> {dgc.state = @w2}, %x: tensor<8x32xf32>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %z = dgc.abs %y : tensor<8x16xf32>
  %0 = dgc.dot_general %x, %w0 contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32>
  %1 = dgc.dot_general %0, %w1 contract [1] x [0] : tensor<8x32xf32>, tensor<32x64xf32>
  %2 = dgc.dot_general %1, %w2 contract [1] x [0] : tensor<8x64xf32>, tensor<64x16xf32>
  %3 = dgc.add %2, %z : tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}
func.func @predict(%w0: tensor<32x32xf32> {dgc.state = @w0}, %w1: tensor<32x64xf32> {dgc.state = @w1},
    %x: tensor<8x32xf32>) -> tensor<8x64xf32> {
  %0 = dgc.dot_general %x, %w0 contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32>
  %1 = dgc.dot_general %0, %w1 contract [1] x [0] : tensor<8x32xf32>, tensor<32x64xf32>
  return %1 : tensor<8x64xf32>
}
dgc.state @w0 weight zeros rng 0 : tensor<32x32xf32>
dgc.state @w1 weight zeros rng 1 : tensor<32x64xf32>
dgc.state @w2 weight zeros rng 2 : tensor<64x16xf32>

// A variable that the first and the last op read is with the first; in the function that is not solved, too, the last op
// stays behind the others.
// CHECK-LABEL: func.func @tied
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = [[S]] : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = [[S]] : i64}
func.func @tied(%w0: tensor<32x32xf32> {dgc.state = @w0}, %w1: tensor<32x64xf32> {dgc.state = @w1},
    %x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = dgc.dot_general %x, %w0 contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32>
  %1 = dgc.dot_general %0, %w1 contract [1] x [0] : tensor<8x32xf32>, tensor<32x64xf32>
  %2 = dgc.slice %1 from [0, 0] to [8, 32] : tensor<8x64xf32>
  %3 = dgc.dot_general %2, %w0 contract [1] x [0] : tensor<8x32xf32>, tensor<32x32xf32>
  return %3 : tensor<8x32xf32>
}
