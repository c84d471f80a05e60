// RUN: dgc-opt %s | FileCheck %s
// RUN: dgc-opt %s --mlir-print-op-generic | dgc-opt | FileCheck %s

// One type stands for all; a function type where they differ; the forms of comparisons, choices and formats.
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>, %p: tensor<4x8xi1>, %s: tensor<f32>, %q: tensor<i1>) {
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %0 = stablehlo.add %x, %x : tensor<4x8xf32>
  // CHECK: stablehlo.exponential %{{.*}} : tensor<4x8xf32>
  %1 = stablehlo.exponential %x : tensor<4x8xf32>
  // CHECK: stablehlo.exponential %{{.*}} {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}
  %2 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4x8xf32>
  // CHECK: stablehlo.is_finite %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xi1>
  %3 = stablehlo.is_finite %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: stablehlo.convert %{{.*}} : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %4 = stablehlo.convert %i : (tensor<4x8xi32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.compare GT, %{{.*}}, %{{.*}}, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %5 = stablehlo.compare GT, %x, %x, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: stablehlo.compare NE, %{{.*}}, %{{.*}} : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
  %6 = stablehlo.compare  NE, %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
  // CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xi1>, tensor<4x8xf32>
  %7 = stablehlo.select %p, %x, %x : tensor<4x8xi1>, tensor<4x8xf32>
  // CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<i1>, tensor<4x8xf32>
  %8 = stablehlo.select %q, %x, %x : (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %9 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.reduce_precision %{{.*}}, format = e5m10 : tensor<4x8xf32>
  %10 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4x8xf32>
  // CHECK: stablehlo.complex %{{.*}}, %{{.*}} : tensor<4x8xcomplex<f32>>
  %11 = stablehlo.complex %x, %x : tensor<4x8xcomplex<f32>>
  // CHECK: stablehlo.real %{{.*}} : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  %12 = stablehlo.real %11 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  return
}
