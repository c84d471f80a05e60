// Examples of the batch in one reduction: softmax, maximum, minimum and product, batch statistics, the mean of a count.
dgc.model @over_batch {
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %w = dgc.variable "w" normal 0.0 1.0 : tensor<3x3xf32>
  %b = dgc.variable "b" normal 0.0 1.0 : tensor<3xf32>
  %h = dgc.dense %x, %w, %b
  %p = dgc.softmax %h dim 0
  %q = dgc.log_softmax %h dim 0
  %m = dgc.multiply %p, %q
  %apart = dgc.mean_squared_error %m, %x
  %largest = dgc.reduce max %h dims [0]
  %smallest = dgc.reduce min %h dims [0]
  %c = dgc.reduce product %h dims [0]
  %d = dgc.multiply %largest, %smallest
  %e = dgc.add %d, %c
  %all = dgc.reduce sum %e dims [0]
  %i = dgc.iota dim 0 : tensor<?xf32>
  %one = dgc.add %i, 1.0
  %n = dgc.reduce sum %one dims [0]
  %mean = dgc.divide %all, %n
  %scale = dgc.variable "scale" constant 1.5 : tensor<3xf32>
  %offset = dgc.variable "offset" zeros : tensor<3xf32>
  %average = dgc.variable "mean" zeros : tensor<3xf32>
  %variance = dgc.variable "variance" constant 1.0 : tensor<3xf32>
  %g, %averageNext, %varianceNext = dgc.batch_norm %h, %scale, %offset, %average, %variance
  dgc.assign %average, %averageNext
  dgc.assign %variance, %varianceNext
  %cross = dgc.cross_entropy %g, %y
  %sum = dgc.add %apart, %mean
  %loss = dgc.add %cross, %sum
  dgc.loss %loss
  dgc.output "p" %p
  dgc.optimizer sgd learning_rate 0.5
}
