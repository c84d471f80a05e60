// The reference model "cnn": conv 32, conv 64, 3x3 relu, max-pool 2, dense 128 relu, dense 10, SGD, global batch 64.

dgc.model @cnn {
  %image = dgc.input "image" : tensor<64x28x28xui8>
  %label = dgc.input "label" : tensor<64xui8>

  %k1 = dgc.variable "k1" glorot_uniform : tensor<3x3x1x32xf32>
  %c1 = dgc.variable "c1" zeros : tensor<32xf32>
  %k2 = dgc.variable "k2" glorot_uniform : tensor<3x3x32x64xf32>
  %c2 = dgc.variable "c2" zeros : tensor<64xf32>
  %w3 = dgc.variable "w3" glorot_uniform : tensor<9216x128xf32>
  %b3 = dgc.variable "b3" zeros : tensor<128xf32>
  %w4 = dgc.variable "w4" glorot_uniform : tensor<128x10xf32>
  %b4 = dgc.variable "b4" zeros : tensor<10xf32>

  %pixels = dgc.convert %image to f32
  %scaled = dgc.scale %pixels by 0.00392156862745098
  %x = dgc.expand_dims %scaled at 3
  %conv1 = dgc.conv2d %x, %k1, %c1
  %h1 = dgc.relu %conv1
  %conv2 = dgc.conv2d %h1, %k2, %c2
  %h2 = dgc.relu %conv2
  %pooled = dgc.max_pool %h2 window [2, 2]
  %flat = dgc.flatten %pooled
  %d3 = dgc.dense %flat, %w3, %b3
  %h3 = dgc.relu %d3
  %logits = dgc.dense %h3, %w4, %b4

  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.01
}
