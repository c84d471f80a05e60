// RUN: dgc-opt %s --stablehlo-to-dgc --split-input-file | FileCheck %s

// Of updates with the same index the last one stays: the largest of their numbers is found, and that row is chosen.
// CHECK-LABEL: func.func @set_rows
// CHECK-SAME: (%[[X:.*]]: tensor<6x7xf32>, %[[I:.*]]: tensor<4x1xi32>, %[[U:.*]]: tensor<4x7xf32>)
func.func @set_rows(%x: tensor<6x7xf32>, %i: tensor<4x1xi32>, %u: tensor<4x7xf32>) -> tensor<6x7xf32> {
  // CHECK: %[[ROWS:.*]] = dgc.reshape %[[I]] to [4]
  // CHECK: %[[NUMBER:.*]] = dgc.iota dim 0 : tensor<4xi32>
  // CHECK: %[[PLACE:.*]] = dgc.iota dim 0 : tensor<6x4xi32>
  // CHECK: %[[ALL:.*]] = dgc.broadcast_in_dim %[[ROWS]] dims [1] to [6, 4]
  // CHECK: %[[HERE:.*]] = dgc.compare eq %[[PLACE]], %[[ALL]]
  // CHECK: %[[LAST:.*]] = dgc.reduce max %{{.*}} dims [1] : tensor<6x4xi32>
  // CHECK: %[[CHOSEN:.*]] = dgc.gather %[[U]], %[[LAST]] dim 0
  // CHECK: %[[HIT:.*]] = dgc.compare ge %[[LAST]]
  // CHECK: %[[HITS:.*]] = dgc.broadcast_in_dim %[[HIT]] dims [0] to [6, 7]
  // CHECK: dgc.select %[[HITS]], %[[CHOSEN]], %[[X]]
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6x7xf32>, tensor<4x1xi32>, tensor<4x7xf32>) -> tensor<6x7xf32>
  return %0 : tensor<6x7xf32>
}

// -----

// Where indices are unique the number is a sum, for which devices have an op.
// CHECK-LABEL: func.func @set_unique
func.func @set_unique(%x: tensor<6x7xf32>, %i: tensor<4x1xi32>, %u: tensor<4x7xf32>) -> tensor<6x7xf32> {
  // CHECK: dgc.scatter_add %{{.*}}, %{{.*}} dim 0 size 6 : tensor<4xi32>, tensor<4xf64>
  // CHECK-NOT: dgc.reduce
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6x7xf32>, tensor<4x1xi32>, tensor<4x7xf32>) -> tensor<6x7xf32>
  return %0 : tensor<6x7xf32>
}

// -----

// A maximum for each segment.
// CHECK-LABEL: func.func @segment_max
// CHECK-SAME: (%[[X:.*]]: tensor<6x7xf32>, %[[I:.*]]: tensor<4x1xi32>, %[[U:.*]]: tensor<4x7xf32>)
func.func @segment_max(%x: tensor<6x7xf32>, %i: tensor<4x1xi32>, %u: tensor<4x7xf32>) -> tensor<6x7xf32> {
  // CHECK: dgc.broadcast_in_dim %[[U]] dims [1, 2] to [6, 4, 7]
  // CHECK: %[[BEST:.*]] = dgc.reduce max %{{.*}} dims [1] : tensor<6x4x7xf32>
  // CHECK: dgc.maximum %[[X]], %[[BEST]]
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6x7xf32>, tensor<4x1xi32>, tensor<4x7xf32>) -> tensor<6x7xf32>
  return %0 : tensor<6x7xf32>
}

// -----

// A difference is the sum of the negated updates.
// CHECK-LABEL: func.func @subtract
func.func @subtract(%x: tensor<6x7xf32>, %i: tensor<4x1xi32>, %u: tensor<4x7xf32>) -> tensor<6x7xf32> {
  // CHECK: %[[MINUS:.*]] = dgc.negate
  // CHECK: %[[SUM:.*]] = dgc.scatter_add %{{.*}}, %[[MINUS]] dim 0 size 6
  // CHECK: dgc.add %{{.*}}, %[[SUM]]
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6x7xf32>, tensor<4x1xi32>, tensor<4x7xf32>) -> tensor<6x7xf32>
  return %0 : tensor<6x7xf32>
}

// -----

// Any function of what was there and of the one update.
// CHECK-LABEL: func.func @apply
// CHECK-SAME: (%[[X:.*]]: tensor<6x7xf32>
func.func @apply(%x: tensor<6x7xf32>, %i: tensor<4x1xi32>, %u: tensor<4x7xf32>) -> tensor<6x7xf32> {
  // CHECK: %[[DIFFERENCE:.*]] = dgc.subtract %{{.*}}, %[[X]]
  // CHECK: %[[ROOT:.*]] = dgc.sqrt %[[DIFFERENCE]]
  // CHECK: dgc.select %{{.*}}, %[[ROOT]], %[[X]]
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.subtract %b, %a : tensor<f32>
    %2 = stablehlo.sqrt %1 : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<6x7xf32>, tensor<4x1xi32>, tensor<4x7xf32>) -> tensor<6x7xf32>
  return %0 : tensor<6x7xf32>
}
