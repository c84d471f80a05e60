// RUN: dgc-opt %s | dgc-opt | FileCheck %s

// CHECK-LABEL: func @constants
func.func @constants(%offset: tensor<i64>) {
  // CHECK: dgc.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = dgc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: dgc.constant dense<255> : tensor<4xui8>
  %1 = dgc.constant dense<255> : tensor<4xui8>
  // CHECK: dgc.iota dim 1 : tensor<4x128xi32>
  %2 = dgc.iota dim 1 : tensor<4x128xi32>
  // CHECK: dgc.iota dim 0 from %{{.*}} : tensor<64xf32>
  %3 = dgc.iota dim 0 from %offset : tensor<64xf32>
  return
}
