// RUN: dgc-opt %s -split-input-file -dgc-combine-collectives | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-combine-collectives="limit-bytes=24" | FileCheck %s --check-prefix=LIMIT

// Three all-reduces become one, in the place of the last; what uses an earlier one moves behind it.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @three(
// CHECK-SAME: %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<2x2xf32>, %[[C:.*]]: tensor<f32>
// LIMIT-LABEL: func.func @three(
func.func @three(%a: tensor<4xf32>, %b: tensor<2x2xf32>, %c: tensor<f32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<f32>) {
  // CHECK: %[[N:.*]] = dgc.negate %[[C]] : tensor<f32>
  // CHECK: %[[R:.*]]:3 = dist.all_reduce sum %[[A]], %[[B]], %[[N]] over @mesh ["data"] origin "one", "two" : tensor<4xf32>, tensor<2x2xf32>, tensor<f32>
  // CHECK: %[[E:.*]] = dgc.exponential %[[R]]#0
  // CHECK: return %[[E]], %[[R]]#1, %[[R]]#2
  // LIMIT: dist.all_reduce sum %{{.*}} over @mesh ["data"] origin "one" : tensor<4xf32>
  // LIMIT: dist.all_reduce sum %{{.*}}, %{{.*}} over @mesh ["data"] origin "two", "one" : tensor<2x2xf32>, tensor<f32>
  %0 = dist.all_reduce sum %a over @mesh ["data"] origin "one" : tensor<4xf32>
  %e = dgc.exponential %0 : tensor<4xf32>
  %1 = dist.all_reduce sum %b over @mesh ["data"] origin "two" : tensor<2x2xf32>
  %n = dgc.negate %c : tensor<f32>
  %2 = dist.all_reduce sum %n over @mesh ["data"] origin "one" : tensor<f32>
  return %e, %1, %2 : tensor<4xf32>, tensor<2x2xf32>, tensor<f32>
}

// -----

// One that depends on another stays apart; what is independent of it joins it.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @dependent(
func.func @dependent(%a: tensor<4xf32>, %b: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
  // CHECK: %[[R0:.*]] = dist.all_reduce sum %{{.*}} over @mesh ["data"] : tensor<4xf32>
  // CHECK: %[[E:.*]] = dgc.exponential %[[R0]]
  // CHECK: dist.all_reduce sum %[[E]], %{{.*}} over @mesh ["data"] : tensor<4xf32>, tensor<f32>
  // CHECK-NOT: dist.all_reduce
  %0 = dist.all_reduce sum %a over @mesh ["data"] : tensor<4xf32>
  %1 = dgc.exponential %0 : tensor<4xf32>
  %2 = dist.all_reduce sum %1 over @mesh ["data"] : tensor<4xf32>
  %3 = dist.all_reduce sum %b over @mesh ["data"] : tensor<f32>
  return %2, %3 : tensor<4xf32>, tensor<f32>
}

// -----

// Other kinds, axes and element types stay apart.
dist.mesh @mesh <data = 2, model = 2>
// CHECK-LABEL: func.func @different(
// CHECK-COUNT-4: dist.all_reduce {{[a-z]+}} %{{[a-z0-9]+}} over
// CHECK-NOT: dist.all_reduce
func.func @different(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  %0 = dist.all_reduce sum %a over @mesh ["data"] : tensor<4xf32>
  %1 = dist.all_reduce max %a over @mesh ["data"] : tensor<4xf32>
  %2 = dist.all_reduce sum %a over @mesh ["model"] : tensor<4xf32>
  %3 = dist.all_reduce sum %b over @mesh ["data"] : tensor<4xf64>
  return
}

// -----

// RUN: dgc-opt %s -split-input-file -dgc-combine-collectives='links=data=1us:1GB/s' | FileCheck %s --check-prefix=LINKS

// With 1 us and 1 GB/s, beyond 32000 bytes latency is less than a thirty-second of the time.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @links(
// LINKS-LABEL: func.func @links(
func.func @links(%a: tensor<4000xf32>, %b: tensor<4000xf32>, %c: tensor<4000xf32>)
    -> (tensor<4000xf32>, tensor<4000xf32>, tensor<4000xf32>) {
  // LINKS: dist.all_reduce sum %{{[^,]*}}, %{{[^,]*}} over
  // LINKS: dist.all_reduce sum %{{[^,]*}} over
  %0 = dist.all_reduce sum %a over @mesh ["data"] : tensor<4000xf32>
  %1 = dist.all_reduce sum %b over @mesh ["data"] : tensor<4000xf32>
  %2 = dist.all_reduce sum %c over @mesh ["data"] : tensor<4000xf32>
  return %0, %1, %2 : tensor<4000xf32>, tensor<4000xf32>, tensor<4000xf32>
}

// -----

// Reduce-scatters are merged, and so are all-gathers of one use; of another use, and of another dimension, they stay
// apart. What is small beside the limit of processes of one host (256000 bytes) joins what is large.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: %[[A:.*]]: tensor<100000xf32>, %[[B:.*]]: tensor<8xf32>, %[[C:.*]]: tensor<100000xf32>
func.func @parts(%a: tensor<100000xf32>, %b: tensor<8xf32>, %c: tensor<100000xf32>)
    -> (tensor<100000xf32>, tensor<8xf32>, tensor<100000xf32>, tensor<8xf32>) {
  // CHECK: %[[S:.*]]:2 = dist.reduce_scatter sum %[[A]], %[[B]] dim 0 over @mesh ["data"] origin "a", "b" : tensor<100000xf32>, tensor<8xf32> to tensor<50000xf32>, tensor<4xf32>
  // CHECK: %[[T:.*]] = dist.reduce_scatter sum %[[C]] dim 0 over @mesh ["data"] : tensor<100000xf32> to tensor<50000xf32>
  %0 = dist.reduce_scatter sum %a dim 0 over @mesh ["data"] origin "a" : tensor<100000xf32> to tensor<50000xf32>
  %1 = dist.reduce_scatter sum %b dim 0 over @mesh ["data"] origin "b" : tensor<8xf32> to tensor<4xf32>
  %2 = dist.reduce_scatter sum %c dim 0 over @mesh ["data"] : tensor<100000xf32> to tensor<50000xf32>
  // CHECK: %[[G:.*]]:2 = dist.all_gather %[[S]]#0, %[[S]]#1 dim 0 over @mesh ["data"] {dgc.use = "forwards"} : tensor<50000xf32>, tensor<4xf32> to tensor<100000xf32>, tensor<8xf32>
  // CHECK: %[[H:.*]] = dist.all_gather %[[T]] dim 0 over @mesh ["data"] {dgc.use = "forwards"}
  // CHECK: %[[I:.*]] = dist.all_gather %[[S]]#1 dim 0 over @mesh ["data"] {dgc.use = "backwards"}
  // CHECK: return %[[G]]#0, %[[G]]#1, %[[H]], %[[I]]
  %3 = dist.all_gather %0 dim 0 over @mesh ["data"] {dgc.use = "forwards"} : tensor<50000xf32> to tensor<100000xf32>
  %4 = dist.all_gather %1 dim 0 over @mesh ["data"] {dgc.use = "forwards"} : tensor<4xf32> to tensor<8xf32>
  %5 = dist.all_gather %2 dim 0 over @mesh ["data"] {dgc.use = "forwards"} : tensor<50000xf32> to tensor<100000xf32>
  %6 = dist.all_gather %1 dim 0 over @mesh ["data"] {dgc.use = "backwards"} : tensor<4xf32> to tensor<8xf32>
  return %3, %4, %5, %6 : tensor<100000xf32>, tensor<8xf32>, tensor<100000xf32>, tensor<8xf32>
}

// -----

// Another dimension is another collective.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @dims(
// CHECK-COUNT-2: dist.all_gather %{{[a-z0-9]+}} dim
func.func @dims(%a: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  %0 = dist.all_gather %a dim 0 over @mesh ["data"] : tensor<4x4xf32> to tensor<8x4xf32>
  %1 = dist.all_gather %a dim 1 over @mesh ["data"] : tensor<4x4xf32> to tensor<4x8xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<4x8xf32>
}

// -----

// Those of a round of a loop become one, apart from those outside.
dist.mesh @mesh <data = 2>
// CHECK-LABEL: func.func @loop(
func.func @loop(%x: tensor<4xf32>, %y: tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>, tensor<4xf32>) {
  // CHECK: dgc.scan
  // CHECK: dist.all_reduce sum %{{.*}}, %{{.*}} over @mesh ["data"] : tensor<4xf32>, tensor<5xf32>
  // CHECK: dgc.yield
  // CHECK: dist.all_reduce sum %{{.*}} over @mesh ["data"] : tensor<4xf32>
  %0:2 = dgc.scan (%h = %x, %g = %y) count 3 : tensor<4xf32>, tensor<5xf32> -> tensor<4xf32>, tensor<5xf32> {
    %a = dist.all_reduce sum %h over @mesh ["data"] : tensor<4xf32>
    %b = dist.all_reduce sum %g over @mesh ["data"] : tensor<5xf32>
    dgc.yield %a, %b : tensor<4xf32>, tensor<5xf32>
  }
  %c = dist.all_reduce sum %x over @mesh ["data"] : tensor<4xf32>
  return %0#0, %0#1, %c : tensor<4xf32>, tensor<5xf32>, tensor<4xf32>
}
