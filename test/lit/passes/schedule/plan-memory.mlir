// RUN: dgc-opt %s -dgc-plan-memory -split-input-file | FileCheck %s

// Variables come first; %a and %c are never alive together and share bytes, %b overlaps both.
// CHECK: module attributes {exec.private_bytes = 384 : i64, exec.shared_bytes = 0 : i64}
module {
  // CHECK: exec.variable @w at 0 :
  exec.variable @w : memref<30xf32> of tensor<30xf32> state {}
  // CHECK: exec.variable @v at 128 :
  exec.variable @v : memref<8xf32> of tensor<8xf32> state {}
  // CHECK-LABEL: exec.program @train
  exec.program @train {
    // CHECK: exec.buffer private at [[A:[0-9]+]] "a"
    // CHECK: exec.buffer private at {{[0-9]+}} "b"
    // CHECK: exec.buffer private at [[A]] "c"
    %a = exec.buffer private "a" : memref<16xf32>
    %b = exec.buffer private "b" : memref<32xf32>
    %c = exec.buffer private "c" : memref<16xf32>
    %av = exec.view %a : memref<16xf32> to memref<8x2xf32>
    %w = exec.get_variable @v : memref<8xf32>
    exec.launch @k::@k1(%w) outs(%a : memref<16xf32>) : (memref<8xf32>) -> ()
    exec.launch @k::@k2(%av) outs(%b : memref<32xf32>) : (memref<8x2xf32>) -> ()
    exec.launch @k::@k3(%b) outs(%c : memref<16xf32>) : (memref<32xf32>) -> ()
    exec.launch @k::@k4(%c) outs(%b : memref<32xf32>) : (memref<16xf32>) -> ()
  }
  module @k {
    func.func private @k1(tensor<8xf32>) -> tensor<16xf32>
    func.func private @k2(tensor<8x2xf32>) -> tensor<32xf32>
    func.func private @k3(tensor<32xf32>) -> tensor<16xf32>
    func.func private @k4(tensor<16xf32>) -> tensor<32xf32>
  }
}

// -----

// An input is filled before the first step and an output read after the last one: neither shares bytes with what is
// alive in between. Shared and private arenas are planned apart; programs share the same bytes.
// CHECK: module attributes {exec.private_bytes = 128 : i64, exec.shared_bytes = 64 : i64}
module {
  // CHECK-LABEL: exec.program @train
  exec.program @train {
    // CHECK: exec.buffer private at [[X:0|64]] "x"
    %x = exec.buffer private "x" : memref<16xf32>
    // CHECK: exec.buffer shared at 0 "s"
    %s = exec.buffer shared "s" : memref<16xf32>
    // CHECK-NOT: exec.buffer private at [[X]] "y"
    %y = exec.buffer private "y" : memref<16xf32>
    exec.input "x" "data" %x : memref<16xf32> of tensor<16xf32>
    exec.copy %x to %s : memref<16xf32>
    exec.copy %s to %y : memref<16xf32>
    exec.copy %x to %s : memref<16xf32>
    exec.output "y" "prediction" %y : memref<16xf32> of tensor<16xf32>
  }
  // CHECK-LABEL: exec.program @evaluate
  exec.program @evaluate {
    // CHECK: exec.buffer private at 0 "x"
    %x = exec.buffer private "x" : memref<16xf32>
    exec.input "x" "data" %x : memref<16xf32> of tensor<16xf32>
    exec.output "y" "prediction" %x : memref<16xf32> of tensor<16xf32>
  }
}

// -----

// Equal constants are kept once. Nothing to do is nothing done.
// CHECK: exec.private_bytes = 0 : i64
// CHECK: exec.buffer constant at 0 "c"
// CHECK: exec.buffer constant at 0 "d"
// CHECK: exec.buffer constant at 64 "e"
exec.program @constants {
  %c = exec.buffer constant "c" = dense<1.0> : tensor<4xf32> : memref<4xf32>
  %d = exec.buffer constant "d" = dense<1.0> : tensor<4xf32> : memref<4xf32>
  %e = exec.buffer constant "e" = dense<2.0> : tensor<4xf32> : memref<4xf32>
}

// -----

// What a loop uses that is used outside of it, too, is in use in the whole loop: neither "w", read in the first of its steps,
// nor "h", which goes around, shares bytes with "t" or "u". These two follow each other in a round, and share.
// CHECK-LABEL: exec.program @loop
// CHECK: exec.buffer private at [[W:[0-9]+]] "w"
// CHECK: exec.buffer private at [[H:[0-9]+]] "h"
// CHECK-NOT: exec.buffer private at {{([[W]]|[[H]])}} "t"
// CHECK: exec.buffer private at [[T:[0-9]+]] "t"
// CHECK: exec.buffer private at [[U:[0-9]+]] "u"
exec.program @loop {
  %w = exec.buffer private "w" : memref<16xf32>
  %h = exec.buffer private "h" : memref<16xf32>
  %t = exec.buffer private "t" : memref<16xf32>
  %u = exec.buffer private "u" : memref<16xf32>
  %v = exec.buffer private "v" : memref<16xf32>
  %p = exec.buffer private "p" : memref<i1>
  exec.input "w" "data" %w : memref<16xf32> of tensor<16xf32>
  exec.copy %w to %h : memref<16xf32>
  exec.while %p : memref<i1> test {
    exec.launch @k::@p(%h) outs(%p : memref<i1>) : (memref<16xf32>) -> ()
  } do {
    exec.launch @k::@k(%w) outs(%t : memref<16xf32>) : (memref<16xf32>) -> ()
    exec.launch @k::@k(%t) outs(%u : memref<16xf32>) : (memref<16xf32>) -> ()
    exec.launch @k::@k(%u) outs(%v : memref<16xf32>) : (memref<16xf32>) -> ()
    exec.launch @k::@k(%v) outs(%h : memref<16xf32>) : (memref<16xf32>) -> ()
  }
  exec.output "y" "prediction" %h : memref<16xf32> of tensor<16xf32>
}
module @k {
  func.func private @p(memref<16xf32>) -> memref<i1>
  func.func private @k(memref<16xf32>) -> memref<16xf32>
}
