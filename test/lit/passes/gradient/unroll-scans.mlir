// RUN: dgc-opt %s --dgc-unroll-scans='max-ops=20' | FileCheck %s

// From the last slice on; each result is at the place of its slice.
// CHECK-LABEL: func.func @reverse
// CHECK-SAME: (%[[XS:.*]]: tensor<3x2xf32>, %[[S:.*]]: tensor<3xf32>, %[[W:.*]]: tensor<3xf32>)
// CHECK-NOT: dgc.scan
// CHECK: %[[X1:.*]] = dgc.slice %[[XS]] from [0, 1] to [3, 2]
// CHECK: %[[R1:.*]] = dgc.reshape %[[X1]] to [3]
// CHECK: %[[P1:.*]] = dgc.multiply %[[R1]], %[[W]]
// CHECK: %[[S1:.*]] = dgc.add %[[S]], %[[P1]]
// CHECK: %[[G1:.*]] = dgc.reshape %[[P1]] to [3, 1]
// CHECK: %[[X0:.*]] = dgc.slice %[[XS]] from [0, 0] to [3, 1]
// CHECK: %[[R0:.*]] = dgc.reshape %[[X0]] to [3]
// CHECK: %[[P0:.*]] = dgc.multiply %[[R0]], %[[W]]
// CHECK: %[[S0:.*]] = dgc.add %[[S1]], %[[P0]]
// CHECK: %[[G0:.*]] = dgc.reshape %[[P0]] to [3, 1]
// CHECK: %[[G:.*]] = dgc.concatenate %[[G0]], %[[G1]] dim 1
// CHECK: return %[[S0]], %[[G]]
func.func @reverse(%xs: tensor<3x2xf32>, %s: tensor<3xf32>, %w: tensor<3xf32>) -> (tensor<3xf32>, tensor<3x2xf32>) {
  %0:2 = dgc.scan (%a = %s) over (%x = %xs) with (%v = %w) dim 1 reverse : tensor<3xf32>, tensor<3x2xf32>, tensor<3xf32> -> tensor<3xf32>, tensor<3x2xf32> {
    %p = dgc.multiply %x, %v : tensor<3xf32>
    %n = dgc.add %a, %p : tensor<3xf32>
    dgc.yield %n, %p : tensor<3xf32>, tensor<3xf32>
  }
  return %0#0, %0#1 : tensor<3xf32>, tensor<3x2xf32>
}

// A scan in another.
// CHECK-LABEL: func.func @nested
// CHECK-NOT: dgc.scan
// CHECK-COUNT-4: dgc.add
// CHECK-NOT: dgc.add
// CHECK: return
func.func @nested(%s: tensor<f32>) -> tensor<f32> {
  %0 = dgc.scan (%a = %s) count 2 : tensor<f32> -> tensor<f32> {
    %1 = dgc.scan (%b = %a) count 2 : tensor<f32> -> tensor<f32> {
      %n = dgc.add %b, %b : tensor<f32>
      dgc.yield %n : tensor<f32>
    }
    dgc.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// Too many ops.
// CHECK-LABEL: func.func @long
// CHECK: dgc.scan
func.func @long(%s: tensor<f32>) -> tensor<f32> {
  %0 = dgc.scan (%a = %s) count 11 : tensor<f32> -> tensor<f32> {
    %n = dgc.add %a, %a : tensor<f32>
    dgc.yield %n : tensor<f32>
  }
  return %0 : tensor<f32>
}

// The loop of layers says that it stays.
// CHECK-LABEL: func.func @layers
// CHECK: dgc.scan
func.func @layers(%s: tensor<f32>) -> tensor<f32> {
  %0 = dgc.scan (%a = %s) count 2 attributes {dgc.unroll_disable} : tensor<f32> -> tensor<f32> {
    %n = dgc.add %a, %a : tensor<f32>
    dgc.yield %n : tensor<f32>
  }
  return %0 : tensor<f32>
}
