// The mean cross-entropy of rows and its gradient.
// Programs on variables, so that all data stays on the device: nothing is copied there or back in a step. For
// `dgc-compile --compile-from=model`. `small` is 32768 x 1024, `large` 1 GiB, of f32 and of bf16.
//
// Memory that a step has to move, in bytes: the size of x, twice.

module @cross_entropy {
  dgc.state @x_small_f32 weight constant 0.25 rng 0 : tensor<32768x1024xf32>
  dgc.state @y_small_f32 weight zeros rng 1 : tensor<32768x1024xf32>
  dgc.state @x_small_bf16 weight constant 0.25 rng 2 : tensor<32768x1024xbf16>
  dgc.state @y_small_bf16 weight zeros rng 3 : tensor<32768x1024xbf16>
  dgc.state @x_large_f32 weight constant 0.25 rng 4 : tensor<262144x1024xf32>
  dgc.state @y_large_f32 weight zeros rng 5 : tensor<262144x1024xf32>
  dgc.state @x_large_bf16 weight constant 0.25 rng 6 : tensor<524288x1024xbf16>
  dgc.state @y_large_bf16 weight zeros rng 7 : tensor<524288x1024xbf16>
  func.func @small_f32(%x: tensor<32768x1024xf32> {dgc.state = @x_small_f32}, %y: tensor<32768x1024xf32> {dgc.state = @y_small_f32}) -> (tensor<32768x1024xf32> {dgc.state = @x_small_f32}, tensor<32768x1024xf32> {dgc.state = @y_small_f32}, tensor<f32> {dgc.output = "loss", dgc.role = "loss"}) {
    %i = dgc.iota dim 0 : tensor<32768xi32>
    %most = dgc.constant dense<1023> : tensor<32768xi32>
    %label = dgc.and %i, %most : tensor<32768xi32>
    %loss = dgc.cross_entropy %x, %label : tensor<32768x1024xf32>, tensor<32768xi32>
    %g = dgc.gradient %loss wrt %x : tensor<f32>, tensor<32768x1024xf32>
    return %x, %g, %loss : tensor<32768x1024xf32>, tensor<32768x1024xf32>, tensor<f32>
  }
  func.func @small_bf16(%x: tensor<32768x1024xbf16> {dgc.state = @x_small_bf16}, %y: tensor<32768x1024xbf16> {dgc.state = @y_small_bf16}) -> (tensor<32768x1024xbf16> {dgc.state = @x_small_bf16}, tensor<32768x1024xbf16> {dgc.state = @y_small_bf16}, tensor<f32> {dgc.output = "loss", dgc.role = "loss"}) {
    %i = dgc.iota dim 0 : tensor<32768xi32>
    %most = dgc.constant dense<1023> : tensor<32768xi32>
    %label = dgc.and %i, %most : tensor<32768xi32>
    %f = dgc.convert %x to f32 : tensor<32768x1024xbf16>
    %loss = dgc.cross_entropy %f, %label : tensor<32768x1024xf32>, tensor<32768xi32>
    %g = dgc.gradient %loss wrt %f : tensor<f32>, tensor<32768x1024xf32>
    %r = dgc.convert %g to bf16 : tensor<32768x1024xf32>
    return %x, %r, %loss : tensor<32768x1024xbf16>, tensor<32768x1024xbf16>, tensor<f32>
  }
  func.func @large_f32(%x: tensor<262144x1024xf32> {dgc.state = @x_large_f32}, %y: tensor<262144x1024xf32> {dgc.state = @y_large_f32}) -> (tensor<262144x1024xf32> {dgc.state = @x_large_f32}, tensor<262144x1024xf32> {dgc.state = @y_large_f32}, tensor<f32> {dgc.output = "loss", dgc.role = "loss"}) {
    %i = dgc.iota dim 0 : tensor<262144xi32>
    %most = dgc.constant dense<1023> : tensor<262144xi32>
    %label = dgc.and %i, %most : tensor<262144xi32>
    %loss = dgc.cross_entropy %x, %label : tensor<262144x1024xf32>, tensor<262144xi32>
    %g = dgc.gradient %loss wrt %x : tensor<f32>, tensor<262144x1024xf32>
    return %x, %g, %loss : tensor<262144x1024xf32>, tensor<262144x1024xf32>, tensor<f32>
  }
  func.func @large_bf16(%x: tensor<524288x1024xbf16> {dgc.state = @x_large_bf16}, %y: tensor<524288x1024xbf16> {dgc.state = @y_large_bf16}) -> (tensor<524288x1024xbf16> {dgc.state = @x_large_bf16}, tensor<524288x1024xbf16> {dgc.state = @y_large_bf16}, tensor<f32> {dgc.output = "loss", dgc.role = "loss"}) {
    %i = dgc.iota dim 0 : tensor<524288xi32>
    %most = dgc.constant dense<1023> : tensor<524288xi32>
    %label = dgc.and %i, %most : tensor<524288xi32>
    %f = dgc.convert %x to f32 : tensor<524288x1024xbf16>
    %loss = dgc.cross_entropy %f, %label : tensor<524288x1024xf32>, tensor<524288xi32>
    %g = dgc.gradient %loss wrt %f : tensor<f32>, tensor<524288x1024xf32>
    %r = dgc.convert %g to bf16 : tensor<524288x1024xf32>
    return %x, %r, %loss : tensor<524288x1024xbf16>, tensor<524288x1024xbf16>, tensor<f32>
  }
}
