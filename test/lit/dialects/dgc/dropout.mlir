// RUN: dgc-opt %s | dgc-opt --dgc-decompose --canonicalize --cse | FileCheck %s --implicit-check-not=dgc.convert

// An element is dropped when its 32 random bits are below rate * 2^32 (here 2^30): integers are compared, no random
// number becomes a float. The bits are those of the op's own stream.

// CHECK-LABEL: func.func @training(
// CHECK-SAME:    %[[SEED:[^:]+]]: tensor<i64>, %[[STEP:[^:]+]]: tensor<i64>)
// CHECK-DAG:     %[[ZERO:.*]] = dgc.constant dense<0.000000e+00>
// CHECK-DAG:     %[[LIMIT:.*]] = dgc.constant dense<1073741824> : tensor<3x4xui32>
// CHECK:         %[[BITS:.*]] = dgc.rng_bit_generator %[[SEED]], %[[STEP]] id 7 : tensor<3x4xui32>
// CHECK:         %[[KEEPS:.*]] = dgc.compare {{ *}}ge %[[BITS]], %[[LIMIT]]
// CHECK:         %[[R:.*]] = dgc.select %[[KEEPS]], %{{.*}}, %[[ZERO]]
// CHECK-NEXT:    return %[[R]]
func.func @training(%x: tensor<3x4xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<3x4xf32> {
  %0 = dgc.dropout %x rate 0.25 keyed %seed, %step rng 7 : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Without keys nothing is dropped.

// CHECK-LABEL: func.func @inference(
// CHECK-SAME:    %[[X:[^:]+]]:
// CHECK-NEXT:    return %[[X]]
func.func @inference(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = dgc.dropout %x rate 0.25 : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
