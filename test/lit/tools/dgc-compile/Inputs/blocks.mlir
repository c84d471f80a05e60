// Six blocks: wide between, narrow from one to the next.
dgc.model @blocks {
  %x = dgc.input "x" : tensor<1024x64xf32>
  %y = dgc.input "y" : tensor<1024x64xf32>
  %u0 = dgc.variable "u0" glorot_uniform : tensor<64x512xf32>
  %d0 = dgc.variable "d0" glorot_uniform : tensor<512x64xf32>
  %a0 = dgc.matmul %x, %u0 {block = "block.0"}
  %h0 = dgc.tanh %a0 {block = "block.0"}
  %s0 = dgc.sigmoid %h0 {block = "block.0"}
  %b0 = dgc.matmul %s0, %d0 {block = "block.0"}
  %c0 = dgc.add %x, %b0
  %u1 = dgc.variable "u1" glorot_uniform : tensor<64x512xf32>
  %d1 = dgc.variable "d1" glorot_uniform : tensor<512x64xf32>
  %a1 = dgc.matmul %c0, %u1 {block = "block.1"}
  %h1 = dgc.tanh %a1 {block = "block.1"}
  %s1 = dgc.sigmoid %h1 {block = "block.1"}
  %b1 = dgc.matmul %s1, %d1 {block = "block.1"}
  %c1 = dgc.add %c0, %b1
  %u2 = dgc.variable "u2" glorot_uniform : tensor<64x512xf32>
  %d2 = dgc.variable "d2" glorot_uniform : tensor<512x64xf32>
  %a2 = dgc.matmul %c1, %u2 {block = "block.2"}
  %h2 = dgc.tanh %a2 {block = "block.2"}
  %s2 = dgc.sigmoid %h2 {block = "block.2"}
  %b2 = dgc.matmul %s2, %d2 {block = "block.2"}
  %c2 = dgc.add %c1, %b2
  %u3 = dgc.variable "u3" glorot_uniform : tensor<64x512xf32>
  %d3 = dgc.variable "d3" glorot_uniform : tensor<512x64xf32>
  %a3 = dgc.matmul %c2, %u3 {block = "block.3"}
  %h3 = dgc.tanh %a3 {block = "block.3"}
  %s3 = dgc.sigmoid %h3 {block = "block.3"}
  %b3 = dgc.matmul %s3, %d3 {block = "block.3"}
  %c3 = dgc.add %c2, %b3
  %u4 = dgc.variable "u4" glorot_uniform : tensor<64x512xf32>
  %d4 = dgc.variable "d4" glorot_uniform : tensor<512x64xf32>
  %a4 = dgc.matmul %c3, %u4 {block = "block.4"}
  %h4 = dgc.tanh %a4 {block = "block.4"}
  %s4 = dgc.sigmoid %h4 {block = "block.4"}
  %b4 = dgc.matmul %s4, %d4 {block = "block.4"}
  %c4 = dgc.add %c3, %b4
  %u5 = dgc.variable "u5" glorot_uniform : tensor<64x512xf32>
  %d5 = dgc.variable "d5" glorot_uniform : tensor<512x64xf32>
  %a5 = dgc.matmul %c4, %u5 {block = "block.5"}
  %h5 = dgc.tanh %a5 {block = "block.5"}
  %s5 = dgc.sigmoid %h5 {block = "block.5"}
  %b5 = dgc.matmul %s5, %d5 {block = "block.5"}
  %c5 = dgc.add %c4, %b5
  %loss = dgc.mean_squared_error %c5, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
