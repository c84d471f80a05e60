// RUN: dgc-opt %s -split-input-file -dgc-reassociate-stage-sums | FileCheck %s --check-prefixes=CHECK,EACH
// RUN: dgc-opt %s -split-input-file -dgc-reassociate-stage-sums=positions=2 | FileCheck %s --check-prefixes=CHECK,TWO

// Each stage adds what it has: one value is sent, not two.
// CHECK-LABEL: func.func @norm
// CHECK: %[[A:.*]] = dgc.negate %{{.*}} {dist.stage = 0 : i64}
// CHECK: %[[B:.*]] = dgc.negate %{{.*}} {dist.stage = 1 : i64}
// CHECK: %[[C:.*]] = dgc.exponential %{{.*}} {dist.stage = 0 : i64}
// CHECK: %[[D:.*]] = dgc.exponential %{{.*}} {dist.stage = 1 : i64}
// CHECK-NEXT: %[[S0:.*]] = dgc.add %[[A]], %[[C]] {dist.stage = 0 : i64}
// CHECK-NEXT: %[[S1:.*]] = dgc.add %[[B]], %[[D]] {dist.stage = 1 : i64}
// CHECK-NEXT: %[[S:.*]] = dgc.add %[[S0]], %[[S1]] {dist.stage = 1 : i64}
// CHECK-NEXT: return %[[S]]
func.func @norm(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %a = dgc.negate %x {dist.stage = 0 : i64} : tensor<f32>
  %b = dgc.negate %y {dist.stage = 1 : i64} : tensor<f32>
  %c = dgc.exponential %x {dist.stage = 0 : i64} : tensor<f32>
  %d = dgc.exponential %y {dist.stage = 1 : i64} : tensor<f32>
  %ab = dgc.add %a, %b {dist.stage = 1 : i64} : tensor<f32>
  %abc = dgc.add %ab, %c {dist.stage = 1 : i64} : tensor<f32>
  %abcd = dgc.add %abc, %d {dist.stage = 1 : i64} : tensor<f32>
  return %abcd : tensor<f32>
}

// -----

// One term on another stage, however many there are where the sum is: nothing changes. What a micro-batch adds is not
// taken out of its place.
// CHECK-LABEL: func.func @one
// CHECK: %[[S:.*]] = dgc.add %{{.*}}, %{{.*}} {dgc.microbatch = 1 : i64, dist.stage = 0 : i64}
// CHECK: %[[B:.*]] = dgc.exponential
// CHECK: %[[T:.*]] = dgc.add %[[S]], %[[B]] {dist.stage = 0 : i64}
// CHECK: %[[U:.*]] = dgc.add %[[T]], %{{.*}} {dist.stage = 0 : i64}
// CHECK: return %[[U]]
func.func @one(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %a0 = dgc.negate %x {dgc.microbatch = 0 : i64, dist.stage = 0 : i64} : tensor<f32>
  %a1 = dgc.tanh %x {dgc.microbatch = 1 : i64, dist.stage = 0 : i64} : tensor<f32>
  %a = dgc.add %a0, %a1 {dgc.microbatch = 1 : i64, dist.stage = 0 : i64} : tensor<f32>
  %b = dgc.exponential %y {dist.stage = 1 : i64} : tensor<f32>
  %c = dgc.exponential %x {dist.stage = 0 : i64} : tensor<f32>
  %ab = dgc.add %a, %b {dist.stage = 0 : i64} : tensor<f32>
  %abc = dgc.add %ab, %c {dist.stage = 0 : i64} : tensor<f32>
  return %abc : tensor<f32>
}

// -----

// A sum that goes from stage to stage: as many values are sent as there are other stages, so it stays. Where two stages
// are at one position, these add first.
// CHECK-LABEL: func.func @interleaved
// CHECK: %[[A:.*]] = dgc.negate %{{.*}} {dist.stage = 0 : i64}
// CHECK: %[[B:.*]] = dgc.negate %{{.*}} {dist.stage = 1 : i64}
// CHECK: %[[C:.*]] = dgc.exponential %{{.*}} {dist.stage = 2 : i64}
// CHECK: %[[D:.*]] = dgc.exponential %{{.*}} {dist.stage = 3 : i64}
// EACH: %[[AB:.*]] = dgc.add %[[A]], %[[B]] {dist.stage = 1 : i64}
// EACH: %[[ABC:.*]] = dgc.add %[[AB]], %[[C]] {dist.stage = 2 : i64}
// EACH: %[[S:.*]] = dgc.add %[[ABC]], %[[D]] {dist.stage = 3 : i64}
// TWO: %[[AC:.*]] = dgc.add %[[A]], %[[C]] {dist.stage = 2 : i64}
// TWO: %[[BD:.*]] = dgc.add %[[B]], %[[D]] {dist.stage = 3 : i64}
// TWO: %[[S:.*]] = dgc.add %[[AC]], %[[BD]] {dist.stage = 3 : i64}
// CHECK: return %[[S]]
func.func @interleaved(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %a = dgc.negate %x {dist.stage = 0 : i64} : tensor<f32>
  %b = dgc.negate %y {dist.stage = 1 : i64} : tensor<f32>
  %c = dgc.exponential %x {dist.stage = 2 : i64} : tensor<f32>
  %d = dgc.exponential %y {dist.stage = 3 : i64} : tensor<f32>
  %ab = dgc.add %a, %b {dist.stage = 1 : i64} : tensor<f32>
  %abc = dgc.add %ab, %c {dist.stage = 2 : i64} : tensor<f32>
  %abcd = dgc.add %abc, %d {dist.stage = 3 : i64} : tensor<f32>
  return %abcd : tensor<f32>
}

// -----

// Without stages there is nothing to do.
// CHECK-LABEL: func.func @none
// CHECK-COUNT-2: dgc.add
// CHECK-NOT: dist.stage
func.func @none(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  %0 = dgc.add %x, %y : tensor<f32>
  %1 = dgc.add %0, %z : tensor<f32>
  return %1 : tensor<f32>
}
