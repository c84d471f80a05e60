// RUN: dgc-opt %s -split-input-file -dgc-assign-stages="stages=2" | FileCheck %s

// The most balanced cut would send 8 x 256 elements; three percent from it there is one that sends 8 x 16. What makes the
// loss alone is not worth a stage, though nothing but a scalar is sent there.
// CHECK-LABEL: func.func @bytes
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64} : tensor<8x576xf32>, tensor<576x256xf32>
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64} : tensor<8x256xf32>, tensor<256x16xf32>
// CHECK: dgc.dot_general {{.*}} {dist.stage = 1 : i64} : tensor<8x16xf32>, tensor<16x8192xf32>
func.func @bytes(%w0: tensor<576x256xf32> {dgc.state = @w0}, %w1: tensor<256x16xf32> {dgc.state = @w1},
    %w2: tensor<16x8192xf32> {dgc.state = @w2}, %x: tensor<8x576xf32>) -> tensor<f32> {
  %0 = dgc.dot_general %x, %w0 contract [1] x [0] : tensor<8x576xf32>, tensor<576x256xf32>
  %1 = dgc.dot_general %0, %w1 contract [1] x [0] : tensor<8x256xf32>, tensor<256x16xf32>
  %2 = dgc.dot_general %1, %w2 contract [1] x [0] : tensor<8x16xf32>, tensor<16x8192xf32>
  %3 = dgc.reduce sum %2 dims [0, 1] : tensor<8x8192xf32>
  %4 = dgc.negate %3 : tensor<f32>
  return %4 : tensor<f32>
}
dgc.state @w0 weight zeros rng 0 : tensor<576x256xf32>
dgc.state @w1 weight zeros rng 1 : tensor<256x16xf32>
dgc.state @w2 weight zeros rng 2 : tensor<16x8192xf32>

// -----

// One large operation, whose result is reduced: within a tenth of it everything could be on stage 0. A stage has an
// operation that reads a variable.
// CHECK-LABEL: func.func @loss
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64}
// CHECK: dgc.dot_general {{.*}} {dist.stage = 1 : i64}
// CHECK: dgc.reduce {{.*}} {dist.stage = 1 : i64}
func.func @loss(%w0: tensor<576x256xf32> {dgc.state = @w0}, %w1: tensor<256x16xf32> {dgc.state = @w1},
    %x: tensor<8x576xf32>) -> tensor<f32> {
  %0 = dgc.dot_general %x, %w0 contract [1] x [0] : tensor<8x576xf32>, tensor<576x256xf32>
  %1 = dgc.dot_general %0, %w1 contract [1] x [0] : tensor<8x256xf32>, tensor<256x16xf32>
  %2 = dgc.reduce sum %1 dims [0, 1] : tensor<8x16xf32>
  %3 = dgc.negate %2 : tensor<f32>
  return %3 : tensor<f32>
}
dgc.state @w0 weight zeros rng 0 : tensor<576x256xf32>
dgc.state @w1 weight zeros rng 1 : tensor<256x16xf32>

// -----

// The first and the last operation read one variable, which stage 1 gets from stage 0: 64 KiB. Where one operation more is
// on stage 0 with it, the activations of 2 KiB are sent.
// CHECK-LABEL: func.func @shared
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64} : tensor<8x64xf32>, tensor<64x256xf32>
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64} : tensor<8x256xf32>, tensor<256x64xf32>
// CHECK: dgc.dot_general {{.*}} {dist.stage = 0 : i64} : tensor<8x64xf32>, tensor<64x256xf32>
// CHECK: dgc.dot_general {{.*}} {dist.stage = 1 : i64} : tensor<8x256xf32>, tensor<256x192xf32>
func.func @shared(%w0: tensor<64x256xf32> {dgc.state = @w0}, %w1: tensor<256x64xf32> {dgc.state = @w1},
    %w2: tensor<256x192xf32> {dgc.state = @w2}, %x: tensor<8x64xf32>) -> tensor<8x192xf32> {
  %0 = dgc.dot_general %x, %w0 contract [1] x [0] : tensor<8x64xf32>, tensor<64x256xf32>
  %1 = dgc.dot_general %0, %w1 contract [1] x [0] : tensor<8x256xf32>, tensor<256x64xf32>
  %2 = dgc.dot_general %1, %w0 contract [1] x [0] : tensor<8x64xf32>, tensor<64x256xf32>
  %3 = dgc.dot_general %2, %w2 contract [1] x [0] : tensor<8x256xf32>, tensor<256x192xf32>
  return %3 : tensor<8x192xf32>
}
dgc.state @w0 weight zeros rng 0 : tensor<64x256xf32>
dgc.state @w1 weight zeros rng 1 : tensor<256x64xf32>
dgc.state @w2 weight zeros rng 2 : tensor<256x192xf32>
