// What cuDNN computes of attention in 16 bits: with heads of 8 and of 16 features, causal and not, forwards and the
// gradients of query, key and value. 128 places, which all versions of cuDNN 9 that can be used do.
//
//   dgc-compile attention.mlir --precision=bf16 --target=cuda:sm_90 -o attention.dgcx

dgc.model @attention {
  %x = dgc.input "x" : tensor<3x128x32xf32>
  %wanted = dgc.input "wanted" : tensor<3x128x32xf32>
  %wq = dgc.variable "wq" glorot_uniform : tensor<32x32xf32>
  %wk = dgc.variable "wk" glorot_uniform : tensor<32x32xf32>
  %wv = dgc.variable "wv" glorot_uniform : tensor<32x32xf32>
  %wg = dgc.variable "wg" glorot_uniform : tensor<32x32xf32>
  %q = dgc.matmul %x, %wq
  %k = dgc.matmul %x, %wk
  %v = dgc.matmul %x, %wv
  %a = dgc.attention %q, %k, %v heads 4 causal
  %g = dgc.matmul %a, %wg
  %b = dgc.attention %a, %g, %g heads 2
  %loss = dgc.mean_squared_error %b, %wanted
  dgc.loss %loss
  dgc.output "b" %b
  dgc.optimizer sgd learning_rate 0.1
}
