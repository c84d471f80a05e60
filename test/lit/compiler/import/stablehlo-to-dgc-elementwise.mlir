// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// CHECK-LABEL: func.func @same
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @same(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[SUM:.*]] = dgc.add %[[X]], %[[Y]] : tensor<4xf32>
  // CHECK-NEXT: %[[EXP:.*]] = dgc.exponential %[[SUM]] : tensor<4xf32>
  // CHECK-NEXT: %[[SQUARE:.*]] = dgc.multiply %[[EXP]], %[[EXP]] : tensor<4xf32>
  // CHECK-NEXT: return %[[SQUARE]]
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.exponential %0 : tensor<4xf32>
  %2 = chlo.square %1 : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Arithmetic of booleans is logic.
// CHECK-LABEL: func.func @booleans
func.func @booleans(%x: tensor<4xi1>, %y: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  // CHECK-NEXT: dgc.or
  // CHECK-NEXT: dgc.and
  // CHECK-NEXT: dgc.or
  %0 = stablehlo.add %x, %y : tensor<4xi1>
  %1 = stablehlo.multiply %x, %y : tensor<4xi1>
  %2 = stablehlo.maximum %x, %y : tensor<4xi1>
  return %0, %1, %2 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// Scalars that stand for a tensor are repeated.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[S:.*]]: tensor<f32>, %[[P:.*]]: tensor<i1>)
func.func @scalars(%x: tensor<4xf32>, %s: tensor<f32>, %p: tensor<i1>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[MIN:.*]] = dgc.broadcast_in_dim %[[S]] dims [] to [4] : tensor<f32>
  // CHECK-NEXT: %[[CLAMPED:.*]] = dgc.clamp %[[MIN]], %[[X]], %[[X]]
  // CHECK-NEXT: %[[PRED:.*]] = dgc.broadcast_in_dim %[[P]] dims [] to [4] : tensor<i1>
  // CHECK-NEXT: dgc.select %[[PRED]], %[[CLAMPED]], %[[X]]
  %0 = stablehlo.clamp %s, %x, %x : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.select %p, %0, %x : tensor<i1>, tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @convert
func.func @convert(%x: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xi1>) {
  // CHECK-NEXT: dgc.convert %{{.*}} to f32 : tensor<4xi32>
  // CHECK-NEXT: dgc.compare lt %{{.*}}, %{{.*}} : tensor<4xi32>
  %0 = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
  %1 = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xi32>
  %2 = stablehlo.compare LT, %x, %1, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xi32>, tensor<4xi1>
}

// What is no StableHLO is left alone.
// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: dgc.relu
  // CHECK-NEXT: return
  %0 = dgc.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Random bits become a float of [1, 2): 1 + mantissa / 2^23.
// CHECK-LABEL: func.func @uniform
// CHECK-SAME: (%[[X:.*]]: tensor<4xui32>)
func.func @uniform(%x: tensor<4xui32>) -> tensor<4xf32> {
  // CHECK: %[[BITS:.*]] = dgc.shift_right_logical %[[X]]
  // CHECK: %[[M:.*]] = dgc.convert %[[BITS]] to f32
  // CHECK: %[[SMALL:.*]] = dgc.constant dense<1.1920929E-7>
  // CHECK: %[[F:.*]] = dgc.multiply %[[M]], %[[SMALL]]
  // CHECK: dgc.add %[[F]]
  %nine = stablehlo.constant dense<9> : tensor<4xui32>
  %one = stablehlo.constant dense<1065353216> : tensor<4xui32>
  %0 = stablehlo.shift_right_logical %x, %nine : tensor<4xui32>
  %1 = stablehlo.or %0, %one : tensor<4xui32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<4xui32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Bits of another width are along a dimension of their own, the lowest first.
// CHECK-LABEL: func.func @bits
func.func @bits(%x: tensor<4xf32>) -> (tensor<4xui32>, tensor<4x2xbf16>) {
  // CHECK: dgc.bitcast_convert %{{.*}} to ui32 : tensor<4xf32>
  // CHECK: dgc.shift_right_logical
  // CHECK: dgc.bitcast_convert %{{.*}} to bf16 : tensor<4x2xui16>
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xui32>
  %1 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x2xbf16>
  return %0, %1 : tensor<4xui32>, tensor<4x2xbf16>
}

// The bits of a number are truth values, the lowest first.

// CHECK-LABEL: func.func @truths
// CHECK-SAME:    (%[[X:.*]]: tensor<3xi16>)
// CHECK:         %[[BITS:.*]] = dgc.bitcast_convert %[[X]] to ui16
// CHECK:         %[[ALL:.*]] = dgc.broadcast_in_dim %[[BITS]] dims [0] to [3, 16]
// CHECK:         dgc.shift_right_logical %[[ALL]], %{{.*}}
// CHECK:         %[[TRUTHS:.*]] = dgc.compare ne
// CHECK:         %[[ONES:.*]] = dgc.convert %[[TRUTHS]] to ui16
// CHECK:         %[[PLACED:.*]] = dgc.shift_left %[[ONES]], %{{.*}}
// CHECK:         %[[JOINED:.*]] = dgc.reduce or %[[PLACED]] dims [1]
// CHECK:         dgc.bitcast_convert %[[JOINED]] to i16
func.func @truths(%x: tensor<3xi16>) -> tensor<3xi16> {
  %0 = stablehlo.bitcast_convert %x : (tensor<3xi16>) -> tensor<3x16xi1>
  %1 = stablehlo.bitcast_convert %0 : (tensor<3x16xi1>) -> tensor<3xi16>
  return %1 : tensor<3xi16>
}
