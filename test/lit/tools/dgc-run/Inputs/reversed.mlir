dgc.model @reversed {
  %x = dgc.input "x" : tensor<?x2xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %w = dgc.variable "w" normal 0.0 1.0 : tensor<2x2xf32>
  %h = dgc.dense %x, %w
  %r = dgc.reverse %h dims [0]
  %s = dgc.matmul %h, %r transposed
  %loss = dgc.cross_entropy %s, %y
  dgc.loss %loss
  dgc.output "r" %r
  dgc.optimizer sgd learning_rate 0.1
}
