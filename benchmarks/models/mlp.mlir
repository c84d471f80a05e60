// The reference model "mlp": 784-512-512-10, relu, cross-entropy, SGD, global batch 128.

dgc.model @mlp {
  %image = dgc.input "image" : tensor<128x28x28xui8>
  %label = dgc.input "label" : tensor<128xui8>

  %w1 = dgc.variable "w1" glorot_uniform : tensor<784x512xf32>
  %b1 = dgc.variable "b1" zeros : tensor<512xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<512x512xf32>
  %b2 = dgc.variable "b2" zeros : tensor<512xf32>
  %w3 = dgc.variable "w3" glorot_uniform : tensor<512x10xf32>
  %b3 = dgc.variable "b3" zeros : tensor<10xf32>

  %pixels = dgc.convert %image to f32
  %scaled = dgc.scale %pixels by 0.00392156862745098
  %x = dgc.flatten %scaled
  %d1 = dgc.dense %x, %w1, %b1
  %h1 = dgc.relu %d1
  %d2 = dgc.dense %h1, %w2, %b2
  %h2 = dgc.relu %d2
  %logits = dgc.dense %h2, %w3, %b3

  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.01
}
