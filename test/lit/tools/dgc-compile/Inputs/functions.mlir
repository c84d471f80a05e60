// A program that is functions already.
module {
  func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = dgc.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
