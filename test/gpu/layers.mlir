// What cuBLASLt computes with products of 16 bits: relu and gelu with what their gradients need, these gradients, and
// those of biases. Rows of 136, 40, 24 and 8 elements, of which none is a multiple of 128; a batch that nothing divides; a
// layer without an activation, the gradient of whose bias is the sum of what a product gives. Relu comes first, where all
// that is added up is the same on CPUs, so that none of it is above 0 on one only.
//
//   dgc-compile layers.mlir --precision=bf16 --target=cuda:sm_90 -o layers.dgcx

dgc.model @layers {
  %x = dgc.input "x" : tensor<13x16xf32>
  %label = dgc.input "label" : tensor<13xi32>
  %w1 = dgc.variable "w1" glorot_uniform : tensor<16x136xf32>
  %b1 = dgc.variable "b1" constant 0.1 : tensor<136xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<136x40xf32>
  %b2 = dgc.variable "b2" constant -0.1 : tensor<40xf32>
  %w3 = dgc.variable "w3" glorot_uniform : tensor<40x24xf32>
  %b3 = dgc.variable "b3" zeros : tensor<24xf32>
  %w4 = dgc.variable "w4" glorot_uniform : tensor<24x8xf32>
  %b4 = dgc.variable "b4" zeros : tensor<8xf32>
  %h1 = dgc.dense %x, %w1, %b1
  %r1 = dgc.relu %h1
  %h2 = dgc.dense %r1, %w2, %b2
  %h3 = dgc.dense %h2, %w3, %b3
  %g3 = dgc.gelu %h3 tanh
  %y = dgc.dense %g3, %w4, %b4
  %loss = dgc.cross_entropy %y, %label
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.05 clip_global_norm 0.5
}
