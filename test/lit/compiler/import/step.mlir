// A step of training as a framework writes it: state in, state and loss out. It compiles like a model of dgc.

// RUN: dgc-compile %s --compile-to=model | FileCheck %s
// CHECK: module @step attributes {dgc.global_batch = 8 : i64
// CHECK: dgc.state @in0 weight zeros
// CHECK: func.func @main(
// CHECK-SAME: dgc.state = @in0
// CHECK-NOT: stablehlo.

// With two workers the batch is cut, and the gradient and the loss are sums over both.
// RUN: dgc-compile %s --mesh data=2 --explain -o %t.dgcx 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: @main: 1 operation: 1 collective of 52 B
// TWO: all_reduce

// The generic form is recognized, too.
// RUN: dgc-opt %s --mlir-print-op-generic | dgc-compile - --compile-to=model | FileCheck %s

module @step {
  func.func public @main(%w: tensor<3x4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x3xf32>, %label: tensor<8xi32>) -> (tensor<3x4xf32>, tensor<f32>) {
    %logits = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x3xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
    %p = call @log_softmax(%logits) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %class = stablehlo.iota dim = 1 : tensor<8x4xi32>
    %labels = stablehlo.broadcast_in_dim %label, dims = [0] : (tensor<8xi32>) -> tensor<8x4xi32>
    %is = stablehlo.compare EQ, %labels, %class, SIGNED : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %hot = stablehlo.convert %is : (tensor<8x4xi1>) -> tensor<8x4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %chosen = stablehlo.multiply %p, %hot : tensor<8x4xf32>
    %sum = stablehlo.reduce(%chosen init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    %count = stablehlo.constant dense<-8.0> : tensor<f32>
    %loss = stablehlo.divide %sum, %count : tensor<f32>
    %softmax = stablehlo.exponential %p : tensor<8x4xf32>
    %difference = stablehlo.subtract %softmax, %hot : tensor<8x4xf32>
    %gradient = stablehlo.dot_general %x, %difference, contracting_dims = [0] x [0] : (tensor<8x3xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
    %rate = stablehlo.constant dense<0.0625> : tensor<3x4xf32>
    %step = stablehlo.multiply %gradient, %rate : tensor<3x4xf32>
    %new = stablehlo.subtract %w, %step : tensor<3x4xf32>
    return %new, %loss : tensor<3x4xf32>, tensor<f32>
  }
  func.func private @log_softmax(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %wide = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
    %shifted = stablehlo.subtract %x, %wide : tensor<8x4xf32>
    %e = stablehlo.exponential %shifted : tensor<8x4xf32>
    %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %log = stablehlo.log %sum : tensor<8xf32>
    %logs = stablehlo.broadcast_in_dim %log, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
    %y = stablehlo.subtract %shifted, %logs : tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
}
