// A function for each family of GPU kernels, for gpu-check.

func.func @chain(%a: tensor<1024x512xf32>, %b: tensor<1024x512xf32>) -> tensor<1024x512xf32> {
  %0 = dgc.multiply %a, %b : tensor<1024x512xf32>
  %1 = dgc.tanh %0 : tensor<1024x512xf32>
  %2 = dgc.exponential %1 : tensor<1024x512xf32>
  return %2 : tensor<1024x512xf32>
}

func.func @softmax(%x: tensor<333x1000xf32>) -> tensor<333x1000xf32> {
  %0 = dgc.softmax %x dim 1 : tensor<333x1000xf32>
  return %0 : tensor<333x1000xf32>
}

func.func @layer_norm(%x: tensor<100x768xf32>, %scale: tensor<768xf32>, %shift: tensor<768xf32>) -> tensor<100x768xf32> {
  %0 = dgc.layer_norm %x, %scale, %shift epsilon 0.00001 : tensor<100x768xf32>, tensor<768xf32>, tensor<768xf32>
  return %0 : tensor<100x768xf32>
}

func.func @columns(%x: tensor<1000x300xf32>) -> tensor<300xf32> {
  %0 = dgc.reduce sum %x dims [0] : tensor<1000x300xf32>
  return %0 : tensor<300xf32>
}

func.func @everything(%x: tensor<1000x300xf32>) -> tensor<1000x300xf32> {
  %0 = dgc.reduce max %x dims [0, 1] : tensor<1000x300xf32>
  %1 = dgc.broadcast_in_dim %0 dims [] to [1000, 300] : tensor<f32>
  %2 = dgc.subtract %x, %1 : tensor<1000x300xf32>
  return %2 : tensor<1000x300xf32>
}

func.func @transpose(%x: tensor<500x300xf32>) -> tensor<300x500xf32> {
  %0 = dgc.transpose %x permutation [1, 0] : tensor<500x300xf32>
  %1 = dgc.negate %0 : tensor<300x500xf32>
  return %1 : tensor<300x500xf32>
}

func.func @product(%x: tensor<257x300xf32>, %w: tensor<300x129xf32>) -> tensor<257x129xf32> {
  %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<257x300xf32>, tensor<300x129xf32>
  return %0 : tensor<257x129xf32>
}
