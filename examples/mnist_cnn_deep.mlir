// Digits from images of 28 by 28: two convolutions and two dense layers, trained by Adam.

dgc.model @mnist_cnn_deep {
  %image = dgc.input "image" : tensor<64x28x28xui8>
  %label = dgc.input "label" : tensor<64xui8>

  %k1 = dgc.variable "conv1/kernel" glorot_uniform : tensor<3x3x1x32xf32>
  %c1 = dgc.variable "conv1/bias" zeros : tensor<32xf32>
  %k2 = dgc.variable "conv2/kernel" glorot_uniform : tensor<3x3x32x64xf32>
  %c2 = dgc.variable "conv2/bias" zeros : tensor<64xf32>
  %w1 = dgc.variable "dense1/kernel" glorot_uniform : tensor<9216x128xf32>
  %b1 = dgc.variable "dense1/bias" zeros : tensor<128xf32>
  %w2 = dgc.variable "dense2/kernel" glorot_uniform : tensor<128x10xf32>
  %b2 = dgc.variable "dense2/bias" zeros : tensor<10xf32>

  %pixels = dgc.convert %image to f32
  %scaled = dgc.scale %pixels by 0.00392156862745098
  %x = dgc.expand_dims %scaled at 3
  %conv1 = dgc.conv2d %x, %k1, %c1
  %h1 = dgc.relu %conv1
  %conv2 = dgc.conv2d %h1, %k2, %c2
  %h2 = dgc.relu %conv2
  %pooled = dgc.max_pool %h2 window [2, 2]
  %flat = dgc.flatten %pooled
  %dense1 = dgc.dense %flat, %w1, %b1
  %h3 = dgc.relu %dense1
  %logits = dgc.dense %h3, %w2, %b2

  %loss = dgc.cross_entropy %logits, %label
  %accuracy = dgc.accuracy %logits, %label
  dgc.loss %loss
  dgc.metric "accuracy" %accuracy
  dgc.output "logits" %logits
  dgc.optimizer adam learning_rate 0.001
}
