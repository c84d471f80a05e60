// RUN: dgc-opt %s -split-input-file -dgc-form-kernels | FileCheck %s
// RUN: dgc-opt %s -dgc-form-kernels=max-update-ops=2 -split-input-file | FileCheck %s --check-prefix=SHORT

// In the functions nothing is left to compute outside of kernels and libraries: no dgc op stands beside the launches.

// An elementwise chain becomes one kernel, small constants and all; a dead op is left behind.

// CHECK-LABEL: func.func @chain
// CHECK-SAME:    (%[[A:.+]]: tensor<8xf32>, %[[B:.+]]: tensor<8xf32>)
// CHECK-NOT:     = dgc.
// CHECK:         %[[R:.+]] = exec.launch @kernels::@[[K:.+]](%[[A]], %[[B]]) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return %[[R]]
// CHECK:       module @kernels
// CHECK:         func.func @[[K]](%[[X:.+]]: tensor<8xf32>, %[[Y:.+]]: tensor<8xf32>) -> tensor<8xf32>
// CHECK-NOT:       dgc.subtract
// CHECK-DAG:       %[[M:.+]] = dgc.multiply %[[X]], %[[Y]]
// CHECK-DAG:       %[[C:.+]] = dgc.constant
// CHECK:           %[[S:.+]] = dgc.add %[[M]], %[[C]]
// CHECK-NEXT:      return %[[S]]
func.func @chain(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %c = dgc.constant dense<2.0> : tensor<8xf32>
  %0 = dgc.multiply %a, %b : tensor<8xf32>
  %dead = dgc.subtract %a, %b : tensor<8xf32>
  %1 = dgc.add %0, %c : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// What a library computes stays between the kernels; equal kernels are there once.

// CHECK-LABEL: func.func @around
// CHECK-NOT:     = dgc.
// CHECK:         %[[X:.+]] = exec.launch @kernels::@[[K:[^(]+]](
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         %[[M:.+]] = exec.matmul %[[X]], %{{.+}}
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         %[[Y:.+]] = exec.launch @kernels::@[[K]](%[[M]])
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return %[[Y]]
// CHECK:       func.func @[[K]](
// CHECK-NOT:   func.func
func.func @around(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = dgc.tanh %a : tensor<256x256xf32>
  %1 = exec.matmul %0, %b : tensor<256x256xf32>, tensor<256x256xf32> -> tensor<256x256xf32>
  %2 = dgc.tanh %1 : tensor<256x256xf32>
  return %2 : tensor<256x256xf32>
}

// -----

// %2 needs %0 and, through the product, %1: one kernel of all three would need its own result.

// CHECK-LABEL: func.func @cycle
// CHECK-NOT:     = dgc.
// CHECK:         %[[X:.+]] = exec.launch {{.*}} -> tensor<8x8xf32>
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         %[[M:.+]] = exec.matmul %[[X]], %[[X]]
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         %[[Y:.+]] = exec.launch {{.*}}(%[[X]], %[[M]])
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return %[[Y]]
func.func @cycle(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = dgc.tanh %a : tensor<8x8xf32>
  %1 = exec.matmul %0, %0 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %2 = dgc.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// The updates of two variables of different shapes are one launch, each in place.

// CHECK-LABEL: func.func @update
// CHECK-NOT:     = dgc.
// CHECK:         %[[R:.+]]:2 = exec.launch @kernels::@[[K:[^(]+]]({{.*}}) {inplace = array<i64: [[W:[0-9]]], [[B:[0-9]]]>}
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return %[[R]]#0, %[[R]]#1
// CHECK:       func.func @[[K]]({{.*}} attributes {dgc.inplace = array<i64: [[W]], [[B]]>}
func.func @update(%w: tensor<512x512xf32> {dgc.state = @w}, %b: tensor<512xf32> {dgc.state = @b}, %gw: tensor<512x512xf32>,
                  %gb: tensor<512xf32>)
    -> (tensor<512x512xf32> {dgc.state = @w}, tensor<512xf32> {dgc.state = @b}) {
  %0 = dgc.subtract %w, %gw : tensor<512x512xf32>
  %1 = dgc.subtract %b, %gb : tensor<512xf32>
  return %0, %1 : tensor<512x512xf32>, tensor<512xf32>
}

// -----

// A sum over rows, as of a bias gradient, is fused with the elementwise op before it, whose result is needed as well. The
// sum of all elements is not ready before the last row: what uses it elementwise is another kernel.

// CHECK-LABEL: func.func @columns
// CHECK-NOT:     = dgc.
// CHECK:         %[[D:.+]]:2 = exec.launch {{.*}} -> (tensor<512x512xf32>, tensor<512xf32>)
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         %[[M:.+]] = exec.matmul %[[D]]#0
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return %[[M]], %[[D]]#1
func.func @columns(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512xf32>) {
  %0 = dgc.multiply %a, %b : tensor<512x512xf32>
  %1 = dgc.reduce sum %0 dims [0] : tensor<512x512xf32>
  %2 = exec.matmul %0, %b : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
  return %2, %1 : tensor<512x512xf32>, tensor<512xf32>
}

// -----

// CHECK-LABEL: func.func @whole
// CHECK-NOT:     = dgc.
// CHECK:         %[[S:.+]] = exec.launch {{.*}}(%[[A:.+]]) : (tensor<512x512xf32>) -> tensor<f32>
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         %[[R:.+]] = exec.launch {{.*}}(%[[S]], %[[A]]) : (tensor<f32>, tensor<512x512xf32>) -> tensor<512x512xf32>
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return %[[R]]
func.func @whole(%a: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = dgc.reduce sum %a dims [0, 1] : tensor<512x512xf32>
  %1 = dgc.broadcast_in_dim %0 dims [] to [512, 512] : tensor<f32>
  %2 = dgc.divide %a, %1 : tensor<512x512xf32>
  return %2 : tensor<512x512xf32>
}

// -----

// Softmax is one kernel: reductions along rows, and what uses them in the same rows.

// CHECK-LABEL: func.func @softmax
// CHECK-NOT:     = dgc.
// CHECK:         %[[R:.+]] = exec.launch {{.*}}(%{{.+}}) : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return %[[R]]
func.func @softmax(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %m = dgc.reduce max %a dims [1] : tensor<512x1024xf32>
  %mb = dgc.broadcast_in_dim %m dims [0] to [512, 1024] : tensor<512xf32>
  %d = dgc.subtract %a, %mb : tensor<512x1024xf32>
  %e = dgc.exponential %d : tensor<512x1024xf32>
  %s = dgc.reduce sum %e dims [1] : tensor<512x1024xf32>
  %sb = dgc.broadcast_in_dim %s dims [0] to [512, 1024] : tensor<512xf32>
  %r = dgc.divide %e, %sb : tensor<512x1024xf32>
  return %r : tensor<512x1024xf32>
}

// -----

// Nothing to do: a reshape is free, and there is no module of kernels.

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    %[[R:.+]] = dgc.reshape
// CHECK-NEXT:    return %[[R]]
// CHECK-NOT:   module @kernels
func.func @nothing(%a: tensor<4x8xf32>) -> tensor<32xf32> {
  %0 = dgc.reshape %a to [32] : tensor<4x8xf32>
  return %0 : tensor<32xf32>
}

// -----

// A scalar that all updates need is computed in the one kernel of them, and keeps none apart.

// CHECK-LABEL: func.func @scalar
// CHECK-NOT:     = dgc.
// CHECK:         %[[R:.+]]:2 = exec.launch
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @scalar(%a: tensor<512x512xf32>, %b: tensor<16xf32>, %step: tensor<i64>) -> (tensor<512x512xf32>, tensor<16xf32>) {
  %s = dgc.convert %step to f32 : tensor<i64>
  %sa = dgc.broadcast_in_dim %s dims [] to [512, 512] : tensor<f32>
  %0 = dgc.multiply %a, %sa : tensor<512x512xf32>
  %sb = dgc.broadcast_in_dim %s dims [] to [16] : tensor<f32>
  %1 = dgc.multiply %b, %sb : tensor<16xf32>
  return %0, %1 : tensor<512x512xf32>, tensor<16xf32>
}

// -----

// Scaling by a norm: the small sum of squares is a kernel of its own, as the large product could not be split over threads
// if it had to wait for it in the same kernel.

// CHECK-LABEL: func.func @norm
// CHECK-NOT:     = dgc.
// CHECK:         %[[N:.+]] = exec.launch {{.*}} -> tensor<f32>
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         %[[R:.+]] = exec.launch {{.*}}(%[[N]], %{{.+}}) : (tensor<f32>, tensor<512x512xf32>) -> tensor<512x512xf32>
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return %[[R]]
func.func @norm(%a: tensor<512x512xf32>, %b: tensor<16xf32>) -> tensor<512x512xf32> {
  %0 = dgc.multiply %b, %b : tensor<16xf32>
  %1 = dgc.reduce sum %0 dims [0] : tensor<16xf32>
  %2 = dgc.sqrt %1 : tensor<f32>
  %3 = dgc.broadcast_in_dim %2 dims [] to [512, 512] : tensor<f32>
  %4 = dgc.multiply %a, %3 : tensor<512x512xf32>
  return %4 : tensor<512x512xf32>
}

// -----

// What reads the same tensor is fused, but not over micro-batches: one would be kept until the other is done.

// CHECK-LABEL: func.func @microbatches
// CHECK-NOT:     = dgc.
// CHECK:         exec.launch {{.*}} -> (tensor<512x512xf32>, tensor<512x512xf32>)
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         exec.launch {{.*}} -> tensor<512x512xf32>
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         return
func.func @microbatches(%a: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %0 = dgc.tanh %a {dgc.microbatch = 0 : i64} : tensor<512x512xf32>
  %1 = dgc.exponential %a {dgc.microbatch = 0 : i64} : tensor<512x512xf32>
  %2 = dgc.sine %a {dgc.microbatch = 1 : i64} : tensor<512x512xf32>
  return %0, %1, %2 : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// Addends are marked outside of kernels; inside, and to find equal ones, they are numbers like others.

// CHECK-LABEL: func.func @addends
// CHECK:         exec.launch @kernels::@[[K:[^(]+]](%{{.+}}) {{.*}}: (tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>) -> tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
// CHECK-LABEL: func.func @numbers
// CHECK:         exec.launch @kernels::@[[K]](%{{.+}}) {{.*}}: (tensor<8xf32>) -> tensor<8xf32>
// CHECK:       func.func @[[K]](%{{.+}}: tensor<8xf32>) -> tensor<8xf32>
// CHECK:         dgc.negate %{{.+}} : tensor<8xf32>
dist.mesh @mesh <data = 2>
func.func @addends(%a: tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>) -> tensor<8xf32, #dist.partial<sum, @mesh ["data"]>> {
  %0 = dgc.negate %a {dgc.encodings = [#dist.partial<sum, @mesh ["data"]>]} : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  return %0 : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
}
func.func @numbers(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dgc.negate %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Updates of variables are one kernel, or several of at most so many ops: then those of the same form are one.

// CHECK-LABEL: func.func @updates
// CHECK:         exec.launch
// CHECK-NOT:     exec.launch
// CHECK:         return
// SHORT-LABEL: func.func @updates
// SHORT:         exec.launch @kernels::@[[K:[^(]+]]({{.*}} -> (tensor<512x512xf32>, tensor<512x512xf32>)
// SHORT-NOT:     = {{dgc|exec}}.
// SHORT:         exec.launch @kernels::@[[K]]({{.*}} -> (tensor<512x512xf32>, tensor<512x512xf32>)
// SHORT-NOT:     = {{dgc|exec}}.
// SHORT:         return
func.func @updates(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>, %c: tensor<512x512xf32>, %d: tensor<512x512xf32>,
                   %ga: tensor<512x512xf32>, %gb: tensor<512x512xf32>, %gc: tensor<512x512xf32>, %gd: tensor<512x512xf32>)
    -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %0 = dgc.subtract %a, %ga : tensor<512x512xf32>
  %1 = dgc.subtract %b, %gb : tensor<512x512xf32>
  %2 = dgc.subtract %c, %gc : tensor<512x512xf32>
  %3 = dgc.subtract %d, %gd : tensor<512x512xf32>
  return %0, %1, %2, %3 : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// A mask of places is computed by every kernel that needs it; nobody stores it.

// CHECK-LABEL: func.func @mask
// CHECK-NOT:     = dgc.
// CHECK:         %[[X:.+]] = exec.launch @kernels::@[[K:[^(]+]](%{{.+}}) : (tensor<256x512xf32>) -> tensor<256x512xf32>
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         %[[M:.+]] = exec.matmul %[[X]], %{{.+}}
// CHECK-NOT:     = {{dgc|exec}}.
// CHECK:         exec.launch @kernels::@[[K]](%[[M]]) {{.*}}: (tensor<256x512xf32>) -> tensor<256x512xf32>
func.func @mask(%a: tensor<256x512xf32>, %w: tensor<512x512xf32>) -> tensor<256x512xf32> {
  %zero = dgc.constant dense<0.0> : tensor<256x512xf32>
  %i = dgc.iota dim 0 : tensor<256x512xi32>
  %j = dgc.iota dim 1 : tensor<256x512xi32>
  %p = dgc.compare ge %i, %j : tensor<256x512xi32>
  %0 = dgc.select %p, %a, %zero : tensor<256x512xi1>, tensor<256x512xf32>, tensor<256x512xf32>
  %1 = exec.matmul %0, %w : tensor<256x512xf32>, tensor<512x512xf32> -> tensor<256x512xf32>
  %2 = dgc.select %p, %1, %zero : tensor<256x512xi1>, tensor<256x512xf32>, tensor<256x512xf32>
  return %2 : tensor<256x512xf32>
}

// -----

// A row's number that a later kernel repeats is stored as it is, not repeated.

// CHECK-LABEL: func.func @sunk
// CHECK:         %[[S:.+]]:2 = exec.launch {{.*}}(%{{.+}}) : (tensor<256x512xf32>) -> (tensor<256xf32>, tensor<256x512xf32>)
// CHECK:         %[[M:.+]] = exec.matmul %[[S]]#1
// CHECK:         exec.launch {{.*}}(%[[S]]#0, %[[M]]) {{.*}}: (tensor<256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
func.func @sunk(%a: tensor<256x512xf32>, %w: tensor<512x512xf32>) -> tensor<256x512xf32> {
  %s = dgc.reduce max %a dims [1] : tensor<256x512xf32>
  %e = dgc.exponential %s : tensor<256xf32>
  %b = dgc.broadcast_in_dim %e dims [0] to [256, 512] : tensor<256xf32>
  %0 = dgc.subtract %a, %b : tensor<256x512xf32>
  %1 = exec.matmul %0, %w : tensor<256x512xf32>, tensor<512x512xf32> -> tensor<256x512xf32>
  %2 = dgc.multiply %b, %1 : tensor<256x512xf32>
  return %2 : tensor<256x512xf32>
}

// -----

// Each of two results could be written over what the other one reads, but not both: whichever came first, the other would
// read the new value.

// CHECK-LABEL: func.func @crossed
// CHECK:         exec.launch @kernels::@[[K:[^(]+]](
// CHECK:       func.func @[[K]]({{.*}}) -> (tensor<8xf32>, tensor<8xf32>) attributes {dgc.inplace = array<i64: {{-1, [01]|[01], -1}}>}
func.func @crossed(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = dgc.add %a, %b : tensor<8xf32>
  %1 = dgc.multiply %a, %b : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Loops have kernels of their own, which may write over what the round before left.

// CHECK-LABEL: func.func @loop
// CHECK:         dgc.while (%[[A:.+]] = %{{.+}}) with (%[[L:.+]] = %{{.+}}) :
// CHECK:           %[[P:.+]] = exec.launch @kernels::@[[TEST:[^(]+]](%[[A]], %[[L]])
// CHECK:           dgc.condition %[[P]]
// CHECK:         } do {
// CHECK:           %[[N:.+]] = exec.launch @kernels::@[[ROUND:[^(]+]](%[[A]]) {inplace = array<i64: 0>}
// CHECK:           dgc.yield %[[N]]
// CHECK:       func.func @[[TEST]]
// CHECK:         dgc.reduce sum
// CHECK:         dgc.compare lt
// CHECK:       func.func @[[ROUND]]
// CHECK:         dgc.add
func.func @loop(%x: tensor<8xf32>, %limit: tensor<f32>) -> tensor<8xf32> {
  %0 = dgc.while (%a = %x) with (%l = %limit) : tensor<8xf32>, tensor<f32> {
    %1 = dgc.reduce sum %a dims [0] : tensor<8xf32>
    %2 = dgc.compare lt %1, %l : tensor<f32>
    dgc.condition %2 : tensor<i1>
  } do {
    %one = dgc.constant dense<1.0> : tensor<8xf32>
    %1 = dgc.add %a, %one : tensor<8xf32>
    dgc.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
