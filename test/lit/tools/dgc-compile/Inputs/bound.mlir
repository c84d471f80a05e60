// The first layer is larger than the three others together: a pipeline has it alone in a stage, and two servers have some of its
// rows each. With smaller sizes it is not.
dgc.model @bound {
  %x = dgc.input "x" : tensor<8x1000xf32>
  %y = dgc.input "y" : tensor<8x300xf32>
  %w0 = dgc.variable "w0" glorot_uniform : tensor<1000x300xf32>
  %w1 = dgc.variable "w1" glorot_uniform : tensor<300x300xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<300x300xf32>
  %w3 = dgc.variable "w3" glorot_uniform : tensor<300x300xf32>
  %h0 = dgc.dense %x, %w0 {block = "a"}
  %h1 = dgc.dense %h0, %w1 {block = "b"}
  %h2 = dgc.dense %h1, %w2 {block = "c"}
  %h3 = dgc.dense %h2, %w3 {block = "d"}
  %loss = dgc.mean_squared_error %h3, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
