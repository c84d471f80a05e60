// A step of a training that was not written as a model: its state is argument 0 and result 1.
module @positions {
  dgc.state @w weight zeros rng 0 : tensor<6x2xf32>
  func.func @step(%rate: tensor<2xbf16> {dgc.input = "rate", dgc.argument = 3 : i64},
                  %x: tensor<4x6xf32> {dgc.input = "x", dgc.argument = 1 : i64},
                  %w: tensor<6x2xf32> {dgc.state = @w, dgc.argument = 0 : i64})
      -> (tensor<6x2xf32> {dgc.state = @w, dgc.result = 1 : i64}, tensor<4x2xf32> {dgc.output = "y", dgc.result = 2 : i64},
          tensor<f32> {dgc.output = "sum", dgc.result = 0 : i64}) {
    %y = dgc.matmul %x, %w : tensor<4x6xf32>, tensor<6x2xf32>
    %sum = dgc.reduce sum %y dims [0, 1] : tensor<4x2xf32>
    %r = dgc.convert %rate to f32 : tensor<2xbf16>
    %wide = dgc.broadcast_in_dim %r dims [1] to [6, 2] : tensor<2xf32>
    %new = dgc.add %w, %wide : tensor<6x2xf32>
    return %new, %y, %sum : tensor<6x2xf32>, tensor<4x2xf32>, tensor<f32>
  }
}
