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

// -----

// expected-error @+1 {{dgc has no equivalent for 1 op of this program}}
module {
  func.func @large_limit(%x: tensor<f32>) -> tensor<f32> {
    %first = stablehlo.constant dense<0> : tensor<ui64>
    // expected-note @+1 {{1 x 'stablehlo.while': a loop whose number of rounds is not known}}
    %0:2 = stablehlo.while(%i = %first, %a = %x) : tensor<ui64>, tensor<f32>
      cond {
        %limit = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
        %1 = stablehlo.compare LT, %i, %limit : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %step = stablehlo.constant dense<1> : tensor<ui64>
        %next = stablehlo.add %i, %step : tensor<ui64>
        %1 = stablehlo.add %a, %a : tensor<f32>
        stablehlo.return %next, %1 : tensor<ui64>, tensor<f32>
      }
    return %0#1 : tensor<f32>
  }
}

// -----

// expected-error @+1 {{dgc has no equivalent for 1 op of this program}}
module {
  func.func @wraps(%x: tensor<f32>) -> tensor<f32> {
    %first = stablehlo.constant dense<0> : tensor<ui8>
    // expected-note @+1 {{1 x 'stablehlo.while': a loop whose number of rounds is not known}}
    %0:2 = stablehlo.while(%i = %first, %a = %x) : tensor<ui8>, tensor<f32>
      cond {
        %limit = stablehlo.constant dense<255> : tensor<ui8>
        %1 = stablehlo.compare LT, %i, %limit : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %step = stablehlo.constant dense<2> : tensor<ui8>
        %next = stablehlo.add %i, %step : tensor<ui8>
        %1 = stablehlo.add %a, %a : tensor<f32>
        stablehlo.return %next, %1 : tensor<ui8>, tensor<f32>
      }
    return %0#1 : tensor<f32>
  }
}

// -----

// expected-error @+1 {{dgc has no equivalent for 1 op of this program}}
module {
  func.func @far_apart(%x: tensor<f32>) -> tensor<f32> {
    %first = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
    // expected-note @+1 {{1 x 'stablehlo.while': a loop whose number of rounds is not known}}
    %0:2 = stablehlo.while(%i = %first, %a = %x) : tensor<i64>, tensor<f32>
      cond {
        %limit = stablehlo.constant dense<2305843009213693952> : tensor<i64>
        %1 = stablehlo.compare LT, %i, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %step = stablehlo.constant dense<1> : tensor<i64>
        %next = stablehlo.add %i, %step : tensor<i64>
        %1 = stablehlo.add %a, %a : tensor<f32>
        stablehlo.return %next, %1 : tensor<i64>, tensor<f32>
      }
    return %0#1 : tensor<f32>
  }
}

// -----

// Each loop is short enough, both together are not.
// expected-error @+1 {{dgc has no equivalent for 1 op of this program}}
module {
  // expected-note @+1 {{1 x 'func.func': more than 500000 ops with its loops written out}}
  func.func @nested(%x: tensor<f32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %limit = stablehlo.constant dense<5000> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<f32>
      cond {
        %1 = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %2:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<i32>, tensor<f32>
          cond {
            %1 = stablehlo.compare LT, %j, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %1 : tensor<i1>
          } do {
            %next = stablehlo.add %j, %one : tensor<i32>
            %1 = stablehlo.add %b, %b : tensor<f32>
            stablehlo.return %next, %1 : tensor<i32>, tensor<f32>
          }
        %next = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %next, %2#1 : tensor<i32>, tensor<f32>
      }
    return %0#1 : tensor<f32>
  }
}
