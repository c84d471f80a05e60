// RUN: dgc-opt %s --dgc-fuse-attention --split-input-file | FileCheck %s
// RUN: dgc-opt %s --dgc-fuse-attention='elements=f32 multiple=1' --split-input-file | FileCheck %s --check-prefix=F32
// RUN: dgc-opt %s --dgc-fuse-attention --dgc-gradient --dgc-decompose=keep=dgc.fused_attention,dgc.fused_attention_grad --split-input-file | FileCheck %s --check-prefix=GRADIENT

// What cuDNN has is kept whole; the scale is written out.

// CHECK-LABEL: func.func @causal
// CHECK: %[[Y:.*]], %{{.*}} = dgc.fused_attention %{{.*}}, %{{.*}}, %{{.*}} heads 4 causal scale 0.35355339059327373 {note = "kept"} : tensor<2x5x32xbf16>
// CHECK: return %[[Y]]
// F32-LABEL: func.func @causal
// F32: dgc.attention
func.func @causal(%q: tensor<2x5x32xbf16>, %k: tensor<2x5x32xbf16>, %v: tensor<2x5x32xbf16>) -> tensor<2x5x32xbf16> {
  %y = dgc.attention %q, %k, %v heads 4 causal {note = "kept"} : tensor<2x5x32xbf16>
  return %y : tensor<2x5x32xbf16>
}

// -----

// CHECK-LABEL: func.func @given_scale
// CHECK: dgc.fused_attention %{{.*}}, %{{.*}}, %{{.*}} heads 2 scale 2.5{{.*}} : tensor<2x5x16xf16>, tensor<2x7x16xf16>, tensor<2x7x48xf16>
func.func @given_scale(%q: tensor<2x5x16xf16>, %k: tensor<2x7x16xf16>, %v: tensor<2x7x48xf16>) -> tensor<2x5x48xf16> {
  %y = dgc.attention %q, %k, %v heads 2 scale 2.5 : tensor<2x5x16xf16>, tensor<2x7x16xf16>, tensor<2x7x48xf16>
  return %y : tensor<2x5x48xf16>
}

// -----

// Its gradient is one op, which has the result and the logarithms; no scores are kept.

// GRADIENT-LABEL: func.func @gradient
// GRADIENT: %[[Y:.*]], %[[L:.*]] = dgc.fused_attention %[[Q:.*]], %[[K:.*]], %[[V:.*]] heads 1 scale
// GRADIENT-NOT: dgc.exponential
// GRADIENT: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = dgc.fused_attention_grad %[[Q]], %[[K]], %[[V]], %[[Y]], %[[L]], %{{.*}} heads 1 scale
// GRADIENT-NOT: dgc.exponential
// GRADIENT: return %[[DQ]], %[[DK]], %[[DV]]
func.func @gradient(%q: tensor<2x5x8xbf16>, %k: tensor<2x7x8xbf16>, %v: tensor<2x7x16xbf16>) -> (tensor<2x5x8xbf16>, tensor<2x7x8xbf16>, tensor<2x7x16xbf16>) {
  %y = dgc.attention %q, %k, %v heads 1 : tensor<2x5x8xbf16>, tensor<2x7x8xbf16>, tensor<2x7x16xbf16>
  %loss = dgc.reduce sum %y dims [0, 1, 2] : tensor<2x5x16xbf16>
  %g:3 = dgc.gradient %loss wrt %q, %k, %v : tensor<bf16>, tensor<2x5x8xbf16>, tensor<2x7x8xbf16>, tensor<2x7x16xbf16>
  return %g#0, %g#1, %g#2 : tensor<2x5x8xbf16>, tensor<2x7x8xbf16>, tensor<2x7x16xbf16>
}

// -----

// Other types, odd or many features, and what is told how it is cut: left alone.

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: dgc.fused_attention
// CHECK-COUNT-4: dgc.attention
// F32-LABEL: func.func @left_alone
// F32: dgc.fused_attention
// F32-COUNT-3: dgc.attention
dist.mesh @mesh <data = 2>
func.func @left_alone(%a: tensor<2x5x16xf32>, %b: tensor<2x5x12xbf16>, %c: tensor<2x5x136xbf16>, %d: tensor<2x5x8xbf16>)
    -> (tensor<2x5x16xf32>, tensor<2x5x12xbf16>, tensor<2x5x136xbf16>, tensor<2x5x8xbf16>) {
  %0 = dgc.attention %a, %a, %a heads 2 : tensor<2x5x16xf32>
  %1 = dgc.attention %b, %b, %b heads 1 : tensor<2x5x12xbf16>
  %2 = dgc.attention %c, %c, %c heads 1 : tensor<2x5x136xbf16>
  %3 = dgc.attention %d, %d, %d heads 1 {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}, {}]>]} : tensor<2x5x8xbf16>
  return %0, %1, %2, %3 : tensor<2x5x16xf32>, tensor<2x5x12xbf16>, tensor<2x5x136xbf16>, tensor<2x5x8xbf16>
}

// -----

// Keys and values with fewer heads are repeated for those of the query.

// CHECK-LABEL: func.func @grouped
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<2x5x32xbf16>, %[[K:[^:]+]]: tensor<2x5x16xbf16>)
// CHECK:         %[[SPLIT:.*]] = dgc.reshape %[[K]] to [2, 5, 2, 8]
// CHECK:         %[[COPIES:.*]] = dgc.broadcast_in_dim %[[SPLIT]] dims [0, 1, 2, 4] to [2, 5, 2, 2, 8]
// CHECK:         %[[KEYS:.*]] = dgc.reshape %[[COPIES]] to [2, 5, 32]
// CHECK:         dgc.fused_attention %[[Q]], %[[KEYS]], %{{.*}} heads 4 causal
func.func @grouped(%q: tensor<2x5x32xbf16>, %k: tensor<2x5x16xbf16>) -> tensor<2x5x32xbf16> {
  %y = dgc.attention %q, %k, %k heads 4 kv_heads 2 causal : tensor<2x5x32xbf16>, tensor<2x5x16xbf16>, tensor<2x5x16xbf16>
  return %y : tensor<2x5x32xbf16>
}

// -----

// Masks, and places that are the last ones of a longer key: left alone.

// CHECK-LABEL: func.func @masked
// CHECK-NOT: dgc.fused_attention
// CHECK-COUNT-2: dgc.attention
func.func @masked(%q: tensor<2x5x32xbf16>, %k: tensor<2x7x32xbf16>, %m: tensor<5x7xi1>) -> (tensor<2x5x32xbf16>, tensor<2x5x32xbf16>) {
  %0 = dgc.attention %q, %k, %k mask %m heads 4 : tensor<2x5x32xbf16>, tensor<2x7x32xbf16>, tensor<2x7x32xbf16>, tensor<5x7xi1>
  %1 = dgc.attention %q, %k, %k heads 4 causal : tensor<2x5x32xbf16>, tensor<2x7x32xbf16>, tensor<2x7x32xbf16>
  return %0, %1 : tensor<2x5x32xbf16>, tensor<2x5x32xbf16>
}
