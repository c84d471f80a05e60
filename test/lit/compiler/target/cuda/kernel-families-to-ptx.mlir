// RUN: env DGC_PTXAS=none dgc-opt --dgc-lower-kernels-to-ptx=print %s -o /dev/null > %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=NEVER < %t.ptx
// RUN: FileCheck %s --check-prefix=WARP < %t.ptx
// RUN: FileCheck %s --check-prefix=ONCE < %t.ptx

// What the models of the language are made of, each read once and in accesses of 16 bytes.
// RUN: %if ptxas %{ ptxas -v --gpu-name=sm_90 %t.ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=PTXAS --implicit-check-not="{{[1-9][0-9]* bytes (stack|spill)}}" --implicit-check-not="Used {{6[5-9]|[7-9][0-9]|[0-9][0-9][0-9]+}} registers" %}
// Nothing is spilled, and a multiprocessor has room for 1024 threads of each kernel, which may have 64 registers then.
// PTXAS: 0 bytes stack frame

// NEVER-NOT: .local
// NEVER-NOT: atom.
// NEVER-NOT: red.global
// NEVER-NOT: .func

// The numbers of accesses are those of a warp that has a row, 512 bytes at a time: 32 threads with 16 bytes each. A sum
// or a maximum of a warp is 5 exchanges, halving 32 threads.

// The threads of a warp need no barrier and no shared memory.
// WARP-LABEL: .entry layer_norm_0(
// WARP-NOT: {{bar|shared}}
// WARP: ret;
// WARP-LABEL: .entry cross_entropy_0(
// WARP-NOT: {{bar|shared}}
// WARP: ret;

// A row of 2048 bytes is read and written once, and between are its two sums. Scale and offset, of 4096 bytes each, are
// read once as well.
// ONCE-LABEL: .entry layer_norm_0(
// ONCE-COUNT-20: ld.global
// ONCE-NOT: ld.global
// ONCE: ret;
// CHECK-LABEL: .entry layer_norm_0(
// CHECK-COUNT-4: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-10: shfl.sync.bfly.b32
// CHECK-NOT: shfl
// CHECK: cvt.rn.bf16x2.f32
// CHECK-COUNT-4: st.global.v4.b32
// CHECK-NOT: {{shfl|(ld|st).global}}
// CHECK: ret;
// A row of 3072 bytes, for its maximum, two sums, the loss and the gradient.
// ONCE-LABEL: .entry cross_entropy_0(
// ONCE-COUNT-6: ld.global
// ONCE-NOT: ld.global
// ONCE: ret;
// CHECK-LABEL: .entry cross_entropy_0(
// CHECK-COUNT-6: ld.global.nc.v4.b32
// CHECK-COUNT-15: shfl.sync.bfly.b32
// CHECK-NOT: shfl
// CHECK: st.global.b32
// CHECK-COUNT-6: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: ret;
// An array that is updated in place is not read around the caches; each thread has one access of it.
// CHECK-LABEL: .entry gelu_0(
// CHECK: ld.global.v4.b32
// CHECK-NOT: ld.global.v4
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: ret;
// Three arrays that are updated in place: all three are read before the first is stored.
// CHECK-LABEL: .entry adamw_0(
// CHECK-COUNT-3: ld.global.v4.b32
// CHECK-NOT: ld.global.v4
// CHECK-COUNT-3: st.global.v4.b32
// CHECK-NOT: {{ld|st}}.global
// CHECK: ret;
// The number of a row, and 16 bytes of the row.
// CHECK-LABEL: .entry gather_0(
// CHECK: ld.global.nc.b32
// CHECK: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK: ret;
// Threads side by side take channels side by side: one of each of the four elements of a window.
// CHECK-LABEL: .entry pool_0(
// CHECK-COUNT-4: ld.global.nc.b32
// CHECK-NOT: ld.global
// CHECK: st.global.b32
// CHECK: ret;
// Philox in products of 64 bits; four numbers for each thread; nothing is read but the key, which is two numbers.
// CHECK-LABEL: .entry rng_0(
// CHECK-COUNT-2: ld.global.nc.b64
// CHECK-NOT: ld.global
// CHECK: mul.lo.s64
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NOT: {{ld|st}}.global
// CHECK: ret;
// The loss of rows that are too long to be kept: they are read once all the same, with a running maximum that the sum of
// exponentials and the difference of the label follow. A round takes two vectors: an exponential for each of their 16
// elements, and one by which the sums of before are multiplied.
// CHECK-LABEL: .entry long_loss_0(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-17: ex2.approx.f32
// CHECK-NOT: {{ld.global|ex2}}
// CHECK: bra
// CHECK-NOT: ld.global
// CHECK-COUNT-15: shfl.sync.bfly.b32
// CHECK-NOT: {{ld.global|shfl}}
// CHECK: st.global.b32
// CHECK: ret;

func.func @layer_norm(%arg0: tensor<64x1024xbf16>, %arg1: tensor<1024xf32>, %arg2: tensor<1024xf32>) -> tensor<64x1024xbf16> {
  %0 = dgc.convert %arg0 to f32 : tensor<64x1024xbf16>
  %1 = dgc.reduce sum %0 dims [1] : tensor<64x1024xf32>
  %2 = dgc.constant dense<9.765625E-4> : tensor<64xf32>
  %3 = dgc.multiply %1, %2 : tensor<64xf32>
  %4 = dgc.broadcast_in_dim %3 dims [0] to [64, 1024] : tensor<64xf32>
  %5 = dgc.subtract %0, %4 : tensor<64x1024xf32>
  %6 = dgc.multiply %5, %5 : tensor<64x1024xf32>
  %7 = dgc.reduce sum %6 dims [1] : tensor<64x1024xf32>
  %8 = dgc.multiply %7, %2 : tensor<64xf32>
  %9 = dgc.constant dense<9.99999974E-6> : tensor<64xf32>
  %10 = dgc.add %8, %9 : tensor<64xf32>
  %11 = dgc.rsqrt %10 : tensor<64xf32>
  %12 = dgc.broadcast_in_dim %11 dims [0] to [64, 1024] : tensor<64xf32>
  %13 = dgc.multiply %5, %12 : tensor<64x1024xf32>
  %14 = dgc.broadcast_in_dim %arg1 dims [1] to [64, 1024] : tensor<1024xf32>
  %15 = dgc.multiply %13, %14 : tensor<64x1024xf32>
  %16 = dgc.broadcast_in_dim %arg2 dims [1] to [64, 1024] : tensor<1024xf32>
  %17 = dgc.add %15, %16 : tensor<64x1024xf32>
  %18 = dgc.convert %17 to bf16 : tensor<64x1024xf32>
  return %18 : tensor<64x1024xbf16>
}

func.func @cross_entropy(%arg0: tensor<64x768xf32>) -> (tensor<64xf32>, tensor<64x768xf32>) {
  %0 = dgc.iota dim 0 : tensor<64xi32>
  %1 = dgc.constant dense<767> : tensor<64xi32>
  %2 = dgc.and %0, %1 : tensor<64xi32>
  %3 = dgc.reduce max %arg0 dims [1] : tensor<64x768xf32>
  %4 = dgc.broadcast_in_dim %3 dims [0] to [64, 768] : tensor<64xf32>
  %5 = dgc.subtract %arg0, %4 : tensor<64x768xf32>
  %6 = dgc.exponential %5 : tensor<64x768xf32>
  %7 = dgc.reduce sum %6 dims [1] : tensor<64x768xf32>
  %8 = dgc.log %7 : tensor<64xf32>
  %9 = dgc.iota dim 1 : tensor<64x768xi32>
  %10 = dgc.broadcast_in_dim %2 dims [0] to [64, 768] : tensor<64xi32>
  %11 = dgc.compare  eq %9, %10 : tensor<64x768xi32>
  %12 = dgc.constant dense<0.000000e+00> : tensor<64x768xf32>
  %13 = dgc.select %11, %5, %12 : tensor<64x768xi1>, tensor<64x768xf32>, tensor<64x768xf32>
  %14 = dgc.reduce sum %13 dims [1] : tensor<64x768xf32>
  %15 = dgc.subtract %8, %14 : tensor<64xf32>
  %16 = dgc.constant dense<3.05175781E-5> : tensor<64xf32>
  %17 = dgc.divide %16, %7 : tensor<64xf32>
  %18 = dgc.broadcast_in_dim %17 dims [0] to [64, 768] : tensor<64xf32>
  %19 = dgc.multiply %6, %18 : tensor<64x768xf32>
  %20 = dgc.constant dense<3.05175781E-5> : tensor<64x768xf32>
  %21 = dgc.subtract %19, %20 : tensor<64x768xf32>
  %22 = dgc.select %11, %21, %19 : tensor<64x768xi1>, tensor<64x768xf32>, tensor<64x768xf32>
  return %15, %22 : tensor<64xf32>, tensor<64x768xf32>
}

func.func @gelu(%arg0: tensor<64x1024xbf16>, %arg1: tensor<1024xf32>) -> tensor<64x1024xbf16> attributes {dgc.inplace = array<i64: 0>} {
  %0 = dgc.convert %arg0 to f32 : tensor<64x1024xbf16>
  %1 = dgc.broadcast_in_dim %arg1 dims [1] to [64, 1024] : tensor<1024xf32>
  %2 = dgc.add %0, %1 : tensor<64x1024xf32>
  %3 = dgc.multiply %2, %2 : tensor<64x1024xf32>
  %4 = dgc.constant dense<4.471500e-02> : tensor<64x1024xf32>
  %5 = dgc.multiply %3, %4 : tensor<64x1024xf32>
  %6 = dgc.constant dense<1.000000e+00> : tensor<64x1024xf32>
  %7 = dgc.add %5, %6 : tensor<64x1024xf32>
  %8 = dgc.multiply %2, %7 : tensor<64x1024xf32>
  %9 = dgc.constant dense<0.797884583> : tensor<64x1024xf32>
  %10 = dgc.multiply %8, %9 : tensor<64x1024xf32>
  %11 = dgc.tanh %10 : tensor<64x1024xf32>
  %12 = dgc.constant dense<5.000000e-01> : tensor<64x1024xf32>
  %13 = dgc.multiply %11, %12 : tensor<64x1024xf32>
  %14 = dgc.add %13, %12 : tensor<64x1024xf32>
  %15 = dgc.multiply %2, %14 : tensor<64x1024xf32>
  %16 = dgc.multiply %15, %12 : tensor<64x1024xf32>
  %17 = dgc.convert %16 to bf16 : tensor<64x1024xf32>
  return %17 : tensor<64x1024xbf16>
}

func.func @adamw(%arg0: tensor<64x1024xbf16>, %arg1: tensor<i64>, %arg2: tensor<64x1024xf32>, %arg3: tensor<64x1024xf32>, %arg4: tensor<64x1024xf32>) -> (tensor<64x1024xf32>, tensor<64x1024xf32>, tensor<64x1024xf32>) attributes {dgc.inplace = array<i64: 2, 3, 4>} {
  %0 = dgc.convert %arg0 to f32 : tensor<64x1024xbf16>
  %1 = dgc.convert %arg1 to f32 : tensor<i64>
  %2 = dgc.constant dense<1.000000e+00> : tensor<f32>
  %3 = dgc.add %1, %2 : tensor<f32>
  %4 = dgc.constant dense<-0.105360515> : tensor<f32>
  %5 = dgc.multiply %3, %4 : tensor<f32>
  %6 = dgc.exponential_minus_one %5 : tensor<f32>
  %7 = dgc.negate %6 : tensor<f32>
  %8 = dgc.constant dense<1.000000e-03> : tensor<f32>
  %9 = dgc.divide %8, %7 : tensor<f32>
  %10 = dgc.constant dense<-0.00100050028> : tensor<f32>
  %11 = dgc.multiply %3, %10 : tensor<f32>
  %12 = dgc.exponential_minus_one %11 : tensor<f32>
  %13 = dgc.negate %12 : tensor<f32>
  %14 = dgc.rsqrt %13 : tensor<f32>
  %15 = dgc.constant dense<0.899999976> : tensor<64x1024xf32>
  %16 = dgc.multiply %arg2, %15 : tensor<64x1024xf32>
  %17 = dgc.constant dense<1.000000e-01> : tensor<64x1024xf32>
  %18 = dgc.multiply %0, %17 : tensor<64x1024xf32>
  %19 = dgc.add %16, %18 : tensor<64x1024xf32>
  %20 = dgc.constant dense<9.990000e-01> : tensor<64x1024xf32>
  %21 = dgc.multiply %arg3, %20 : tensor<64x1024xf32>
  %22 = dgc.multiply %0, %0 : tensor<64x1024xf32>
  %23 = dgc.constant dense<1.000000e-03> : tensor<64x1024xf32>
  %24 = dgc.multiply %22, %23 : tensor<64x1024xf32>
  %25 = dgc.add %21, %24 : tensor<64x1024xf32>
  %26 = dgc.sqrt %25 : tensor<64x1024xf32>
  %27 = dgc.broadcast_in_dim %14 dims [] to [64, 1024] : tensor<f32>
  %28 = dgc.multiply %26, %27 : tensor<64x1024xf32>
  %29 = dgc.constant dense<9.99999993E-9> : tensor<64x1024xf32>
  %30 = dgc.add %28, %29 : tensor<64x1024xf32>
  %31 = dgc.constant dense<1.00000005E-4> : tensor<64x1024xf32>
  %32 = dgc.multiply %arg4, %31 : tensor<64x1024xf32>
  %33 = dgc.subtract %arg4, %32 : tensor<64x1024xf32>
  %34 = dgc.broadcast_in_dim %9 dims [] to [64, 1024] : tensor<f32>
  %35 = dgc.multiply %19, %34 : tensor<64x1024xf32>
  %36 = dgc.divide %35, %30 : tensor<64x1024xf32>
  %37 = dgc.subtract %33, %36 : tensor<64x1024xf32>
  return %19, %25, %37 : tensor<64x1024xf32>, tensor<64x1024xf32>, tensor<64x1024xf32>
}

func.func @gather(%t: tensor<1000x768xf32>, %i: tensor<512xi32>) -> tensor<512x768xf32> {
  %0 = dgc.gather %t, %i dim 0 : tensor<1000x768xf32>, tensor<512xi32>
  return %0 : tensor<512x768xf32>
}

func.func @pool(%x: tensor<8x16x16x64xf32>) -> tensor<8x8x8x64xf32> {
  %0 = dgc.reduce_window max %x window [1, 2, 2, 1] strides [1, 2, 2, 1] padding [[0, 0], [0, 0], [0, 0], [0, 0]] : tensor<8x16x16x64xf32>
  return %0 : tensor<8x8x8x64xf32>
}

func.func @rng(%arg0: tensor<i64>, %arg1: tensor<i64>) -> tensor<256x512xui32> {
  %0 = dgc.rng_bit_generator %arg0, %arg1 id 3 : tensor<256x512xui32>
  return %0 : tensor<256x512xui32>
}

func.func @long_loss(%x: tensor<64x65536xbf16>, %label: tensor<64xi32>) -> tensor<64xf32> {
  %0 = dgc.convert %x to f32 : tensor<64x65536xbf16>
  %1 = dgc.reduce max %0 dims [1] : tensor<64x65536xf32>
  %2 = dgc.broadcast_in_dim %1 dims [0] to [64, 65536] : tensor<64xf32>
  %3 = dgc.subtract %0, %2 : tensor<64x65536xf32>
  %4 = dgc.exponential %3 : tensor<64x65536xf32>
  %5 = dgc.reduce sum %4 dims [1] : tensor<64x65536xf32>
  %6 = dgc.log %5 : tensor<64xf32>
  %7 = dgc.iota dim 1 : tensor<64x65536xi32>
  %8 = dgc.broadcast_in_dim %label dims [0] to [64, 65536] : tensor<64xi32>
  %9 = dgc.compare eq %7, %8 : tensor<64x65536xi32>
  %10 = dgc.constant dense<0.000000e+00> : tensor<64x65536xf32>
  %11 = dgc.select %9, %3, %10 : tensor<64x65536xi1>, tensor<64x65536xf32>, tensor<64x65536xf32>
  %12 = dgc.reduce sum %11 dims [1] : tensor<64x65536xf32>
  %13 = dgc.subtract %6, %12 : tensor<64xf32>
  return %13 : tensor<64xf32>
}
