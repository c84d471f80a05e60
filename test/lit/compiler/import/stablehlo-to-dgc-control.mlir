// RUN: dgc-opt %s --stablehlo-to-dgc --split-input-file --verify-diagnostics | FileCheck %s

// A loop of three rounds is written out, a choice computes both branches.
// CHECK-LABEL: func.func @control
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[P:.*]]: tensor<i1>)
func.func @control(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  // CHECK: %[[A:.*]] = dgc.add %[[X]], %[[X]]
  // CHECK: %[[B:.*]] = dgc.add %[[A]], %[[A]]
  // CHECK: %[[C:.*]] = dgc.add %[[B]], %[[B]]
  // CHECK-NOT: dgc.add
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%a = %zero, %b = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %limit = stablehlo.constant dense<5> : tensor<i32>
      %1 = stablehlo.compare LT, %a, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %two = stablehlo.constant dense<2> : tensor<i32>
      %next = stablehlo.add %a, %two : tensor<i32>
      %1 = stablehlo.add %b, %b : tensor<4xf32>
      stablehlo.return %next, %1 : tensor<i32>, tensor<4xf32>
    }
  // CHECK: %[[D:.*]] = dgc.negate %[[C]]
  // CHECK: %[[PRED:.*]] = dgc.broadcast_in_dim %[[P]] dims [] to [4]
  // CHECK: dgc.select %[[PRED]], %[[D]], %[[X]]
  %2 = "stablehlo.if"(%p) ({
    %3 = stablehlo.negate %0#1 : tensor<4xf32>
    stablehlo.return %3 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// expected-error @+1 {{dgc has no equivalent for 1 op of this program}}
module {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    // expected-note @+1 {{1 x 'stablehlo.while': a loop whose number of rounds is not known}}
    %0 = stablehlo.while(%a = %x) : tensor<f32>
      cond {
        %1 = stablehlo.compare LT, %a, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        stablehlo.return %a : tensor<f32>
      }
    return %0 : tensor<f32>
  }
}
