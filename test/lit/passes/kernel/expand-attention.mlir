// RUN: dgc-opt %s --dgc-expand-attention | FileCheck %s
// RUN: dgc-opt %s --dgc-expand-attention=library=nvidia | FileCheck %s --check-prefix=CUDA
// RUN: not dgc-opt %s --dgc-expand-attention=library=blas 2>&1 | FileCheck %s --check-prefix=LIBRARY
// LIBRARY: for the --library option: 'blas': onednn or nvidia is expected

// CPUs have none of it: products, in f32, and a softmax. GPUs have this.

// CHECK-LABEL: func.func @both
// CHECK-NOT: dgc.fused_attention
// CHECK: %[[Q:.*]] = dgc.reshape %{{.*}} to [2, 5, 2, 8] : tensor<2x5x16xf32>
// CHECK: %[[K:.*]] = dgc.reshape %{{.*}} to [2, 5, 2, 8] : tensor<2x5x16xf32>
// CHECK: dgc.dot_general %[[Q]], %[[K]] batch [0, 2] x [0, 2] contract [3] x [3] : tensor<2x5x2x8xf32>
// CHECK: dgc.select
// CHECK: dgc.reduce max
// CHECK: dgc.log
// CHECK-COUNT-4: dgc.dot_general {{.*}} : tensor<2x
// CHECK: return
// CUDA-LABEL: func.func @both
// CUDA: dgc.fused_attention
// CUDA: dgc.fused_attention_grad
func.func @both(%q: tensor<2x5x16xbf16>, %g: tensor<2x5x16xbf16>) -> (tensor<2x5x16xbf16>, tensor<2x5x16xbf16>, tensor<2x5x16xbf16>) {
  %y, %l = dgc.fused_attention %q, %q, %q heads 2 causal scale 0.5 : tensor<2x5x16xbf16>
  %dq, %dk, %dv = dgc.fused_attention_grad %q, %q, %q, %y, %l, %g heads 2 causal scale 0.5
      : tensor<2x5x16xbf16>, tensor<2x5x16xbf16>, tensor<2x5x16xbf16>, tensor<2x5x16xbf16>, tensor<2x2x5xf32>, tensor<2x5x16xbf16>
  return %dq, %dk, %dv : tensor<2x5x16xbf16>, tensor<2x5x16xbf16>, tensor<2x5x16xbf16>
}

// f32 nobody has. Without `causal` nothing is hidden.

// CHECK-LABEL: func.func @wide
// CUDA-LABEL: func.func @wide
// CUDA-NOT: dgc.fused_attention
// CUDA-NOT: dgc.select
// CUDA: dgc.log
// CUDA: return
func.func @wide(%q: tensor<2x5x16xf32>, %k: tensor<2x7x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x2x5xf32>) {
  %y, %l = dgc.fused_attention %q, %k, %k heads 2 scale 0.5 : tensor<2x5x16xf32>, tensor<2x7x16xf32>, tensor<2x7x16xf32>
  return %y, %l : tensor<2x5x16xf32>, tensor<2x2x5xf32>
}

// Other composites are left alone.

// CHECK-LABEL: func.func @other
// CHECK: dgc.softmax
// CUDA-LABEL: func.func @other
// CUDA: dgc.softmax
func.func @other(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %y = dgc.softmax %x : tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}
