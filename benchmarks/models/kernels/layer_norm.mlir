// Layer normalization of rows.
// Programs on variables, so that all data stays on the device: nothing is copied there or back in a step. For
// `dgc-compile --compile-from=model`. `small` is 32768 x 1024, `large` 1 GiB, of f32 and of bf16.
//
// Memory that a step has to move, in bytes: the size of x, twice.

module @layer_norm {
  dgc.state @x_small_f32 weight constant 0.25 rng 0 : tensor<32768x1024xf32>
  dgc.state @y_small_f32 weight zeros rng 1 : tensor<32768x1024xf32>
  dgc.state @scale_small_f32 weight constant 1.0 rng 2 : tensor<1024xf32>
  dgc.state @shift_small_f32 weight zeros rng 3 : tensor<1024xf32>
  dgc.state @x_small_bf16 weight constant 0.25 rng 4 : tensor<32768x1024xbf16>
  dgc.state @y_small_bf16 weight zeros rng 5 : tensor<32768x1024xbf16>
  dgc.state @scale_small_bf16 weight constant 1.0 rng 6 : tensor<1024xf32>
  dgc.state @shift_small_bf16 weight zeros rng 7 : tensor<1024xf32>
  dgc.state @x_large_f32 weight constant 0.25 rng 8 : tensor<262144x1024xf32>
  dgc.state @y_large_f32 weight zeros rng 9 : tensor<262144x1024xf32>
  dgc.state @scale_large_f32 weight constant 1.0 rng 10 : tensor<1024xf32>
  dgc.state @shift_large_f32 weight zeros rng 11 : tensor<1024xf32>
  dgc.state @x_large_bf16 weight constant 0.25 rng 12 : tensor<524288x1024xbf16>
  dgc.state @y_large_bf16 weight zeros rng 13 : tensor<524288x1024xbf16>
  dgc.state @scale_large_bf16 weight constant 1.0 rng 14 : tensor<1024xf32>
  dgc.state @shift_large_bf16 weight zeros rng 15 : tensor<1024xf32>
  func.func @small_f32(%x: tensor<32768x1024xf32> {dgc.state = @x_small_f32}, %y: tensor<32768x1024xf32> {dgc.state = @y_small_f32}, %scale: tensor<1024xf32> {dgc.state = @scale_small_f32}, %shift: tensor<1024xf32> {dgc.state = @shift_small_f32})
      -> (tensor<32768x1024xf32> {dgc.state = @x_small_f32}, tensor<32768x1024xf32> {dgc.state = @y_small_f32}, tensor<1024xf32> {dgc.state = @scale_small_f32}, tensor<1024xf32> {dgc.state = @shift_small_f32}) {
    %0 = dgc.layer_norm %x, %scale, %shift epsilon 1.0e-5 : tensor<32768x1024xf32>, tensor<1024xf32>, tensor<1024xf32>
    return %x, %0, %scale, %shift : tensor<32768x1024xf32>, tensor<32768x1024xf32>, tensor<1024xf32>, tensor<1024xf32>
  }
  func.func @small_bf16(%x: tensor<32768x1024xbf16> {dgc.state = @x_small_bf16}, %y: tensor<32768x1024xbf16> {dgc.state = @y_small_bf16}, %scale: tensor<1024xf32> {dgc.state = @scale_small_bf16}, %shift: tensor<1024xf32> {dgc.state = @shift_small_bf16})
      -> (tensor<32768x1024xbf16> {dgc.state = @x_small_bf16}, tensor<32768x1024xbf16> {dgc.state = @y_small_bf16}, tensor<1024xf32> {dgc.state = @scale_small_bf16}, tensor<1024xf32> {dgc.state = @shift_small_bf16}) {
    %f = dgc.convert %x to f32 : tensor<32768x1024xbf16>
    %0 = dgc.layer_norm %f, %scale, %shift epsilon 1.0e-5 : tensor<32768x1024xf32>, tensor<1024xf32>, tensor<1024xf32>
    %r = dgc.convert %0 to bf16 : tensor<32768x1024xf32>
    return %x, %r, %scale, %shift : tensor<32768x1024xbf16>, tensor<32768x1024xbf16>, tensor<1024xf32>, tensor<1024xf32>
  }
  func.func @large_f32(%x: tensor<262144x1024xf32> {dgc.state = @x_large_f32}, %y: tensor<262144x1024xf32> {dgc.state = @y_large_f32}, %scale: tensor<1024xf32> {dgc.state = @scale_large_f32}, %shift: tensor<1024xf32> {dgc.state = @shift_large_f32})
      -> (tensor<262144x1024xf32> {dgc.state = @x_large_f32}, tensor<262144x1024xf32> {dgc.state = @y_large_f32}, tensor<1024xf32> {dgc.state = @scale_large_f32}, tensor<1024xf32> {dgc.state = @shift_large_f32}) {
    %0 = dgc.layer_norm %x, %scale, %shift epsilon 1.0e-5 : tensor<262144x1024xf32>, tensor<1024xf32>, tensor<1024xf32>
    return %x, %0, %scale, %shift : tensor<262144x1024xf32>, tensor<262144x1024xf32>, tensor<1024xf32>, tensor<1024xf32>
  }
  func.func @large_bf16(%x: tensor<524288x1024xbf16> {dgc.state = @x_large_bf16}, %y: tensor<524288x1024xbf16> {dgc.state = @y_large_bf16}, %scale: tensor<1024xf32> {dgc.state = @scale_large_bf16}, %shift: tensor<1024xf32> {dgc.state = @shift_large_bf16})
      -> (tensor<524288x1024xbf16> {dgc.state = @x_large_bf16}, tensor<524288x1024xbf16> {dgc.state = @y_large_bf16}, tensor<1024xf32> {dgc.state = @scale_large_bf16}, tensor<1024xf32> {dgc.state = @shift_large_bf16}) {
    %f = dgc.convert %x to f32 : tensor<524288x1024xbf16>
    %0 = dgc.layer_norm %f, %scale, %shift epsilon 1.0e-5 : tensor<524288x1024xf32>, tensor<1024xf32>, tensor<1024xf32>
    %r = dgc.convert %0 to bf16 : tensor<524288x1024xf32>
    return %x, %r, %scale, %shift : tensor<524288x1024xbf16>, tensor<524288x1024xbf16>, tensor<1024xf32>, tensor<1024xf32>
  }
}
