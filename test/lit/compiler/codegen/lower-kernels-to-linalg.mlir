// RUN: dgc-opt %s -split-input-file -dgc-lower-kernels-to-linalg | FileCheck %s

// An elementwise op is a linalg.generic around its scalar body; elements become signless, encodings go.

// CHECK-LABEL: func.func @elementwise
// CHECK-SAME:    (%[[A:.+]]: tensor<4x8xi8>, %[[B:.+]]: tensor<4x8xi8>) -> tensor<4x8xi8>
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[A]], %[[B]] : tensor<4x8xi8>, tensor<4x8xi8>)
// CHECK:           arith.maxui
func.func @elementwise(%a: tensor<4x8xui8>, %b: tensor<4x8xui8>) -> tensor<4x8xui8> {
  %0 = dgc.maximum %a, %b : tensor<4x8xui8>
  return %0 : tensor<4x8xui8>
}

// -----

// A constant of unsigned elements keeps its bits. What nobody uses is gone.

// CHECK-LABEL: func.func @constant
// CHECK-NEXT:    %[[C:.+]] = arith.constant dense<[-1, 3]> : tensor<2xi8>
// CHECK-NEXT:    return %[[C]]
func.func @constant(%a: tensor<2xf32>) -> tensor<2xui8> {
  %0 = dgc.constant dense<[255, 3]> : tensor<2xui8>
  %1 = dgc.tanh %a : tensor<2xf32>
  return %0 : tensor<2xui8>
}

// -----

// Ops below dgc stay as they are.

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    %[[E:.+]] = tensor.empty
// CHECK-NEXT:    return %[[E]]
func.func @nothing() -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  return %0 : tensor<4xf32>
}
