// RUN: dgc-opt %s -dgc-lower-to-programs -split-input-file | FileCheck %s

// The new value is computed behind the last use of the old one, element by element: in place. A reshape is a view.
// CHECK-LABEL: module @in_place
module @in_place {
  // CHECK: exec.variable @w : memref<8xf32> of tensor<8xf32> state {fans = array<i64: 8, 8>, init = #dgc.init<zeros>
  dgc.state @w weight zeros rng 0 : tensor<8xf32>
  // CHECK: exec.program @train
  // CHECK-DAG: %[[W:.*]] = exec.get_variable @w : memref<8xf32>
  // CHECK-DAG: %[[X:.*]] = exec.buffer private "image" : memref<2x4xf32>
  // CHECK-DAG: exec.input "image" "data" %[[X]] : memref<2x4xf32> of tensor<2x4xf32> batch_dim 0
  // CHECK-DAG: %[[V:.*]] = exec.view %[[X]] : memref<2x4xf32> to memref<8xf32>
  // CHECK: exec.launch @kernels::@k(%[[W]], %[[V]]) outs(%[[W]] : memref<8xf32>)
  // CHECK-NOT: exec.copy
  func.func @train(%w: tensor<8xf32> {dgc.state = @w},
                   %x: tensor<2x4xf32> {dgc.input = "image", dgc.role = "data", dgc.batch_dim = 0 : i64})
      -> (tensor<8xf32> {dgc.state = @w}) {
    %0 = dgc.reshape %x to [8] : tensor<2x4xf32>
    %1 = exec.launch @kernels::@k(%w, %0) {inplace = array<i64: 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  module @kernels {
    func.func private @k(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  }
}

// -----

// The old value is used behind the step that computes the new one: it is copied at the end. So is a step that may not
// overwrite its operand.
// CHECK-LABEL: module @used_later
module @used_later {
  dgc.state @w weight zeros rng 0 : tensor<8xf32>
  dgc.state @v weight zeros rng 0 : tensor<8xf32>
  // CHECK: exec.program @train
  // CHECK-DAG: %[[W:.*]] = exec.get_variable @w
  // CHECK-DAG: %[[V:.*]] = exec.get_variable @v
  // CHECK: exec.launch @kernels::@k(%[[W]]) outs(%[[NEW:.*]] : memref<8xf32>)
  // CHECK: exec.launch @kernels::@k(%[[W]]) outs(%[[OUT:.*]] : memref<8xf32>)
  // CHECK: exec.launch @kernels::@k(%[[V]]) outs(%[[NEWV:.*]] : memref<8xf32>)
  // CHECK: exec.output "y" "prediction" %[[OUT]]
  // CHECK: exec.copy %[[NEW]] to %[[W]]
  // CHECK: exec.copy %[[NEWV]] to %[[V]]
  func.func @train(%w: tensor<8xf32> {dgc.state = @w}, %v: tensor<8xf32> {dgc.state = @v})
      -> (tensor<8xf32> {dgc.state = @w}, tensor<8xf32> {dgc.state = @v},
          tensor<8xf32> {dgc.output = "y", dgc.role = "prediction"}) {
    %0 = exec.launch @kernels::@k(%w) {inplace = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = exec.launch @kernels::@k(%w) : (tensor<8xf32>) -> tensor<8xf32>
    %2 = exec.launch @kernels::@k(%v) : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %2, %1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  module @kernels {
    func.func private @k(tensor<8xf32>) -> tensor<8xf32>
  }
}

// -----

// Producers write into the shared buffer of the collective; what is needed as it was is copied there. Members are
// aligned to 64 bytes.
// CHECK-LABEL: module @exchange
module @exchange {
  dist.mesh @mesh <data = 2>
  // CHECK: exec.program @train
  // CHECK-DAG: %[[S:.*]] = exec.buffer shared "exchange0" : memref<48xf32>
  // CHECK-DAG: %[[G0:.*]] = exec.view %[[S]] : memref<48xf32> to memref<8xf32>
  // CHECK-DAG: %[[G1:.*]] = exec.view %[[S]] at 64 : memref<48xf32> to memref<4x2xf32>
  // CHECK-DAG: %[[G2:.*]] = exec.view %[[S]] at 128 : memref<48xf32> to memref<8xf32>
  // CHECK: exec.launch @kernels::@k({{.*}}) outs(%[[G0]], %[[KEPT:.*]] : memref<8xf32>, memref<8xf32>)
  // CHECK: exec.copy %[[KEPT]] to %[[G2]]
  // CHECK: exec.collective all_reduce sum axes [0] order 0 %[[S]] to %[[S]] padding 24 origin "gradients"
  // CHECK: exec.launch @kernels::@k2(%[[G0]], %[[KEPT]], %[[G2]])
  func.func @train(%x: tensor<8xf32> {dgc.input = "x"}) -> (tensor<8xf32> {dgc.output = "y"}) {
    %g:2 = exec.launch @kernels::@k(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %h = exec.launch @kernels::@k3(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %m = dgc.reshape %h to [4, 2] : tensor<8xf32>
    %r:3 = dist.all_reduce sum %g#0, %m, %g#1 over @mesh ["data"] origin "gradients" {dist.order = 0 : i64}
        : tensor<8xf32>, tensor<4x2xf32>, tensor<8xf32>
    %y = exec.launch @kernels::@k2(%r#0, %g#1, %r#2) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  module @kernels {
    func.func private @k(tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    func.func private @k2(tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    func.func private @k3(tensor<8xf32>) -> tensor<8xf32>
  }
}

// -----

// Two values that are gathered at once: each in buffers of its own. What goes on beside a step is waited for, with all
// that it works on.
// CHECK-LABEL: module @gathered
module @gathered {
  dist.mesh @mesh <data = 2>
  // CHECK: exec.program @train
  // CHECK-DAG: %[[A:.*]] = exec.buffer shared "exchange0" : memref<4xf32>
  // CHECK-DAG: %[[B:.*]] = exec.buffer shared "exchange0.1" : memref<2xf32>
  // CHECK-DAG: %[[RA:.*]] = exec.buffer shared "received{{[0-9]+}}" : memref<8xf32>
  // CHECK-DAG: %[[RB:.*]] = exec.buffer shared "received{{[0-9]+}}" : memref<4xf32>
  // CHECK: exec.collective async all_gather sum axes [0] order 0 %[[A]], %[[B]] to %[[RA]], %[[RB]] {{.*}}: memref<4xf32>, memref<2xf32> to memref<8xf32>, memref<4xf32>
  // CHECK-NEXT: exec.launch @kernels::@k
  // CHECK-NEXT: exec.wait 0 for %[[A]], %[[B]], %[[RA]], %[[RB]] : memref<4xf32>, memref<2xf32>, memref<8xf32>, memref<4xf32>
  // CHECK-NEXT: exec.launch @kernels::@k(%[[RA]])
  func.func @train(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) {
    %s:2 = dist.all_gather %a, %b dim 0 over @mesh ["data"] {dist.order = 0 : i64} : tensor<4xf32>, tensor<2xf32> to tensor<8xf32>, tensor<4xf32>
    %0 = exec.launch @kernels::@k(%c) : (tensor<8xf32>) -> tensor<8xf32>
    %r:2 = dist.done %s#0, %s#1 : tensor<8xf32>, tensor<4xf32>
    %1 = exec.launch @kernels::@k(%r#0) : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1, %r#1 : tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
  }
  module @kernels {
    func.func private @k(tensor<8xf32>) -> tensor<8xf32>
  }
}

// -----

// A function without a body is no program.
// CHECK-LABEL: module @declaration
// CHECK-NOT: @unknown
// CHECK: exec.program @f
// CHECK-NOT: @unknown
module @declaration {
  dgc.state @w weight zeros rng 0 : tensor<4xf32>
  func.func private @unknown(tensor<4xf32> {dgc.state = @w}) -> tensor<4xf32>
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// Positions among the arguments and results of an entry are those of the inputs, outputs and variables that these become.
// CHECK-LABEL: module @positions
// CHECK: exec.program @f
// CHECK-DAG: exec.get_variable @w {argument = 0 : i64, result = 1 : i64} : memref<4xf32>
// CHECK-DAG: exec.input "x" "data" %{{.*}} : memref<4xf32> of tensor<4xf32> {argument = 2 : i64}
// CHECK-DAG: exec.get_variable @v : memref<4xf32>
// CHECK-DAG: exec.input "z" "data" %{{.*}} : memref<4xf32> of tensor<4xf32>{{$}}
// CHECK: exec.output "y" "prediction" %{{.*}} : memref<4xf32> of tensor<4xf32> {result = 0 : i64}
module @positions {
  dgc.state @w weight zeros rng 0 : tensor<4xf32>
  dgc.state @v weight zeros rng 0 : tensor<4xf32>
  func.func @f(%w: tensor<4xf32> {dgc.state = @w, dgc.argument = 0 : i64},
               %x: tensor<4xf32> {dgc.input = "x", dgc.argument = 2 : i64},
               %v: tensor<4xf32> {dgc.state = @v}, %z: tensor<4xf32> {dgc.input = "z"})
      -> (tensor<4xf32> {dgc.output = "y", dgc.result = 0 : i64}, tensor<4xf32> {dgc.state = @w, dgc.result = 1 : i64}) {
    %0 = exec.launch @kernels::@k(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = exec.launch @kernels::@k(%w) : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  module @kernels {
    func.func private @k(tensor<4xf32>) -> tensor<4xf32>
  }
}

// -----

// What a loop carries has a buffer: that of its first value where a step gives it to the loop alone, else one of its own. A step
// that needs the value of the round before last writes the next one there. What a copy overwrites is copied before. Invariants
// are read where they are.
// CHECK-LABEL: exec.program @loop
// CHECK-DAG: %[[X:.*]] = exec.buffer private "x"
// CHECK-DAG: %[[W:.*]] = exec.buffer private "w"
// CHECK-DAG: %[[A:.*]] = exec.buffer private "carried{{[0-9]+}}" : memref<4xf32>
// CHECK:     exec.launch @kernels::@k(%[[X]]) outs(%[[B:.*]] : memref<4xf32>)
// CHECK:     exec.copy %[[X]] to %[[A]]
// CHECK:     exec.while %[[P:.*]] rounds 6 : memref<i1> test {
// CHECK:       exec.launch @kernels::@p(%[[A]]) outs(%[[P]] : memref<i1>)
// CHECK:     } do {
// CHECK:       exec.launch @kernels::@two(%[[B]], %[[W]]) outs(%[[N:.*]] : memref<4xf32>)
// CHECK-NEXT:  exec.copy %[[A]] to %[[B]]
// CHECK-NEXT:  exec.copy %[[N]] to %[[A]]
// CHECK-NEXT: }
// CHECK:     exec.output "y" "prediction" %[[A]]
module {
  func.func @loop(%x: tensor<4xf32> {dgc.input = "x"}, %w: tensor<4xf32> {dgc.input = "w"}) -> (tensor<4xf32> {dgc.output = "y"}) {
    %first = exec.launch @kernels::@k(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %0:2 = dgc.while rounds 6 (%a = %x, %b = %first) with (%v = %w) : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
      %1 = exec.launch @kernels::@p(%a) : (tensor<4xf32>) -> tensor<i1>
      dgc.condition %1 : tensor<i1>
    } do {
      %1 = exec.launch @kernels::@two(%b, %v) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      dgc.yield %1, %a : tensor<4xf32>, tensor<4xf32>
    }
    return %0#0 : tensor<4xf32>
  }
  module @kernels {
    func.func private @k(tensor<4xf32>) -> tensor<4xf32>
    func.func private @p(tensor<4xf32>) -> tensor<i1>
    func.func private @two(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  }
}

// -----

// Two that change places: one is set aside. What is the last to read what is carried, and may not overwrite it, is copied
// right behind that step.
// CHECK-LABEL: exec.program @swap
// CHECK-DAG: %[[A:.*]] = exec.buffer private "carried0" : memref<4xf32>
// CHECK-DAG: %[[B:.*]] = exec.buffer private "carried1" : memref<4xf32>
// CHECK-DAG: %[[S:.*]] = exec.buffer private "carried2" : memref<4xf32>
// CHECK-DAG: %[[OLD:.*]] = exec.buffer private "old" : memref<4xf32>
// CHECK:     } do {
// CHECK-NEXT:  exec.launch @kernels::@two(%[[S]], %[[W:.*]]) outs(%[[N:.*]] : memref<4xf32>)
// CHECK-NEXT:  exec.copy %[[N]] to %[[S]]
// CHECK-NEXT:  exec.launch @kernels::@two(%[[W]], %[[W]]) outs
// CHECK-NEXT:  exec.copy %[[B]] to %[[OLD]]
// CHECK-NEXT:  exec.copy %[[A]] to %[[B]]
// CHECK-NEXT:  exec.copy %[[OLD]] to %[[A]]
// CHECK-NEXT: }
module {
  func.func @swap(%x: tensor<4xf32> {dgc.input = "x"}, %w: tensor<4xf32> {dgc.input = "w"}) -> (tensor<4xf32> {dgc.output = "y"}, tensor<4xf32> {dgc.output = "s"}) {
    %0:3 = dgc.while rounds 6 (%a = %x, %b = %w, %s = %x) with (%v = %w) : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
      %1 = exec.launch @kernels::@p(%a) : (tensor<4xf32>) -> tensor<i1>
      dgc.condition %1 : tensor<i1>
    } do {
      %1 = exec.launch @kernels::@two(%s, %v) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %2 = exec.launch @kernels::@two(%v, %v) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      dgc.yield %b, %a, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }
    return %0#0, %0#2 : tensor<4xf32>, tensor<4xf32>
  }
  module @kernels {
    func.func private @p(tensor<4xf32>) -> tensor<i1>
    func.func private @two(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  }
}

// -----

// What a round overwrites twice is in the memory of what is carried both times; where that is read in between, the second is.
// CHECK-LABEL: exec.program @twice
// CHECK-DAG: %[[A:.*]] = exec.buffer private "carried0" : memref<6x4xf32>
// CHECK-DAG: %[[B:.*]] = exec.buffer private "carried1" : memref<6x4xf32>
// CHECK:     } do {
// CHECK-NEXT:  exec.update_slice %[[A]], %[[W:.*]] at %[[I:.*]] dim 0 outs(%[[A]] :
// CHECK-NEXT:  exec.update_slice %[[A]], %[[W]] at %[[J:.*]] dim 0 outs(%[[A]] :
// CHECK-NEXT:  exec.update_slice %[[B]], %[[W]] at %[[I]] dim 0 outs(%[[C:[0-9]+]] :
// CHECK-NEXT:  exec.launch @kernels::@k(%[[B]])
// CHECK-NEXT:  exec.update_slice %[[C]], %{{.*}} at %[[J]] dim 0 outs(%[[B]] :
module {
  func.func @twice(%x: tensor<6x4xf32> {dgc.input = "x"}, %w: tensor<1x4xf32> {dgc.input = "w"}, %i: tensor<i32> {dgc.input = "i"}, %j: tensor<i32> {dgc.input = "j"}) -> (tensor<6x4xf32> {dgc.output = "y"}, tensor<6x4xf32> {dgc.output = "z"}) {
    %0:2 = dgc.while rounds 6 (%a = %x, %b = %x) with (%v = %w, %m = %i, %n = %j) : tensor<6x4xf32>, tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32> {
      %1 = exec.launch @kernels::@p(%m) : (tensor<i32>) -> tensor<i1>
      dgc.condition %1 : tensor<i1>
    } do {
      %1 = exec.update_slice %a, %v at %m dim 0 : tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32> -> tensor<6x4xf32>
      %2 = exec.update_slice %1, %v at %n dim 0 : tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32> -> tensor<6x4xf32>
      %3 = exec.update_slice %b, %v at %m dim 0 : tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32> -> tensor<6x4xf32>
      %4 = exec.launch @kernels::@k(%b) : (tensor<6x4xf32>) -> tensor<1x4xf32>
      %5 = exec.update_slice %3, %4 at %n dim 0 : tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32> -> tensor<6x4xf32>
      dgc.yield %2, %5 : tensor<6x4xf32>, tensor<6x4xf32>
    }
    return %0#0, %0#1 : tensor<6x4xf32>, tensor<6x4xf32>
  }
  module @kernels {
    func.func private @k(tensor<6x4xf32>) -> tensor<1x4xf32>
    func.func private @p(tensor<i32>) -> tensor<i1>
  }
}

// -----

// Both branches write the result where it is read.
// CHECK-LABEL: exec.program @branch
// CHECK-DAG: %[[P:.*]] = exec.buffer private "p" : memref<i1>
// CHECK-DAG: %[[X:.*]] = exec.buffer private "x"
// CHECK:     exec.if %[[P]] : memref<i1> then {
// CHECK:       exec.launch @kernels::@k(%[[X]]) outs(%[[Y:.*]] : memref<4xf32>)
// CHECK-NOT:   exec.copy
// CHECK:     } else {
// CHECK:       exec.copy %[[X]] to %[[Y]]
// CHECK:     }
// CHECK:     exec.output "y" "prediction" %[[Y]]
module {
  func.func @branch(%p: tensor<i1> {dgc.input = "p"}, %x: tensor<4xf32> {dgc.input = "x"}) -> (tensor<4xf32> {dgc.output = "y"}) {
    %0 = dgc.if %p (%a = %x) : tensor<i1>, tensor<4xf32> -> tensor<4xf32> {
      %1 = exec.launch @kernels::@k(%a) : (tensor<4xf32>) -> tensor<4xf32>
      dgc.yield %1 : tensor<4xf32>
    } else {
      dgc.yield %a : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  module @kernels {
    func.func private @k(tensor<4xf32>) -> tensor<4xf32>
  }
}

// -----

// A variable that is only written is on the workers that write it.
// CHECK-LABEL: module @written
// CHECK: exec.variable @s : memref<4xf32> of tensor<4xf32> on @stage1
module @written {
  dist.mesh @stage1 <stage = 1, first = 1>
  dgc.state @s statistic zeros rng 0 : tensor<4xf32>
  func.func @f(%x: tensor<4xf32> {dgc.input = "x"}) -> (tensor<4xf32> {dgc.state = @s}) attributes {dist.mesh = @stage1} {
    %0 = exec.launch @kernels::@k(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @kernels {
    func.func private @k(tensor<4xf32>) -> tensor<4xf32>
  }
}
