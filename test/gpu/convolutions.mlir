// What cuDNN computes of convolutions: forwards with a bias and relu, and their gradients, for the filter and for the input;
// windows and padding that are not symmetric, strides, dilation, groups, channels that nothing divides; a convolution
// of 1 x 1.
//
//   dgc-compile convolutions.mlir --target=cuda:sm_90 -o convolutions.dgcx

dgc.model @convolutions {
  %x = dgc.input "x" : tensor<4x9x11x4xf32>
  %label = dgc.input "label" : tensor<4xi32>
  %k1 = dgc.variable "k1" glorot_uniform : tensor<3x2x4x6xf32>
  %c1 = dgc.variable "c1" constant 0.1 : tensor<6xf32>
  %k2 = dgc.variable "k2" glorot_uniform : tensor<3x3x3x4xf32>
  %k3 = dgc.variable "k3" glorot_uniform : tensor<1x1x4x5xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<5x5xf32>
  %a = dgc.conv2d %x, %k1, %c1 strides [2, 1] padding [[0, 1], [2, 0]]
  %r = dgc.relu %a
  %b = dgc.conv2d %r, %k2 padding [[1, 0], [0, 0]] dilation [1, 2] groups 2
  %t = dgc.tanh %b
  %c = dgc.conv2d %t, %k3
  %m = dgc.mean %c dims [1, 2]
  %y = dgc.matmul %m, %w
  %loss = dgc.cross_entropy %y, %label
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
