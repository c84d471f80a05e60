// RUN: dgc-opt %s --split-input-file --dgc-form-kernels | FileCheck %s --check-prefix=STORED
// RUN: dgc-opt %s --split-input-file --dgc-form-kernels='rematerialize-flops=64' | FileCheck %s

// The tangent, in f32, is needed twice: it is computed again from the product, which has half the size.

// STORED-LABEL: func.func @again
// STORED:         exec.launch {{.*}} -> (tensor<512x512xf32>, tensor<512x512xbf16>)
// CHECK-LABEL:  func.func @again
// CHECK:          %[[P:.+]] = exec.matmul %arg0, %arg1
// CHECK:          %[[Y:.+]] = exec.launch @kernels::@[[FIRST:.+]](%[[P]]) {{.*}}: (tensor<512x512xbf16>) -> tensor<512x512xbf16>
// CHECK:          %[[Q:.+]] = exec.matmul %[[Y]], %arg1
// CHECK:          exec.launch @kernels::@[[SECOND:.+]](%[[P]], %[[Q]]) {{.*}} -> tensor<512x512xf32>
// CHECK:        func.func @[[FIRST]]
// CHECK:          dgc.tanh
// CHECK:        func.func @[[SECOND]]
// CHECK:          dgc.tanh
func.func @again(%a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  %p = exec.matmul %a, %b : tensor<512x512xbf16>, tensor<512x512xbf16> -> tensor<512x512xbf16>
  %x = dgc.convert %p to f32 : tensor<512x512xbf16>
  %t = dgc.tanh %x : tensor<512x512xf32>
  %y = dgc.convert %t to bf16 : tensor<512x512xf32>
  %q = exec.matmul %y, %b : tensor<512x512xbf16>, tensor<512x512xbf16> -> tensor<512x512xbf16>
  %g = dgc.convert %q to f32 : tensor<512x512xbf16>
  %d = dgc.multiply %g, %t : tensor<512x512xf32>
  return %d : tensor<512x512xf32>
}

// -----

// Normalized rows come from the rows themselves, which are stored in any case, with the mean, which is small.

// CHECK-LABEL: func.func @rows
// CHECK:         %[[K:.+]]:3 = exec.launch {{.*}} -> (tensor<512x512xf32>, tensor<512xf32>, tensor<512x512xbf16>)
// CHECK:         exec.launch @kernels::@{{.+}}({{.*}}%[[K]]#0, {{.*}} -> tensor<512x512xf32>
func.func @rows(%a: tensor<512x512xf32>, %r: tensor<512x512xf32>, %b: tensor<512x512xbf16>)
    -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %s = dgc.add %a, %r : tensor<512x512xf32>
  %m = dgc.reduce sum %s dims [1] : tensor<512x512xf32>
  %w = dgc.broadcast_in_dim %m dims [0] to [512, 512] : tensor<512xf32>
  %n = dgc.subtract %s, %w : tensor<512x512xf32>
  %y = dgc.convert %n to bf16 : tensor<512x512xf32>
  %q = exec.matmul %y, %b : tensor<512x512xbf16>, tensor<512x512xbf16> -> tensor<512x512xbf16>
  %g = dgc.convert %q to f32 : tensor<512x512xbf16>
  %d = dgc.multiply %g, %n : tensor<512x512xf32>
  return %s, %d : tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// What was converted is stored before that, with half the size.

// CHECK-LABEL: func.func @narrow
// CHECK:         exec.launch {{.*}} -> (tensor<512x512xbf16>, tensor<512x512xf32>)
// CHECK:         exec.launch {{.*}} : (tensor<512x512xbf16>) -> tensor<512xf32>
func.func @narrow(%a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>, %c: tensor<512x512xbf16>)
    -> (tensor<512x512xf32>, tensor<512xf32>) {
  %r = dgc.add %a, %b : tensor<512x512xbf16>
  %s = dgc.add %r, %c : tensor<512x512xbf16>
  %x = dgc.convert %s to f32 : tensor<512x512xbf16>
  %m = dgc.reduce max %x dims [1] : tensor<512x512xf32>
  %w = dgc.broadcast_in_dim %m dims [0] to [512, 512] : tensor<512xf32>
  %n = dgc.subtract %x, %w : tensor<512x512xf32>
  %t = dgc.reduce sum %x dims [0] : tensor<512x512xf32>
  return %n, %t : tensor<512x512xf32>, tensor<512xf32>
}

// -----

// Stored as before: a sum of two tensors of its own size, what comes from a variable that the step overwrites, and what
// is small.

// CHECK-LABEL: func.func @stored
// CHECK:         exec.launch {{.*}} -> (tensor<512x512xf32>, tensor<512x512xbf16>)
// CHECK:         exec.launch {{.*}} -> (tensor<512x512xf32>, tensor<512x512xbf16>)
// CHECK:         exec.launch {{.*}} -> (tensor<64x64xf32>, tensor<64x64xbf16>)
func.func @stored(%a: tensor<512x512xf32>, %r: tensor<512x512xf32>, %w: tensor<512x512xf32> {dgc.state = @w},
                  %small: tensor<64x64xbf16>)
    -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<64x64xf32>) {
  %0 = dgc.add %a, %r : tensor<512x512xf32>
  %1 = dgc.convert %0 to bf16 : tensor<512x512xf32>
  %2 = exec.matmul %1, %1 : tensor<512x512xbf16>, tensor<512x512xbf16> -> tensor<512x512xbf16>
  %3 = dgc.convert %2 to f32 : tensor<512x512xbf16>
  %4 = dgc.multiply %3, %0 : tensor<512x512xf32>
  %5 = dgc.tanh %w : tensor<512x512xf32>
  %6 = dgc.convert %5 to bf16 : tensor<512x512xf32>
  %7 = exec.matmul %6, %6 : tensor<512x512xbf16>, tensor<512x512xbf16> -> tensor<512x512xbf16>
  %8 = dgc.convert %7 to f32 : tensor<512x512xbf16>
  %9 = dgc.multiply %8, %5 : tensor<512x512xf32>
  %10 = dgc.convert %small to f32 : tensor<64x64xbf16>
  %11 = dgc.tanh %10 : tensor<64x64xf32>
  %12 = dgc.convert %11 to bf16 : tensor<64x64xf32>
  %13 = exec.matmul %12, %12 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %14 = dgc.convert %13 to f32 : tensor<64x64xbf16>
  %15 = dgc.multiply %14, %11 : tensor<64x64xf32>
  return %4, %9, %15 : tensor<512x512xf32>, tensor<512x512xf32>, tensor<64x64xf32>
}
