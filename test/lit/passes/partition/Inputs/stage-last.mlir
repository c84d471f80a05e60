dist.mesh @mesh <data = 2, stage = 2>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.exponential %x {dist.stage = 0} : tensor<4xf32>
  %1 = dgc.exponential %0 {dist.stage = 1} : tensor<4xf32>
  return %1 : tensor<4xf32>
}
