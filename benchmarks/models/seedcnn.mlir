// The reference model "seedcnn": conv 32 3x3 relu, max-pool 2, dense 10, Adam, global batch 32.

dgc.model @seedcnn {
  %image = dgc.input "image" : tensor<32x28x28xui8>
  %label = dgc.input "label" : tensor<32xui8>

  %k1 = dgc.variable "k1" glorot_uniform : tensor<3x3x1x32xf32>
  %c1 = dgc.variable "c1" zeros : tensor<32xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<5408x10xf32>
  %b2 = dgc.variable "b2" zeros : tensor<10xf32>

  %pixels = dgc.convert %image to f32
  %scaled = dgc.scale %pixels by 0.00392156862745098
  %x = dgc.expand_dims %scaled at 3
  %conv = dgc.conv2d %x, %k1, %c1
  %h = dgc.relu %conv
  %pooled = dgc.max_pool %h window [2, 2]
  %flat = dgc.flatten %pooled
  %logits = dgc.dense %flat, %w2, %b2

  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.optimizer adam learning_rate 0.001
}
