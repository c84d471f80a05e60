// RUN: dgc-opt %s --dgc-lower-kernels-to-linalg --dgc-lower-kernels-to-grids | FileCheck %s

// Threads with points of their own ask for their place alone.

// CHECK-LABEL: func.func @chain_0(
// CHECK-SAME:    %[[A:.+]]: !llvm.ptr {{.+}}, %[[R:.+]]: !llvm.ptr {{.+}}, %[[WORKSPACE:.+]]: !llvm.ptr
// CHECK-SAME:    dgc.launch = array<i64: 8, 256>
// CHECK:         gpu.thread_id x
// CHECK:         gpu.block_id x
// CHECK-NOT:     gpu.
// CHECK-NOT:     nvvm.
// CHECK:         return
func.func @chain(%a: tensor<16x512xf32>) -> tensor<16x512xf32> {
  %0 = dgc.tanh %a : tensor<16x512xf32>
  return %0 : tensor<16x512xf32>
}

// A warp for each row joins its running values by shuffles.

// CHECK-LABEL: func.func @rows_0(
// CHECK-NOT:     gpu.barrier
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT:     gpu.
// CHECK:         return
func.func @rows(%a: tensor<64x1024xf32>) -> tensor<64xf32> {
  %0 = dgc.reduce sum %a dims [1] : tensor<64x1024xf32>
  return %0 : tensor<64xf32>
}

// A block for each row also meets at a barrier.

// CHECK-LABEL: func.func @long_rows_0(
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK:         gpu.barrier
// CHECK-NOT:     gpu.barrier
// CHECK:         return
func.func @long_rows(%a: tensor<2048x4096xf32>) -> tensor<2048xf32> {
  %0 = dgc.reduce sum %a dims [1] : tensor<2048x4096xf32>
  return %0 : tensor<2048xf32>
}

// Addends are searched for by a warp together.

// CHECK-LABEL: func.func @slices_0(
// CHECK:         nvvm.vote.sync ballot
// CHECK:         gpu.barrier
// CHECK:         nvvm.vote.sync ballot
// CHECK:         gpu.barrier
// CHECK:         return
func.func @slices(%i: tensor<1000xi32>, %u: tensor<1000x100xf32>) -> tensor<500x100xf32> {
  %0 = dgc.scatter_add %i, %u dim 0 size 500 : tensor<1000xi32>, tensor<1000x100xf32>
  return %0 : tensor<500x100xf32>
}

// A row is overwritten when all threads of the warp have read it.

// CHECK-LABEL: func.func @update_rows_0(
// CHECK:         nvvm.bar.warp.sync
// CHECK:         return
func.func @update_rows(%m: tensor<128xf32>, %g: tensor<1408xf32>, %b: tensor<128xf32>, %w: tensor<128x10xf32>)
    -> (tensor<128xf32>, tensor<128xf32>, tensor<128x10xf32>) attributes {dgc.inplace = array<i64: 0, 2, 3>} {
  %0 = dgc.slice %g from [0] to [128] : tensor<1408xf32>
  %1 = dgc.slice %g from [128] to [1408] : tensor<1408xf32>
  %2 = dgc.reshape %1 to [128, 10] : tensor<1280xf32>
  %3 = dgc.add %m, %0 : tensor<128xf32>
  %rate = dgc.constant dense<0.1> : tensor<128xf32>
  %4 = dgc.multiply %3, %rate : tensor<128xf32>
  %5 = dgc.subtract %b, %4 : tensor<128xf32>
  %6 = dgc.subtract %w, %2 : tensor<128x10xf32>
  return %3, %5, %6 : tensor<128xf32>, tensor<128xf32>, tensor<128x10xf32>
}

// What several blocks add up takes two grids.

// CHECK-LABEL: func.func @norm_0(
// CHECK-SAME:    dgc.launch = array<i64: 123, 256>
// CHECK-LABEL: func.func @norm_1(
// CHECK-SAME:    dgc.launch = array<i64: 1, 256>
func.func @norm(%a: tensor<1000x1000xf32>) -> tensor<f32> {
  %0 = dgc.multiply %a, %a : tensor<1000x1000xf32>
  %s = dgc.reduce sum %0 dims [0, 1] : tensor<1000x1000xf32>
  return %s : tensor<f32>
}

// Declarations stay.

// CHECK: func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
