// RUN: dgc-opt %s --dgc-infer-types=batch=4 --split-input-file | FileCheck %s
// RUN: dgc-opt %s --dgc-infer-types=batch=4 --split-input-file | dgc-opt --dgc-infer-types=batch=4 --split-input-file | FileCheck %s
// RUN: dgc-opt %s --split-input-file | dgc-opt --dgc-infer-types=batch=4 --split-input-file | FileCheck %s

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

// A number becomes a constant of the shape and element type of the op that it is an operand of.

// CHECK-LABEL: dgc.model @numbers
// CHECK-NOT: literal
// CHECK: %[[X:.*]] = dgc.input "x"
// CHECK: %[[N:.*]] = dgc.input "n"
// CHECK: %[[HALF:.*]] = dgc.constant dense<5.000000e-01> : tensor<4x3xf32> -> tensor<4x3xf32>
// CHECK: dgc.multiply %[[X]], %[[HALF]] : tensor<4x3xf32>
// CHECK: %[[ONE:.*]] = dgc.constant dense<1.000000e+00> : tensor<4x3xf32> -> tensor<4x3xf32>
// CHECK: dgc.subtract %[[ONE]], %[[X]] : tensor<4x3xf32>
// CHECK: dgc.constant dense<-2.000000e-03> : tensor<4x3xf32>
// CHECK: dgc.constant dense<1.000000e+03> : tensor<4x3xf32>
// CHECK: dgc.clamp
// CHECK: dgc.constant dense<255> : tensor<4xui8>
// CHECK: %[[LESS:.*]] = dgc.compare lt %[[N]], %{{.*}} : tensor<4xui8>
// CHECK: dgc.constant dense<true> : tensor<4xi1>
// CHECK: dgc.xor %[[LESS]], %{{.*}} : tensor<4xi1>
// CHECK: %[[SEVEN:.*]] = dgc.constant dense<7> : tensor<4xui8>
// CHECK: dgc.select %[[LESS]], %[[N]], %[[SEVEN]] : tensor<4xi1>, tensor<4xui8>, tensor<4xui8>
// CHECK-NOT: literal
dgc.model @numbers {
  %x = dgc.input "x" : tensor<?x3xf32>
  %n = dgc.input "n" : tensor<?xui8>
  %a = dgc.multiply %x, 0.5
  %b = dgc.subtract 1.0, %x
  %c = dgc.clamp -2e-3, %x, 1e3
  %d = dgc.compare lt %n, 255
  %e = dgc.xor %d, true
  %f = dgc.select %d, %n, 7
  dgc.output "a" %a
  dgc.output "b" %b
  dgc.output "c" %c
  dgc.output "e" %e
  dgc.output "f" %f
}

// -----

// Operands are broadcast by NumPy's rule: dimensions are compared from the last one on. Ops that are built are in the
// block and the stage of the op that needs them.

// CHECK-LABEL: dgc.model @broadcast
// CHECK: %[[X:.*]] = dgc.input "x"
// CHECK: %[[R:.*]] = dgc.variable "r"
// CHECK: %[[C:.*]] = dgc.variable "c"
// CHECK: %[[S:.*]] = dgc.variable "s"
// CHECK: %[[RB:.*]] = dgc.broadcast_in_dim %[[R]] dims [2] to [4, 2, 3] {block = "one", dist.stage = 1 : i64} : tensor<3xf32>
// CHECK: dgc.add %[[X]], %[[RB]] {block = "one", dist.stage = 1 : i64} : tensor<4x2x3xf32>
// CHECK: %[[CB:.*]] = dgc.broadcast_in_dim %[[C]] dims [0, 1] to [2, 3] : tensor<2x1xf32>
// CHECK: %[[RB:.*]] = dgc.broadcast_in_dim %[[R]] dims [1] to [2, 3] : tensor<3xf32>
// CHECK: dgc.multiply %[[CB]], %[[RB]] : tensor<2x3xf32>
// CHECK: %[[SB:.*]] = dgc.broadcast_in_dim %[[S]] dims [] to [4, 2, 3] : tensor<f32>
// CHECK: dgc.divide %[[SB]], %[[X]] : tensor<4x2x3xf32>
// CHECK: %[[P:.*]] = dgc.compare gt %[[R]],
// CHECK: %[[PB:.*]] = dgc.broadcast_in_dim %[[P]] dims [2] to [4, 2, 3] : tensor<3xi1>
// CHECK: %[[ZERO:.*]] = dgc.constant dense<0.000000e+00> : tensor<4x2x3xf32>
// CHECK: dgc.select %[[PB]], %[[X]], %[[ZERO]]
// CHECK-NOT: broadcast_in_dim
// CHECK: dgc.maximum %[[X]], %[[X]]
dgc.model @broadcast {
  %x = dgc.input "x" : tensor<?x2x3xf32>
  %r = dgc.variable "r" zeros : tensor<3xf32>
  %c = dgc.variable "c" zeros : tensor<2x1xf32>
  %s = dgc.variable "s" zeros : tensor<f32>
  %a = dgc.add %x, %r {block = "one", dist.stage = 1 : i64}
  %b = dgc.multiply %c, %r
  %d = dgc.divide %s, %x
  %p = dgc.compare gt %r, 0
  %e = dgc.select %p, %x, 0.0
  %f = dgc.maximum %x, %x
  dgc.output "a" %a
  dgc.output "b" %b
  dgc.output "d" %d
  dgc.output "e" %e
  dgc.output "f" %f
}

// -----

// What has its type written beside it works with all other ops, also in repeats. The batch may be `?`.

// CHECK-LABEL: dgc.model @written
// CHECK: %[[K:.*]] = dgc.constant dense<{{.*}}> : tensor<3xf32> -> tensor<3xf32>
// CHECK: %[[I:.*]] = dgc.iota dim 0 {dgc.batch_dim = 0 : i64} : tensor<4x3xf32> -> tensor<4x3xf32>
// CHECK: %[[SEED:.*]] = dgc.constant dense<7> : tensor<i64> -> tensor<i64>
// CHECK: %[[BITS:.*]] = dgc.rng_bit_generator %[[SEED]], %[[SEED]] id 3 {dgc.batch_dim = 0 : i64} : tensor<4x3xui32> -> tensor<4x3xui32>
// CHECK: dgc.convert %[[BITS]] to f32 : tensor<4x3xui32>
// CHECK: dgc.matmul %[[I]], %{{.*}} : tensor<4x3xf32>, tensor<3x3xf32>
dgc.model @written {
  %x = dgc.input "x" : tensor<?x3xf32>
  %w = dgc.variable "w" zeros : tensor<3x3xf32>
  %k = dgc.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %i = dgc.iota dim 0 : tensor<?x3xf32>
  %seed = dgc.constant dense<7> : tensor<i64>
  %bits = dgc.rng_bit_generator %seed, %seed id 3 : tensor<?x3xui32>
  %f = dgc.convert %bits to f32
  %m = dgc.matmul %i, %w
  %a = dgc.add %m, %f
  %b = dgc.multiply %a, %k
  %c = dgc.add %b, %x
  dgc.output "c" %c
}

// -----

// The position of a device in a region that is written for one device.

// CHECK-LABEL: dgc.model @position
// CHECK: %[[I:.*]] = dist.axis_index @mesh ["data"] : tensor<i64>
// CHECK: %[[F:.*]] = dgc.convert %[[I]] to f32 : tensor<i64>
// CHECK: %[[B:.*]] = dgc.broadcast_in_dim %[[F]] dims [] to [2, 3] : tensor<f32>
// CHECK: dgc.add %{{.*}}, %[[B]] : tensor<2x3xf32>
// CHECK: dgc.iota dim 0 from %[[I]] : tensor<2xf32> -> tensor<2xf32>
// CHECK: dist.slice %{{.*}} at %[[I]] dim 0 parts 2 : tensor<2x3xf32>
dist.mesh @mesh <data = 2>
dgc.model @position {
  %x = dgc.input "x" : tensor<?x3xf32>
  %r = dist.manual (%l = %x) over @mesh ["data"]
      in [#dist.sharding<@mesh, [{"data"}, {}]>] out [#dist.sharding<@mesh, [{"data"}, {}]>] {
    %i = dist.axis_index @mesh ["data"]
    %f = dgc.convert %i to f32
    %a = dgc.add %l, %f
    %n = dgc.iota dim 0 from %i : tensor<2xf32>
    %s = dist.slice %a at %i dim 0 parts 2
    %both = dgc.concatenate %s, %s dim 0
    dist.return %both
  }
  dgc.output "r" %r
}

// -----

// A function is typed already.

// CHECK-LABEL: func.func @typed
// CHECK-NEXT: dgc.relu %{{.*}} : tensor<3xf32>
func.func @typed(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = dgc.relu %x : tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// All integers of 64 bits, as they are. As an f32 one is rounded once: 2^53 + 2^29 + 1, up.

// CHECK-LABEL: dgc.model @integers
// CHECK: dgc.constant dense<-9223372036854775808> : tensor<4xi64>
// CHECK: dgc.constant dense<9223372036854775807> : tensor<4xi64>
// CHECK: dgc.constant dense<18446744073709551615> : tensor<4xui64>
// CHECK: dgc.constant dense<1.84467441E+19> : tensor<4xf32>
// CHECK: dgc.constant dense<9.007200e+15> : tensor<4xf32>
dgc.model @integers {
  %x = dgc.input "x" : tensor<?xi64>
  %n = dgc.input "n" : tensor<?xui64>
  %f = dgc.input "f" : tensor<?xf32>
  %a = dgc.minimum %x, -9223372036854775808
  %b = dgc.maximum %x, 9223372036854775807
  %c = dgc.minimum %n, 18446744073709551615
  %d = dgc.multiply %f, 18446744073709551615
  %e = dgc.multiply %f, 9007199791611905
  dgc.output "a" %a
  dgc.output "b" %b
  dgc.output "c" %c
  dgc.output "d" %d
  dgc.output "e" %e
}
