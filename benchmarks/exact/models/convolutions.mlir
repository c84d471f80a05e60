// Convolutions with strides, padding, dilation and groups, batch normalization, both pools and dropout.
dgc.model @convolutions {
  %image = dgc.input "image" : tensor<?x11x11x3xf32>
  %label = dgc.input "label" : tensor<?xi32>
  %k1 = dgc.variable "k1" he_normal : tensor<3x3x3x6xf32>
  %s1 = dgc.variable "bn1/scale" constant 1 : tensor<6xf32>
  %o1 = dgc.variable "bn1/offset" zeros : tensor<6xf32>
  %m1 = dgc.variable "bn1/mean" zeros : tensor<6xf32>
  %v1 = dgc.variable "bn1/variance" constant 1 : tensor<6xf32>
  %k2 = dgc.variable "k2" glorot_uniform : tensor<3x3x3x8xf32>
  %b2 = dgc.variable "b2" zeros : tensor<8xf32>
  %k3 = dgc.variable "k3" glorot_uniform : tensor<3x3x1x8xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<32x5xf32>
  %b = dgc.variable "b" zeros : tensor<5xf32>
  %c1 = dgc.conv2d %image, %k1 strides [2, 2] padding same
  %n1, %mn, %vn = dgc.batch_norm %c1, %s1, %o1, %m1, %v1 momentum 0.9 epsilon 1.0e-5
  dgc.assign %m1, %mn
  dgc.assign %v1, %vn
  %h1 = dgc.relu %n1
  %p1 = dgc.max_pool %h1 window [3, 3] strides [1, 1] padding [[1, 1], [1, 1]]
  %c2 = dgc.conv2d %p1, %k2, %b2 padding [[0, 2], [1, 1]] groups 2
  %h2 = dgc.relu %c2
  %p2 = dgc.avg_pool %h2 window [3, 3] strides [1, 1] padding same
  %d2 = dgc.dropout %p2 rate 0.25
  %c3 = dgc.conv2d %d2, %k3 dilation 2 groups 8
  %p3 = dgc.avg_pool %c3 window [3, 3] strides [1, 1] padding [[1, 1], [1, 1]]
  %flat = dgc.flatten %p3
  %logits = dgc.dense %flat, %w, %b
  %loss = dgc.cross_entropy %logits, %label
  %accuracy = dgc.accuracy %logits, %label
  dgc.metric "accuracy" %accuracy
  dgc.output "logits" %logits
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9 nesterov weight_decay 0.01
}
