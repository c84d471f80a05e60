// A bias, gelu (tanh) and a factor, in place.
// Programs on variables, so that all data stays on the device: nothing is copied there or back in a step. For
// `dgc-compile --compile-from=model`. `small` is 32768 x 1024, `large` 1 GiB, of f32 and of bf16.
//
// Memory that a step has to move, in bytes: 2 x the size of x.

module @gelu_chain {
  dgc.state @x_small_f32 weight constant 0.25 rng 0 : tensor<32768x1024xf32>
  dgc.state @bias_small_f32 weight constant 0.5 rng 1 : tensor<1024xf32>
  dgc.state @x_small_bf16 weight constant 0.25 rng 2 : tensor<32768x1024xbf16>
  dgc.state @bias_small_bf16 weight constant 0.5 rng 3 : tensor<1024xf32>
  dgc.state @x_large_f32 weight constant 0.25 rng 4 : tensor<262144x1024xf32>
  dgc.state @bias_large_f32 weight constant 0.5 rng 5 : tensor<1024xf32>
  dgc.state @x_large_bf16 weight constant 0.25 rng 6 : tensor<524288x1024xbf16>
  dgc.state @bias_large_bf16 weight constant 0.5 rng 7 : tensor<1024xf32>
  func.func @small_f32(%x: tensor<32768x1024xf32> {dgc.state = @x_small_f32}, %bias: tensor<1024xf32> {dgc.state = @bias_small_f32})
      -> (tensor<32768x1024xf32> {dgc.state = @x_small_f32}, tensor<1024xf32> {dgc.state = @bias_small_f32}) {
    %b = dgc.broadcast_in_dim %bias dims [1] to [32768, 1024] : tensor<1024xf32>
    %0 = dgc.add %x, %b : tensor<32768x1024xf32>
    %1 = dgc.gelu %0 tanh : tensor<32768x1024xf32>
    %half = dgc.constant dense<0.5> : tensor<32768x1024xf32>
    %2 = dgc.multiply %1, %half : tensor<32768x1024xf32>
    return %2, %bias : tensor<32768x1024xf32>, tensor<1024xf32>
  }
  func.func @small_bf16(%x: tensor<32768x1024xbf16> {dgc.state = @x_small_bf16}, %bias: tensor<1024xf32> {dgc.state = @bias_small_bf16})
      -> (tensor<32768x1024xbf16> {dgc.state = @x_small_bf16}, tensor<1024xf32> {dgc.state = @bias_small_bf16}) {
    %f = dgc.convert %x to f32 : tensor<32768x1024xbf16>
    %b = dgc.broadcast_in_dim %bias dims [1] to [32768, 1024] : tensor<1024xf32>
    %0 = dgc.add %f, %b : tensor<32768x1024xf32>
    %1 = dgc.gelu %0 tanh : tensor<32768x1024xf32>
    %half = dgc.constant dense<0.5> : tensor<32768x1024xf32>
    %2 = dgc.multiply %1, %half : tensor<32768x1024xf32>
    %r = dgc.convert %2 to bf16 : tensor<32768x1024xf32>
    return %r, %bias : tensor<32768x1024xbf16>, tensor<1024xf32>
  }
  func.func @large_f32(%x: tensor<262144x1024xf32> {dgc.state = @x_large_f32}, %bias: tensor<1024xf32> {dgc.state = @bias_large_f32})
      -> (tensor<262144x1024xf32> {dgc.state = @x_large_f32}, tensor<1024xf32> {dgc.state = @bias_large_f32}) {
    %b = dgc.broadcast_in_dim %bias dims [1] to [262144, 1024] : tensor<1024xf32>
    %0 = dgc.add %x, %b : tensor<262144x1024xf32>
    %1 = dgc.gelu %0 tanh : tensor<262144x1024xf32>
    %half = dgc.constant dense<0.5> : tensor<262144x1024xf32>
    %2 = dgc.multiply %1, %half : tensor<262144x1024xf32>
    return %2, %bias : tensor<262144x1024xf32>, tensor<1024xf32>
  }
  func.func @large_bf16(%x: tensor<524288x1024xbf16> {dgc.state = @x_large_bf16}, %bias: tensor<1024xf32> {dgc.state = @bias_large_bf16})
      -> (tensor<524288x1024xbf16> {dgc.state = @x_large_bf16}, tensor<1024xf32> {dgc.state = @bias_large_bf16}) {
    %f = dgc.convert %x to f32 : tensor<524288x1024xbf16>
    %b = dgc.broadcast_in_dim %bias dims [1] to [524288, 1024] : tensor<1024xf32>
    %0 = dgc.add %f, %b : tensor<524288x1024xf32>
    %1 = dgc.gelu %0 tanh : tensor<524288x1024xf32>
    %half = dgc.constant dense<0.5> : tensor<524288x1024xf32>
    %2 = dgc.multiply %1, %half : tensor<524288x1024xf32>
    %r = dgc.convert %2 to bf16 : tensor<524288x1024xf32>
    return %r, %bias : tensor<524288x1024xbf16>, tensor<1024xf32>
  }
}
