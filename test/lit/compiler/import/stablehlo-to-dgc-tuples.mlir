// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// An element of a tuple is what was put in, also of a tuple in a tuple, and behind a barrier.

// CHECK-LABEL: func.func @tuples
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<i64>)
// CHECK-NEXT:    return %[[X]], %[[Y]]
func.func @tuples(%x: tensor<4xf32>, %y: tensor<i64>) -> (tensor<4xf32>, tensor<i64>) {
  %0 = stablehlo.tuple %y : tuple<tensor<i64>>
  %1 = stablehlo.tuple %x, %0 : tuple<tensor<4xf32>, tuple<tensor<i64>>>
  %2 = stablehlo.optimization_barrier %1 : tuple<tensor<4xf32>, tuple<tensor<i64>>>
  %3 = stablehlo.get_tuple_element %2[1] : (tuple<tensor<4xf32>, tuple<tensor<i64>>>) -> tuple<tensor<i64>>
  %4 = stablehlo.get_tuple_element %3[0] : (tuple<tensor<i64>>) -> tensor<i64>
  %5 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<4xf32>, tuple<tensor<i64>>>) -> tensor<4xf32>
  return %5, %4 : tensor<4xf32>, tensor<i64>
}

// CHECK-LABEL: func.func @barrier
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<i64>)
// CHECK-NEXT:    return %[[X]], %[[Y]]
func.func @barrier(%x: tensor<4xf32>, %y: tensor<i64>) -> (tensor<4xf32>, tensor<i64>) {
  %0:2 = stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<i64>
  return %0#0, %0#1 : tensor<4xf32>, tensor<i64>
}
