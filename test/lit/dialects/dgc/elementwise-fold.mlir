// RUN: dgc-opt %s -canonicalize -split-input-file | FileCheck %s

// What changes nothing disappears.
// CHECK-LABEL: func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[P:.*]]: tensor<4xi1>)
func.func @identities(%x: tensor<4xf32>, %p: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
    tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) {
  %zero = dgc.constant dense<0.0> : tensor<4xf32>
  %minus_zero = dgc.constant dense<-0.0> : tensor<4xf32>
  %one = dgc.constant dense<1.0> : tensor<4xf32>
  %0 = dgc.add %minus_zero, %x : tensor<4xf32>
  %1 = dgc.subtract %x, %zero : tensor<4xf32>
  %2 = dgc.multiply %one, %x : tensor<4xf32>
  %3 = dgc.divide %x, %one : tensor<4xf32>
  %4 = dgc.power %x, %one : tensor<4xf32>
  %n = dgc.negate %x : tensor<4xf32>
  %5 = dgc.negate %n : tensor<4xf32>
  %6 = dgc.convert %x to f32 : tensor<4xf32>
  %7 = dgc.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
  %m = dgc.not %p : tensor<4xi1>
  %8 = dgc.not %m : tensor<4xi1>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[P]]
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
    tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
}

// -----

// Zero leaves integers as they are, whichever side it is on. A float of as many bits, or more, loses nothing.
// CHECK-LABEL: func @more_identities
// CHECK-SAME: (%[[I:.*]]: tensor<4xi32>, %[[H:.*]]: tensor<4xbf16>)
func.func @more_identities(%i: tensor<4xi32>, %h: tensor<4xbf16>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xbf16>) {
  %zero = dgc.constant dense<0> : tensor<4xi32>
  %0 = dgc.add %zero, %i : tensor<4xi32>
  %1 = dgc.subtract %i, %zero : tensor<4xi32>
  %2 = dgc.reduce_precision %h exponent 8 mantissa 10 : tensor<4xbf16>
  // CHECK-NEXT: return %[[I]], %[[I]], %[[H]]
  return %0, %1, %2 : tensor<4xi32>, tensor<4xi32>, tensor<4xbf16>
}

// -----

// -0 + 0 is 0, and -0 - -0 as well. One bit of the mantissa less, or of the exponent.
// CHECK-LABEL: func @signs_of_zero
func.func @signs_of_zero(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = dgc.constant dense<0.0> : tensor<4xf32>
  %minus_zero = dgc.constant dense<-0.0> : tensor<4xf32>
  // CHECK: dgc.add
  %0 = dgc.add %x, %zero : tensor<4xf32>
  // CHECK: dgc.subtract
  %1 = dgc.subtract %x, %minus_zero : tensor<4xf32>
  // CHECK: dgc.reduce_precision
  %2 = dgc.reduce_precision %x exponent 8 mantissa 22 : tensor<4xf32>
  // CHECK: dgc.reduce_precision
  %3 = dgc.reduce_precision %x exponent 7 mantissa 23 : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Not so: a float times zero may be NaN, zero minus x is not x, and types that are not known yet may not fit.
// CHECK-LABEL: func @kept
func.func @kept(%x: tensor<4xf32>, %u: !dgc.untyped) -> (tensor<4xf32>, tensor<4xf32>, !dgc.untyped) {
  %zero = dgc.constant dense<0.0> : tensor<4xf32>
  // CHECK: dgc.multiply
  %0 = dgc.multiply %x, %zero : tensor<4xf32>
  // CHECK: dgc.subtract
  %1 = dgc.subtract %zero, %x : tensor<4xf32>
  // CHECK: dgc.add
  %2 = dgc.add %u, %zero : !dgc.untyped, tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, !dgc.untyped
}

// -----

// A splat is folded whatever its size; the constant it gives is one as well.
// CHECK-LABEL: func @splat
func.func @splat() -> tensor<1000x1000xf32> {
  // CHECK-NEXT: %[[C:.*]] = dgc.constant dense<-5.000000e-01> : tensor<1000x1000xf32>
  // CHECK-NEXT: return %[[C]]
  %0 = dgc.constant dense<2.0> : tensor<1000x1000xf32>
  %1 = dgc.constant dense<-1.0> : tensor<1000x1000xf32>
  %2 = dgc.divide %1, %0 : tensor<1000x1000xf32>
  return %2 : tensor<1000x1000xf32>
}

// -----

// A large constant is left to run time.
// CHECK-LABEL: func @large
func.func @large() -> tensor<65xi32> {
  %0 = dgc.constant dense<"0x0100000002000000030000000400000005000000060000000700000008000000090000000A0000000B0000000C0000000D0000000E0000000F000000100000001100000012000000130000001400000015000000160000001700000018000000190000001A0000001B0000001C0000001D0000001E0000001F000000200000002100000022000000230000002400000025000000260000002700000028000000290000002A0000002B0000002C0000002D0000002E0000002F000000300000003100000032000000330000003400000035000000360000003700000038000000390000003A0000003B0000003C0000003D0000003E0000003F0000004000000041000000"> : tensor<65xi32>
  // CHECK: dgc.negate
  %1 = dgc.negate %0 : tensor<65xi32>
  return %1 : tensor<65xi32>
}

// -----

// Integers: division rounds towards zero; by zero it gives -1, and the remainder the number itself. The smallest one
// divided by -1 is itself.
// CHECK-LABEL: func @division
func.func @division() -> (tensor<5xi32>, tensor<5xi32>, tensor<3xui8>, tensor<3xui8>) {
  %x = dgc.constant dense<[7, -7, 7, -2147483648, -3]> : tensor<5xi32>
  %y = dgc.constant dense<[2, 2, 0, -1, 0]> : tensor<5xi32>
  %0 = dgc.divide %x, %y : tensor<5xi32>
  %1 = dgc.remainder %x, %y : tensor<5xi32>
  %u = dgc.constant dense<[200, 7, 255]> : tensor<3xui8>
  %v = dgc.constant dense<[100, 0, 255]> : tensor<3xui8>
  %2 = dgc.divide %u, %v : tensor<3xui8>
  %3 = dgc.remainder %u, %v : tensor<3xui8>
  // CHECK-DAG: %[[Q:.*]] = dgc.constant dense<[3, -3, -1, -2147483648, -1]> : tensor<5xi32>
  // CHECK-DAG: %[[R:.*]] = dgc.constant dense<[1, -1, 7, 0, -3]> : tensor<5xi32>
  // CHECK-DAG: %[[UQ:.*]] = dgc.constant dense<[2, 255, 1]> : tensor<3xui8>
  // CHECK-DAG: %[[UR:.*]] = dgc.constant dense<[0, 7, 0]> : tensor<3xui8>
  // CHECK: return %[[Q]], %[[R]], %[[UQ]], %[[UR]]
  return %0, %1, %2, %3 : tensor<5xi32>, tensor<5xi32>, tensor<3xui8>, tensor<3xui8>
}

// -----

// Signed and unsigned integers of the same bits differ in order.
// CHECK-LABEL: func @order
func.func @order() -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi8>, tensor<3xui8>) {
  %x = dgc.constant dense<[-56, 3, 7]> : tensor<3xi8>
  %y = dgc.constant dense<[1, 3, 9]> : tensor<3xi8>
  %u = dgc.constant dense<[200, 3, 7]> : tensor<3xui8>
  %v = dgc.constant dense<[1, 3, 9]> : tensor<3xui8>
  %0 = dgc.compare lt %x, %y : tensor<3xi8>
  %1 = dgc.compare lt %u, %v : tensor<3xui8>
  %2 = dgc.maximum %x, %y : tensor<3xi8>
  %3 = dgc.maximum %u, %v : tensor<3xui8>
  // CHECK-DAG: %[[LT:.*]] = dgc.constant dense<[true, false, true]>
  // CHECK-DAG: %[[ULT:.*]] = dgc.constant dense<[false, false, true]>
  // CHECK-DAG: %[[MAX:.*]] = dgc.constant dense<[1, 3, 9]> : tensor<3xi8>
  // CHECK-DAG: %[[UMAX:.*]] = dgc.constant dense<[200, 3, 9]> : tensor<3xui8>
  // CHECK: return %[[LT]], %[[ULT]], %[[MAX]], %[[UMAX]]
  return %0, %1, %2, %3 : tensor<3xi1>, tensor<3xi1>, tensor<3xi8>, tensor<3xui8>
}

// -----

// Shifts by as many bits as there are, or more; a negative number counts as more.
// CHECK-LABEL: func @shifts
func.func @shifts() -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>) {
  %x = dgc.constant dense<[-5, -5, 5, 5]> : tensor<4xi8>
  %n = dgc.constant dense<[1, 8, 2, -1]> : tensor<4xi8>
  %0 = dgc.shift_left %x, %n : tensor<4xi8>
  %1 = dgc.shift_right_arithmetic %x, %n : tensor<4xi8>
  %2 = dgc.shift_right_logical %x, %n : tensor<4xi8>
  // CHECK-DAG: %[[L:.*]] = dgc.constant dense<[-10, 0, 20, 0]>
  // CHECK-DAG: %[[A:.*]] = dgc.constant dense<[-3, -1, 1, 0]>
  // CHECK-DAG: %[[R:.*]] = dgc.constant dense<[125, 0, 1, 0]>
  // CHECK: return %[[L]], %[[A]], %[[R]]
  return %0, %1, %2 : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>
}

// -----

// Integer powers: negative exponents, wrap-around.
// CHECK-LABEL: func @powers
func.func @powers() -> (tensor<7xi32>, tensor<2xui8>) {
  %x = dgc.constant dense<[2, -3, 5, 1, -1, -1, 0]> : tensor<7xi32>
  %n = dgc.constant dense<[10, 3, -1, -7, -3, -2, 0]> : tensor<7xi32>
  %0 = dgc.power %x, %n : tensor<7xi32>
  %u = dgc.constant dense<[3, 2]> : tensor<2xui8>
  %m = dgc.constant dense<[6, 200]> : tensor<2xui8>
  %1 = dgc.power %u, %m : tensor<2xui8>
  // CHECK-DAG: %[[P:.*]] = dgc.constant dense<[1024, -27, 0, 1, -1, 1, 1]> : tensor<7xi32>
  // CHECK-DAG: %[[U:.*]] = dgc.constant dense<[217, 0]> : tensor<2xui8>
  // CHECK: return %[[P]], %[[U]]
  return %0, %1 : tensor<7xi32>, tensor<2xui8>
}

// -----

// Conversions: towards zero, to the nearest there is, NaN to zero, everything but zero to true.
// CHECK-LABEL: func @conversions
func.func @conversions() -> (tensor<7xi8>, tensor<7xui8>, tensor<7xi1>, tensor<2xf32>, tensor<2xf32>, tensor<2xi16>) {
  %x = dgc.constant dense<[1.9, -1.9, 300.0, -300.0, 0x7F800000, 0x7FC00000, 0.0]> : tensor<7xf32>
  %0 = dgc.convert %x to i8 : tensor<7xf32>
  %1 = dgc.convert %x to ui8 : tensor<7xf32>
  %2 = dgc.convert %x to i1 : tensor<7xf32>
  %u = dgc.constant dense<[255, 1]> : tensor<2xui8>
  %3 = dgc.convert %u to f32 : tensor<2xui8>
  %p = dgc.constant dense<[true, false]> : tensor<2xi1>
  %4 = dgc.convert %p to f32 : tensor<2xi1>
  %5 = dgc.convert %u to i16 : tensor<2xui8>
  // CHECK-DAG: %[[I:.*]] = dgc.constant dense<[1, -1, 127, -128, 127, 0, 0]> : tensor<7xi8>
  // CHECK-DAG: %[[U:.*]] = dgc.constant dense<[1, 0, 255, 0, 255, 0, 0]> : tensor<7xui8>
  // CHECK-DAG: %[[P:.*]] = dgc.constant dense<[true, true, true, true, true, true, false]> : tensor<7xi1>
  // CHECK-DAG: %[[F:.*]] = dgc.constant dense<[2.550000e+02, 1.000000e+00]> : tensor<2xf32>
  // CHECK-DAG: %[[B:.*]] = dgc.constant dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf32>
  // CHECK-DAG: %[[W:.*]] = dgc.constant dense<[255, 1]> : tensor<2xi16>
  // CHECK: return %[[I]], %[[U]], %[[P]], %[[F]], %[[B]], %[[W]]
  return %0, %1, %2, %3, %4, %5 : tensor<7xi8>, tensor<7xui8>, tensor<7xi1>, tensor<2xf32>, tensor<2xf32>, tensor<2xi16>
}

// -----

// NaN: maximum and minimum give it on, of the relations only ne holds.
// CHECK-LABEL: func @nan
func.func @nan() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi1>, tensor<2xi1>) {
  %x = dgc.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %y = dgc.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %0 = dgc.maximum %x, %y : tensor<2xf32>
  %1 = dgc.minimum %x, %y : tensor<2xf32>
  %2 = dgc.compare ne %x, %y : tensor<2xf32>
  %3 = dgc.compare ge %x, %y : tensor<2xf32>
  // CHECK-DAG: %[[NAN:.*]] = dgc.constant dense<0x7FC00000> : tensor<2xf32>
  // CHECK-DAG: %[[T:.*]] = dgc.constant dense<true> : tensor<2xi1>
  // CHECK-DAG: %[[F:.*]] = dgc.constant dense<false> : tensor<2xi1>
  // CHECK: return %[[NAN]], %[[NAN]], %[[T]], %[[F]]
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xi1>, tensor<2xi1>
}

// -----

// 1 + 2^-8 lies in the middle of two numbers of seven bits, 1 + 3 * 2^-8 as well; 70000 is too large for five bits of
// exponent, and 2^-15 too small.
// CHECK-LABEL: func @precision
func.func @precision() -> (tensor<2xf32>, tensor<2xf32>) {
  %x = dgc.constant dense<[1.00390625, 1.01171875]> : tensor<2xf32>
  // CHECK-DAG: dense<[1.000000e+00, 1.015625]>
  // CHECK-DAG: dense<[0x7F800000, -0.000000e+00]>
  %0 = dgc.reduce_precision %x exponent 8 mantissa 7 : tensor<2xf32>
  %y = dgc.constant dense<[70000.0, -0.000030517578125]> : tensor<2xf32>
  %1 = dgc.reduce_precision %y exponent 5 mantissa 10 : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// The angle of the origin depends on the signs of its zeros. Without a mantissa NaN is infinite.
// CHECK-LABEL: func @origin
func.func @origin() -> (tensor<4xf64>, tensor<2xf32>) {
  %y = dgc.constant dense<[0.0, -0.0, 0.0, -0.0]> : tensor<4xf64>
  %x = dgc.constant dense<[0.0, 0.0, -0.0, -0.0]> : tensor<4xf64>
  // CHECK-DAG: dgc.constant dense<[0.000000e+00, -0.000000e+00, 3.1415926535897931, -3.1415926535897931]>
  %0 = dgc.atan2 %y, %x : tensor<4xf64>
  %n = dgc.constant dense<[0x7FC00000, 0xFFC00000]> : tensor<2xf32>
  // CHECK-DAG: dgc.constant dense<[0x7F800000, 0xFF800000]>
  %1 = dgc.reduce_precision %n exponent 5 mantissa 0 : tensor<2xf32>
  return %0, %1 : tensor<4xf64>, tensor<2xf32>
}
