// A softmax over scores with a mask of -inf, and attention in which a place sees itself and those before it.
dgc.model @masked {
  %x = dgc.input "x" : tensor<8x4xf32>
  %y = dgc.input "y" : tensor<8x1xf32>
  %w = dgc.variable "w" glorot_uniform : tensor<4x1xf32>
  %k = dgc.variable "k" glorot_uniform : tensor<2x2xf32>
  %mask = dgc.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %scores = dgc.reshape %x to [8, 2, 2]
  %spread = dgc.broadcast_in_dim %mask dims [1, 2] to [8, 2, 2]
  %masked = dgc.add %scores, %spread
  %weights = dgc.softmax %masked dim 2
  %keys = dgc.matmul %weights, %k
  %attended = dgc.attention %keys, %keys, %scores heads 1 causal
  %flat = dgc.reshape %attended to [8, 4]
  %prediction = dgc.matmul %flat, %w
  %loss = dgc.mean_squared_error %prediction, %y
  dgc.loss %loss
  dgc.output "y" %prediction
  dgc.optimizer adam learning_rate 0.01
}
