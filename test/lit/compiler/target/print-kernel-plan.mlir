// RUN: dgc-opt %s --dgc-print-kernel-plan=target=x86-64-v3 -o /dev/null | FileCheck %s --check-prefix=CPU --match-full-lines --strict-whitespace
// RUN: dgc-opt %s --dgc-print-kernel-plan=target=cuda:sm_90 -o /dev/null | FileCheck %s --check-prefix=GPU --match-full-lines --strict-whitespace
// RUN: dgc-opt %s --dgc-print-kernel-plan -o - | FileCheck %s --check-prefix=SAME
// RUN: not dgc-opt %s --dgc-print-kernel-plan=target=nope 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not dgc-opt %s --dgc-print-kernel-plan=target=reference 2>&1 | FileCheck %s --check-prefix=NONE

// What kernels are written from, without writing them. The module stays as it is.

// SAME-COUNT-2: dgc.exponential
// UNKNOWN: error: unknown target 'nope'; known are
// NONE: error: target 'reference' has no kernel plans

// Rows: on GPUs a warp for each, whose threads keep their elements in registers.

//CPU:kernel @softmax: extent 64
//CPU-NEXT:  segment 0: rows of 64, 64 parts
//CPU-NEXT:    nest: reduction 0 over d1 < 1024
//CPU-NEXT:    nest: elementwise 1, reduction 2 over d1 < 1024
//CPU-NEXT:    nest: elementwise 3 over d1 < 1024
//CPU-NEXT:  scratch: root 0, 1 elements of a row
//CPU-NEXT:  scratch: root 1, 1024 elements of a row
//CPU-NEXT:  scratch: root 2, 1 elements of a row
//GPU:kernel @softmax: indices of 32 bits, workspace of 0 bytes
//GPU-NEXT:  segment 0: a group of 32 threads for each of 64 points, d0 < 64; rows stay in registers, 4 at a time
//GPU-NEXT:    nest: reduction 0 over d1 < 1024; 256 items of 4
//GPU-NEXT:    nest: elementwise 1, reduction 2 over d1 < 1024; 256 items of 4
//GPU-NEXT:    nest: elementwise 3 over d1 < 1024; 256 items of 4
//GPU-NEXT:  grid 0: 8 blocks of 256 threads: segment 0
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

// Rows that registers do not hold are read twice: the sum follows a running maximum. Its long chains are cut into blocks.

//CPU:kernel @online: extent 8
//CPU-NEXT:  segment 0: rows of 8, 8 parts
//CPU-NEXT:    nest: reduction 0 over d1 < 65536
//CPU-NEXT:    nest: elementwise 1, reduction 2 over d1 < 65536, d1 in blocks of 2048
//CPU-NEXT:    nest: elementwise 3 over d1 < 65536
//CPU-NEXT:  scratch: root 0, 1 elements of a row
//CPU-NEXT:  scratch: root 1, 65536 elements of a row
//CPU-NEXT:  scratch: root 2, 1 elements of a row
//GPU:kernel @online: indices of 32 bits, workspace of 0 bytes
//GPU-NEXT:  segment 0: a group of 512 threads for each of 8 points, d0 < 8
//GPU-NEXT:    nest: reduction 0, reduction 1 over d1 < 65536; 16384 items of 4, 4 at a time, in blocks of 4; sum 1 follows the running maximum 0
//GPU-NEXT:    barrier
//GPU-NEXT:    nest: elementwise 2 over d1 < 65536; 16384 items of 4, 4 at a time
//GPU-NEXT:  grid 0: 8 blocks of 512 threads: segment 0
//GPU-NEXT:  shared memory: root 0, a row for each group of segment 0
//GPU-NEXT:  shared memory: root 1, a row for each group of segment 0
func.func @online(%a: tensor<8x65536xf32>) -> tensor<8x65536xf32> {
  %m = dgc.reduce max %a dims [1] : tensor<8x65536xf32>
  %mb = dgc.broadcast_in_dim %m dims [0] to [8, 65536] : tensor<8xf32>
  %d = dgc.subtract %a, %mb : tensor<8x65536xf32>
  %e = dgc.exponential %d : tensor<8x65536xf32>
  %s = dgc.reduce sum %e dims [1] : tensor<8x65536xf32>
  %sb = dgc.broadcast_in_dim %s dims [0] to [8, 65536] : tensor<8xf32>
  %r = dgc.divide %e, %sb : tensor<8x65536xf32>
  return %r : tensor<8x65536xf32>
}

// A sum over rows of a matrix with many columns.

//CPU:kernel @columns: extent 782
//CPU-NEXT:  segment 0: 782 parts of 64 of d1
//CPU-NEXT:    nest: reduction 0 over d0 < 300, d1 < 50000, d0 8 at a time
//GPU:kernel @columns: indices of 32 bits, workspace of 0 bytes
//GPU-NEXT:  segment 0: a column of 8 threads for each of 50000 points, d1 < 50000, 4 at a time
//GPU-NEXT:    nest: reduction 0 over d0 < 300; 300 items, 4 at a time
//GPU-NEXT:  grid 0: 391 blocks of 256 threads: segment 0
func.func @columns(%a: tensor<300x50000xf32>) -> tensor<50000xf32> {
  %s = dgc.reduce sum %a dims [0] : tensor<300x50000xf32>
  return %s : tensor<50000xf32>
}

// With few columns several blocks have a part of the rows each, and a second grid adds the parts.

//CPU:kernel @few_columns: extent 2
//CPU-NEXT:  segment 0: 2 parts of 64 of d1
//CPU-NEXT:    nest: reduction 0 over d0 < 4096, d1 < 100, d0 4 at a time, d0 in blocks of 256 with 100 partial sums of root 0
//GPU:kernel @few_columns: indices of 32 bits, workspace of 12800 bytes
//GPU-NEXT:  segment 0: a column of 8 threads for each of 100 points, d1 < 100; 32 parts
//GPU-NEXT:    nest: reduction 0 over d0 < 4096; 4096 items, 8 at a time
//GPU-NEXT:  grid 0: 128 blocks of 256 threads: segment 0
//GPU-NEXT:  grid 1: 1 blocks of 256 threads: the parts of segment 0
//GPU-NEXT:  workspace: parts of root 0 at 0
func.func @few_columns(%a: tensor<4096x100xf32>) -> tensor<100xf32> {
  %s = dgc.reduce sum %a dims [0] : tensor<4096x100xf32>
  return %s : tensor<100xf32>
}

// So it is with a long sum along memory.

//CPU:kernel @norm: extent 1
//CPU-NEXT:  segment 0: one part
//CPU-NEXT:    nest: reduction 0 over d1 < 1000000, d1 in blocks of 63488, 2048
//GPU:kernel @norm: indices of 32 bits, workspace of 512 bytes
//GPU-NEXT:  segment 0: a group of 256 threads for each of 1 point; 123 parts
//GPU-NEXT:    nest: reduction 0 over d1 < 1000000; 250000 items of 4, 4 at a time
//GPU-NEXT:  grid 0: 123 blocks of 256 threads: segment 0
//GPU-NEXT:  grid 1: 1 blocks of 256 threads: the parts of segment 0
//GPU-NEXT:  workspace: parts of root 0 at 0
func.func @norm(%a: tensor<1000x1000xf32>) -> tensor<f32> {
  %0 = dgc.multiply %a, %a : tensor<1000x1000xf32>
  %s = dgc.reduce sum %0 dims [0, 1] : tensor<1000x1000xf32>
  return %s : tensor<f32>
}

// What is read lies along another loop than the result.

//CPU:kernel @transpose: extent 8
//CPU-NEXT:  segment 0: 8 parts of 32 of d0
//CPU-NEXT:    nest: elementwise 0 over d0 < 256, d1 < 128
//GPU:kernel @transpose: indices of 32 bits, workspace of 0 bytes
//GPU-NEXT:  segment 0: a block for each tile of 32 of d0 < 256, d1 < 128; for each of 1 point; in shared memory: argument 0
//GPU-NEXT:    nest: elementwise 0
//GPU-NEXT:  grid 0: 32 blocks of 256 threads: segment 0
func.func @transpose(%a: tensor<128x256xf32>) -> tensor<256x128xf32> {
  %0 = dgc.transpose %a permutation [1, 0] : tensor<128x256xf32>
  %1 = dgc.tanh %0 : tensor<256x128xf32>
  return %1 : tensor<256x128xf32>
}

// A sum of few addends, which are searched for.

//CPU:kernel @scatter: extent 500
//CPU-NEXT:  segment 0: 500 parts of 1 of d0
//CPU-NEXT:    nest: reduction 0 over d0 < 500, d1 < 1000, d2 < 100, d1 4 at a time, d1 in blocks of 252 with 100 partial sums of root 0
//GPU:kernel @scatter: indices of 32 bits, workspace of 0 bytes
//GPU-NEXT:  segment 0: a block for each of 500 points, d0 < 500; a thread for each element of d2 < 100
//GPU-NEXT:    nest: reduction 0 searches d1 < 1000
//GPU-NEXT:  grid 0: 500 blocks of 128 threads: segment 0
func.func @scatter(%i: tensor<1000xi32>, %u: tensor<1000x100xf32>) -> tensor<500x100xf32> {
  %0 = dgc.scatter_add %i, %u dim 0 size 500 : tensor<1000xi32>, tensor<1000x100xf32>
  return %0 : tensor<500x100xf32>
}

// One loop over all elements; on GPUs in accesses of 16 bytes.

//CPU:kernel @chain: extent 32
//CPU-NEXT:  segment 0: 32 parts of 4096 of d1
//CPU-NEXT:    nest: elementwise 0 over d1 < 131072
//GPU:kernel @chain: indices of 32 bits, workspace of 0 bytes
//GPU-NEXT:  segment 0: a thread for each of 131072 points, d1 < 131072, 4 at a time
//GPU-NEXT:    nest: elementwise 0 over no loops
//GPU-NEXT:  grid 0: 128 blocks of 256 threads: segment 0
func.func @chain(%a: tensor<256x512xf32>, %b: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %0 = dgc.multiply %a, %b : tensor<256x512xf32>
  %1 = dgc.tanh %0 : tensor<256x512xf32>
  return %1 : tensor<256x512xf32>
}

// Two results that do not depend on each other share a grid; what needs one of them comes in the next.

//CPU:kernel @grids: extent 1, one segment after the other
//CPU-NEXT:  segment 0: one part
//CPU-NEXT:    nest: reduction 0 over d0 < 300, d1 < 8, d0 8 at a time
//CPU-NEXT:  segment 1: one part
//CPU-NEXT:    nest: elementwise 1 over d0 < 512
//CPU-NEXT:  segment 2: one part
//CPU-NEXT:    nest: elementwise 2 over d0 < 300, d1 < 8
//GPU:kernel @grids: indices of 32 bits, workspace of 0 bytes
//GPU-NEXT:  segment 0: a column of 8 threads for each of 8 points, d1 < 8
//GPU-NEXT:    nest: reduction 0 over d0 < 300; 300 items, 8 at a time
//GPU-NEXT:  segment 1: a thread for each of 512 points, d0 < 512, 4 at a time
//GPU-NEXT:    nest: elementwise 1 over no loops
//GPU-NEXT:  segment 2: a thread for each of 2400 points, d0 < 300, d1 < 8, 4 at a time
//GPU-NEXT:    nest: elementwise 2 over no loops
//GPU-NEXT:  grid 0: 2 blocks of 256 threads: segment 0, segment 1
//GPU-NEXT:  grid 1: 3 blocks of 256 threads: segment 2
func.func @grids(%a: tensor<300x8xf32>, %b: tensor<512xf32>) -> (tensor<8xf32>, tensor<512xf32>, tensor<300x8xf32>) {
  %s = dgc.reduce sum %a dims [0] : tensor<300x8xf32>
  %t = dgc.multiply %b, %b : tensor<512xf32>
  %w = dgc.broadcast_in_dim %s dims [1] to [300, 8] : tensor<8xf32>
  %d = dgc.divide %a, %w : tensor<300x8xf32>
  return %s, %t, %d : tensor<8xf32>, tensor<512xf32>, tensor<300x8xf32>
}

// The windows of an image are many sums inside a row of it: they are a segment of their own on GPUs. A thread has the few
// windows of an element of the gradient, and what is made of their sum.

//CPU:kernel @max_pool_grad: extent 2
//GPU:kernel @max_pool_grad: indices of 32 bits, workspace of 46080 bytes
//GPU-NEXT:  segment 0: a thread for each of 5700 points, d0 < 2, d1 < 19, d2 < 15, d3 < 10
//GPU-NEXT:    nest: reduction 0 over d4 < 3, d5 < 3
//GPU-NEXT:  segment 1: a thread for each of 22040 points, d0 < 2, d1 < 38, d2 < 29, d3 < 10
//GPU-NEXT:    nest: reduction 1 over d4 < 3, d5 < 3
//GPU-NEXT:    nest: elementwise 2 over no loops
//GPU-NEXT:  grid 0: 23 blocks of 256 threads: segment 0
//GPU-NEXT:  grid 1: 87 blocks of 256 threads: segment 1
func.func @max_pool_grad(%x: tensor<2x38x29x10xf32>, %g: tensor<2x19x15x10xf32>) -> tensor<2x38x29x10xbf16> {
  %0 = dgc.max_pool_grad %x, %g window [1, 3, 3, 1] strides [1, 2, 2, 1] padding [[0, 0], [1, 1], [1, 1], [0, 0]]
      : tensor<2x38x29x10xf32>, tensor<2x19x15x10xf32>
  %1 = dgc.convert %0 to bf16 : tensor<2x38x29x10xf32>
  return %1 : tensor<2x38x29x10xbf16>
}

// An update overwrites the weights that the momentum of the same loop reads, beside a variable of another shape.

//CPU:kernel @updates: extent {{.*}}
//GPU:kernel @updates: indices of 32 bits, workspace of 0 bytes
//GPU-NEXT:  segment 0: a thread for each of 2048 points, d1 < 2048, 4 at a time
//GPU-NEXT:    nest: elementwise 0, elementwise 1 over no loops
//GPU-NEXT:  segment 1: a thread for each of 100 points, d0 < 100, 4 at a time
//GPU-NEXT:    nest: elementwise 2 over no loops
//GPU-NEXT:  grid 0: 3 blocks of 256 threads: segment 0, segment 1
func.func @updates(%g: tensor<32x64xf32>, %m: tensor<32x64xf32>, %w: tensor<32x64xf32>, %b: tensor<100xf32>)
    -> (tensor<32x64xf32>, tensor<32x64xf32>, tensor<100xf32>) attributes {dgc.inplace = array<i64: 1, 2, 3>} {
  %0 = dgc.add %g, %w : tensor<32x64xf32>
  %1 = dgc.add %m, %0 : tensor<32x64xf32>
  %2 = dgc.subtract %w, %1 : tensor<32x64xf32>
  %3 = dgc.add %b, %b : tensor<100xf32>
  return %1, %2, %3 : tensor<32x64xf32>, tensor<32x64xf32>, tensor<100xf32>
}

// The gradient of a padded row follows the sum of it: vectors up to the padding, and the end one by one.

//CPU:kernel @padded_rows: extent {{.*}}
//GPU:kernel @padded_rows: indices of 32 bits, workspace of 0 bytes
//GPU-NEXT:  segment 0: a group of 512 threads for each of 8 points, d0 < 8
//GPU-NEXT:    nest: reduction 0 over d1 < 65537; 16384 items of 4, 4 at a time, in blocks of 4; 1 items from d1 = 65536
//GPU-NEXT:    barrier
//GPU-NEXT:    nest: elementwise 1 over d1 < 65544; 16384 items of 4, where d1 < 65537, 8 at a time; 8 items from d1 = 65536
//GPU-NEXT:  grid 0: 8 blocks of 512 threads: segment 0
//GPU-NEXT:  shared memory: root 0, a row for each group of segment 0
func.func @padded_rows(%x: tensor<8x65544xf32>) -> tensor<8x65544xf32> {
  %0 = dgc.slice %x from [0, 0] to [8, 65537] : tensor<8x65544xf32>
  %1 = dgc.reduce sum %0 dims [1] : tensor<8x65537xf32>
  %2 = dgc.broadcast_in_dim %1 dims [0] to [8, 65537] : tensor<8xf32>
  %3 = dgc.divide %0, %2 : tensor<8x65537xf32>
  %4 = dgc.constant dense<0.0> : tensor<f32>
  %5 = dgc.pad %3, %4 low [0, 0] high [0, 7] : tensor<8x65537xf32>, tensor<f32>
  return %5 : tensor<8x65544xf32>
}
