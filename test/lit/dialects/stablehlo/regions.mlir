// RUN: dgc-opt %s | FileCheck %s
// RUN: dgc-opt %s --mlir-print-op-generic | dgc-opt | FileCheck %s

// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>, %c: tensor<f32>, %d: tensor<i32>) {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}), (%{{.*}} init: %{{.*}}) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  // CHECK-SAME: reducer(%[[P:.*]]: tensor<f32>, %{{.*}}: tensor<f32>) (%[[R:.*]]: tensor<i32>, %{{.*}}: tensor<i32>) {
  // CHECK: stablehlo.return %[[P]], %[[R]] : tensor<f32>, tensor<i32>
  %1:2 = stablehlo.reduce(%x init: %c), (%i init: %d) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<i32>, %s: tensor<i32>) {
      stablehlo.return %p, %r : tensor<f32>, tensor<i32>
    }
  return
}

// CHECK-LABEL: func.func @control
func.func @control(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  // CHECK: stablehlo.while(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) : tensor<i32>, tensor<4xf32>
  // CHECK: cond {
  // CHECK: stablehlo.compare LT, %[[A]]
  // CHECK: } do {
  // CHECK: stablehlo.add %[[B]], %[[B]]
  %0:2 = stablehlo.while(%a = %i, %b = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %a, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %b, %b : tensor<4xf32>
      stablehlo.return %a, %1 : tensor<i32>, tensor<4xf32>
    }
  // CHECK: "stablehlo.case"
  %2 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %0#1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  // CHECK: stablehlo.custom_call @my_target(%{{.*}}) {backend_config = ""} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.custom_call @my_target(%2) {backend_config = ""} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.optimization_barrier %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
  %4:2 = stablehlo.optimization_barrier %2, %3 : tensor<4xf32>, tensor<4xf32>
  // CHECK: chlo.top_k(%{{.*}}, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %values, %indices = chlo.top_k(%4#0, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return %4#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @indices
func.func @indices(%x: tensor<48x24xf32>, %i: tensor<4x16x1xi32>, %u: tensor<4x16x24xf32>) {
  // CHECK: "stablehlo.gather"(%{{.*}}, %{{.*}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], index_vector_dim = 2, offset_dims = [2], start_index_map = [0]>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 24>}> : (tensor<48x24xf32>, tensor<4x16x1xi32>) -> tensor<4x16x24xf32>
  // CHECK: "stablehlo.scatter"
  %1 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<48x24xf32>, tensor<4x16x1xi32>, tensor<4x16x24xf32>) -> tensor<48x24xf32>
  return
}
