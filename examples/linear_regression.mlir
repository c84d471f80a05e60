// A line through points: mean squared error and plain SGD. The data has y = 2 a - 3 b + 0.5 c + 1 with a little noise.

dgc.model @linear_regression {
  %x = dgc.input "x" : tensor<32x3xf32>
  %y = dgc.input "y" : tensor<32x1xf32>
  %w = dgc.variable "w" zeros : tensor<3x1xf32>
  %b = dgc.variable "b" zeros : tensor<1xf32>
  %prediction = dgc.dense %x, %w, %b
  %loss = dgc.mean_squared_error %prediction, %y
  dgc.loss %loss
  dgc.output "y" %prediction
  dgc.optimizer sgd learning_rate 0.1
}
