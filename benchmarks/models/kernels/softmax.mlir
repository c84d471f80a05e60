// Softmax over rows.
// Programs on variables, so that all data stays on the device: nothing is copied there or back in a step. For
// `dgc-compile --compile-from=model`. `small` is 32768 x 1024, `large` 1 GiB, of f32 and of bf16.
//
// Memory that a step has to move, in bytes: the size of x, twice.

module @softmax {
  dgc.state @x_small_f32 weight constant 0.25 rng 0 : tensor<32768x1024xf32>
  dgc.state @y_small_f32 weight zeros rng 1 : tensor<32768x1024xf32>
  dgc.state @x_small_bf16 weight constant 0.25 rng 2 : tensor<32768x1024xbf16>
  dgc.state @y_small_bf16 weight zeros rng 3 : tensor<32768x1024xbf16>
  dgc.state @x_large_f32 weight constant 0.25 rng 4 : tensor<262144x1024xf32>
  dgc.state @y_large_f32 weight zeros rng 5 : tensor<262144x1024xf32>
  dgc.state @x_large_bf16 weight constant 0.25 rng 6 : tensor<524288x1024xbf16>
  dgc.state @y_large_bf16 weight zeros rng 7 : tensor<524288x1024xbf16>
  func.func @small_f32(%x: tensor<32768x1024xf32> {dgc.state = @x_small_f32}, %y: tensor<32768x1024xf32> {dgc.state = @y_small_f32}) -> (tensor<32768x1024xf32> {dgc.state = @x_small_f32}, tensor<32768x1024xf32> {dgc.state = @y_small_f32}) {
    %0 = dgc.softmax %x dim 1 : tensor<32768x1024xf32>
    return %x, %0 : tensor<32768x1024xf32>, tensor<32768x1024xf32>
  }
  func.func @small_bf16(%x: tensor<32768x1024xbf16> {dgc.state = @x_small_bf16}, %y: tensor<32768x1024xbf16> {dgc.state = @y_small_bf16}) -> (tensor<32768x1024xbf16> {dgc.state = @x_small_bf16}, tensor<32768x1024xbf16> {dgc.state = @y_small_bf16}) {
    %f = dgc.convert %x to f32 : tensor<32768x1024xbf16>
    %0 = dgc.softmax %f dim 1 : tensor<32768x1024xf32>
    %r = dgc.convert %0 to bf16 : tensor<32768x1024xf32>
    return %x, %r : tensor<32768x1024xbf16>, tensor<32768x1024xbf16>
  }
  func.func @large_f32(%x: tensor<262144x1024xf32> {dgc.state = @x_large_f32}, %y: tensor<262144x1024xf32> {dgc.state = @y_large_f32}) -> (tensor<262144x1024xf32> {dgc.state = @x_large_f32}, tensor<262144x1024xf32> {dgc.state = @y_large_f32}) {
    %0 = dgc.softmax %x dim 1 : tensor<262144x1024xf32>
    return %x, %0 : tensor<262144x1024xf32>, tensor<262144x1024xf32>
  }
  func.func @large_bf16(%x: tensor<524288x1024xbf16> {dgc.state = @x_large_bf16}, %y: tensor<524288x1024xbf16> {dgc.state = @y_large_bf16}) -> (tensor<524288x1024xbf16> {dgc.state = @x_large_bf16}, tensor<524288x1024xbf16> {dgc.state = @y_large_bf16}) {
    %f = dgc.convert %x to f32 : tensor<524288x1024xbf16>
    %0 = dgc.softmax %f dim 1 : tensor<524288x1024xf32>
    %r = dgc.convert %0 to bf16 : tensor<524288x1024xf32>
    return %x, %r : tensor<524288x1024xbf16>, tensor<524288x1024xbf16>
  }
}
