// Normalizations of each example, activations with parameters, and losses of distances.
dgc.model @layers {
  %image = dgc.input "image" : tensor<?x4x5x3xf32>
  %label = dgc.input "label" : tensor<?xi32>
  %target = dgc.input "target" : tensor<?x5xf32>
  %k = dgc.variable "k" he_normal : tensor<3x3x3x6xf32>
  %group_scale = dgc.variable "group_scale" constant 1.5 : tensor<6xf32>
  %group_offset = dgc.variable "group_offset" constant 0.1 : tensor<6xf32>
  %w1 = dgc.variable "w1" glorot_uniform : tensor<6x12xf32>
  %scale = dgc.variable "scale" constant 0.7 : tensor<12xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<12x5xf32>
  %b2 = dgc.variable "b2" zeros : tensor<5xf32>
  %c = dgc.conv2d %image, %k padding same
  %g = dgc.group_norm %c, %group_scale, %group_offset groups 3
  %s = dgc.silu %g
  %u = dgc.upsample %s by 2
  %m = dgc.mean %u dims [1, 2]
  %h = dgc.matmul %m, %w1
  %n = dgc.rms_norm %h, %scale
  %e = dgc.elu %n alpha 0.5
  %l = dgc.leaky_relu %e slope 0.25
  %y = dgc.dense %l, %w2, %b2
  %best = dgc.argmax %y
  %hot = dgc.one_hot %best classes 5
  %entropy = dgc.cross_entropy %y, %label label_smoothing 0.1
  %huber = dgc.huber_loss %y, %target delta 0.5
  %absolute = dgc.mean_absolute_error %y, %target
  %given = dgc.softmax %target
  %binary = dgc.binary_cross_entropy %y, %given
  %logs = dgc.log_softmax %y
  %divergence = dgc.kl_divergence %logs, %given
  %size = dgc.mean %y
  %0 = dgc.add %entropy, %huber
  %1 = dgc.add %absolute, %binary
  %2 = dgc.add %0, %1
  %3 = dgc.add %2, %divergence
  %loss = dgc.add %3, %size
  dgc.loss %loss
  dgc.output "y" %y
  dgc.output "hot" %hot
  dgc.optimizer sgd learning_rate 0.05 momentum 0.9
}
