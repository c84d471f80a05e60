// RUN: dgc-opt %s | dgc-opt | FileCheck %s

// What is printed is read as the same ops with the same attributes and types.
// RUN: dgc-opt %s --mlir-print-op-generic > %t.read
// RUN: dgc-opt %s | dgc-opt --mlir-print-op-generic | diff %t.read -

// One type is written where all operands have the same, and none where it is
// still to be inferred.
// CHECK-LABEL: func @assembly
func.func @assembly(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>, %u: !dgc.untyped) {
  // CHECK: dgc.add %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %0 = dgc.add %x, %x : tensor<4x8xf32>
  // CHECK: dgc.add %{{.*}}, %{{.*}} : !dgc.untyped, tensor<4x8xf32>
  %1 = dgc.add %u, %x : !dgc.untyped, tensor<4x8xf32>
  // CHECK: dgc.add %{{[a-z0-9]*}}, %{{[a-z0-9]* *$}}
  %2 = dgc.add %1, %u
  // CHECK: dgc.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>
  %3 = dgc.select %p, %x, %0 : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: dgc.compare ge %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %4 = dgc.compare ge %x, %0 : tensor<4x8xf32>
  // CHECK: dgc.convert %{{.*}} to bf16 : tensor<4x8xf32>
  %5 = dgc.convert %x to bf16 : tensor<4x8xf32>
  // CHECK: dgc.convert %{{.*}} to bf16{{ *$}}
  %6 = dgc.convert %u to bf16
  // CHECK: dgc.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %7 = dgc.clamp %x, %0, %3 : tensor<4x8xf32>
  // CHECK: dgc.reduce_precision %{{.*}} exponent 5 mantissa 10 : tensor<4x8xf32>
  %8 = dgc.reduce_precision %x exponent 5 mantissa 10 : tensor<4x8xf32>
  // CHECK: dgc.bitcast_convert %{{.*}} to ui32 : tensor<4x8xf32>
  %11 = dgc.bitcast_convert %x to ui32 : tensor<4x8xf32>
  // CHECK: dgc.stop_gradient %{{.*}} : tensor<4x8xf32>
  %9 = dgc.stop_gradient %x : tensor<4x8xf32>
  // CHECK: dgc.add %{{.*}}, %{{.*}} {note = "kept"} : tensor<4x8xf32>
  %10 = dgc.add %x, %x {note = "kept"} : tensor<4x8xf32>
  return
}

// Result types that are not the operand's.
// CHECK-LABEL: func @types
func.func @types(%x: tensor<3xf64>, %b: tensor<3xui8>, %p: tensor<3xi1>)
    -> (tensor<3xi1>, tensor<3xi1>, tensor<3xf16>, tensor<3xui8>, tensor<3xi64>) {
  %0 = dgc.compare lt %x, %x : tensor<3xf64>
  %1 = dgc.is_finite %x : tensor<3xf64>
  %2 = dgc.convert %b to f16 : tensor<3xui8>
  %3 = dgc.select %p, %b, %b : tensor<3xi1>, tensor<3xui8>, tensor<3xui8>
  %4 = dgc.convert %p to i64 : tensor<3xi1>
  // CHECK: return {{.*}} : tensor<3xi1>, tensor<3xi1>, tensor<3xf16>, tensor<3xui8>, tensor<3xi64>
  return %0, %1, %2, %3, %4 : tensor<3xi1>, tensor<3xi1>, tensor<3xf16>, tensor<3xui8>, tensor<3xi64>
}

// Every op that takes floats, each with its type once.
// CHECK-LABEL: func @floats
// CHECK-NOT:   tensor<5xf32>, tensor
// CHECK:       return
func.func @floats(%x: tensor<5xf32>) {
  %0 = dgc.abs %x : tensor<5xf32>
  %1 = dgc.add %x, %x : tensor<5xf32>
  %2 = dgc.atan2 %x, %x : tensor<5xf32>
  %3 = dgc.cbrt %x : tensor<5xf32>
  %4 = dgc.ceil %x : tensor<5xf32>
  %5 = dgc.cosine %x : tensor<5xf32>
  %6 = dgc.divide %x, %x : tensor<5xf32>
  %7 = dgc.erf %x : tensor<5xf32>
  %8 = dgc.exponential %x : tensor<5xf32>
  %9 = dgc.exponential_minus_one %x : tensor<5xf32>
  %10 = dgc.floor %x : tensor<5xf32>
  %11 = dgc.log %x : tensor<5xf32>
  %12 = dgc.log_plus_one %x : tensor<5xf32>
  %13 = dgc.logistic %x : tensor<5xf32>
  %14 = dgc.maximum %x, %x : tensor<5xf32>
  %15 = dgc.minimum %x, %x : tensor<5xf32>
  %16 = dgc.multiply %x, %x : tensor<5xf32>
  %17 = dgc.negate %x : tensor<5xf32>
  %18 = dgc.power %x, %x : tensor<5xf32>
  %19 = dgc.remainder %x, %x : tensor<5xf32>
  %20 = dgc.round_nearest_afz %x : tensor<5xf32>
  %21 = dgc.round_nearest_even %x : tensor<5xf32>
  %22 = dgc.rsqrt %x : tensor<5xf32>
  %23 = dgc.sign %x : tensor<5xf32>
  %24 = dgc.sine %x : tensor<5xf32>
  %25 = dgc.sqrt %x : tensor<5xf32>
  %26 = dgc.subtract %x, %x : tensor<5xf32>
  %27 = dgc.tan %x : tensor<5xf32>
  %28 = dgc.tanh %x : tensor<5xf32>
  %29 = dgc.softplus %x : tensor<5xf32>
  return
}

// And every op of bits, on integers and booleans.
// CHECK-LABEL: func @bits
// CHECK-SAME:  (%{{.*}}: tensor<5xui16>, %{{.*}}: tensor<5xi1>)
// CHECK-NOT:   {{tensor<.*>, tensor|-> tensor}}
// CHECK:       return
func.func @bits(%x: tensor<5xui16>, %p: tensor<5xi1>) {
  %0 = dgc.and %x, %x : tensor<5xui16>
  %1 = dgc.count_leading_zeros %x : tensor<5xui16>
  %2 = dgc.not %x : tensor<5xui16>
  %3 = dgc.or %x, %x : tensor<5xui16>
  %4 = dgc.popcnt %x : tensor<5xui16>
  %5 = dgc.shift_left %x, %x : tensor<5xui16>
  %6 = dgc.shift_right_arithmetic %x, %x : tensor<5xui16>
  %7 = dgc.shift_right_logical %x, %x : tensor<5xui16>
  %8 = dgc.xor %x, %x : tensor<5xui16>
  %9 = dgc.and %p, %p : tensor<5xi1>
  %10 = dgc.or %p, %p : tensor<5xi1>
  %11 = dgc.xor %p, %p : tensor<5xi1>
  %12 = dgc.not %p : tensor<5xi1>
  return
}

// A mark of the partitioner in the type does not change what is inferred. As result types are not written, it is kept
// in an attribute.
// CHECK-LABEL: func @encoding
func.func @encoding(%x: tensor<4xf32, "partial">) -> (tensor<4xf32>, tensor<4xf32, "partial">) {
  // CHECK: dgc.add %{{.*}}, %{{.*}} : tensor<4xf32, "partial">
  %0 = dgc.add %x, %x : tensor<4xf32, "partial">
  // CHECK: dgc.add %{{.*}}, %{{.*}} {dgc.encodings = ["partial"]} : tensor<4xf32, "partial">
  %1 = dgc.add %x, %x {dgc.encodings = ["partial"]} : tensor<4xf32, "partial">
  // CHECK: return %{{.*}} : tensor<4xf32>, tensor<4xf32, "partial">
  return %0, %1 : tensor<4xf32>, tensor<4xf32, "partial">
}
