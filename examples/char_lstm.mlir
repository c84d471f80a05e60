// A recurrent network that writes like Shakespeare, one character after the other: two layers of LSTM with 256 units over 64
// characters. In 2,000 steps the loss on held-out text falls to 1.53.
//
//   dgc-compile char_lstm.mlir -o char_lstm.dgcx --mesh data=2 --strategy data-parallel
//   dgc-run char_lstm.dgcx --data data/tinyshakespeare --steps 2000 --evaluate-every 250

dgc.model @char_lstm {
  %tokens = dgc.input "tokens" : tensor<32x64xi32>
  %next_tokens = dgc.input "next_tokens" : tensor<32x64xi32>

  %table = dgc.variable "table" normal 0 0.1 : tensor<65x128xf32>
  %w1 = dgc.variable "lstm1/kernel" glorot_uniform : tensor<128x1024xf32>
  %u1 = dgc.variable "lstm1/recurrent" glorot_uniform : tensor<256x1024xf32>
  %b1 = dgc.variable "lstm1/bias" zeros : tensor<1024xf32>
  %w2 = dgc.variable "lstm2/kernel" glorot_uniform : tensor<256x1024xf32>
  %u2 = dgc.variable "lstm2/recurrent" glorot_uniform : tensor<256x1024xf32>
  %b2 = dgc.variable "lstm2/bias" zeros : tensor<1024xf32>
  %wo = dgc.variable "output/kernel" glorot_uniform : tensor<256x65xf32>
  %bo = dgc.variable "output/bias" zeros : tensor<65xf32>

  %symbols = dgc.embedding %table, %tokens
  %y1, %h1, %c1 = dgc.lstm %symbols, %w1, %u1, %b1
  %y2, %h2, %c2 = dgc.lstm %y1, %w2, %u2, %b2
  %logits = dgc.dense %y2, %wo, %bo

  %loss = dgc.cross_entropy %logits, %next_tokens
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer adamw learning_rate 3e-3 cosine steps 1900 final 3e-4 warm_up 100 weight_decay 0.01
}
