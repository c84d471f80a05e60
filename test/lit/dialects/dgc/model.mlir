// RUN: dgc-opt %s | dgc-opt | FileCheck %s

// A model is printed as it is written, types left out; numbers may be written in any way.

// CHECK-LABEL: dgc.model @everything
// CHECK-NOT: untyped
// CHECK: dgc.input "x" : tensor<?x4xf32>
// CHECK: dgc.input "t" batch 1 : tensor<5x?xui8>
// CHECK: dgc.variable "zeros" zeros : tensor<4x2xf32>
// CHECK: dgc.variable "constant" constant 0.001 frozen : tensor<2xf32>
// CHECK: dgc.variable "uniform" uniform -0.1 0.1 frozen : tensor<2xf32>
// CHECK: dgc.variable "normal" normal 0.0 2.5e-05 frozen : tensor<2xf32>
// CHECK: dgc.variable "truncated" truncated_normal 1.0 2.0 frozen : tensor<2xf32>
// CHECK: dgc.variable "gu" glorot_uniform frozen
// CHECK: dgc.variable "gn" glorot_normal frozen
// CHECK: dgc.variable "hu" he_uniform frozen
// CHECK: dgc.variable "hn" he_normal frozen
// CHECK: dgc.variable "file" file "w.npy" frozen : tensor<7xi64>
// CHECK: dgc.assign %[[S:.*]], %[[S]]
// CHECK: dgc.loss
// CHECK: dgc.metric "m"
// CHECK: dgc.output "o"
// CHECK: dgc.optimizer sgd learning_rate 0.1 step every 100 times 0.5 warm_up 10 momentum 0.9 nesterov weight_decay 0.0001 clip_global_norm 1.0
dgc.model @everything {
  %x = dgc.input "x" : tensor<?x4xf32>
  %t = dgc.input "t" batch 1 : tensor<5x?xui8>
  %w = dgc.variable "zeros" zeros : tensor<4x2xf32>
  %0 = dgc.variable "constant" constant 1e-3 frozen : tensor<2xf32>
  %1 = dgc.variable "uniform" uniform -0.1 1.0e-1 frozen : tensor<2xf32>
  %2 = dgc.variable "normal" normal 0 2.5e-5 frozen : tensor<2xf32>
  %3 = dgc.variable "truncated" truncated_normal 1 2 frozen : tensor<2xf32>
  %4 = dgc.variable "gu" glorot_uniform frozen : tensor<4x2xf32>
  %5 = dgc.variable "gn" glorot_normal frozen : tensor<4x2xf32>
  %6 = dgc.variable "hu" he_uniform frozen : tensor<4x2xf32>
  %7 = dgc.variable "hn" he_normal frozen : tensor<4x2xf32>
  %8 = dgc.variable "file" file "w.npy" frozen : tensor<7xi64>
  %s = dgc.variable "statistic" zeros : tensor<2xf32>
  dgc.assign %s, %s
  %p = dgc.matmul %x, %w
  %l = dgc.mean_squared_error %p, %p
  dgc.loss %l
  dgc.metric "m" %l
  dgc.output "o" %p
  dgc.optimizer sgd momentum 0.9 clip_global_norm 1 nesterov weight_decay 1e-4 learning_rate 0.1 step every 100 times 0.5 warm_up 10
}

// CHECK-LABEL: dgc.model @adam
// CHECK: dgc.optimizer adam learning_rate 0.001 cosine steps 1000 final 0.0 beta1 0.8 beta2 0.99 epsilon 1.0e-07
dgc.model @adam {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4x2xf32>
  %p = dgc.matmul %x, %w
  %l = dgc.mean_squared_error %p, %p
  dgc.loss %l
  dgc.optimizer adam learning_rate 0.001 cosine steps 1000 final 0 epsilon 1e-7 beta1 0.8 beta2 0.99
}

// CHECK: dgc.state @w weight normal 0.0 0.02 rng 3 : tensor<4x2xf32>
dgc.state @w weight normal 0.0 0.02 rng 3 : tensor<4x2xf32>
// CHECK: dgc.state @"a/b" slot zeros rng 4 : tensor<4x2xf32>
dgc.state @"a/b" slot zeros rng 4 : tensor<4x2xf32>

// What follows the optimizer begins another line, with or without a result.
// CHECK-LABEL: dgc.model @optimizer_first
dgc.model @optimizer_first {
  %x = dgc.input "x" : tensor<?x4xf32>
  %w = dgc.variable "w" zeros : tensor<4x1xf32>
  %y = dgc.dense %x, %w
  %loss = dgc.mean_squared_error %y, %y
  // CHECK: dgc.optimizer sgd learning_rate 0.1
  dgc.optimizer sgd learning_rate 0.1
  // CHECK: dgc.loss
  dgc.loss %loss
}
