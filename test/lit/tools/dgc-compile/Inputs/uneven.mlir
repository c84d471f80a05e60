// Dense layers of which the last one is larger than all others together: two servers have some of its rows each.
dgc.model @uneven {
  %x = dgc.input "x" : tensor<8x16xf32>
  %y = dgc.input "y" : tensor<8x2048xf32>
  %w0 = dgc.variable "w0" glorot_uniform : tensor<16x16xf32>
  %w1 = dgc.variable "w1" glorot_uniform : tensor<16x16xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<16x16xf32>
  %w3 = dgc.variable "w3" glorot_uniform : tensor<16x2048xf32>
  %h0 = dgc.dense %x, %w0 {block = "a"}
  %h1 = dgc.dense %h0, %w1 {block = "b"}
  %h2 = dgc.dense %h1, %w2 {block = "c"}
  %h3 = dgc.dense %h2, %w3 {block = "d"}
  %loss = dgc.mean_squared_error %h3, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
