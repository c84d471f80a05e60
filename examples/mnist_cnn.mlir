// Digits from images of 28 by 28: one convolution, trained by Adam.

dgc.model @mnist_cnn {
  %image = dgc.input "image" : tensor<32x28x28xui8>
  %label = dgc.input "label" : tensor<32xui8>

  %k = dgc.variable "conv/kernel" glorot_uniform : tensor<3x3x1x32xf32>
  %c = dgc.variable "conv/bias" zeros : tensor<32xf32>
  %w = dgc.variable "dense/kernel" glorot_uniform : tensor<5408x10xf32>
  %b = dgc.variable "dense/bias" zeros : tensor<10xf32>

  %pixels = dgc.convert %image to f32
  %scaled = dgc.scale %pixels by 0.00392156862745098
  %x = dgc.expand_dims %scaled at 3
  %conv = dgc.conv2d %x, %k, %c
  %h = dgc.relu %conv
  %pooled = dgc.max_pool %h window [2, 2]
  %flat = dgc.flatten %pooled
  %logits = dgc.dense %flat, %w, %b

  %loss = dgc.cross_entropy %logits, %label
  %accuracy = dgc.accuracy %logits, %label
  dgc.loss %loss
  dgc.metric "accuracy" %accuracy
  dgc.output "logits" %logits
  dgc.optimizer adam learning_rate 0.001
}
