// The update of AdamW: weights and means of f32, gradients of f32 or bf16.
// Programs on variables, so that all data stays on the device: nothing is copied there or back in a step. For
// `dgc-compile --compile-from=model`. `small` is 32768 x 1024, `large` 1 GiB, of f32 and of bf16.
//
// Memory that a step has to move, in bytes: 28 for each weight, 26 with gradients of bf16.

module @adamw {
  dgc.state @w_small_f32 weight constant 0.25 rng 0 : tensor<32768x1024xf32>
  dgc.state @g_small_f32 weight constant 0.25 rng 1 : tensor<32768x1024xf32>
  dgc.state @m_small_f32 slot zeros rng 2 : tensor<32768x1024xf32>
  dgc.state @s_small_f32 slot zeros rng 3 : tensor<32768x1024xf32>
  dgc.state @w_small_bf16 weight constant 0.25 rng 4 : tensor<32768x1024xf32>
  dgc.state @g_small_bf16 weight constant 0.25 rng 5 : tensor<32768x1024xbf16>
  dgc.state @m_small_bf16 slot zeros rng 6 : tensor<32768x1024xf32>
  dgc.state @s_small_bf16 slot zeros rng 7 : tensor<32768x1024xf32>
  dgc.state @w_large_f32 weight constant 0.25 rng 8 : tensor<262144x1024xf32>
  dgc.state @g_large_f32 weight constant 0.25 rng 9 : tensor<262144x1024xf32>
  dgc.state @m_large_f32 slot zeros rng 10 : tensor<262144x1024xf32>
  dgc.state @s_large_f32 slot zeros rng 11 : tensor<262144x1024xf32>
  dgc.state @w_large_bf16 weight constant 0.25 rng 12 : tensor<262144x1024xf32>
  dgc.state @g_large_bf16 weight constant 0.25 rng 13 : tensor<262144x1024xbf16>
  dgc.state @m_large_bf16 slot zeros rng 14 : tensor<262144x1024xf32>
  dgc.state @s_large_bf16 slot zeros rng 15 : tensor<262144x1024xf32>
  func.func @small_f32(%w: tensor<32768x1024xf32> {dgc.state = @w_small_f32}, %g: tensor<32768x1024xf32> {dgc.state = @g_small_f32}, %m: tensor<32768x1024xf32> {dgc.state = @m_small_f32}, %s: tensor<32768x1024xf32> {dgc.state = @s_small_f32}, %step: tensor<i64> {dgc.input = "step", dgc.role = "step"})
      -> (tensor<32768x1024xf32> {dgc.state = @w_small_f32}, tensor<32768x1024xf32> {dgc.state = @g_small_f32}, tensor<32768x1024xf32> {dgc.state = @m_small_f32}, tensor<32768x1024xf32> {dgc.state = @s_small_f32}) {
    %rate = dgc.learning_rate %step 0.001
    %w1, %s1:2 = dgc.apply_optimizer adamw(%w, %g, %rate, %step) state(%m, %s) beta1 0.9 beta2 0.999 epsilon 1.0e-08 weight_decay 0.1 : tensor<32768x1024xf32>, tensor<32768x1024xf32>, tensor<f32>, tensor<32768x1024xf32>, tensor<32768x1024xf32>
    return %w1, %g, %s1#0, %s1#1 : tensor<32768x1024xf32>, tensor<32768x1024xf32>, tensor<32768x1024xf32>, tensor<32768x1024xf32>
  }
  func.func @small_bf16(%w: tensor<32768x1024xf32> {dgc.state = @w_small_bf16}, %g: tensor<32768x1024xbf16> {dgc.state = @g_small_bf16}, %m: tensor<32768x1024xf32> {dgc.state = @m_small_bf16}, %s: tensor<32768x1024xf32> {dgc.state = @s_small_bf16}, %step: tensor<i64> {dgc.input = "step", dgc.role = "step"})
      -> (tensor<32768x1024xf32> {dgc.state = @w_small_bf16}, tensor<32768x1024xbf16> {dgc.state = @g_small_bf16}, tensor<32768x1024xf32> {dgc.state = @m_small_bf16}, tensor<32768x1024xf32> {dgc.state = @s_small_bf16}) {
    %rate = dgc.learning_rate %step 0.001
    %f = dgc.convert %g to f32 : tensor<32768x1024xbf16>
    %w1, %s1:2 = dgc.apply_optimizer adamw(%w, %f, %rate, %step) state(%m, %s) beta1 0.9 beta2 0.999 epsilon 1.0e-08 weight_decay 0.1 : tensor<32768x1024xf32>, tensor<32768x1024xf32>, tensor<f32>, tensor<32768x1024xf32>, tensor<32768x1024xf32>
    return %w1, %g, %s1#0, %s1#1 : tensor<32768x1024xf32>, tensor<32768x1024xbf16>, tensor<32768x1024xf32>, tensor<32768x1024xf32>
  }
  func.func @large_f32(%w: tensor<262144x1024xf32> {dgc.state = @w_large_f32}, %g: tensor<262144x1024xf32> {dgc.state = @g_large_f32}, %m: tensor<262144x1024xf32> {dgc.state = @m_large_f32}, %s: tensor<262144x1024xf32> {dgc.state = @s_large_f32}, %step: tensor<i64> {dgc.input = "step", dgc.role = "step"})
      -> (tensor<262144x1024xf32> {dgc.state = @w_large_f32}, tensor<262144x1024xf32> {dgc.state = @g_large_f32}, tensor<262144x1024xf32> {dgc.state = @m_large_f32}, tensor<262144x1024xf32> {dgc.state = @s_large_f32}) {
    %rate = dgc.learning_rate %step 0.001
    %w1, %s1:2 = dgc.apply_optimizer adamw(%w, %g, %rate, %step) state(%m, %s) beta1 0.9 beta2 0.999 epsilon 1.0e-08 weight_decay 0.1 : tensor<262144x1024xf32>, tensor<262144x1024xf32>, tensor<f32>, tensor<262144x1024xf32>, tensor<262144x1024xf32>
    return %w1, %g, %s1#0, %s1#1 : tensor<262144x1024xf32>, tensor<262144x1024xf32>, tensor<262144x1024xf32>, tensor<262144x1024xf32>
  }
  func.func @large_bf16(%w: tensor<262144x1024xf32> {dgc.state = @w_large_bf16}, %g: tensor<262144x1024xbf16> {dgc.state = @g_large_bf16}, %m: tensor<262144x1024xf32> {dgc.state = @m_large_bf16}, %s: tensor<262144x1024xf32> {dgc.state = @s_large_bf16}, %step: tensor<i64> {dgc.input = "step", dgc.role = "step"})
      -> (tensor<262144x1024xf32> {dgc.state = @w_large_bf16}, tensor<262144x1024xbf16> {dgc.state = @g_large_bf16}, tensor<262144x1024xf32> {dgc.state = @m_large_bf16}, tensor<262144x1024xf32> {dgc.state = @s_large_bf16}) {
    %rate = dgc.learning_rate %step 0.001
    %f = dgc.convert %g to f32 : tensor<262144x1024xbf16>
    %w1, %s1:2 = dgc.apply_optimizer adamw(%w, %f, %rate, %step) state(%m, %s) beta1 0.9 beta2 0.999 epsilon 1.0e-08 weight_decay 0.1 : tensor<262144x1024xf32>, tensor<262144x1024xf32>, tensor<f32>, tensor<262144x1024xf32>, tensor<262144x1024xf32>
    return %w1, %g, %s1#0, %s1#1 : tensor<262144x1024xf32>, tensor<262144x1024xbf16>, tensor<262144x1024xf32>, tensor<262144x1024xf32>
  }
}
