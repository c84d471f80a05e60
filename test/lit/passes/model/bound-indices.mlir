// RUN: dgc-opt %s -dgc-bound-indices | FileCheck %s

// Tokens choose rows of a table, labels one of ten classes, also when they are reshaped or converted on the way.
// CHECK-LABEL: func.func @choose(
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<65x8xf32>, %{{[a-z0-9]+}}: tensor<6xui8> {dgc.index_limit = 65 : i64, dgc.input = "tokens"}
// CHECK-SAME: tensor<2x10xf32>, %{{[a-z0-9]+}}: tensor<2xi32> {dgc.index_limit = 10 : i64, dgc.input = "labels"}
func.func @choose(%table: tensor<65x8xf32>, %tokens: tensor<6xui8> {dgc.input = "tokens"}, %logits: tensor<2x10xf32>,
                  %labels: tensor<2xi32> {dgc.input = "labels"}) -> (tensor<2x3x8xf32>, tensor<f32>) {
  %rows = dgc.reshape %tokens to [2, 3] : tensor<6xui8>
  %numbers = dgc.convert %rows to i32 : tensor<2x3xui8>
  %0 = dgc.embedding %table, %numbers : tensor<65x8xf32>, tensor<2x3xi32>
  %1 = dgc.cross_entropy %logits, %labels : tensor<2x10xf32>, tensor<2xi32>
  return %0, %1 : tensor<2x3x8xf32>, tensor<f32>
}

// Of two tables the smaller one counts.
// CHECK-LABEL: func.func @least(
// CHECK-SAME: tensor<3xi32> {dgc.index_limit = 5 : i64, dgc.input = "i"}
func.func @least(%a: tensor<9x2xf32>, %b: tensor<4x5xf32>, %i: tensor<3xi32> {dgc.input = "i"})
    -> (tensor<3x2xf32>, tensor<4x3xf32>) {
  %0 = dgc.gather %a, %i dim 0 : tensor<9x2xf32>, tensor<3xi32>
  %1 = dgc.gather %b, %i dim 1 : tensor<4x5xf32>, tensor<3xi32>
  return %0, %1 : tensor<3x2xf32>, tensor<4x3xf32>
}

// Nothing of it: numbers that are computed, and arguments that are no inputs.
// CHECK-LABEL: func.func @none(
// CHECK-NOT: dgc.index_limit
func.func @none(%a: tensor<9x2xf32>, %i: tensor<3xi32> {dgc.input = "i"}, %state: tensor<3xi32>)
    -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %sum = dgc.add %i, %i : tensor<3xi32>
  %0 = dgc.gather %a, %sum dim 0 : tensor<9x2xf32>, tensor<3xi32>
  %1 = dgc.gather %a, %state dim 0 : tensor<9x2xf32>, tensor<3xi32>
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xf32>
}
