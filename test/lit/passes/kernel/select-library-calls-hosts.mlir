// RUN: dgc-opt %s -dgc-select-library-calls=library=nvidia | FileCheck %s

// Beside workers with GPUs, what runs on CPUs has the calls of the CPU: tanh is part of one there.
dist.mesh @workers <stage = 1, data = 2>
dist.mesh @ps0 <stage = 1, data = 1, first = 2> {dist.device = #dist.device<"cpu:0">}

// CHECK-LABEL: func.func @f_workers
// CHECK: exec.matmul %{{.+}}, %{{.+}} : tensor<8x4xf32>
// CHECK: dgc.tanh
func.func @f_workers(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8x5xf32> attributes {dist.mesh = @workers, dist.step = "f"} {
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32>
  %1 = dgc.tanh %0 : tensor<8x5xf32>
  return %1 : tensor<8x5xf32>
}

// CHECK-LABEL: func.func @f_ps0
// CHECK: exec.matmul %{{.+}}, %{{.+}} post_ops [#exec.post_op<tanh>]
// CHECK-NOT: dgc.tanh
func.func @f_ps0(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> tensor<8x5xf32> attributes {dist.mesh = @ps0, dist.step = "f"} {
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32>
  %1 = dgc.tanh %0 : tensor<8x5xf32>
  return %1 : tensor<8x5xf32>
}
