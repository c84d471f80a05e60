// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-verify-communicate

// Without an order.
dist.mesh @mesh <data = 2>
func.func @f(%x: tensor<6xf32>) {
  // expected-error@+1 {{is number 0 in the order of communication, and says nothing of it; dgc-order-collectives numbers all of them}}
  %0 = dist.all_reduce sum %x over @mesh ["data"] : tensor<6xf32>
  return
}

// -----

// An order that is not that of the program.
dist.mesh @mesh <data = 2>
func.func @f(%x: tensor<6xf32>) {
  // expected-error@+1 {{is number 0 in the order of communication, and says 1}}
  %0 = dist.all_reduce sum %x over @mesh ["data"] {dist.order = 1} : tensor<6xf32>
  %1 = dist.all_reduce sum %x over @mesh ["data"] {dist.order = 0} : tensor<6xf32>
  return
}

// -----

// A send that nobody receives.
dist.mesh @a <data = 1>
dist.mesh @b <data = 1, first = 1>
// expected-error@+1 {{does not come to an end: rank 0 in transfer tensor<6xf32> to rank 1}}
func.func @f(%x: tensor<6xf32>) {
  dist.send %x channel 0 from @a to @b {dist.order = 0} : tensor<6xf32>
  return
}

// -----

// Two programs that both receive first.
dist.mesh @a <data = 1>
dist.mesh @b <data = 1, first = 1>
// expected-error@+1 {{does not come to an end: nobody can go on: rank 0 in transfer}}
func.func @first(%x: tensor<6xf32>) attributes {dist.step = "train"} {
  %0 = dist.recv channel 1 from @b to @a {dist.order = 0} : tensor<6xf32>
  dist.send %x channel 0 from @a to @b {dist.order = 1} : tensor<6xf32>
  return
}
func.func @second(%x: tensor<6xf32>) attributes {dist.step = "train"} {
  %0 = dist.recv channel 0 from @a to @b {dist.order = 0} : tensor<6xf32>
  dist.send %x channel 1 from @b to @a {dist.order = 1} : tensor<6xf32>
  return
}

// -----

// Two ends of a transfer with different types.
dist.mesh @a <data = 1>
dist.mesh @b <data = 1, first = 1>
// expected-error@+1 {{which is not the same}}
func.func @first(%x: tensor<6xf32>) attributes {dist.step = "train"} {
  dist.send %x channel 0 from @a to @b {dist.order = 0} : tensor<6xf32>
  return
}
func.func @second() attributes {dist.step = "train"} {
  %0 = dist.recv channel 0 from @a to @b {dist.order = 0} : tensor<8xf32>
  return
}
