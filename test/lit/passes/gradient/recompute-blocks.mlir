// RUN: dgc-opt %s -dgc-strategy-recompute="values=scan" | FileCheck %s

// The patterns match scans that dgc-block-scans has written in blocks, and nothing else: they select something.
dgc.state @w weight zeros rng 0 : tensor<8xf32>
// CHECK-LABEL: func.func @train
// CHECK-NOT: dgc.blocked_scans
// CHECK-NOT: dgc.recompute
// CHECK: return
func.func @train(%x: tensor<8xf32>, %w: tensor<8xf32> {dgc.state = @w}) -> (tensor<8xf32> {dgc.state = @w}, tensor<f32>)
    attributes {dgc.blocked_scans} {
  %loss = dgc.reduce sum %x dims [0] : tensor<8xf32>
  %n = dgc.subtract %w, %x : tensor<8xf32>
  return %n, %loss : tensor<8xf32>, tensor<f32>
}
