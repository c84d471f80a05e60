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

// -----

// Devices do different numbers of rounds, and wait for each other in them.
dist.mesh @mesh <data = 2>
func.func @f(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-note@+1 {{this makes it differ}}
  %mine = dist.axis_index @mesh ["data"]
  // expected-error@+1 {{communicates, and what decides it may differ between devices along data: some would wait for others that do not come}}
  %0:2 = dgc.while (%i = %mine, %h = %x) : tensor<i64>, tensor<6xf32> {
    %three = dgc.constant dense<3> : tensor<i64>
    %more = dgc.compare lt %i, %three : tensor<i64>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i64>
    %j = dgc.add %i, %one : tensor<i64>
    %s = dist.all_reduce sum %h over @mesh ["data"] {dist.order = 0} : tensor<6xf32>
    dgc.yield %j, %s : tensor<i64>, tensor<6xf32>
  }
  return %0#1 : tensor<6xf32>
}

// -----

// The branch is decided by an element of a part.
dist.mesh @mesh <data = 2, model = 3>
// expected-note@+1 {{this makes it differ}}
func.func @f(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>, dist.global_type = tensor<18xf32>}) -> tensor<6xf32> {
  %first = dgc.slice %x from [0] to [1] : tensor<6xf32>
  %scalar = dgc.reshape %first to [] : tensor<1xf32>
  %zero = dgc.constant dense<0.0> : tensor<f32>
  %p = dgc.compare gt %scalar, %zero : tensor<f32>
  // expected-error@+1 {{may differ between devices along model}}
  %0 = dgc.if %p (%a = %x) : tensor<i1>, tensor<6xf32> -> tensor<6xf32> {
    %s = dist.all_reduce sum %a over @mesh ["data"] {dist.order = 0} : tensor<6xf32>
    dgc.yield %s : tensor<6xf32>
  } else {
    dgc.yield %a : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}
