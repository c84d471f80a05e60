// RUN: dgc-opt %s -split-input-file -dgc-block-scans="values=scan+rnn.*" | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-block-scans="values=dense" | FileCheck %s --check-prefix=OTHER
// RUN: not dgc-opt %s -split-input-file -dgc-block-scans="values=[" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// OTHER-NOT: recomputes
// OTHER-NOT: dgc.blocked_scans
// SYNTAX: for the --values option: '[': invalid glob pattern, unmatched '['

// Twelve rounds are four blocks of three.
// CHECK-LABEL: func.func @divides
// CHECK-SAME: (%[[W:.*]]: tensor<4xf32>, %[[H:.*]]: tensor<4xf32>, %[[XS:.*]]: tensor<12x4xf32>)
// CHECK-SAME: attributes {dgc.blocked_scans}
// CHECK: %[[BLOCKS:.*]] = dgc.reshape %[[XS]] to [4, 3, 4]
// CHECK: %[[OUTER:.*]]:2 = dgc.scan (%[[C:.*]] = %[[H]]) over (%[[B:.*]] = %[[BLOCKS]]) with (%[[U:.*]] = %[[W]]) recomputes
// CHECK-SAME: -> tensor<4xf32>, tensor<4x3x4xf32> {
// CHECK-NEXT: %[[INNER:.*]]:2 = dgc.scan (%[[A:.*]] = %[[C]]) over (%[[X:.*]] = %[[B]]) with (%[[V:.*]] = %[[U]]) :
// CHECK-SAME: -> tensor<4xf32>, tensor<3x4xf32> {
// CHECK-NEXT: %[[P:.*]] = dgc.multiply %[[A]], %[[V]]
// CHECK-NEXT: %[[N:.*]] = dgc.add %[[P]], %[[X]]
// CHECK-NEXT: dgc.yield %[[N]], %[[P]]
// CHECK: dgc.yield %[[INNER]]#0, %[[INNER]]#1
// CHECK: %[[ALL:.*]] = dgc.reshape %[[OUTER]]#1 to [12, 4]
// CHECK: dgc.reduce sum %[[ALL]]
// CHECK: dgc.gradient
func.func @divides(%w: tensor<4xf32>, %h: tensor<4xf32>, %xs: tensor<12x4xf32>) -> tensor<4xf32> {
  %last, %all = dgc.scan (%a = %h) over (%x = %xs) with (%v = %w) : tensor<4xf32>, tensor<12x4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<12x4xf32> {
    %p = dgc.multiply %a, %v : tensor<4xf32>
    %n = dgc.add %p, %x : tensor<4xf32>
    dgc.yield %n, %p : tensor<4xf32>, tensor<4xf32>
  } loc("scan")
  %s = dgc.reduce sum %all dims [0] : tensor<12x4xf32>
  %t = dgc.add %s, %last : tensor<4xf32>
  %loss = dgc.reduce sum %t dims [0] : tensor<4xf32>
  %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// Seven rounds are three blocks of two, and one is left over. In reverse that is the round of the first slice.
// CHECK-LABEL: func.func @rest
// CHECK-SAME: (%[[W:.*]]: tensor<4xf32>, %[[H:.*]]: tensor<4xf32>, %[[XS:.*]]: tensor<4x7xf32>)
// CHECK: %[[LATER:.*]] = dgc.slice %[[XS]] from [0, 1] to [4, 7]
// CHECK: %[[BLOCKS:.*]] = dgc.reshape %[[LATER]] to [4, 3, 2]
// CHECK: %[[OUTER:.*]]:2 = dgc.scan (%{{.*}} = %[[H]]) over (%{{.*}} = %[[BLOCKS]]) with (%{{.*}} = %[[W]]) dim 1 reverse recomputes
// CHECK-NEXT: dgc.scan (%{{.*}}) over (%{{.*}}) with (%{{.*}}) dim 1 reverse :
// CHECK: %[[BLOCKED:.*]] = dgc.reshape %[[OUTER]]#1 to [4, 6]
// CHECK: %[[FIRST:.*]] = dgc.slice %[[XS]] from [0, 0] to [4, 1]
// CHECK: %[[REST:.*]]:2 = dgc.scan (%{{.*}} = %[[OUTER]]#0) over (%{{.*}} = %[[FIRST]]) with (%{{.*}} = %[[W]]) dim 1 reverse :
// CHECK: %[[ALL:.*]] = dgc.concatenate %[[REST]]#1, %[[BLOCKED]] dim 1
// CHECK: dgc.reduce sum %[[ALL]]
// CHECK: dgc.add %{{.*}}, %[[REST]]#0
func.func @rest(%w: tensor<4xf32>, %h: tensor<4xf32>, %xs: tensor<4x7xf32>) -> tensor<4xf32> {
  %last, %all = dgc.scan (%a = %h) over (%x = %xs) with (%v = %w) dim 1 reverse : tensor<4xf32>, tensor<4x7xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4x7xf32> {
    %p = dgc.multiply %a, %v : tensor<4xf32>
    %n = dgc.add %p, %x : tensor<4xf32>
    dgc.yield %n, %p : tensor<4xf32>, tensor<4xf32>
  } loc("rnn.scan")
  %s = dgc.reduce sum %all dims [1] : tensor<4x7xf32>
  %t = dgc.add %s, %last : tensor<4xf32>
  %loss = dgc.reduce sum %t dims [0] : tensor<4xf32>
  %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// Over nothing: each of both counts. The stage is that of the scan.
// CHECK-LABEL: func.func @counted
// CHECK: dgc.scan ({{.*}}) with ({{.*}}) count 4 recomputes attributes {dist.stage = 1 : i64}
// CHECK-NEXT: dgc.scan ({{.*}}) with ({{.*}}) count 4 attributes
// CHECK-NOT: dgc.scan
func.func @counted(%w: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32> {
  %last = dgc.scan (%a = %h) with (%v = %w) count 16 attributes {dist.stage = 1 : i64} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> {
    %p = dgc.multiply %a, %v : tensor<4xf32>
    dgc.yield %p : tensor<4xf32>
  } loc("scan")
  %loss = dgc.reduce sum %last dims [0] : tensor<4xf32>
  %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// A layer that is a scan.
// CHECK-LABEL: func.func @layer
// CHECK-NOT: dgc.lstm
// CHECK: dgc.scan ({{.*}}) over ({{.*}}) with ({{.*}}) dim 1 recomputes : {{.*}}tensor<2x3x3x20xf32>
func.func @layer(%x: tensor<2x9x3xf32>, %w: tensor<3x20xf32>, %u: tensor<5x20xf32>, %b: tensor<20xf32>) -> tensor<5x20xf32> {
  %y, %h, %c = dgc.lstm %x, %w, %u, %b : tensor<2x9x3xf32>, tensor<3x20xf32>, tensor<5x20xf32>, tensor<20xf32> loc("rnn.lstm")
  %loss = dgc.reduce sum %y dims [0, 1, 2] : tensor<2x9x5xf32>
  %g = dgc.gradient %loss wrt %u : tensor<f32>, tensor<5x20xf32>
  return %g : tensor<5x20xf32>
}

// -----

// One round, another name, no name, a scan that no gradient goes through, and one that the gradient does not reach: they
// stay.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: dgc.blocked_scans
// CHECK-NOT: recomputes
// CHECK: return
func.func @stays(%w: tensor<4xf32>, %h: tensor<4xf32>, %xs: tensor<1x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %before = dgc.scan (%a = %h) count 16 : tensor<4xf32> -> tensor<4xf32> {
    %p = dgc.add %a, %a : tensor<4xf32>
    dgc.yield %p : tensor<4xf32>
  } loc("scan")
  %short = dgc.scan (%a = %before) over (%x = %xs) with (%v = %w) : tensor<4xf32>, tensor<1x4xf32>, tensor<4xf32> -> tensor<4xf32> {
    %p = dgc.multiply %a, %v : tensor<4xf32>
    %n = dgc.add %p, %x : tensor<4xf32>
    dgc.yield %n : tensor<4xf32>
  } loc("scan")
  %named = dgc.scan (%a = %short) with (%v = %w) count 16 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> {
    %p = dgc.multiply %a, %v : tensor<4xf32>
    dgc.yield %p : tensor<4xf32>
  } loc("other.scan")
  %unnamed = dgc.scan (%a = %named) with (%v = %w) count 16 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> {
    %p = dgc.multiply %a, %v : tensor<4xf32>
    dgc.yield %p : tensor<4xf32>
  }
  %beside = dgc.scan (%a = %unnamed) with (%v = %w) count 16 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> {
    %p = dgc.multiply %a, %v : tensor<4xf32>
    dgc.yield %p : tensor<4xf32>
  } loc("scan")
  %loss = dgc.reduce sum %unnamed dims [0] : tensor<4xf32>
  %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<4xf32>
  return %g, %beside : tensor<4xf32>, tensor<4xf32>
}

// -----

// A round that computes much more than it carries on, as a layer does, is computed again by itself, however many there are.
// CHECK-LABEL: func.func @layers
// CHECK-SAME: attributes {dgc.blocked_scans}
// CHECK: dgc.scan (%{{.*}}) over (%{{.*}}) recomputes :
// CHECK-NOT: dgc.scan
// CHECK: dgc.gradient
func.func @layers(%h: tensor<4x4xf32>, %ups: tensor<3x4x40xf32>, %downs: tensor<3x40x4xf32>) -> tensor<3x4x40xf32> {
  %last = dgc.scan (%a = %h) over (%u = %ups, %d = %downs) : tensor<4x4xf32>, tensor<3x4x40xf32>, tensor<3x40x4xf32> -> tensor<4x4xf32> {
    %p = dgc.dense %a, %u : tensor<4x4xf32>, tensor<4x40xf32>
    %t = dgc.tanh %p : tensor<4x40xf32>
    %n = dgc.dense %t, %d : tensor<4x40xf32>, tensor<40x4xf32>
    dgc.yield %n : tensor<4x4xf32>
  } loc("scan")
  %loss = dgc.reduce sum %last dims [0, 1] : tensor<4x4xf32>
  %g = dgc.gradient %loss wrt %ups : tensor<f32>, tensor<3x4x40xf32>
  return %g : tensor<3x4x40xf32>
}
