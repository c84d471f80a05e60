// RUN: dgc-opt %s -split-input-file -dgc-lower-kernels-to-linalg -dgc-lower-kernels-to-loops | FileCheck %s

// One loop over all elements, whatever the rank, in which each of the two operands is read once; the value in between is
// not stored. Work is split into parts of 4096 elements.

// CHECK-LABEL: func.func private @chain_body
// CHECK-SAME:    (%[[A:.+]]: !llvm.ptr {llvm.noalias{{.*}}}, %[[B:.+]]: !llvm.ptr {llvm.noalias{{.*}}}, %[[R:.+]]: !llvm.ptr {llvm.noalias{{.*}}}, %[[BEGIN:.+]]: i64, %[[END:.+]]: i64)
// CHECK:         scf.for
// CHECK-COUNT-2:   llvm.load
// CHECK-NOT:       llvm.{{load|store}}
// CHECK:           arith.mulf
// CHECK-NOT:       llvm.{{load|store}}
// CHECK:           math.tanh
// CHECK:           llvm.store
// CHECK-NOT:     {{scf.for|llvm.load|llvm.store}}
// CHECK:       llvm.func @chain(
// CHECK-SAME:    dgc.extent = [[#div(mul(64, 512), 4096)]] : i64
func.func @chain(%a: tensor<64x512xf32>, %b: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %0 = dgc.multiply %a, %b : tensor<64x512xf32>
  %1 = dgc.tanh %0 : tensor<64x512xf32>
  return %1 : tensor<64x512xf32>
}

// -----

// Softmax: one loop over rows with three loops over columns; only exp is kept, for one row.

// CHECK-LABEL: func.func private @softmax_body
// CHECK:         %[[ROW:.+]] = llvm.alloca
// CHECK:         scf.for
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             arith.maximumf
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             math.exp
// CHECK:             arith.addf {{.*}} fastmath<reassoc,contract>
// CHECK:             llvm.store
// CHECK:           scf.for
// CHECK-NOT:         math.exp
// CHECK:             arith.divf
// CHECK:       llvm.func @softmax(
// CHECK-SAME:    dgc.extent = 64 : i64
func.func @softmax(%a: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
  %m = dgc.reduce max %a dims [1] : tensor<64x1024xf32>
  %mb = dgc.broadcast_in_dim %m dims [0] to [64, 1024] : tensor<64xf32>
  %d = dgc.subtract %a, %mb : tensor<64x1024xf32>
  %e = dgc.exponential %d : tensor<64x1024xf32>
  %s = dgc.reduce sum %e dims [1] : tensor<64x1024xf32>
  %sb = dgc.broadcast_in_dim %s dims [0] to [64, 1024] : tensor<64xf32>
  %r = dgc.divide %e, %sb : tensor<64x1024xf32>
  return %r : tensor<64x1024xf32>
}

// -----

// A sum over rows runs over memory in its own order and adds to the result; the product that it adds up is stored in the
// same loop. Four rows are taken in a round, so that the result is read and written once for four. The kernel is split by
// columns, in parts of 64.

// CHECK-LABEL: func.func private @columns_body
// CHECK:         scf.for
// CHECK:           llvm.store
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK-COUNT-4:     arith.mulf
// CHECK-COUNT-4:     llvm.store
// CHECK-NOT:         llvm.store
// CHECK:             %[[BEFORE:.+]] = llvm.load
// CHECK-NOT:         llvm.{{load|store}}
// CHECK:             %[[SUM:.+]] = arith.addf %[[BEFORE]],
// CHECK:             llvm.store %[[SUM]]
// CHECK-NOT:     {{scf.for|llvm.load|llvm.store}}
// CHECK:       llvm.func @columns(
// CHECK-SAME:    dgc.extent = [[#div(512, 64)]] : i64
func.func @columns(%a: tensor<64x512xf32>, %b: tensor<64x512xf32>) -> (tensor<64x512xf32>, tensor<512xf32>) {
  %0 = dgc.multiply %a, %b : tensor<64x512xf32>
  %1 = dgc.reduce sum %0 dims [0] : tensor<64x512xf32>
  return %0, %1 : tensor<64x512xf32>, tensor<512xf32>
}

// -----

// Independent updates are parts of one extent, those of the matrix and one for the vector, with a loop each; what is updated
// in place is not marked as having no alias.

// CHECK-LABEL: func.func private @update_body
// CHECK-SAME:    (%{{.+}}: !llvm.ptr {llvm.nocapture}, %{{.+}}: !llvm.ptr {llvm.noalias, llvm.nocapture, llvm.readonly}
// CHECK-COUNT-2: scf.for
// CHECK-NOT:     scf.for
// CHECK:       llvm.func @update(
// CHECK-SAME:    dgc.extent = [[#add(div(mul(64, 512), 4096), 1)]] : i64
func.func @update(%w: tensor<64x512xf32>, %gw: tensor<64x512xf32>, %b: tensor<512xf32>, %gb: tensor<512xf32>)
    -> (tensor<64x512xf32>, tensor<512xf32>) attributes {dgc.inplace = array<i64: 0, 2>} {
  %0 = dgc.subtract %w, %gw : tensor<64x512xf32>
  %1 = dgc.subtract %b, %gb : tensor<512xf32>
  return %0, %1 : tensor<64x512xf32>, tensor<512xf32>
}

// -----

// A value that is stored and read in another order: sizes that happen to agree do not make rows in common.
// CHECK-LABEL: func.func private @stored_and_transposed_body(
// CHECK: scf.for
// CHECK: llvm.store
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: llvm.func @stored_and_transposed({{.*}} dgc.extent = 1 :
func.func @stored_and_transposed(%x: tensor<4x2x12xf32>) -> (tensor<4x2x12xf32>, tensor<4x4x2x3xf32>) {
  %0 = dgc.negate %x : tensor<4x2x12xf32>
  %1 = dgc.reshape %0 to [4, 2, 4, 3] : tensor<4x2x12xf32>
  %2 = dgc.transpose %1 permutation [2, 0, 1, 3] : tensor<4x2x4x3xf32>
  return %0, %2 : tensor<4x2x12xf32>, tensor<4x4x2x3xf32>
}

// -----

// A long sum in registers: no block has more than 2048 addends, no more than 32 partial sums follow one another. The last
// block of each size is shorter. Adding up blocks is not reassociated.

// CHECK-LABEL: func.func private @long_sum_body
// CHECK:         scf.for {{.*}} step %{{.*}} iter_args
// CHECK:           arith.minui
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             arith.constant 2048 : i64
// CHECK:             arith.minui
// CHECK:             %[[PART:.+]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// CHECK:               arith.addf {{.*}} fastmath<reassoc,contract>
// CHECK:             arith.addf %{{.*}}, %[[PART]] fastmath<contract>
// CHECK:           arith.addf {{.*}} fastmath<contract>
// CHECK-NOT:     scf.for
// CHECK:       llvm.func @long_sum(
func.func @long_sum(%a: tensor<100003xf32>) -> tensor<f32> {
  %s = dgc.reduce sum %a dims [0] : tensor<100003xf32>
  return %s : tensor<f32>
}

// -----

// A maximum is exact in one loop, whatever its length.

// CHECK-LABEL: func.func private @long_maximum_body
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:       llvm.func @long_maximum(
func.func @long_maximum(%a: tensor<100003xf32>) -> tensor<f32> {
  %s = dgc.reduce max %a dims [0] : tensor<100003xf32>
  return %s : tensor<f32>
}

// -----

// A long sum over rows: the partial sums of a block are in scratch memory, which is set to zero before the block and
// added to the result behind it.

// CHECK-LABEL: func.func private @long_columns_body
// CHECK:         %[[PARTS:.+]] = llvm.alloca %{{.*}} x f32
// CHECK:         scf.for
// CHECK:           llvm.store
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             llvm.getelementptr %[[PARTS]]
// CHECK:             llvm.store
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               llvm.getelementptr %[[PARTS]]
// CHECK:               llvm.store
// CHECK:           scf.for
// CHECK:             %[[FROM:.+]] = llvm.getelementptr %[[PARTS]]
// CHECK:             llvm.load %[[FROM]]
// CHECK:             llvm.load
// CHECK:             arith.addf
// CHECK:             llvm.store
// CHECK:       llvm.func @long_columns(
func.func @long_columns(%a: tensor<1024x100xf32>) -> tensor<100xf32> {
  %s = dgc.reduce sum %a dims [0] : tensor<1024x100xf32>
  return %s : tensor<100xf32>
}
