dgc.model @columns {
  %x = dgc.input "x" batch 1 : tensor<3x32xf32>
  %y = dgc.input "y" : tensor<32x4xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<3x4xf32>
  %rows = dgc.transpose %x permutation [1, 0]
  %prediction = dgc.matmul %rows, %w
  %loss = dgc.mean_squared_error %prediction, %y
  dgc.loss %loss
  dgc.output "y" %prediction
  dgc.optimizer sgd learning_rate 0.1
}
