// Two layers of a transformer on vectors: attention with four heads, and a wide layer in between two narrow ones.
dgc.model @transformer {
  %x = dgc.input "x" : tensor<?x8x16xf32>
  %y = dgc.input "y" : tensor<?x8x16xf32>
  %norm1_scale0 = dgc.variable "0.norm1/scale" constant 1 : tensor<16xf32>
  %norm1_offset0 = dgc.variable "0.norm1/offset" zeros : tensor<16xf32>
  %norm2_scale0 = dgc.variable "0.norm2/scale" constant 1 : tensor<16xf32>
  %norm2_offset0 = dgc.variable "0.norm2/offset" zeros : tensor<16xf32>
  %query_kernel0 = dgc.variable "0.query/kernel" glorot_uniform : tensor<16x16xf32>
  %query_bias0 = dgc.variable "0.query/bias" uniform -0.1 0.1 : tensor<16xf32>
  %key_kernel0 = dgc.variable "0.key/kernel" glorot_uniform : tensor<16x16xf32>
  %key_bias0 = dgc.variable "0.key/bias" uniform -0.1 0.1 : tensor<16xf32>
  %value_kernel0 = dgc.variable "0.value/kernel" glorot_uniform : tensor<16x16xf32>
  %value_bias0 = dgc.variable "0.value/bias" uniform -0.1 0.1 : tensor<16xf32>
  %output_kernel0 = dgc.variable "0.output/kernel" glorot_uniform : tensor<16x16xf32>
  %output_bias0 = dgc.variable "0.output/bias" uniform -0.1 0.1 : tensor<16xf32>
  %up_kernel0 = dgc.variable "0.up/kernel" glorot_uniform : tensor<16x32xf32>
  %up_bias0 = dgc.variable "0.up/bias" uniform -0.1 0.1 : tensor<32xf32>
  %down_kernel0 = dgc.variable "0.down/kernel" glorot_uniform : tensor<32x16xf32>
  %down_bias0 = dgc.variable "0.down/bias" zeros : tensor<16xf32>
  %n0 = dgc.layer_norm %x, %norm1_scale0, %norm1_offset0 {block = "layer.0"}
  %q0 = dgc.dense %n0, %query_kernel0, %query_bias0 {block = "layer.0"}
  %qh0 = dgc.reshape %q0 to [-1, 8, 4, 4] {block = "layer.0"}
  %qt0 = dgc.transpose %qh0 permutation [0, 2, 1, 3] {block = "layer.0"}
  %k0 = dgc.dense %n0, %key_kernel0, %key_bias0 {block = "layer.0"}
  %kh0 = dgc.reshape %k0 to [-1, 8, 4, 4] {block = "layer.0"}
  %kt0 = dgc.transpose %kh0 permutation [0, 2, 3, 1] {block = "layer.0"}
  %v0 = dgc.dense %n0, %value_kernel0, %value_bias0 {block = "layer.0"}
  %vh0 = dgc.reshape %v0 to [-1, 8, 4, 4] {block = "layer.0"}
  %vt0 = dgc.transpose %vh0 permutation [0, 2, 1, 3] {block = "layer.0"}
  %a0 = dgc.matmul %qt0, %kt0 {block = "layer.0"}
  %as0 = dgc.scale %a0 by 0.5 {block = "layer.0"}
  %p0 = dgc.softmax %as0 {block = "layer.0"}
  %m0 = dgc.matmul %p0, %vt0 {block = "layer.0"}
  %mt0 = dgc.transpose %m0 permutation [0, 2, 1, 3] {block = "layer.0"}
  %mr0 = dgc.reshape %mt0 to [-1, 8, 16] {block = "layer.0"}
  %o0 = dgc.dense %mr0, %output_kernel0, %output_bias0 {block = "layer.0"}
  %r0 = dgc.add %x, %o0
  %n20 = dgc.layer_norm %r0, %norm2_scale0, %norm2_offset0 {block = "layer.0"}
  %u0 = dgc.dense %n20, %up_kernel0, %up_bias0 {block = "layer.0"}
  %g0 = dgc.gelu %u0 {block = "layer.0"}
  %d0 = dgc.dense %g0, %down_kernel0, %down_bias0 {block = "layer.0"}
  %z0 = dgc.add %r0, %d0
  %norm1_scale1 = dgc.variable "1.norm1/scale" constant 1 : tensor<16xf32>
  %norm1_offset1 = dgc.variable "1.norm1/offset" zeros : tensor<16xf32>
  %norm2_scale1 = dgc.variable "1.norm2/scale" constant 1 : tensor<16xf32>
  %norm2_offset1 = dgc.variable "1.norm2/offset" zeros : tensor<16xf32>
  %query_kernel1 = dgc.variable "1.query/kernel" glorot_uniform : tensor<16x16xf32>
  %query_bias1 = dgc.variable "1.query/bias" uniform -0.1 0.1 : tensor<16xf32>
  %key_kernel1 = dgc.variable "1.key/kernel" glorot_uniform : tensor<16x16xf32>
  %key_bias1 = dgc.variable "1.key/bias" uniform -0.1 0.1 : tensor<16xf32>
  %value_kernel1 = dgc.variable "1.value/kernel" glorot_uniform : tensor<16x16xf32>
  %value_bias1 = dgc.variable "1.value/bias" uniform -0.1 0.1 : tensor<16xf32>
  %output_kernel1 = dgc.variable "1.output/kernel" glorot_uniform : tensor<16x16xf32>
  %output_bias1 = dgc.variable "1.output/bias" uniform -0.1 0.1 : tensor<16xf32>
  %up_kernel1 = dgc.variable "1.up/kernel" glorot_uniform : tensor<16x32xf32>
  %up_bias1 = dgc.variable "1.up/bias" uniform -0.1 0.1 : tensor<32xf32>
  %down_kernel1 = dgc.variable "1.down/kernel" glorot_uniform : tensor<32x16xf32>
  %down_bias1 = dgc.variable "1.down/bias" zeros : tensor<16xf32>
  %n1 = dgc.layer_norm %z0, %norm1_scale1, %norm1_offset1 {block = "layer.1"}
  %q1 = dgc.dense %n1, %query_kernel1, %query_bias1 {block = "layer.1"}
  %qh1 = dgc.reshape %q1 to [-1, 8, 4, 4] {block = "layer.1"}
  %qt1 = dgc.transpose %qh1 permutation [0, 2, 1, 3] {block = "layer.1"}
  %k1 = dgc.dense %n1, %key_kernel1, %key_bias1 {block = "layer.1"}
  %kh1 = dgc.reshape %k1 to [-1, 8, 4, 4] {block = "layer.1"}
  %kt1 = dgc.transpose %kh1 permutation [0, 2, 3, 1] {block = "layer.1"}
  %v1 = dgc.dense %n1, %value_kernel1, %value_bias1 {block = "layer.1"}
  %vh1 = dgc.reshape %v1 to [-1, 8, 4, 4] {block = "layer.1"}
  %vt1 = dgc.transpose %vh1 permutation [0, 2, 1, 3] {block = "layer.1"}
  %a1 = dgc.matmul %qt1, %kt1 {block = "layer.1"}
  %as1 = dgc.scale %a1 by 0.5 {block = "layer.1"}
  %p1 = dgc.softmax %as1 {block = "layer.1"}
  %m1 = dgc.matmul %p1, %vt1 {block = "layer.1"}
  %mt1 = dgc.transpose %m1 permutation [0, 2, 1, 3] {block = "layer.1"}
  %mr1 = dgc.reshape %mt1 to [-1, 8, 16] {block = "layer.1"}
  %o1 = dgc.dense %mr1, %output_kernel1, %output_bias1 {block = "layer.1"}
  %r1 = dgc.add %z0, %o1
  %n21 = dgc.layer_norm %r1, %norm2_scale1, %norm2_offset1 {block = "layer.1"}
  %u1 = dgc.dense %n21, %up_kernel1, %up_bias1 {block = "layer.1"}
  %g1 = dgc.gelu %u1 {block = "layer.1"}
  %d1 = dgc.dense %g1, %down_kernel1, %down_bias1 {block = "layer.1"}
  %z1 = dgc.add %r1, %d1
  %loss = dgc.mean_squared_error %z1, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.05 momentum 0.9
}
