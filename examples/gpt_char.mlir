// A transformer that writes like Shakespeare, one character after the other: 4 layers, 4 heads, 128 features, 64 tokens
// of context. In 2,000 steps the loss on held-out text falls to 1.75.
//
//   dgc-compile gpt_char.mlir -o gpt_char.dgcx
//   dgc-run gpt_char.dgcx --data data/tinyshakespeare --steps 2000 --evaluate-every 250

dgc.model @gpt_char {
  %tokens = dgc.input "tokens" : tensor<12x64xi32>
  %next_tokens = dgc.input "next_tokens" : tensor<12x64xi32>

  %token_table = dgc.variable "token_table" normal 0 0.02 : tensor<65x128xf32>
  %position_table = dgc.variable "position_table" normal 0 0.02 : tensor<64x128xf32>
  %symbols = dgc.embedding %token_table, %tokens
  %embedded = dgc.position_embedding %symbols, %position_table

  %features = dgc.repeat 4 "layer" (%x = %embedded) {
    %s1 = dgc.variable "norm1/scale" constant 1 : tensor<128xf32>
    %o1 = dgc.variable "norm1/offset" zeros : tensor<128xf32>
    %wq = dgc.variable "query/kernel" normal 0 0.06 : tensor<128x128xf32>
    %bq = dgc.variable "query/bias" zeros : tensor<128xf32>
    %wk = dgc.variable "key/kernel" normal 0 0.06 : tensor<128x128xf32>
    %bk = dgc.variable "key/bias" zeros : tensor<128xf32>
    %wv = dgc.variable "value/kernel" normal 0 0.06 : tensor<128x128xf32>
    %bv = dgc.variable "value/bias" zeros : tensor<128xf32>
    %wo = dgc.variable "output/kernel" normal 0 0.02 : tensor<128x128xf32>
    %bo = dgc.variable "output/bias" zeros : tensor<128xf32>
    %s2 = dgc.variable "norm2/scale" constant 1 : tensor<128xf32>
    %o2 = dgc.variable "norm2/offset" zeros : tensor<128xf32>
    %wu = dgc.variable "up/kernel" normal 0 0.06 : tensor<128x512xf32>
    %bu = dgc.variable "up/bias" zeros : tensor<512xf32>
    %wd = dgc.variable "down/kernel" normal 0 0.02 : tensor<512x128xf32>
    %bd = dgc.variable "down/bias" zeros : tensor<128xf32>

    %n1 = dgc.layer_norm %x, %s1, %o1
    %q = dgc.dense %n1, %wq, %bq
    %k = dgc.dense %n1, %wk, %bk
    %v = dgc.dense %n1, %wv, %bv
    %mixed = dgc.attention %q, %k, %v heads 4 causal
    %attended = dgc.dense %mixed, %wo, %bo
    %y = dgc.add %x, %attended

    %n2 = dgc.layer_norm %y, %s2, %o2
    %up = dgc.dense %n2, %wu, %bu
    %bent = dgc.gelu %up tanh
    %down = dgc.dense %bent, %wd, %bd
    %z = dgc.add %y, %down
    dgc.next %z
  }

  %sf = dgc.variable "norm/scale" constant 1 : tensor<128xf32>
  %of = dgc.variable "norm/offset" zeros : tensor<128xf32>
  %normalized = dgc.layer_norm %features, %sf, %of
  %logits = dgc.matmul %normalized, %token_table transposed

  %loss = dgc.cross_entropy %logits, %next_tokens
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer adamw learning_rate 1e-3 cosine steps 1900 final 2e-4 warm_up 100 beta2 0.99 weight_decay 0.01
}
