// RUN: dgc-opt %s | dgc-opt | FileCheck %s
// RUN: dgc-opt %s --mlir-print-op-generic | dgc-opt | FileCheck %s

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<?x8xf32>, %n: tensor<2xi32>, %i: tensor<2xindex>, %s: tensor<f32>) {
  // CHECK: stablehlo.dynamic_broadcast_in_dim %{{.*}}, %{{.*}}, dims = [0, 1] : (tensor<?x8xf32>, tensor<2xi32>) -> tensor<4x8xf32>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [0, 1] : (tensor<?x8xf32>, tensor<2xi32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.dynamic_iota %{{.*}}, dim = 1 : (tensor<2xindex>) -> tensor<?x?xi32>
  %1 = stablehlo.dynamic_iota %i, dim = 1 : (tensor<2xindex>) -> tensor<?x?xi32>
  // CHECK: stablehlo.dynamic_pad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %2 = stablehlo.dynamic_pad %x, %s, %n, %n, %n : (tensor<?x8xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  // CHECK: stablehlo.dynamic_reshape %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<2xi32>) -> tensor<8x4xf32>
  %3 = stablehlo.dynamic_reshape %x, %n : (tensor<?x8xf32>, tensor<2xi32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.real_dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %4 = stablehlo.real_dynamic_slice %x, %n, %n, %n : (tensor<?x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func.func @einsums
func.func @einsums(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>, %k: tensor<3xi32>) {
  // CHECK: stablehlo.einsum %{{.*}}, %{{.*}}, config = "ab,bc->ac" : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %0 = stablehlo.einsum %x, %y, config = "ab,bc->ac" : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  // CHECK: stablehlo.unary_einsum %{{.*}}, config = "ab->b" : (tensor<4x8xf32>) -> tensor<8xf32>
  %1 = stablehlo.unary_einsum %x, config = "ab->b" : (tensor<4x8xf32>) -> tensor<8xf32>
  // CHECK: stablehlo.torch_index_select %{{.*}}, %{{.*}}, dim = 1, batch_dims = 0 : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x3xf32>
  %2 = stablehlo.torch_index_select %x, %k, dim = 1, batch_dims = 0 : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x3xf32>
  return
}

// CHECK-LABEL: func.func @tuples
func.func @tuples(%x: tensor<4xf32>, %t: tuple<tensor<4xf32>, tuple<>>) {
  // CHECK: %[[NONE:.*]] = stablehlo.tuple{{ *}}: tuple<>
  // CHECK: stablehlo.tuple %{{.*}}, %[[NONE]] : tuple<tensor<4xf32>, tuple<>>
  %0 = stablehlo.tuple : tuple<>
  %1 = stablehlo.tuple %x, %0 : tuple<tensor<4xf32>, tuple<>>
  // CHECK: stablehlo.get_tuple_element %{{.*}}[0] : (tuple<tensor<4xf32>, tuple<>>) -> tensor<4xf32>
  %2 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<4xf32>, tuple<>>) -> tensor<4xf32>
  return
}
