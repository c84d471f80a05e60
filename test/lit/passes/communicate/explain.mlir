// RUN: dgc-opt %s -split-input-file -dgc-explain -o /dev/null | FileCheck %s --match-full-lines --strict-whitespace

// The bytes of a collective are those of the whole value: of what a gather gives. The sums are as `dgc-run --dry-run` has
// them.
//      CHECK:@train: 2 operations: 2 collectives of 408 B
// CHECK-NEXT:  op          axes            bytes  cause
// CHECK-NEXT:  all_gather  data=2,model=3    384  cut by data (user); needed as [{}] by dgc.negate at m.mlir:3:1
// CHECK-NEXT:  all_reduce  data=2             24  first cause
// CHECK-NEXT:                                     second cause
// CHECK-NEXT:@predict: no communication
dist.mesh @mesh <data = 2, model = 3>
func.func @train(%x: tensor<16xf32>, %y: tensor<4xf32>, %z: tensor<2xf32>) {
  %0 = dist.all_gather %x dim 0 over @mesh ["data", "model"] origin "cut by data (user); needed as [{}] by dgc.negate at m.mlir:3:1"
      : tensor<16xf32> to tensor<96xf32>
  %1:2 = dist.all_reduce sum %y, %z over @mesh ["data"] origin "first cause", "second cause" : tensor<4xf32>, tensor<2xf32>
  return
}
func.func @predict(%x: tensor<16xf32>) {
  return
}

// -----

// What is in loops counts for each round, and for each of the loop around; once more in what decides whether there is another.
//      CHECK:@loops: 3 operations: 47 collectives of 732 B
// CHECK-NEXT:  op          axes      bytes  cause
// CHECK-NEXT:  all_reduce  data=2    6 x 4  -
// CHECK-NEXT:  all_reduce  data=2  40 x 16  -
// CHECK-NEXT:  all_reduce  data=2       68  -
dist.mesh @mesh <data = 2>
func.func @loops(%p: tensor<1xf32>, %x: tensor<4xf32>, %y: tensor<17xf32>) {
  %0:2 = dgc.while rounds 5 (%a = %x, %q = %p) : tensor<4xf32>, tensor<1xf32> {
    %sum = dist.all_reduce sum %q over @mesh ["data"] : tensor<1xf32>
    %true = dgc.constant dense<true> : tensor<i1>
    dgc.condition %true : tensor<i1>
  } do {
    %inner = dgc.scan (%b = %a) count 8 : tensor<4xf32> -> tensor<4xf32> {
      %sum = dist.all_reduce sum %b over @mesh ["data"] : tensor<4xf32>
      dgc.yield %sum : tensor<4xf32>
    }
    dgc.yield %inner, %q : tensor<4xf32>, tensor<1xf32>
  }
  %1 = dist.all_reduce sum %y over @mesh ["data"] : tensor<17xf32>
  return
}

// Where it is not known how many rounds there are, the sum is that of one.
//      CHECK:@unknown: 2 operations: at least 8 collectives of 116 B
// CHECK-NEXT:  op          axes              bytes  cause
// CHECK-NEXT:  all_reduce  data=2  rounds x 7 x 16  -
// CHECK-NEXT:  all_reduce  data=2       rounds x 4  -
func.func @unknown(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<1xf32>) {
  %0:3 = dgc.while (%a = %x, %b = %y, %q = %p) : tensor<4xf32>, tensor<1xf32>, tensor<i1> {
    dgc.condition %q : tensor<i1>
  } do {
    %inner = dgc.scan (%c = %a) count 7 : tensor<4xf32> -> tensor<4xf32> {
      %sum = dist.all_reduce sum %c over @mesh ["data"] : tensor<4xf32>
      dgc.yield %sum : tensor<4xf32>
    }
    %sum = dist.all_reduce sum %b over @mesh ["data"] : tensor<1xf32>
    dgc.yield %inner, %sum, %q : tensor<4xf32>, tensor<1xf32>, tensor<i1>
  }
  return
}

// -----

// A pipeline whose micro-batches wait for each other.
//      CHECK:schedule gpipe, 2 micro-batches, forward pass and both parts of the backward pass taken as equally long:
//      CHECK:  in 3 rounds of this order: before each, all micro-batches have finished the one before, as these need values of the whole batch:
// CHECK-NEXT:    layer.0.batch_norm at m.mlir:11:18
// CHECK-NEXT:    layer.1.batch_norm at m.mlir:11:18
module attributes {dist.pipeline = {barriers = ["layer.0.batch_norm at m.mlir:11:18", "layer.1.batch_norm at m.mlir:11:18"],
    chunks = 1 : i64, microbatches = 2 : i64, positions = 2 : i64, rounds = 3 : i64, schedule = "gpipe"}} {
}
