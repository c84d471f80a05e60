// Numbers as operands, operands that are broadcast, random numbers, a type that follows the batch.
dgc.model @operands {
  %x = dgc.input "x" : tensor<?x6x10xf32>
  %y = dgc.input "y" : tensor<?x6x4xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<10x12xf32>
  %v = dgc.variable "v" glorot_uniform : tensor<12x4xf32>
  %s = dgc.variable "s" normal 1 0.3 : tensor<12xf32>
  %p = dgc.variable "p" normal 0 0.3 : tensor<6x1xf32>
  %t = dgc.variable "t" normal 1.5 0.2 : tensor<f32>
  %i = dgc.iota dim 0 : tensor<12xf32>
  
  %h = dgc.matmul %x, %w
  %a = dgc.multiply %h, %s
  %b = dgc.add %p, %a
  %c = dgc.subtract 1.5, %b
  %d = dgc.clamp 1, %c, 1.75
  %even = dgc.compare lt %i, 7
  %e = dgc.select %even, %d, 0.0
  %r = dgc.divide %e, %t
  %seed = dgc.constant dense<11> : tensor<i64>
  %bits = dgc.rng_bit_generator %seed, %seed id 3 : tensor<?x6x12xui32>
  %wide = dgc.convert %bits to f32
  %noise = dgc.scale %wide by 1e-10
  %places = dgc.iota dim 0 : tensor<?x6x12xf32>
  %late = dgc.scale %places by 0.01
  %noisy = dgc.add %r, %noise
  %placed = dgc.add %noisy, %late
  %o = dgc.matmul %placed, %v
  %loss = dgc.mean_squared_error %o, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.2
}
