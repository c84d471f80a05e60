// RUN: dgc-opt %s --stablehlo-to-dgc | FileCheck %s

// An embedding: indices are moved into the table, and rows are chosen.
// CHECK-LABEL: func.func @embedding
// CHECK-SAME: (%[[TABLE:.*]]: tensor<48x24xf32>, %[[I:.*]]: tensor<4x16x1xi32>)
func.func @embedding(%x: tensor<48x24xf32>, %i: tensor<4x16x1xi32>) -> tensor<4x16x24xf32> {
  // CHECK: %[[ROWS:.*]] = dgc.reshape %[[I]] to [4, 16]
  // CHECK: %[[MOST:.*]] = dgc.constant dense<47> : tensor<4x16xi32>
  // CHECK: %[[CLAMPED:.*]] = dgc.clamp %{{.*}}, %[[ROWS]], %[[MOST]]
  // CHECK: %[[Y:.*]] = dgc.gather %[[TABLE]], %[[CLAMPED]] dim 0
  // CHECK-NEXT: return %[[Y]]
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 24>}> : (tensor<48x24xf32>, tensor<4x16x1xi32>) -> tensor<4x16x24xf32>
  return %0 : tensor<4x16x24xf32>
}

// Each example chooses for itself: a sum over all classes, of which one is not masked.
// CHECK-LABEL: func.func @take_along_axis
// CHECK-SAME: (%[[X:.*]]: tensor<32x4xf32>, %[[I:.*]]: tensor<32x1x1xi32>)
func.func @take_along_axis(%x: tensor<32x4xf32>, %i: tensor<32x1x1xi32>) -> tensor<32x1xf32> {
  // CHECK: %[[CLASS:.*]] = dgc.iota dim 2 : tensor<32x1x4xi32>
  // CHECK: %[[HIT:.*]] = dgc.compare eq %[[CLASS]]
  // CHECK: %[[ALL:.*]] = dgc.broadcast_in_dim %[[X]] dims [0, 2] to [32, 1, 4]
  // CHECK: %[[ONE:.*]] = dgc.select %[[HIT]], %[[ALL]]
  // CHECK: dgc.reduce sum %[[ONE]] dims [2]
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<32x4xf32>, tensor<32x1x1xi32>) -> tensor<32x1xf32>
  return %0 : tensor<32x1xf32>
}

// Windows in two dimensions are chosen by the numbers of their elements.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<6x7xf32>, %i: tensor<5x2xi32>) -> tensor<5x2x3xf32> {
  // CHECK: %[[FLAT:.*]] = dgc.reshape %{{.*}} to [42]
  // CHECK: dgc.gather %[[FLAT]], %{{.*}} dim 0 : tensor<42xf32>, tensor<5x2x3xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>}> : (tensor<6x7xf32>, tensor<5x2xi32>) -> tensor<5x2x3xf32>
  return %0 : tensor<5x2x3xf32>
}

// The gradient of an embedding.
// CHECK-LABEL: func.func @embedding_gradient
// CHECK-SAME: (%[[I:.*]]: tensor<4x16x1xi32>, %[[U:.*]]: tensor<4x16x24xf32>)
func.func @embedding_gradient(%i: tensor<4x16x1xi32>, %u: tensor<4x16x24xf32>) -> tensor<48x24xf32> {
  // CHECK: %[[ROWS:.*]] = dgc.reshape %[[I]] to [4, 16]
  // CHECK: %[[SUM:.*]] = dgc.scatter_add %[[ROWS]], %[[U]] dim 0 size 48
  // CHECK-NEXT: return %[[SUM]]
  %zeros = stablehlo.constant dense<0.0> : tensor<48x24xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<48x24xf32>, tensor<4x16x1xi32>, tensor<4x16x24xf32>) -> tensor<48x24xf32>
  return %0 : tensor<48x24xf32>
}

// One row is replaced.
// CHECK-LABEL: func.func @set_row
// CHECK-SAME: (%[[X:.*]]: tensor<6x7xf32>, %[[I:.*]]: tensor<1xi32>, %[[U:.*]]: tensor<7xf32>)
func.func @set_row(%x: tensor<6x7xf32>, %i: tensor<1xi32>, %u: tensor<7xf32>) -> tensor<6x7xf32> {
  // CHECK: %[[ALL:.*]] = dgc.broadcast_in_dim %[[U]] dims [1] to [6, 7]
  // CHECK: dgc.select %{{.*}}, %[[ALL]], %[[X]]
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6x7xf32>, tensor<1xi32>, tensor<7xf32>) -> tensor<6x7xf32>
  return %0 : tensor<6x7xf32>
}

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: (%[[X:.*]]: tensor<12x4xf32>, %[[U:.*]]: tensor<1x4xf32>, %[[V:.*]]: tensor<1x2xf32>, %[[I:.*]]: tensor<i32>)
func.func @dynamic(%x: tensor<12x4xf32>, %u: tensor<1x4xf32>, %v: tensor<1x2xf32>, %i: tensor<i32>) -> (tensor<1x4xf32>, tensor<2x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %many = stablehlo.constant dense<99> : tensor<i32>
  // CHECK: dgc.gather %[[X]], %{{.*}} dim 0 : tensor<12x4xf32>, tensor<1xi32>
  %0 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<12x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  // A known place is a slice; it is moved into the tensor.
  // CHECK: dgc.slice %[[X]] from [10, 0] to [12, 4]
  %1 = stablehlo.dynamic_slice %x, %many, %zero, sizes = [2, 4] : (tensor<12x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  // CHECK: dgc.dynamic_update_slice %[[X]], %[[U]] at %[[I]] dim 0 : tensor<12x4xf32>, tensor<1x4xf32>, tensor<i32>
  %2 = stablehlo.dynamic_update_slice %x, %u, %i, %zero : (tensor<12x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<12x4xf32>
  // A part in two dimensions.
  // CHECK: %[[LONG:.*]] = dgc.gather %[[V]], %{{.*}} dim 0 : tensor<1x2xf32>, tensor<12xi32>
  // CHECK: %[[WIDE:.*]] = dgc.gather %[[LONG]], %{{.*}} dim 1 : tensor<12x2xf32>, tensor<4xi32>
  // CHECK: dgc.select %{{.*}}, %[[WIDE]], %[[X]]
  %3 = stablehlo.dynamic_update_slice %x, %v, %i, %i : (tensor<12x4xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<12x4xf32>
  return %0, %1, %2, %3 : tensor<1x4xf32>, tensor<2x4xf32>, tensor<12x4xf32>, tensor<12x4xf32>
}
