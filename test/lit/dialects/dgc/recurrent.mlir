// RUN: dgc-opt %s | dgc-opt | FileCheck %s
// RUN: dgc-opt %s --dgc-decompose=keep=dgc.scan | FileCheck %s --check-prefix=SCAN

// CHECK-LABEL: func.func @lstm
// CHECK: dgc.lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x7x4xf32>, tensor<4x12xf32>, tensor<3x12xf32>, tensor<12xf32>
// CHECK: dgc.lstm {{.*}} initial %{{.*}}, %{{.*}} reverse :

// The products of the input are one, before the scan.
// SCAN-LABEL: func.func @lstm
// SCAN: dgc.dot_general %{{.*}}, %{{.*}} contract [2] x [0] : tensor<2x7x4xf32>, tensor<4x12xf32>
// SCAN: dgc.scan (%[[H:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}}) over (%[[X:.*]] = %{{.*}}) with (%[[U:.*]] = %{{.*}}) dim 1
// SCAN:   %[[P:.*]] = dgc.dot_general %[[H]], %[[U]] contract [1] x [0] : tensor<2x3xf32>, tensor<3x12xf32>
// SCAN:   dgc.add %[[X]], %[[P]]
// SCAN:   dgc.slice {{.*}} from [0, 3] to [2, 6]
func.func @lstm(%x: tensor<2x7x4xf32>, %w: tensor<4x12xf32>, %u: tensor<3x12xf32>, %b: tensor<12xf32>, %h: tensor<2x3xf32>)
    -> (tensor<2x7x3xf32>, tensor<2x3xf32>) {
  %y, %last, %cell = dgc.lstm %x, %w, %u, %b : tensor<2x7x4xf32>, tensor<4x12xf32>, tensor<3x12xf32>, tensor<12xf32>
  %z, %0, %1 = dgc.lstm %x, %w, %u, %b initial %h, %last reverse : tensor<2x7x4xf32>, tensor<4x12xf32>, tensor<3x12xf32>, tensor<12xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  %s = dgc.add %y, %z : tensor<2x7x3xf32>
  return %s, %cell : tensor<2x7x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @gru
// CHECK: dgc.gru %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} initial %{{.*}} :
// SCAN-LABEL: func.func @gru
// SCAN: dgc.scan (%{{.*}} = %{{.*}}) over
func.func @gru(%x: tensor<2x7x4xf32>, %w: tensor<4x9xf32>, %u: tensor<3x9xf32>, %b: tensor<9xf32>, %h: tensor<2x3xf32>) -> tensor<2x7x3xf32> {
  %y, %last = dgc.gru %x, %w, %u, %b, %b initial %h : tensor<2x7x4xf32>, tensor<4x9xf32>, tensor<3x9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<2x3xf32>
  return %y : tensor<2x7x3xf32>
}
