// RUN: dgc-opt %s --split-input-file --dgc-pad-products='min-operations=1000' | FileCheck %s
// RUN: not dgc-opt %s --dgc-pad-products='multiple=0' --split-input-file 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: error: multiple=0: a positive number is needed

// The output layer of a model of language, and its gradients: the number of symbols is padded in weights and in the
// gradient of the result, and what is more than asked for is cut off.

// CHECK-LABEL: func.func @logits
// CHECK:         %[[W:.+]] = dgc.pad %arg1, %{{.+}} low [0, 0] high [3, 0] : tensor<13x16xbf16>, tensor<bf16>
// CHECK:         %[[Y:.+]] = dgc.dot_general %arg0, %[[W]] contract [1] x [1] : tensor<32x16xbf16>, tensor<16x16xbf16>
// CHECK:         dgc.slice %[[Y]] from [0, 0] to [32, 13] : tensor<32x16xbf16>
func.func @logits(%x: tensor<32x16xbf16>, %w: tensor<13x16xbf16>) -> tensor<32x13xbf16> {
  %0 = dgc.dot_general %x, %w contract [1] x [1] : tensor<32x16xbf16>, tensor<13x16xbf16>
  return %0 : tensor<32x13xbf16>
}

// CHECK-LABEL: func.func @gradient_of_x
// CHECK-DAG:     %[[G:.+]] = dgc.pad %arg0, %{{.+}} low [0, 0] high [0, 3]
// CHECK-DAG:     %[[W:.+]] = dgc.pad %arg1, %{{.+}} low [0, 0] high [3, 0]
// CHECK:         %[[Y:.+]] = dgc.dot_general %[[G]], %[[W]] contract [1] x [0] : tensor<32x16xbf16>, tensor<16x16xbf16>
// CHECK:         return %[[Y]]
func.func @gradient_of_x(%g: tensor<32x13xbf16>, %w: tensor<13x16xbf16>) -> tensor<32x16xbf16> {
  %0 = dgc.dot_general %g, %w contract [1] x [0] : tensor<32x13xbf16>, tensor<13x16xbf16>
  return %0 : tensor<32x16xbf16>
}

// A transpose that the product takes in stays behind the zeros.

// CHECK-LABEL: func.func @gradient_of_w
// CHECK:         %[[G:.+]] = dgc.pad %arg0, %{{.+}} low [0, 0] high [0, 3]
// CHECK:         %[[T:.+]] = dgc.transpose %[[G]] permutation [1, 0] : tensor<32x16xbf16>
// CHECK:         %[[Y:.+]] = dgc.dot_general %[[T]], %arg1 contract [1] x [0]
// CHECK:         dgc.slice %[[Y]] from [0, 0] to [13, 16]
func.func @gradient_of_w(%g: tensor<32x13xbf16>, %x: tensor<32x16xbf16>) -> tensor<13x16xbf16> {
  %0 = dgc.transpose %g permutation [1, 0] : tensor<32x13xbf16>
  %1 = dgc.dot_general %0, %x contract [1] x [0] : tensor<13x32xbf16>, tensor<32x16xbf16>
  return %1 : tensor<13x16xbf16>
}

// Heads of attention: the batch is never padded.

// CHECK-LABEL: func.func @heads
// CHECK:         dgc.pad %arg0, %{{.+}} low [0, 0, 0] high [0, 0, 6]
// CHECK:         dgc.pad %arg1, %{{.+}} low [0, 0, 0] high [0, 4, 6]
// CHECK:         dgc.slice %{{.+}} from [0, 0, 0] to [3, 12, 12] : tensor<3x12x16xf16>
func.func @heads(%q: tensor<3x12x10xf16>, %k: tensor<3x12x10xf16>) -> tensor<3x12x12xf16> {
  %0 = dgc.dot_general %q, %k batch [0] x [0] contract [2] x [2] : tensor<3x12x10xf16>, tensor<3x12x10xf16>
  return %0 : tensor<3x12x12xf16>
}

// -----

// Rows that are aligned, f32, and products that are small stay as they are.

// CHECK-LABEL: func.func @unchanged
// CHECK-NOT:     dgc.pad
// CHECK-NOT:     dgc.slice
func.func @unchanged(%a: tensor<31x16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<31x13xf32>, %d: tensor<13x15xf32>,
                     %e: tensor<3x13xbf16>, %f: tensor<13x3xbf16>)
    -> (tensor<31x8xbf16>, tensor<31x15xf32>, tensor<3x3xbf16>) {
  %0 = dgc.dot_general %a, %b contract [1] x [0] : tensor<31x16xbf16>, tensor<16x8xbf16>
  %1 = dgc.dot_general %c, %d contract [1] x [0] : tensor<31x13xf32>, tensor<13x15xf32>
  %2 = dgc.dot_general %e, %f contract [1] x [0] : tensor<3x13xbf16>, tensor<13x3xbf16>
  return %0, %1, %2 : tensor<31x8xbf16>, tensor<31x15xf32>, tensor<3x3xbf16>
}
