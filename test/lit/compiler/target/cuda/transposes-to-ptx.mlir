// RUN: env DGC_PTXAS=none dgc-opt --dgc-lower-kernels-to-ptx=print %s -o /dev/null > %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=NEVER < %t.ptx

// Results that lie along another loop than what they are computed from: tiles in the memory of the block.
// RUN: %if ptxas %{ ptxas -v --gpu-name=sm_90 %t.ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=PTXAS --implicit-check-not="{{[1-9][0-9]* bytes (stack|spill)}}" --implicit-check-not="Used {{6[5-9]|[7-9][0-9]|[0-9][0-9][0-9]+}} registers" %}
// Nothing is spilled, and a multiprocessor has room for 1024 threads of each kernel, which may have 64 registers then.
// PTXAS: 0 bytes stack frame

// NEVER-NOT: .local
// NEVER-NOT: atom.
// NEVER-NOT: .func

// Tiles of 32 x 32, a row longer by one element, so that a column is in different banks: four elements for each of 256
// threads, all read before the first is kept, and no thread leaves before the barrier. There is one.
// CHECK-LABEL: .entry plain_0(
// CHECK: .reqntid 256
// CHECK: .shared .align 16 .b8 plain_0_tile0[[[#mul(mul(32, 33), 4)]]];
// CHECK-NOT: bra
// CHECK-COUNT-4: ld.global.nc.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-4: st.shared.b32
// CHECK-NOT: bra
// CHECK: bar.sync
// CHECK-NOT: bar.sync
// CHECK-COUNT-4: st.global.b32
// CHECK-NOT: {{st.global|bar.sync}}
// CHECK: ret;
func.func @plain(%x: tensor<1000x300xf32>) -> tensor<300x1000xf32> {
  %0 = dgc.transpose %x permutation [1, 0] : tensor<1000x300xf32>
  return %0 : tensor<300x1000xf32>
}

// The filter of a convolution for cuDNN: its other three loops are one. Tiles of 64 x 64, two elements at a time, so that
// a row of 16 bits is 128 bytes as well: eight pairs for each of 256 threads. What is in the tile is f32 still.
// CHECK-LABEL: .entry filter_0(
// CHECK: .shared .align 16 .b8 filter_0_tile0[[[#mul(mul(64, 65), 4)]]];
// CHECK-COUNT-8: ld.global.nc.v2.b32
// CHECK-NOT: ld.global
// CHECK: bar.sync
// CHECK-NOT: {{ld.global|bar.sync}}
// CHECK-COUNT-8: st.global.b32
// CHECK-NOT: st.global
// CHECK: ret;
func.func @filter(%x: tensor<3x3x256x256xf32>) -> tensor<256x3x3x256xbf16> {
  %0 = dgc.convert %x to bf16 : tensor<3x3x256x256xf32>
  %1 = dgc.transpose %0 permutation [3, 0, 1, 2] : tensor<3x3x256x256xbf16>
  return %1 : tensor<256x3x3x256xbf16>
}

// And its update, in place: only the gradient goes through a tile, of bf16, in eight pairs for each thread. The two arrays
// that are updated are read and stored in eight pairs each. The segment beside it has no tile.
// CHECK-LABEL: .entry update_0(
// CHECK: .shared .align 16 .b8 update_0_tile0[[[#mul(mul(64, 65), 2)]]];
// CHECK-NOT: {{ld|st}}.global
// CHECK: ld.global.v4.b32
// CHECK: st.global.v4.b32
// CHECK-NOT: {{ld|st}}.global
// CHECK-COUNT-8: ld.global.nc.v2.b16
// CHECK: bar.sync
// CHECK-COUNT-16: ld.global.v2.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-16: st.global.v2.b32
// CHECK-NOT: st.global
// CHECK: ret;
func.func @update(%w: tensor<3x3x256x256xf32>, %v: tensor<3x3x256x256xf32>, %g: tensor<256x3x3x256xbf16>, %b: tensor<1000xf32>)
    -> (tensor<3x3x256x256xf32>, tensor<3x3x256x256xf32>, tensor<1000xf32>) attributes {dgc.inplace = array<i64: 0, 1, 3>} {
  %0 = dgc.transpose %g permutation [1, 2, 3, 0] : tensor<256x3x3x256xbf16>
  %1 = dgc.convert %0 to f32 : tensor<3x3x256x256xbf16>
  %2 = dgc.add %v, %1 : tensor<3x3x256x256xf32>
  %3 = dgc.subtract %w, %2 : tensor<3x3x256x256xf32>
  %4 = dgc.add %b, %b : tensor<1000xf32>
  return %3, %2, %4 : tensor<3x3x256x256xf32>, tensor<3x3x256x256xf32>, tensor<1000xf32>
}

// Two arrays have a tile each, and one barrier together: eight pairs of each for a thread. What lies along the result is
// read from memory.
// CHECK-LABEL: .entry batched_0(
// CHECK: .shared .align 16 .b8 batched_0_tile0[[[#mul(2, mul(mul(64, 65), 2))]]];
// CHECK-COUNT-16: ld.global.nc.v2.b16
// CHECK-NOT: ld.global
// CHECK: bar.sync
// CHECK-NOT: bar.sync
// CHECK: ld.global.nc.v2.b32
// CHECK: ex2.approx.f32
// CHECK: st.global.v2.b32
// CHECK: ret;
func.func @batched(%x: tensor<8x512x64xbf16>, %y: tensor<8x512x64xbf16>, %z: tensor<8x64x512xf32>) -> tensor<8x64x512xf32> {
  %0 = dgc.multiply %x, %y : tensor<8x512x64xbf16>
  %1 = dgc.transpose %0 permutation [0, 2, 1] : tensor<8x512x64xbf16>
  %2 = dgc.convert %1 to f32 : tensor<8x64x512xbf16>
  %3 = dgc.exponential %z : tensor<8x64x512xf32>
  %4 = dgc.add %2, %3 : tensor<8x64x512xf32>
  return %4 : tensor<8x64x512xf32>
}

// Heads of an attention lie along the same loop before and after; and what is small is in the caches.
// CHECK-LABEL: .entry heads_0(
// CHECK-NOT: shared
// CHECK: ld.global.nc.v4.b32
// CHECK: st.global.v4.b32
// CHECK: ret;
func.func @heads(%x: tensor<8x512x12x64xbf16>) -> tensor<8x12x512x64xbf16> {
  %0 = dgc.transpose %x permutation [0, 2, 1, 3] : tensor<8x512x12x64xbf16>
  return %0 : tensor<8x12x512x64xbf16>
}

// CHECK-LABEL: .entry small_0(
// CHECK-NOT: shared
// CHECK: ret;
func.func @small(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = dgc.transpose %x permutation [1, 0] : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
