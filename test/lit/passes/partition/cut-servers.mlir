// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-cut-programs="servers=1" | FileCheck %s
// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-cut-programs="servers=1 host-servers=true" | FileCheck %s --check-prefix=HOST

// The server is one device behind the workers. A sum over the workers is the same on all of them and can be sent.
dist.mesh @mesh <stage = 2, data = 3>
// CHECK: dist.mesh @workers <stage = 1, data = 3>
// CHECK: dist.mesh @ps0 <stage = 1, data = 1, first = 3>{{$}}

// Where only workers have GPUs, the mesh of the server says that it is on a CPU.
// HOST: dist.mesh @workers <stage = 1, data = 3>{{$}}
// HOST: dist.mesh @ps0 <stage = 1, data = 1, first = 3> {dist.device = #dist.device<"cpu:0">}

// CHECK-LABEL: func.func @f_workers
// CHECK: %[[W:.*]] = dist.recv channel 0 from @ps0 to @workers
// CHECK: %[[M:.*]] = dgc.multiply %{{.*}}, %[[W]]
// CHECK: %[[G:.*]] = dist.all_reduce sum %[[M]] over @workers ["data"]
// CHECK: dist.send %[[G]] channel 1 from @workers to @ps0
// CHECK-LABEL: func.func @f_ps0
// CHECK: dist.send %{{.*}} channel 0 from @ps0 to @workers
// CHECK: %[[G:.*]] = dist.recv channel 1 from @workers to @ps0
// CHECK: dgc.subtract %{{.*}}, %[[G]]
func.func @f(%w: tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64}, %x: tensor<4xf32>)
    -> (tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64}) {
  %m = dgc.multiply %x, %w {dist.stage = 0} : tensor<4xf32>
  %g = dist.all_reduce sum %m over @mesh ["data"] {dist.stage = 0} : tensor<4xf32>
  %n = dgc.subtract %w, %g {dist.stage = 1} : tensor<4xf32>
  return %n : tensor<4xf32>
}
dgc.state @w weight zeros rng 0 : tensor<4xf32>

// -----

// What each worker has another value of cannot.
dist.mesh @mesh <stage = 2, data = 3>
func.func @f(%w: tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64}, %x: tensor<4xf32>)
    -> (tensor<4xf32> {dgc.state = @w, dist.stage = 1 : i64}) {
  // expected-error @+1 {{this value differs between the workers, and the parameter server 'ps0' needs it whole; take the op that needs it off the server}}
  %m = dgc.multiply %x, %w {dist.stage = 0} : tensor<4xf32>
  %n = dgc.subtract %w, %m {dist.stage = 1} : tensor<4xf32>
  return %n : tensor<4xf32>
}
dgc.state @w weight zeros rng 0 : tensor<4xf32>
