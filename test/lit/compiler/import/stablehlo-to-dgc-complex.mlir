// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// In memory an array of complex numbers is one of floats, with the real and the imaginary part along a last dimension.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[X:.*]]: tensor<4x2xf32>, %[[Y:.*]]: tensor<4xf32>) -> tensor<4x2xf32>
func.func @product(%x: tensor<4xcomplex<f32>>, %y: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
  // CHECK: %[[RE:.*]] = dgc.slice %[[X]] from [0, 0] to [4, 1]
  // CHECK: %[[IM:.*]] = dgc.slice %[[X]] from [0, 1] to [4, 2]
  // CHECK: dgc.multiply
  // CHECK: dgc.subtract
  // CHECK: %[[R:.*]] = dgc.reshape %{{.*}} to [4, 1]
  // CHECK: %[[I:.*]] = dgc.reshape %{{.*}} to [4, 1]
  // CHECK: %[[Z:.*]] = dgc.concatenate %[[R]], %[[I]] dim 1
  // CHECK: return %[[Z]]
  %0 = stablehlo.complex %y, %y : tensor<4xcomplex<f32>>
  %1 = stablehlo.multiply %x, %0 : tensor<4xcomplex<f32>>
  return %1 : tensor<4xcomplex<f32>>
}

// What becomes real again leaves nothing of complex numbers.
// CHECK-LABEL: func.func @inside
// CHECK-SAME: (%[[X:.*]]: tensor<4x3xf64>)
func.func @inside(%x: tensor<4x3xf64>) -> (tensor<3x4xf64>, tensor<4x3xi1>, tensor<f64>) {
  // CHECK-NOT: complex
  // CHECK-DAG: dgc.transpose %[[X]]
  // CHECK-DAG: dgc.and
  // CHECK: return
  %zero = stablehlo.constant dense<0.0> : tensor<4x3xf64>
  %none = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f64>>
  %0 = stablehlo.complex %x, %zero : tensor<4x3xcomplex<f64>>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x3xcomplex<f64>>) -> tensor<3x4xcomplex<f64>>
  %2 = stablehlo.real %1 : (tensor<3x4xcomplex<f64>>) -> tensor<3x4xf64>
  %3 = stablehlo.compare EQ, %0, %0 : (tensor<4x3xcomplex<f64>>, tensor<4x3xcomplex<f64>>) -> tensor<4x3xi1>
  %4 = stablehlo.exponential %0 : tensor<4x3xcomplex<f64>>
  %5 = stablehlo.reduce(%4 init: %none) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<4x3xcomplex<f64>>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %6 = stablehlo.imag %5 : (tensor<complex<f64>>) -> tensor<f64>
  return %2, %3, %6 : tensor<3x4xf64>, tensor<4x3xi1>, tensor<f64>
}
