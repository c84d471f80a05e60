// A transformer with all that gpt_char has, small: AdamW, gradients clipped by the norm of all, a table that is tied.
dgc.model @small_transformer {
  %tokens = dgc.input "tokens" : tensor<?x7xi32>
  %next_tokens = dgc.input "next_tokens" : tensor<?x7xi32>
  %token_table = dgc.variable "token_table" normal 0 0.3 : tensor<11x12xf32>
  %position_table = dgc.variable "position_table" normal 0 0.3 : tensor<9x12xf32>
  %symbols = dgc.embedding %token_table, %tokens
  %embedded = dgc.position_embedding %symbols, %position_table
  %features = dgc.repeat 2 "layer" (%x = %embedded) {
    %s1 = dgc.variable "norm1/scale" constant 1 : tensor<12xf32>
    %o1 = dgc.variable "norm1/offset" zeros : tensor<12xf32>
    %wq = dgc.variable "query/kernel" normal 0 0.3 : tensor<12x12xf32>
    %bq = dgc.variable "query/bias" zeros : tensor<12xf32>
    %wk = dgc.variable "key/kernel" normal 0 0.3 : tensor<12x12xf32>
    %bk = dgc.variable "key/bias" zeros : tensor<12xf32>
    %wv = dgc.variable "value/kernel" normal 0 0.3 : tensor<12x12xf32>
    %bv = dgc.variable "value/bias" zeros : tensor<12xf32>
    %wo = dgc.variable "output/kernel" normal 0 0.2 : tensor<12x12xf32>
    %bo = dgc.variable "output/bias" zeros : tensor<12xf32>
    %s2 = dgc.variable "norm2/scale" constant 1 : tensor<12xf32>
    %o2 = dgc.variable "norm2/offset" zeros : tensor<12xf32>
    %wu = dgc.variable "up/kernel" normal 0 0.3 : tensor<12x24xf32>
    %bu = dgc.variable "up/bias" zeros : tensor<24xf32>
    %wd = dgc.variable "down/kernel" normal 0 0.2 : tensor<24x12xf32>
    %bd = dgc.variable "down/bias" zeros : tensor<12xf32>
    %n1 = dgc.layer_norm %x, %s1, %o1
    %q = dgc.dense %n1, %wq, %bq
    %k = dgc.dense %n1, %wk, %bk
    %v = dgc.dense %n1, %wv, %bv
    %mixed = dgc.attention %q, %k, %v heads 2 causal
    %attended = dgc.dense %mixed, %wo, %bo
    %y = dgc.add %x, %attended
    %n2 = dgc.layer_norm %y, %s2, %o2
    %up = dgc.dense %n2, %wu, %bu
    %bent = dgc.gelu %up tanh
    %down = dgc.dense %bent, %wd, %bd
    %z = dgc.add %y, %down
    dgc.next %z
  }
  %sf = dgc.variable "norm/scale" constant 1 : tensor<12xf32>
  %of = dgc.variable "norm/offset" zeros : tensor<12xf32>
  %normalized = dgc.layer_norm %features, %sf, %of
  %logits = dgc.matmul %normalized, %token_table transposed
  %loss = dgc.cross_entropy %logits, %next_tokens
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer adamw learning_rate 0.001 clip_global_norm 0.01
}
