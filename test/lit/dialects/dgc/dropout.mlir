// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s

// An element is dropped when its 32 random bits are below rate * 2^32 (here 2^30); without keys nothing is.

// CHECK-LABEL: func.func @dropout(
// CHECK-SAME: %[[A0:.*]]: tensor<3x4xf32>, %[[A1:.*]]: tensor<i64>, %[[A2:.*]]: tensor<i64>)
// CHECK-DAG: %[[C0:.*]] = dgc.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK-DAG: %[[C1:.*]] = dgc.constant dense<1.33333337> : tensor<3x4xf32>
// CHECK-DAG: %[[C2:.*]] = dgc.constant dense<1073741824> : tensor<3x4xui32>
// CHECK: %[[V3:.*]] = dgc.rng_bit_generator %[[A1]], %[[A2]] id 7 : tensor<3x4xui32>
// CHECK: %[[V4:.*]] = dgc.multiply %[[A0]], %[[C1]] : tensor<3x4xf32>
// CHECK: %[[V5:.*]] = dgc.compare {{ *}}ge %[[V3]], %[[C2]] : tensor<3x4xui32>
// CHECK: %[[V6:.*]] = dgc.select %[[V5]], %[[V4]], %[[C0]] : tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK: return %[[V6]], %[[A0]]
func.func @dropout(%x: tensor<3x4xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = dgc.dropout %x rate 0.25 keyed %seed, %step rng 7 : tensor<3x4xf32>
  %1 = dgc.dropout %x rate 0.25 : tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}
