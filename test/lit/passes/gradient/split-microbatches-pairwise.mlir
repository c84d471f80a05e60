// RUN: dgc-opt %s -split-input-file -dgc-split-microbatches="count=4 workers=2 pairwise" | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-split-microbatches="count=1 workers=8 pairwise" | FileCheck %s --check-prefix=ONE
// RUN: not dgc-opt %s -split-input-file -dgc-split-microbatches="count=3 workers=2 pairwise" 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: a batch of 16 cannot be cut into 6 equal parts: use a --batch that is a multiple of it

// A micro-batch has examples of each worker that follow one another, and what they give is added up in pairs.
// CHECK-LABEL: func.func @train
// CHECK: %[[S:.*]] = dgc.reshape %{{.*}} to [2, 4, 2, 1, 4]
// CHECK: dgc.slice %[[S]] from [0, 0, 0, 0, 0] to [2, 1, 2, 1, 4]
// CHECK: %[[G0:.*]] = dgc.reduce sum %{{.*}} dims [0] {dgc.microbatch = 0 : i64, dist.slot = 0 : i64} : tensor<4x4xf32>
// CHECK: %[[G1:.*]] = dgc.reduce sum %{{.*}} dims [0] {dgc.microbatch = 1 : i64, dist.slot = 1 : i64}
// CHECK: %[[P:.*]] = dgc.add %[[G0]], %[[G1]] {dgc.microbatch = 1 : i64} : tensor<4xf32>
// CHECK: %[[G2:.*]] = dgc.reduce sum
// CHECK: %[[G3:.*]] = dgc.reduce sum
// CHECK: %[[Q:.*]] = dgc.add %[[G2]], %[[G3]]
// CHECK: %[[ALL:.*]] = dgc.add %[[P]], %[[Q]]
// CHECK: dgc.subtract %{{.*}}, %[[ALL]]
// One micro-batch is tagged, too: its kernels are those of the other plans.
// ONE-LABEL: func.func @train
// ONE: dgc.reduce sum %{{.*}} dims [0] {dgc.microbatch = 0 : i64, dist.slot = 0 : i64} : tensor<16x4xf32>
// ONE-NOT: dgc.slice
func.func @train(%x: tensor<16x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<4xf32> {dgc.state = @w}) -> (tensor<4xf32> {dgc.state = @w}) {
  %g = dgc.reduce sum %x dims [0] : tensor<16x4xf32>
  %n = dgc.subtract %w, %g : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// Addends of 16 bits are added up in 32, and rounded once.
// CHECK-LABEL: func.func @half
// CHECK: %[[A:.*]] = dgc.convert %{{.*}} to f32
// CHECK: %[[B:.*]] = dgc.convert %{{.*}} to f32
// CHECK: dgc.add %[[A]], %[[B]] {{.*}}: tensor<4xf32>
// CHECK: dgc.add %{{.*}} : tensor<4xf32>
// CHECK: dgc.add %{{.*}} : tensor<4xf32>
// CHECK-NEXT: dgc.convert %{{.*}} to bf16
func.func @half(%x: tensor<16x4xbf16> {dgc.batch_dim = 0 : i64}) -> tensor<4xbf16> {
  %g = dgc.reduce sum %x dims [0] : tensor<16x4xbf16>
  return %g : tensor<4xbf16>
}
