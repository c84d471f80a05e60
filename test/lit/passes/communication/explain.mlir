// RUN: dgc-opt %s -dgc-explain -o /dev/null | FileCheck %s --match-full-lines --strict-whitespace

//      CHECK:@train: 2 operations
// CHECK-NEXT:  op          axes            bytes  cause
// CHECK-NEXT:  all_gather  data=2,model=3     64  cut by data (user); needed as [{}] by dgc.negate at m.mlir:3:1
// CHECK-NEXT:  all_reduce  data=2             24  first cause
// CHECK-NEXT:                                     second cause
// CHECK-NEXT:@predict: no communication
dist.mesh @mesh <data = 2, model = 3>
func.func @train(%x: tensor<16xf32>, %y: tensor<4xf32>, %z: tensor<2xf32>) {
  %0 = dist.all_gather %x dim 0 over @mesh ["data", "model"] origin "cut by data (user); needed as [{}] by dgc.negate at m.mlir:3:1"
      : tensor<16xf32> to tensor<96xf32>
  %1:2 = dist.all_reduce sum %y, %z over @mesh ["data"] origin "first cause | second cause" : tensor<4xf32>, tensor<2xf32>
  return
}
func.func @predict(%x: tensor<16xf32>) {
  return
}
