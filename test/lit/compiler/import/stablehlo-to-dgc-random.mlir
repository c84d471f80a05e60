// RUN: dgc-opt %s --stablehlo-to-dgc --split-input-file --verify-diagnostics | FileCheck %s

// Threefry: each half of the elements has one word of the counters, and the halves alternate.
// CHECK-LABEL: func.func @threefry
// CHECK-SAME: (%[[STATE:.*]]: tensor<2xui64>)
func.func @threefry(%state: tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui32>) {
  // CHECK: dgc.slice %[[STATE]]
  // CHECK: dgc.iota dim 1 : tensor<3x2xui64>
  // CHECK: dgc.iota dim 0 : tensor<3x2xui64>
  // CHECK: dgc.xor
  // CHECK: dgc.concatenate %{{.*}}, %{{.*}} dim 2 : tensor<3x2x1xui32>
  // CHECK: dgc.reshape %{{.*}} to [3, 4]
  // CHECK: %[[COUNT:.*]] = dgc.constant dense<6> : tensor<1xui64>
  // CHECK: dgc.add %{{.*}}, %[[COUNT]]
  // CHECK-NOT: stablehlo
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui32>)
  return %next, %bits : tensor<2xui64>, tensor<3x4xui32>
}

// Philox by rows: no counter is for elements of two rows.
// CHECK-LABEL: func.func @philox
// CHECK: dgc.iota dim 1 : tensor<3x2xui64>
// CHECK: dgc.concatenate %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} dim 2 : tensor<3x2x1xui32>
// CHECK: dgc.reshape %{{.*}} to [3, 8]
// CHECK: dgc.constant dense<6> : tensor<1xui64>
// CHECK: dgc.bitcast_convert %{{.*}} to f32 : tensor<3x8xui32>
func.func @philox(%state: tensor<2xui64>) -> (tensor<2xui64>, tensor<3x8xf32>) {
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x8xf32>)
  return %next, %bits : tensor<2xui64>, tensor<3x8xf32>
}

// Rows that do not divide: the counters go on from row to row. The state has a counter of 128 bits.
// CHECK-LABEL: func.func @wide
// CHECK: dgc.iota dim 0 : tensor<8xui64>
// CHECK: dgc.slice %{{.*}} from [0] to [15]
// CHECK: dgc.reshape %{{.*}} to [3, 5]
// CHECK: dgc.constant dense<8> : tensor<1xui64>
// CHECK: dgc.compare lt
func.func @wide(%state: tensor<3xui64>) -> (tensor<3xui64>, tensor<3x5xui64>) {
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = DEFAULT : (tensor<3xui64>) -> (tensor<3xui64>, tensor<3x5xui64>)
  return %next, %bits : tensor<3xui64>, tensor<3x5xui64>
}

// What has no state is drawn as a model draws: two such ops are two draws.

// CHECK-LABEL: func.func @drawn
// CHECK-SAME:    (%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>, %[[I:.*]]: tensor<i32>, %[[J:.*]]: tensor<i32>)
// CHECK:         %[[U:.*]] = dgc.random_uniform always {dgc.draw = 0 : i64} : tensor<4x3xf32>
// CHECK:         %[[RANGE:.*]] = dgc.subtract %[[B]], %[[A]]
// CHECK:         %[[SPREAD:.*]] = dgc.broadcast_in_dim %[[RANGE]] dims [] to [4, 3]
// CHECK:         dgc.multiply %[[U]], %[[SPREAD]]
// CHECK:         dgc.random_normal always {dgc.draw = 1 : i64} : tensor<4x3xf32>
// CHECK:         dgc.random_uniform always {dgc.draw = 2 : i64} : tensor<4x3xf64>
// CHECK:         dgc.floor
// CHECK:         dgc.minimum
// CHECK:         dgc.convert %{{.*}} to i32
func.func @drawn(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xi32>) {
  %n = stablehlo.constant dense<[4, 3]> : tensor<2xi64>
  %0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x3xf32>
  %1 = stablehlo.rng %a, %b, %n, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x3xf32>
  %2 = stablehlo.rng %i, %j, %n, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<4x3xi32>
  return %0, %1, %2 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xi32>
}

// -----

// expected-error @+1 {{dgc has no equivalent for 3 ops of this program}}
module {
  func.func @refused(%three: tensor<3xui64>, %words: tensor<4xui32>, %two: tensor<2xui64>) {
    // expected-note @+1 {{1 x 'stablehlo.rng_bit_generator': a state that is not of the type tensor<2xui64>}}
    %0, %1 = stablehlo.rng_bit_generator %three, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
    // expected-note @+1 {{1 x 'stablehlo.rng_bit_generator': a state that is not of the type tensor<2xui64> or tensor<3xui64>}}
    %2, %3 = stablehlo.rng_bit_generator %words, algorithm = PHILOX : (tensor<4xui32>) -> (tensor<4xui32>, tensor<4xui32>)
    // expected-note @+1 {{1 x 'stablehlo.rng_bit_generator': bits as truth values}}
    %4, %5 = stablehlo.rng_bit_generator %two, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xi1>)
    return
  }
}
