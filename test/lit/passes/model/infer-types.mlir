// RUN: dgc-opt %s --dgc-infer-types=batch=4 --split-input-file | FileCheck %s
// RUN: dgc-opt %s --dgc-infer-types=batch=4 --split-input-file | dgc-opt --dgc-infer-types=batch=4 --split-input-file | FileCheck %s

// Every value gets a type, the batch in the place of `?`.

// CHECK: module attributes {dgc.global_batch = 4 : i64}
// CHECK-LABEL: dgc.model @mlp
// CHECK-NOT: untyped
// CHECK: %[[IMAGE:.*]] = dgc.input "image" : tensor<?x28x28xui8> -> tensor<4x28x28xui8>
// CHECK: %[[LABEL:.*]] = dgc.input "label" : tensor<?xi32> -> tensor<4xi32>
// CHECK: %[[W:.*]] = dgc.variable "w" glorot_uniform : tensor<784x10xf32> -> tensor<784x10xf32>
// CHECK: %[[PIXELS:.*]] = dgc.convert %[[IMAGE]] to f32 : tensor<4x28x28xui8>
// CHECK: %[[SCALED:.*]] = dgc.scale %[[PIXELS]] by 0.00392156862745098 : tensor<4x28x28xf32>
// CHECK: %[[X:.*]] = dgc.flatten %[[SCALED]] : tensor<4x28x28xf32>
// CHECK: %[[LOGITS:.*]] = dgc.dense %[[X]], %[[W]] : tensor<4x784xf32>, tensor<784x10xf32>
// CHECK: %[[LOSS:.*]] = dgc.cross_entropy %[[LOGITS]], %[[LABEL]] : tensor<4x10xf32>, tensor<4xi32>
// CHECK: dgc.loss %[[LOSS]] : tensor<f32>
// CHECK: dgc.output "logits" %[[LOGITS]] : tensor<4x10xf32>
dgc.model @mlp {
  %image = dgc.input "image" : tensor<?x28x28xui8>
  %label = dgc.input "label" : tensor<?xi32>
  %w = dgc.variable "w" glorot_uniform : tensor<784x10xf32>
  %pixels = dgc.convert %image to f32
  %scaled = dgc.scale %pixels by 0.00392156862745098
  %x = dgc.flatten %scaled
  %logits = dgc.dense %x, %w
  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer sgd learning_rate 0.1
}

// -----

// The option overrides a batch that is written, also where it is not the first dimension.

// CHECK: module attributes {dgc.global_batch = 4 : i64}
// CHECK: dgc.input "x" : tensor<16x3xf32> -> tensor<4x3xf32>
// CHECK: dgc.input "t" batch 1 : tensor<5x16xf32> -> tensor<5x4xf32>
// CHECK: dgc.input "s" : tensor<f32> -> tensor<f32>
dgc.model @override {
  %x = dgc.input "x" : tensor<16x3xf32>
  %t = dgc.input "t" batch 1 : tensor<5x16xf32>
  %s = dgc.input "s" : tensor<f32>
  dgc.output "x" %x
}

// -----

// A function is typed already.

// CHECK-LABEL: func.func @typed
// CHECK-NEXT: dgc.relu %{{.*}} : tensor<3xf32>
func.func @typed(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = dgc.relu %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
