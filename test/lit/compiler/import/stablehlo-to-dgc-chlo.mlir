// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// CHECK-LABEL: func.func @functions
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[H:.*]]: tensor<4xf16>)
func.func @functions(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>, tensor<4xf32>) {
  // CHECK-NEXT: dgc.erf %[[X]] : tensor<4xf32>
  // What has 16 bits is computed with 32.
  // CHECK-NEXT: %[[WIDE:.*]] = dgc.convert %[[H]] to f32
  // CHECK: dgc.atan2 %[[WIDE]]
  // CHECK: dgc.convert %{{.*}} to f16 : tensor<4xf32>
  // CHECK: %[[W:.*]] = dgc.convert %[[X]] to f64
  // CHECK: dgc.erf %[[W]] : tensor<4xf64>
  %0 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.atan %h : tensor<4xf16> -> tensor<4xf16>
  %2 = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf16>, tensor<4xf32>
}

// In each round the largest that is left.
// CHECK-LABEL: func.func @top_k
func.func @top_k(%x: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  // CHECK-COUNT-2: dgc.reduce max
  // CHECK: dgc.concatenate
  // CHECK: dgc.concatenate
  %values, %indices = chlo.top_k(%x, k = 2) : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return %values, %indices : tensor<3x2xf32>, tensor<3x2xi32>
}
