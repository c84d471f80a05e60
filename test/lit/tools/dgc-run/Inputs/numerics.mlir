// The logarithm of each number of an example, and two layers.
dgc.model @numerics {
  %x = dgc.input "x" : tensor<8x4xf32>
  %y = dgc.input "y" : tensor<8x1xf32>
  %w1 = dgc.variable "first.w" glorot_uniform : tensor<4x16xf32>
  %b1 = dgc.variable "first.b" zeros : tensor<16xf32>
  %w2 = dgc.variable "second.w" glorot_uniform : tensor<16x1xf32>
  %b2 = dgc.variable "second.b" zeros : tensor<1xf32>
  %logs = dgc.log %x
  %h = dgc.dense %logs, %w1, %b1
  %active = dgc.relu %h
  %prediction = dgc.dense %active, %w2, %b2
  %loss = dgc.mean_squared_error %prediction, %y
  dgc.loss %loss
  dgc.output "y" %prediction
  dgc.optimizer sgd learning_rate 0.01
}
