// RUN: env DGC_PTXAS=none dgc-opt --dgc-lower-kernels-to-ptx=print %s | FileCheck %s
// RUN: env DGC_PTXAS=none dgc-opt --dgc-lower-kernels-to-ptx=print %s | FileCheck %s --check-prefix=NEVER
// RUN: env DGC_PTXAS=none dgc-opt --dgc-lower-kernels-to-ptx="print target=sm_80" %s | FileCheck %s --check-prefix=SM80
// RUN: env DGC_PTXAS=none dgc-opt --dgc-lower-kernels-to-ptx %s | FileCheck %s --check-prefix=LAUNCH

// NVIDIA's assembler takes it.
// RUN: %if ptxas %{ env DGC_PTXAS=none dgc-opt --dgc-lower-kernels-to-ptx=print %s -o /dev/null > %t.ptx && ptxas -v --gpu-name=sm_90 %t.ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=PTXAS --implicit-check-not="{{[1-9][0-9]* bytes (stack|spill)}}" --implicit-check-not="Used {{6[5-9]|[7-9][0-9]|[0-9][0-9][0-9]+}} registers" %}
// Nothing is spilled, and a multiprocessor has room for 1024 threads of each kernel, which may have 64 registers then.
// PTXAS: 0 bytes stack frame

// No kernel has memory of a thread, atomics, or functions.
// NEVER-NOT: .local
// NEVER-NOT: atom.
// NEVER-NOT: red.global
// NEVER-NOT: .func
// SM80: .target sm_80
// CHECK: .target sm_90

// An elementwise chain: four elements for each thread, in one access of 16 bytes of each operand.
// CHECK-LABEL: .entry chain_0(
// CHECK: .reqntid 256
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: ret;
func.func @chain(%a: tensor<256x512xf32>, %b: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %0 = dgc.multiply %a, %b : tensor<256x512xf32>
  %1 = dgc.tanh %0 : tensor<256x512xf32>
  return %1 : tensor<256x512xf32>
}

// Elements of other sizes in accesses of theirs; the number of elements need not be one of blocks.
// CHECK-LABEL: .entry bytes_0(
// CHECK: setp.
// CHECK: ld.global.nc.b32
// CHECK: st.global.v4.b32
// CHECK: ret;
func.func @bytes(%a: tensor<100x28xui8>) -> tensor<100x28xf32> {
  %0 = dgc.convert %a to f32 : tensor<100x28xui8>
  return %0 : tensor<100x28xf32>
}

// Two variables are updated by one grid, in place: what is written there may not be read around the caches.
// CHECK-LABEL: .entry update_0(
// CHECK: ld.global.v4.b32
// CHECK: st.global.v4.b32
// CHECK: ret;
// CHECK-NOT: .entry update_1
func.func @update(%a: tensor<1024xf32>, %b: tensor<512x8xf32>, %da: tensor<1024xf32>, %db: tensor<512x8xf32>)
    -> (tensor<1024xf32>, tensor<512x8xf32>) attributes {dgc.inplace = array<i64: 0, 1>} {
  %0 = dgc.subtract %a, %da : tensor<1024xf32>
  %1 = dgc.subtract %b, %db : tensor<512x8xf32>
  return %0, %1 : tensor<1024xf32>, tensor<512x8xf32>
}

// A warp for each row of softmax, which is read once and stays in registers: no barrier, and no other memory. The 4000
// bytes of a row are 8 accesses of 32 threads with 16 bytes each; the maximum and the sum are 5 exchanges each, halving
// 32 threads.
// CHECK-LABEL: .entry softmax_0(
// CHECK-COUNT-8: ld.global.nc.v4.b32
// CHECK-NOT: ld.
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: ld.
// CHECK-NOT: bar.
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: {{bar|ld|shfl}}.
// CHECK-COUNT-8: st.global.v4.b32
// CHECK-NOT: {{bar|ld|st}}.
// CHECK: ret;
func.func @softmax(%x: tensor<64x1000xf32>) -> tensor<64x1000xf32> {
  %m = dgc.reduce max %x dims [1] : tensor<64x1000xf32>
  %mb = dgc.broadcast_in_dim %m dims [0] to [64, 1000] : tensor<64xf32>
  %s = dgc.subtract %x, %mb : tensor<64x1000xf32>
  %e = dgc.exponential %s : tensor<64x1000xf32>
  %t = dgc.reduce sum %e dims [1] : tensor<64x1000xf32>
  %tb = dgc.broadcast_in_dim %t dims [0] to [64, 1000] : tensor<64xf32>
  %r = dgc.divide %e, %tb : tensor<64x1000xf32>
  return %r : tensor<64x1000xf32>
}

// Rows that are too long for registers are read again in each pass, some elements at a time: twice, as the sum of
// exponentials is taken with a running maximum, for which it is multiplied once for eight elements: nine exponentials.
// What is quick to compute is not kept: there is no memory of the size of the rows. Each pass has a loop of eight elements
// and one for the rest of the row; the exchanges of the warps are those of the maximum and the sum.
// CHECK-LABEL: .entry long_rows_0(
// CHECK: .reqntid 512
// CHECK-COUNT-8: ld.global.nc.b32
// CHECK-COUNT-9: ex2.approx.f32
// CHECK-NOT: {{ex2|ld.global}}
// CHECK: bra
// CHECK: ld.global.nc.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-10: shfl.sync.bfly.b32
// CHECK-COUNT-8: ld.global.nc.b32
// CHECK-COUNT-8: st.global.b32
// CHECK-NOT: st.global
// CHECK: ld.global.nc.b32
// CHECK-NOT: ld.global
// CHECK: ret;
// CHECK-NOT: .entry long_rows_1
func.func @long_rows(%x: tensor<16x50257xf32>) -> tensor<16x50257xf32> {
  %m = dgc.reduce max %x dims [1] : tensor<16x50257xf32>
  %mb = dgc.broadcast_in_dim %m dims [0] to [16, 50257] : tensor<16xf32>
  %s = dgc.subtract %x, %mb : tensor<16x50257xf32>
  %e = dgc.exponential %s : tensor<16x50257xf32>
  %t = dgc.reduce sum %e dims [1] : tensor<16x50257xf32>
  %tb = dgc.broadcast_in_dim %t dims [0] to [16, 50257] : tensor<16xf32>
  %r = dgc.divide %e, %tb : tensor<16x50257xf32>
  return %r : tensor<16x50257xf32>
}

// A block for each long row: the threads of a warp exchange their sums, and those of the warps meet in shared memory,
// after one barrier.
// CHECK-LABEL: .entry rows_0(
// CHECK: ld.global.nc.v4.b32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: shfl
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK: ld.shared.b32
// CHECK: st.global.b32
// CHECK: ret;
func.func @rows(%x: tensor<16x8192xf32>) -> tensor<16xf32> {
  %0 = dgc.reduce sum %x dims [1] : tensor<16x8192xf32>
  return %0 : tensor<16xf32>
}

// The gradient of a bias: neighbouring threads read neighbouring columns, and the rows meet in shared memory.
// CHECK-LABEL: .entry columns_0(
// CHECK-NOT: shfl
// CHECK: ld.global.nc.b32
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK: ld.shared.b32
// CHECK: st.global.b32
// CHECK: ret;
func.func @columns(%x: tensor<128x512xf32>) -> tensor<512xf32> {
  %0 = dgc.reduce sum %x dims [0] : tensor<128x512xf32>
  return %0 : tensor<512xf32>
}

// Few columns of many rows are shared by blocks, whose threads take four columns each; a second grid adds what they have, in
// order: a thread for each column.
// CHECK-LABEL: .entry shared_columns_0(
// CHECK: .reqntid 256
// CHECK: ld.global.nc.v4.b32
// CHECK: bar.sync
// CHECK: st.global.b32
// CHECK: ret;
// CHECK-LABEL: .entry shared_columns_1(
// CHECK: .reqntid 256
// CHECK-NOT: {{bar|shfl}}.
// CHECK: st.global.b32
// CHECK: ret;
func.func @shared_columns(%x: tensor<8192x768xf32>) -> tensor<768xf32> {
  %0 = dgc.reduce sum %x dims [0] : tensor<8192x768xf32>
  return %0 : tensor<768xf32>
}

// So is a long sum over everything.
// CHECK-LABEL: .entry norm_0(
// CHECK: ld.global.nc.v4.b32
// CHECK: shfl.sync.bfly.b32
// CHECK: ret;
// CHECK-LABEL: .entry norm_1(
// CHECK: shfl.sync.bfly.b32
// CHECK: ret;
// CHECK-LABEL: .entry norm_2(
// CHECK: sqrt.rn.f32
// CHECK: ret;
func.func @norm(%x: tensor<4096x768xf32>) -> tensor<f32> {
  %0 = dgc.multiply %x, %x : tensor<4096x768xf32>
  %1 = dgc.reduce sum %0 dims [0, 1] : tensor<4096x768xf32>
  %2 = dgc.sqrt %1 : tensor<f32>
  return %2 : tensor<f32>
}

// What depends on a sum over everything is a grid of its own.
// CHECK-LABEL: .entry mean_0(
// CHECK: shfl.sync.bfly.b32
// CHECK: ret;
// CHECK-LABEL: .entry mean_1(
// CHECK: ret;
func.func @mean(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %0 = dgc.reduce sum %x dims [0, 1] : tensor<64x256xf32>
  %1 = dgc.broadcast_in_dim %0 dims [] to [64, 256] : tensor<f32>
  %2 = dgc.divide %x, %1 : tensor<64x256xf32>
  return %2 : tensor<64x256xf32>
}

// A transposition reads one element at a time and writes four together.
// CHECK-LABEL: .entry transpose_0(
// CHECK-COUNT-4: ld.global.nc.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: ret;
func.func @transpose(%x: tensor<64x128xf32>) -> tensor<128x64xf32> {
  %0 = dgc.transpose %x permutation [1, 0] : tensor<64x128xf32>
  return %0 : tensor<128x64xf32>
}

// Sums of the slices that are meant for a row: a block for each row looks for them, by bits of a warp, and adds in order.
// CHECK-LABEL: .entry slices_0(
// CHECK: .reqntid 128
// CHECK: vote.sync.ballot.b32
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK: popc.b32
// CHECK-NOT: atom.
// CHECK: st.global.b32
// CHECK: ret;
func.func @slices(%i: tensor<1000xi32>, %u: tensor<1000x100xf32>) -> tensor<500x100xf32> {
  %0 = dgc.scatter_add %i, %u dim 0 size 500 : tensor<1000xi32>, tensor<1000x100xf32>
  return %0 : tensor<500x100xf32>
}

// The exponential function is the instruction for 2^x, quotients are quick ones, and bf16 is converted by instructions, two
// at a time.
// CHECK-LABEL: .entry functions_0(
// CHECK: ld.global.nc.v4.b32
// CHECK: ex2.approx.f32
// CHECK: div.full.f32
// CHECK: cvt.rn.bf16x2.f32
// CHECK: st.global.v4.b32
// CHECK: ret;
func.func @functions(%x: tensor<4096xbf16>) -> tensor<4096xbf16> {
  %0 = dgc.convert %x to f32 : tensor<4096xbf16>
  %1 = dgc.exponential %0 : tensor<4096xf32>
  %2 = dgc.divide %1, %0 : tensor<4096xf32>
  %3 = dgc.convert %2 to bf16 : tensor<4096xf32>
  return %3 : tensor<4096xbf16>
}

// A value of each row and the row itself are updated together: the momentum that the thread has just computed is used,
// not the one in memory, which is written later. So momentum, gradient and bias are read, each once, before the momentum
// and the bias are stored; the rows follow when all threads of the warp have stored theirs.
// CHECK-LABEL: .entry update_rows_0(
// CHECK-COUNT-3: ld.global
// CHECK-NOT: ld.global
// CHECK-COUNT-2: st.global
// CHECK-NOT: {{ld|st}}.global
// CHECK: bar.warp.sync
// CHECK: ret;
func.func @update_rows(%m: tensor<128xf32>, %g: tensor<1408xf32>, %b: tensor<128xf32>, %w: tensor<128x10xf32>)
    -> (tensor<128xf32>, tensor<128xf32>, tensor<128x10xf32>) attributes {dgc.inplace = array<i64: 0, 2, 3>} {
  %0 = dgc.slice %g from [0] to [128] : tensor<1408xf32>
  %1 = dgc.slice %g from [128] to [1408] : tensor<1408xf32>
  %2 = dgc.reshape %1 to [128, 10] : tensor<1280xf32>
  %3 = dgc.add %m, %0 : tensor<128xf32>
  %rate = dgc.constant dense<0.1> : tensor<128xf32>
  %4 = dgc.multiply %3, %rate : tensor<128xf32>
  %5 = dgc.subtract %b, %4 : tensor<128xf32>
  %6 = dgc.subtract %w, %2 : tensor<128x10xf32>
  return %3, %5, %6 : tensor<128xf32>, tensor<128xf32>, tensor<128x10xf32>
}

// The grids of all kernels in the order in which they run, with their blocks and the threads of a block, and what each
// kernel takes of memory beside its arguments: only parts of sums take some. Which grids there are is tested in
// codegen_cuda_test.
// LAUNCH: module attributes {
// LAUNCH-SAME: dgc.launches = {{\[\[}}"chain_0", [[#div(mul(256, 512), mul(4, 256))]], 256], ["bytes_0",
// LAUNCH-SAME: ["shared_columns_0", {{[0-9]+}}, {{[0-9]+}}], ["shared_columns_1", {{[0-9]+}}, {{[0-9]+}}],
// LAUNCH-SAME: ["norm_0", {{[0-9]+}}, 256], ["norm_1", 1, {{[0-9]+}}], ["norm_2", 1, {{[0-9]+}}],
// LAUNCH-SAME: dgc.ptx = {sm_90 =
// LAUNCH-SAME: dgc.workspace = [0, 0, 0, 0, 0, 0, 0, {{[1-9][0-9]*}}, {{[1-9][0-9]*}},
