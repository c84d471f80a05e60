// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// Special functions are computed in f64, with the reflection formula for what is below 1/2.
// CHECK-LABEL: func.func @gamma
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @gamma(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[WIDE:.*]] = dgc.convert %[[X]] to f64
  // CHECK: %[[HALF:.*]] = dgc.constant dense<5.000000e-01> : tensor<4xf64>
  // CHECK: dgc.compare lt %[[WIDE]], %[[HALF]]
  // CHECK: dgc.log
  // CHECK: dgc.sine
  // CHECK: dgc.convert %{{.*}} to f32 : tensor<4xf64>
  // CHECK: dgc.cosine
  // CHECK: dgc.convert %{{.*}} to f32 : tensor<4xf64>
  %0 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.digamma %x : tensor<4xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// The next float has the next bits.
// CHECK-LABEL: func.func @next
// CHECK-SAME: (%[[X:.*]]: tensor<4xf16>, %[[Y:.*]]: tensor<4xf16>)
func.func @next(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK: %[[BITS:.*]] = dgc.bitcast_convert %[[X]] to i16
  // CHECK: dgc.add %[[BITS]]
  // CHECK: dgc.subtract %[[BITS]]
  // CHECK: dgc.bitcast_convert %{{.*}} to f16
  %0 = chlo.next_after %x, %y : tensor<4xf16>, tensor<4xf16> -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<4xf64>, %y: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  // CHECK-NOT: chlo
  // CHECK: dgc.power
  // CHECK: return
  %0 = chlo.zeta %x, %y : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  %1 = chlo.polygamma %x, %y : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  %2 = chlo.bessel_i1e %x : tensor<4xf64> -> tensor<4xf64>
  return %0, %1, %2 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}
