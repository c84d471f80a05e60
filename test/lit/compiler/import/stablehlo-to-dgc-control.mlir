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

// How often it runs is not known: what it uses from outside becomes an argument, constants are copied.
// CHECK-LABEL: func.func @open
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>)
func.func @open(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[R:.*]] = dgc.while (%[[A:.*]] = %[[X]]) with (%[[IN:.*]] = %[[W]]) : tensor<4xf32>, tensor<4xf32> {
  // CHECK:   dgc.constant dense<1.000000e+02>
  // CHECK:   %[[S:.*]] = dgc.reduce sum %[[A]] dims [0]
  // CHECK:   %[[C:.*]] = dgc.compare lt %[[S]]
  // CHECK:   dgc.condition %[[C]]
  // CHECK: } do {
  // CHECK:   %[[N:.*]] = dgc.multiply %[[A]], %[[IN]]
  // CHECK:   dgc.yield %[[N]]
  // CHECK: return %[[R]]
  %limit = stablehlo.constant dense<100.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.while(%a = %x) : tensor<4xf32>
    cond {
      %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %1 = stablehlo.compare LT, %sum, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %next = stablehlo.multiply %a, %w : tensor<4xf32>
      stablehlo.return %next : tensor<4xf32>
    }
  return %0 : tensor<4xf32>
}

// -----

// A branch with such a loop is one: the loop might not end where it is not wanted. Other branches choose.
// CHECK-LABEL: func.func @branches
// CHECK-SAME: (%[[K:.*]]: tensor<i32>, %[[X:.*]]: tensor<f32>)
func.func @branches(%k: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  // CHECK: %[[FIRST:.*]] = dgc.compare eq %[[K]], %{{.*}} : tensor<i32>
  // CHECK: dgc.if %[[FIRST]] ({{.*}}) : {{.*}} -> tensor<f32> {
  // CHECK:   dgc.while
  // CHECK: } else {
  // CHECK-NOT: dgc.if
  // CHECK:   dgc.select
  // CHECK:   dgc.yield
  %0 = "stablehlo.case"(%k) ({
    %1 = stablehlo.while(%a = %x) : tensor<f32>
      cond {
        %2 = stablehlo.compare LT, %a, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %2 = stablehlo.add %a, %a : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }
    stablehlo.return %1 : tensor<f32>
  }, {
    %1 = stablehlo.negate %x : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

module {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    // CHECK: dgc.while
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

module {
  // CHECK-LABEL: func.func @large_limit
  func.func @large_limit(%x: tensor<f32>) -> tensor<f32> {
    %first = stablehlo.constant dense<0> : tensor<ui64>
    // CHECK: dgc.while
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

module {
  // CHECK-LABEL: func.func @wraps
  func.func @wraps(%x: tensor<f32>) -> tensor<f32> {
    %first = stablehlo.constant dense<0> : tensor<ui8>
    // CHECK: dgc.while
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

module {
  // CHECK-LABEL: func.func @far_apart
  func.func @far_apart(%x: tensor<f32>) -> tensor<f32> {
    %first = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
    // CHECK: dgc.while
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

// Each loop is short enough to be written out, both together are not: the outer one remains.
module {
  // CHECK-LABEL: func.func @nested
  // CHECK: dgc.while
  // CHECK-NOT: dgc.while
  func.func @nested(%x: tensor<f32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %limit = stablehlo.constant dense<2000> : tensor<i32>
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

// -----

// Over the slices of %x, with their number, which is needed: it is carried. What is written in turn is a result; what is in
// %y at first is not seen.
module {
  // CHECK-LABEL: func.func @slices
  // CHECK-SAME: (%[[X:.*]]: tensor<9x4xf32>, %[[Y:.*]]: tensor<9x4xf32>)
  // CHECK: %[[ZERO:.*]] = dgc.constant dense<0> : tensor<i32>
  // CHECK: %[[SCAN:.*]]:2 = dgc.scan (%[[I:.*]] = %[[ZERO]]) over (%[[ROW:.*]] = %[[X]])
  // CHECK: %[[T:.*]] = dgc.convert %[[I]] to f32
  // CHECK: %[[B:.*]] = dgc.broadcast_in_dim %[[T]] dims [] to [4]
  // CHECK: %[[SUM:.*]] = dgc.add %[[ROW]], %[[B]]
  // CHECK: %[[NEXT:.*]] = dgc.add %[[I]]
  // CHECK: dgc.yield %[[NEXT]], %[[SUM]]
  // CHECK: return %[[SCAN]]#1, %{{.*}} : tensor<9x4xf32>, tensor<i32>
  func.func @slices(%x: tensor<9x4xf32>, %y: tensor<9x4xf32>) -> (tensor<9x4xf32>, tensor<i32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %nine = stablehlo.constant dense<9> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %out = %y) : tensor<i32>, tensor<9x4xf32>
      cond {
        %1 = stablehlo.compare LT, %i, %nine : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<9x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
        %row = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
        %t = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
        %b = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<f32>) -> tensor<4xf32>
        %sum = stablehlo.add %row, %b : tensor<4xf32>
        %r = stablehlo.reshape %sum : (tensor<4xf32>) -> tensor<1x4xf32>
        %u = stablehlo.dynamic_update_slice %out, %r, %i, %zero : (tensor<9x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4xf32>
        %next = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %next, %u : tensor<i32>, tensor<9x4xf32>
      }
    return %0#1, %0#0 : tensor<9x4xf32>, tensor<i32>
  }
}

// -----

// Each second slice: written out.
module {
  // CHECK-LABEL: func.func @every_second
  // CHECK-NOT: dgc.scan
  // CHECK-COUNT-9: dgc.{{slice|gather}}
  func.func @every_second(%x: tensor<18x4xf32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %end = stablehlo.constant dense<18> : tensor<i32>
    %none = stablehlo.constant dense<0.0> : tensor<4xf32>
    %0:2 = stablehlo.while(%i = %zero, %a = %none) : tensor<i32>, tensor<4xf32>
      cond {
        %1 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<18x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
        %row = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
        %sum = stablehlo.add %a, %row : tensor<4xf32>
        %next = stablehlo.add %i, %two : tensor<i32>
        stablehlo.return %next, %sum : tensor<i32>, tensor<4xf32>
      }
    return %0#1 : tensor<4xf32>
  }
}
