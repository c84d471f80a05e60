// RUN: dgc-opt %s --split-input-file --verify-diagnostics | dgc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @fused
// CHECK: %[[Y:.*]], %[[L:.*]] = dgc.fused_attention %{{.*}}, %{{.*}}, %{{.*}} heads 2 scale 0.5 : tensor<3x5x4xf32>, tensor<3x7x4xf32>, tensor<3x7x6xf32>
// CHECK: dgc.fused_attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[Y]], %[[L]], %[[Y]] heads 2 scale 0.5
func.func @fused(%q: tensor<3x5x4xf32>, %k: tensor<3x7x4xf32>, %v: tensor<3x7x6xf32>) -> tensor<3x7x6xf32> {
  %y, %l = dgc.fused_attention %q, %k, %v heads 2 scale 0.5 : tensor<3x5x4xf32>, tensor<3x7x4xf32>, tensor<3x7x6xf32>
  %dq, %dk, %dv = dgc.fused_attention_grad %q, %k, %v, %y, %l, %y heads 2 scale 0.5
      : tensor<3x5x4xf32>, tensor<3x7x4xf32>, tensor<3x7x6xf32>, tensor<3x5x6xf32>, tensor<3x2x5xf32>, tensor<3x5x6xf32>
  return %dv : tensor<3x7x6xf32>
}

// -----

// The logarithms of 16 bits are f32.

// CHECK-LABEL: func.func @low
// CHECK: return %{{.*}} : tensor<3x2x5xf32>
func.func @low(%q: tensor<3x5x4xbf16>) -> tensor<3x2x5xf32> {
  %y, %l = dgc.fused_attention %q, %q, %q heads 2 causal scale 0.5 : tensor<3x5x4xbf16>
  return %l : tensor<3x2x5xf32>
}

// -----

func.func @f(%q: tensor<3x5x4xf32>) {
  // expected-error @+1 {{'dgc.fused_attention' divides 4 and 4 features among 3 heads: the number of heads must divide both}}
  %y, %l = dgc.fused_attention %q, %q, %q heads 3 scale 0.5 : tensor<3x5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<3x5x4xf32>, %l: tensor<3x5x2xf32>) {
  // expected-error @+1 {{logarithms of type 'tensor<3x5x2xf32>' and a gradient of type 'tensor<3x5x4xf32>': dgc.fused_attention of these operands gives 'tensor<3x5x4xf32>' and 'tensor<3x2x5xf32>'}}
  %dq, %dk, %dv = dgc.fused_attention_grad %q, %q, %q, %q, %l, %q heads 2 scale 0.5
      : tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<3x5x2xf32>, tensor<3x5x4xf32>
  return
}
