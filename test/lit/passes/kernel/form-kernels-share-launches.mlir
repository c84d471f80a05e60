// RUN: dgc-opt %s --split-input-file --dgc-form-kernels='share-launches=true' | FileCheck %s
// RUN: dgc-opt %s --split-input-file --dgc-form-kernels | FileCheck %s --check-prefixes=APART,NONE
// RUN: dgc-opt %s --split-input-file --dgc-form-kernels='share-launches=true max-update-ops=1' | FileCheck %s --check-prefix=APART

// Variables in 16 bits: one kernel. What is larger than what it is made of is not among them.

// CHECK-LABEL: func.func @conversions
// CHECK:         %[[W:.+]]:2 = exec.launch @kernels::@{{.+}}(%arg0, %arg1)
// CHECK:         exec.matmul %{{.+}}, %[[W]]#0
// CHECK:         exec.matmul %{{.+}}, %[[W]]#1
// APART-LABEL: func.func @conversions
// APART-NOT:     :2 = exec.launch
func.func @conversions(%v: tensor<512x1024xf32>, %w: tensor<1024x512xf32>, %x: tensor<512x512xi8>)
    -> (tensor<512x1024xbf16>, tensor<512x512xbf16>) {
  %0 = dgc.convert %v to bf16 : tensor<512x1024xf32>
  %1 = dgc.convert %x to bf16 : tensor<512x512xi8>
  %2 = exec.matmul %1, %0 : tensor<512x512xbf16>, tensor<512x1024xbf16> -> tensor<512x1024xbf16>
  %3 = dgc.convert %w to bf16 : tensor<1024x512xf32>
  %4 = exec.matmul %2, %3 : tensor<512x1024xbf16>, tensor<1024x512xbf16> -> tensor<512x512xbf16>
  return %2, %4 : tensor<512x1024xbf16>, tensor<512x512xbf16>
}

// -----

// Parts of norms: one kernel.

// CHECK-LABEL: func.func @totals
// CHECK:         %[[T:.+]]:2 = exec.launch @kernels::@{{.+}}(%{{.+}}, %{{.+}})
// CHECK-NOT:     exec.launch
// CHECK:         return %[[T]]#0, %[[T]]#1
// APART-LABEL: func.func @totals
// APART-NOT:     :2 = exec.launch
func.func @totals(%a: tensor<512x512xf32>, %b: tensor<512x1024xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = exec.matmul %a, %a : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
  %1 = dgc.multiply %0, %0 : tensor<512x512xf32>
  %2 = dgc.reduce sum %1 dims [0, 1] : tensor<512x512xf32>
  %3 = exec.matmul %a, %b : tensor<512x512xf32>, tensor<512x1024xf32> -> tensor<512x1024xf32>
  %4 = dgc.multiply %3, %3 : tensor<512x1024xf32>
  %5 = dgc.reduce sum %4 dims [0, 1] : tensor<512x1024xf32>
  return %2, %5 : tensor<f32>, tensor<f32>
}

// -----

// One that another one needs is not with it.

// CHECK-LABEL: func.func @needed
// CHECK-NOT:     :2 = exec.launch
// CHECK:         return
func.func @needed(%a: tensor<512x512xf32>) -> tensor<f32> {
  %0 = dgc.reduce sum %a dims [0, 1] : tensor<512x512xf32>
  %1 = dgc.broadcast_in_dim %0 dims [] to [512, 512] : tensor<f32>
  %2 = dgc.multiply %a, %1 : tensor<512x512xf32>
  %3 = exec.matmul %2, %a : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
  %4 = dgc.reduce sum %3 dims [0, 1] : tensor<512x512xf32>
  return %4 : tensor<f32>
}

// -----

// The gradients of the offset and of the scale of a normalization: one kernel of two sums. (With `rematerialize-flops` it
// computes the second value again.)

// CHECK-LABEL: func.func @sums_of_rows
// CHECK:         %[[D:.+]] = exec.matmul
// CHECK:         %[[R:.+]]:2 = exec.launch
// CHECK:         exec.launch @kernels::@{{.+}}({{.*}}) : (tensor<2048x512xf32>, tensor<2048x512xf32>) -> (tensor<512xf32>, tensor<512xf32>)
// CHECK-NOT:     exec.launch
// CHECK:         return
// APART-LABEL: func.func @sums_of_rows
// NONE:          -> tensor<512xf32>
// NONE:          -> tensor<512xf32>
func.func @sums_of_rows(%a: tensor<2048x512xf32>, %w: tensor<512x512xf32>, %x: tensor<2048x512xf32>)
    -> (tensor<512xf32>, tensor<512xf32>, tensor<2048xf32>) {
  %0 = exec.matmul %a, %w : tensor<2048x512xf32>, tensor<512x512xf32> -> tensor<2048x512xf32>
  %1 = dgc.reduce sum %0 dims [0] : tensor<2048x512xf32>
  %2 = dgc.multiply %0, %x : tensor<2048x512xf32>
  %3 = dgc.reduce sum %2 dims [1] : tensor<2048x512xf32>
  %4 = dgc.reduce sum %2 dims [0] : tensor<2048x512xf32>
  return %1, %4, %3 : tensor<512xf32>, tensor<512xf32>, tensor<2048xf32>
}
