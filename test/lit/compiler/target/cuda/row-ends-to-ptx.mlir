// RUN: env DGC_PTXAS=none dgc-opt --dgc-lower-kernels-to-ptx=print %s -o /dev/null > %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=NEVER < %t.ptx

// Rows that no vector divides, in memory whose rows it does: vectors, and the end of a row one by one.
// RUN: %if ptxas %{ ptxas -v --gpu-name=sm_90 %t.ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=PTXAS --implicit-check-not="{{[1-9][0-9]* bytes (stack|spill)}}" --implicit-check-not="Used {{6[5-9]|[7-9][0-9]|[0-9][0-9][0-9]+}} registers" %}
// Nothing is spilled, and a multiprocessor has room for 1024 threads of each kernel, which may have 64 registers then.
// PTXAS: 0 bytes stack frame

// NEVER-NOT: .local
// NEVER-NOT: atom.
// NEVER-NOT: .func

// The loss of a language model whose logits are padded: a loop with two vectors at a time, then one, then the last
// element, and none twice.
// CHECK-LABEL: .entry loss_0(
// CHECK: [[LOOP:\$L__BB0_[0-9]+]]:
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: bra [[LOOP]];
// CHECK-NOT: ld.global
// CHECK: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: ld.global.nc.b16
// CHECK-NOT: ld.global.nc.{{v|b16}}
// CHECK: ret;
func.func @loss(%a: tensor<64x50264xbf16>, %label: tensor<64xi32>) -> tensor<64xf32> {
  %s = dgc.slice %a from [0, 0] to [64, 50257] : tensor<64x50264xbf16>
  %x = dgc.convert %s to f32 : tensor<64x50257xbf16>
  %1 = dgc.reduce max %x dims [1] : tensor<64x50257xf32>
  %2 = dgc.broadcast_in_dim %1 dims [0] to [64, 50257] : tensor<64xf32>
  %3 = dgc.subtract %x, %2 : tensor<64x50257xf32>
  %4 = dgc.exponential %3 : tensor<64x50257xf32>
  %5 = dgc.reduce sum %4 dims [1] : tensor<64x50257xf32>
  %6 = dgc.log %5 : tensor<64xf32>
  %7 = dgc.iota dim 1 : tensor<64x50257xi32>
  %8 = dgc.broadcast_in_dim %label dims [0] to [64, 50257] : tensor<64xi32>
  %9 = dgc.compare eq %7, %8 : tensor<64x50257xi32>
  %10 = dgc.constant dense<0.0> : tensor<64x50257xf32>
  %11 = dgc.select %9, %3, %10 : tensor<64x50257xi1>, tensor<64x50257xf32>, tensor<64x50257xf32>
  %12 = dgc.reduce sum %11 dims [1] : tensor<64x50257xf32>
  %13 = dgc.subtract %6, %12 : tensor<64xf32>
  return %13 : tensor<64xf32>
}

// Rows that are kept: the last element is behind the vectors.
// CHECK-LABEL: .entry kept_0(
// CHECK-NOT: ld.global
// CHECK: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: ld.global.nc.b32
// CHECK-NOT: ld.global
// CHECK: ret;
func.func @kept(%a: tensor<64x132xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %x = dgc.slice %a from [0, 0] to [64, 129] : tensor<64x132xf32>
  %1 = dgc.reduce max %x dims [1] : tensor<64x129xf32>
  %2 = dgc.broadcast_in_dim %1 dims [0] to [64, 129] : tensor<64xf32>
  %3 = dgc.subtract %x, %2 : tensor<64x129xf32>
  %4 = dgc.exponential %3 : tensor<64x129xf32>
  %5 = dgc.reduce sum %4 dims [1] : tensor<64x129xf32>
  return %1, %5 : tensor<64xf32>, tensor<64xf32>
}

// Rows that begin anywhere: threads side by side read elements side by side.
// CHECK-LABEL: .entry unaligned_0(
// CHECK-NOT: ld.global.nc.v
// CHECK: ret;
func.func @unaligned(%a: tensor<64x50259xbf16>) -> tensor<64xf32> {
  %s = dgc.slice %a from [0, 0] to [64, 50257] : tensor<64x50259xbf16>
  %x = dgc.convert %s to f32 : tensor<64x50257xbf16>
  %1 = dgc.reduce sum %x dims [1] : tensor<64x50257xf32>
  return %1 : tensor<64xf32>
}

// An array as one row.
// CHECK-LABEL: .entry flat_0(
// CHECK: ld.global.nc.b16
// CHECK: st.global.b16
// CHECK: ld.global.nc.v4.b32
// CHECK: st.global.v4.b32
// CHECK-NOT: {{ld|st}}.global
// CHECK: ret;
func.func @flat(%x: tensor<50257xbf16>) -> tensor<50257xbf16> {
  %0 = dgc.add %x, %x : tensor<50257xbf16>
  return %0 : tensor<50257xbf16>
}

// Padding: vectors that have none of it are read and stored as such; the last one of a row is not.
// CHECK-LABEL: .entry padded_0(
// CHECK: ld.global.nc.b16
// CHECK-NOT: ld.global
// CHECK: st.global.b16
// CHECK: bra
// CHECK: ld.global.nc.v4.b32
// CHECK-NOT: {{ld.global|selp}}
// CHECK: st.global.v4.b32
// CHECK-NOT: {{ld|st}}.global
// CHECK: ret;
func.func @padded(%a: tensor<64x50264xbf16>) -> tensor<64x50264xbf16> {
  %x = dgc.slice %a from [0, 0] to [64, 50257] : tensor<64x50264xbf16>
  %y = dgc.multiply %x, %x : tensor<64x50257xbf16>
  %c = dgc.constant dense<0.0> : tensor<bf16>
  %r = dgc.pad %y, %c low [0, 0] high [0, 7] : tensor<64x50257xbf16>, tensor<bf16>
  return %r : tensor<64x50264xbf16>
}

// Where most is padding all elements are stored in vectors: eight channels, of which three are read.
// CHECK-LABEL: .entry channels_0(
// CHECK-COUNT-3: ld.global.nc.b16
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: ret;
func.func @channels(%a: tensor<4x64x64x3xbf16>) -> tensor<4x64x64x8xbf16> {
  %c = dgc.constant dense<0.0> : tensor<bf16>
  %r = dgc.pad %a, %c low [0, 0, 0, 0] high [0, 0, 0, 5] : tensor<4x64x64x3xbf16>, tensor<bf16>
  return %r : tensor<4x64x64x8xbf16>
}
