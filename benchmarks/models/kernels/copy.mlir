// A plain copy on the device, which the other kernels here are compared with: by the driver, no kernel of ours.
// `small` is 32768 x 1024, `large` 1 GiB. A step has two of them, by way of a third tensor.

module @copy {
  dgc.state @x_small weight constant 0.25 rng 0 : tensor<32768x1024xf32>
  dgc.state @y_small weight zeros rng 1 : tensor<32768x1024xf32>
  dgc.state @x_large weight constant 0.25 rng 2 : tensor<262144x1024xf32>
  dgc.state @y_large weight zeros rng 3 : tensor<262144x1024xf32>
  func.func @small_f32(%x: tensor<32768x1024xf32> {dgc.state = @x_small}, %y: tensor<32768x1024xf32> {dgc.state = @y_small})
      -> (tensor<32768x1024xf32> {dgc.state = @x_small}, tensor<32768x1024xf32> {dgc.state = @y_small}) {
    return %x, %x : tensor<32768x1024xf32>, tensor<32768x1024xf32>
  }
  func.func @large_f32(%x: tensor<262144x1024xf32> {dgc.state = @x_large}, %y: tensor<262144x1024xf32> {dgc.state = @y_large})
      -> (tensor<262144x1024xf32> {dgc.state = @x_large}, tensor<262144x1024xf32> {dgc.state = @y_large}) {
    return %x, %x : tensor<262144x1024xf32>, tensor<262144x1024xf32>
  }
}
