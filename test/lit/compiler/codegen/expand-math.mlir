// RUN: dgc-opt %s -split-input-file -dgc-expand-math | FileCheck %s

// CHECK-LABEL: func.func @exp
// CHECK-NOT:     math.exp
// CHECK-COUNT-2: arith.cmpf
// CHECK:         math.fma
// CHECK:         arith.bitcast
func.func @exp(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// -----

// f64 is left to the mathematical library, and so is what has no good polynomial.

// CHECK-LABEL: func.func @others
// CHECK:         math.exp %{{.+}} : f64
// CHECK:         math.powf %{{.+}} : f32
func.func @others(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.exp %x : f64
  %1 = math.powf %y, %y : f32
  return %0, %1 : f64, f32
}

// -----

// CHECK-LABEL: func.func @bf16
// CHECK-NOT:     arith.truncf
// CHECK:         arith.shrui
func.func @bf16(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}
