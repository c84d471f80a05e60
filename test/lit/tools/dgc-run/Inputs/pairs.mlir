dgc.model @pairs {
  %x = dgc.input "x" : tensor<?x2xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %w = dgc.variable "w" normal 0.0 1.0 : tensor<2x2xf32>
  %h = dgc.dense %x, %w
  %s = dgc.matmul %h, %h transposed
  %loss = dgc.cross_entropy %s, %y
  %p = dgc.softmax %h dim 0
  %q = dgc.multiply %h, %h
  %t = dgc.reduce sum %q dims [0, 1]
  %v = dgc.scale %t by 0.125
  dgc.metric "v" %v
  dgc.loss %loss
  dgc.output "p" %p
  dgc.output "variance" %v
  dgc.optimizer sgd learning_rate 0.1
}
