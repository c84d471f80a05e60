// RUN: dgc-opt %s -split-input-file -dgc-select-library-calls='library=nvidia epilogues=all' -canonicalize | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-select-library-calls=library=nvidia -canonicalize | FileCheck %s --check-prefix=AUTO
// RUN: dgc-opt %s -split-input-file -dgc-select-library-calls='library=nvidia epilogues=bias' -canonicalize | FileCheck %s --check-prefix=BIAS
// RUN: not dgc-opt %s -dgc-select-library-calls='library=nvidia epilogues=most' 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: for the --epilogues option: 'most': auto, all or bias is expected

// What comes from the library is added up by the product that uses it; a kernel adds up what it computes.

// AUTO-LABEL: func.func @sum_of_a_call
// AUTO:         %[[Y:.+]] = exec.matmul
// AUTO:         exec.matmul %{{.+}}, %[[Y]] bias_gradient b {transpose_a}
// AUTO-NOT:     dgc.reduce
func.func @sum_of_a_call(%x: tensor<16x40xbf16>, %w: tensor<40x8xbf16>, %a: tensor<16x24xbf16>)
    -> (tensor<24x8xbf16>, tensor<8xbf16>) {
  %y = dgc.dot_general %x, %w contract [1] x [0] : tensor<16x40xbf16>, tensor<40x8xbf16>
  %g = dgc.dot_general %a, %y contract [0] x [0] : tensor<16x24xbf16>, tensor<16x8xbf16>
  %b = dgc.reduce sum %y dims [0] : tensor<16x8xbf16>
  return %g, %b : tensor<24x8xbf16>, tensor<8xbf16>
}

// -----

// A product computes gelu, and keeps the operand of that where something else needs it; the gradient reads it.

// CHECK-LABEL: func.func @gelu
// CHECK-SAME:    (%[[X:.+]]: tensor<2x8x16xbf16>, %[[W:.+]]: tensor<16x24xbf16>, %[[B:.+]]: tensor<24xbf16>, %[[D:.+]]: tensor<2x8x40xbf16>, %[[V:.+]]: tensor<24x40xbf16>)
// CHECK:         %[[R:.+]] = dgc.reshape %[[X]] to [16, 16]
// CHECK:         %[[Y:.+]]:2 = exec.matmul %[[R]], %[[W]] bias(%[[B]] : tensor<24xbf16>) post_ops [#exec.post_op<gelu_tanh>] keep_aux : {{.*}} -> tensor<16x24xbf16>, tensor<16x24xbf16>
// CHECK:         %[[G:.+]]:2 = exec.matmul %{{.+}}, %[[V]] args(%{{.+}} : tensor<16x24xbf16>) post_ops [#exec.post_op<gelu_tanh_grad, 0>] bias_gradient result {transpose_b} : {{.*}} -> tensor<16x24xbf16>, tensor<24xbf16>
// CHECK-NOT:     dgc.gelu
// CHECK-NOT:     dgc.reduce
// BIAS-LABEL: func.func @gelu
// BIAS:         exec.matmul {{.*}} bias({{.*}}) :
// BIAS:         dgc.gelu
// BIAS:         dgc.gelu_grad
// BIAS:         dgc.reduce
// AUTO-LABEL: func.func @gelu
// AUTO:         %[[Y:.+]]:2 = exec.matmul {{.*}} post_ops [#exec.post_op<gelu_tanh>] keep_aux
// AUTO:         exec.matmul %{{.+}}, %{{.+}} {transpose_b} :
// AUTO:         dgc.gelu_grad
// AUTO:         dgc.reduce
func.func @gelu(%x: tensor<2x8x16xbf16>, %w: tensor<16x24xbf16>, %b: tensor<24xbf16>, %d: tensor<2x8x40xbf16>,
                %v: tensor<24x40xbf16>) -> (tensor<2x8x24xbf16>, tensor<2x8x24xbf16>, tensor<24xbf16>) {
  %0 = dgc.dot_general %x, %w contract [2] x [0] : tensor<2x8x16xbf16>, tensor<16x24xbf16>
  %1 = dgc.broadcast_in_dim %b dims [2] to [2, 8, 24] : tensor<24xbf16>
  %2 = dgc.add %0, %1 : tensor<2x8x24xbf16>
  %3 = dgc.convert %2 to f32 : tensor<2x8x24xbf16>
  %4 = dgc.gelu %3 tanh : tensor<2x8x24xf32>
  %5 = dgc.convert %4 to bf16 : tensor<2x8x24xf32>
  %6 = dgc.dot_general %d, %v contract [2] x [1] : tensor<2x8x40xbf16>, tensor<24x40xbf16>
  %7 = dgc.convert %6 to f32 : tensor<2x8x24xbf16>
  %8 = dgc.gelu_grad %3, %7 tanh : tensor<2x8x24xf32>
  %9 = dgc.convert %8 to bf16 : tensor<2x8x24xf32>
  %10 = dgc.reduce sum %9 dims [0, 1] : tensor<2x8x24xbf16>
  return %5, %9, %10 : tensor<2x8x24xbf16>, tensor<2x8x24xbf16>, tensor<24xbf16>
}

// -----

// Nothing is kept where nothing needs it.

// CHECK-LABEL: func.func @gelu_alone
// CHECK:         exec.matmul {{.*}} post_ops [#exec.post_op<gelu_tanh>] : {{.*}} -> tensor<8x24xf16>
func.func @gelu_alone(%x: tensor<8x16xf16>, %w: tensor<16x24xf16>) -> tensor<8x24xf16> {
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x16xf16>, tensor<16x24xf16>
  %1 = dgc.gelu %0 tanh : tensor<8x24xf16>
  return %1 : tensor<8x24xf16>
}

// -----

// A relu keeps a bit for each element, in rows of a multiple of 128 bits.

// CHECK-LABEL: func.func @relu
// CHECK:         %[[Y:.+]]:2 = exec.matmul {{.*}} post_ops [#exec.post_op<relu>] keep_aux : {{.*}} -> tensor<8x136xbf16>, tensor<8x32xui8>
// CHECK:         exec.matmul {{.*}} args(%[[Y]]#1 : tensor<8x32xui8>) post_ops [#exec.post_op<relu_grad, 0>] {transpose_b}
// CHECK-NOT:     dgc.select
// BIAS-LABEL: func.func @relu
// BIAS:         dgc.select
// AUTO-LABEL: func.func @relu
// AUTO-NOT:     keep_aux
// AUTO:         dgc.select
func.func @relu(%x: tensor<8x16xbf16>, %w: tensor<16x136xbf16>, %b: tensor<136xbf16>, %d: tensor<8x40xbf16>,
                %v: tensor<136x40xbf16>) -> (tensor<8x136xbf16>, tensor<8x136xbf16>) {
  %zero = dgc.constant dense<0.0> : tensor<8x136xbf16>
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x16xbf16>, tensor<16x136xbf16>
  %1 = dgc.broadcast_in_dim %b dims [1] to [8, 136] : tensor<136xbf16>
  %2 = dgc.add %0, %1 : tensor<8x136xbf16>
  %3 = dgc.maximum %2, %zero : tensor<8x136xbf16>
  %4 = dgc.compare gt %3, %zero : tensor<8x136xbf16>
  %5 = dgc.dot_general %d, %v contract [1] x [1] : tensor<8x40xbf16>, tensor<136x40xbf16>
  %6 = dgc.select %4, %5, %zero : tensor<8x136xi1>, tensor<8x136xbf16>, tensor<8x136xbf16>
  return %3, %6 : tensor<8x136xbf16>, tensor<8x136xbf16>
}

// -----

// The gradient may stand before what it needs, as where values are computed again.

// CHECK-LABEL: func.func @relu_behind
// CHECK:         %[[Y:.+]]:2 = exec.matmul {{.*}} post_ops [#exec.post_op<relu>] keep_aux
// CHECK:         exec.matmul {{.*}} args(%[[Y]]#1 : tensor<8x32xui8>) post_ops [#exec.post_op<relu_grad, 0>] {transpose_b}
func.func @relu_behind(%x: tensor<8x16xbf16>, %w: tensor<16x136xbf16>, %d: tensor<8x40xbf16>, %v: tensor<136x40xbf16>)
    -> (tensor<8x136xbf16>, tensor<8x136xbf16>) {
  %zero = dgc.constant dense<0.0> : tensor<8x136xbf16>
  %0 = dgc.dot_general %d, %v contract [1] x [1] : tensor<8x40xbf16>, tensor<136x40xbf16>
  %1 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x16xbf16>, tensor<16x136xbf16>
  %2 = dgc.maximum %1, %zero : tensor<8x136xbf16>
  %3 = dgc.compare gt %2, %zero : tensor<8x136xbf16>
  %4 = dgc.select %3, %0, %zero : tensor<8x136xi1>, tensor<8x136xbf16>, tensor<8x136xbf16>
  return %2, %4 : tensor<8x136xbf16>, tensor<8x136xbf16>
}

// -----

// The gradient of a bias is the sum of an operand, right or left, that is large or is the result of a call.

// CHECK-LABEL: func.func @sums
// CHECK:         exec.matmul {{.*}} bias_gradient b {transpose_a} : tensor<65536x8xbf16>, tensor<65536x16xbf16> -> tensor<8x16xbf16>, tensor<16xbf16>
// CHECK:         exec.matmul {{.*}} bias_gradient a {transpose_a} : tensor<65536x16xbf16>, tensor<65536x8xbf16> -> tensor<16x8xbf16>, tensor<16xbf16>
// CHECK-NOT:     dgc.reduce
// CHECK:         return
// BIAS-LABEL: func.func @sums
// BIAS:         dgc.reduce
// AUTO-LABEL: func.func @sums
// AUTO-NOT:     bias_gradient
// AUTO:         return
func.func @sums(%x: tensor<65536x8xbf16>, %d: tensor<65536x16xbf16>, %e: tensor<65536x16xbf16>)
    -> (tensor<8x16xbf16>, tensor<16xbf16>, tensor<16x8xbf16>, tensor<16xbf16>) {
  %0 = dgc.reduce sum %d dims [0] : tensor<65536x16xbf16>
  %1 = dgc.dot_general %x, %d contract [0] x [0] : tensor<65536x8xbf16>, tensor<65536x16xbf16>
  %2 = dgc.reduce sum %e dims [0] : tensor<65536x16xbf16>
  %3 = dgc.dot_general %e, %x contract [0] x [0] : tensor<65536x16xbf16>, tensor<65536x8xbf16>
  return %1, %0, %3, %2 : tensor<8x16xbf16>, tensor<16xbf16>, tensor<16x8xbf16>, tensor<16xbf16>
}

// -----

// A sum that is needed before the product, or is of few elements that a kernel has, stays.

// CHECK-LABEL: func.func @other_sums
// CHECK:         dgc.reduce
// CHECK:         dgc.reduce
// CHECK-NOT:     bias_gradient
func.func @other_sums(%x: tensor<65536x8xbf16>, %d: tensor<65536x16xbf16>, %y: tensor<64x8xbf16>, %e: tensor<64x16xbf16>)
    -> (tensor<16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>, tensor<8x16xbf16>) {
  %0 = dgc.reduce sum %d dims [0] : tensor<65536x16xbf16>
  %1 = dgc.negate %0 : tensor<16xbf16>
  %2 = dgc.dot_general %x, %d contract [0] x [0] : tensor<65536x8xbf16>, tensor<65536x16xbf16>
  %3 = dgc.reduce sum %e dims [0] : tensor<64x16xbf16>
  %4 = dgc.dot_general %y, %e contract [0] x [0] : tensor<64x8xbf16>, tensor<64x16xbf16>
  return %1, %2, %3, %4 : tensor<16xbf16>, tensor<8x16xbf16>, tensor<16xbf16>, tensor<8x16xbf16>
}

// -----

// The library has none of it for f32, for the exact gelu, for rows that are not aligned, and for single rows.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: dgc.gelu
func.func @others(%x: tensor<8x16xf32>, %w: tensor<16x24xf32>, %y: tensor<8x16xbf16>, %v: tensor<16x24xbf16>,
                  %u: tensor<16x20xbf16>, %z: tensor<1x16xbf16>)
    -> (tensor<8x24xf32>, tensor<8x24xbf16>, tensor<8x20xbf16>, tensor<1x24xbf16>) {
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x16xf32>, tensor<16x24xf32>
  %1 = dgc.gelu %0 tanh : tensor<8x24xf32>
  %2 = dgc.dot_general %y, %v contract [1] x [0] : tensor<8x16xbf16>, tensor<16x24xbf16>
  %3 = dgc.gelu %2 : tensor<8x24xbf16>
  %4 = dgc.dot_general %y, %u contract [1] x [0] : tensor<8x16xbf16>, tensor<16x20xbf16>
  %5 = dgc.gelu %4 tanh : tensor<8x20xbf16>
  %6 = dgc.dot_general %z, %v contract [1] x [0] : tensor<1x16xbf16>, tensor<16x24xbf16>
  %7 = dgc.gelu %6 tanh : tensor<1x24xbf16>
  return %1, %3, %5, %7 : tensor<8x24xf32>, tensor<8x24xbf16>, tensor<8x20xbf16>, tensor<1x24xbf16>
}

// -----

// What else needs the gradient before it is multiplied keeps it from being a part of the call.

// CHECK-LABEL: func.func @two_users
// CHECK:         exec.matmul {{.*}} {transpose_b} : {{.*}} -> tensor<8x24xbf16>
// CHECK:         dgc.gelu_grad
func.func @two_users(%x: tensor<8x24xbf16>, %d: tensor<8x40xbf16>, %v: tensor<24x40xbf16>)
    -> (tensor<8x24xbf16>, tensor<8x24xbf16>) {
  %0 = dgc.dot_general %d, %v contract [1] x [1] : tensor<8x40xbf16>, tensor<24x40xbf16>
  %1 = dgc.gelu_grad %x, %0 tanh : tensor<8x24xbf16>
  return %0, %1 : tensor<8x24xbf16>, tensor<8x24xbf16>
}
