// GPT-2 small: 12 layers, 12 heads, 768 features, 1,024 tokens of context, 50,257 symbols, tied output; 124,439,808
// parameters. Trained by AdamW on files of tokens (docs/data-and-results.md).
//
//   dgc-compile gpt2.mlir --precision bf16 -o gpt2.dgcx

dgc.model @gpt2 {
  %tokens = dgc.input "tokens" : tensor<?x1024xi32>
  %next_tokens = dgc.input "next_tokens" : tensor<?x1024xi32>

  %token_table = dgc.variable "token_table" normal 0 0.02 : tensor<50257x768xf32>
  %position_table = dgc.variable "position_table" normal 0 0.01 : tensor<1024x768xf32>
  %symbols = dgc.embedding %token_table, %tokens
  %embedded = dgc.position_embedding %symbols, %position_table

  %features = dgc.repeat 12 "layer" (%x = %embedded) {
    %s1 = dgc.variable "norm1/scale" constant 1 : tensor<768xf32>
    %o1 = dgc.variable "norm1/offset" zeros : tensor<768xf32>
    %wq = dgc.variable "query/kernel" normal 0 0.02 : tensor<768x768xf32>
    %bq = dgc.variable "query/bias" zeros : tensor<768xf32>
    %wk = dgc.variable "key/kernel" normal 0 0.02 : tensor<768x768xf32>
    %bk = dgc.variable "key/bias" zeros : tensor<768xf32>
    %wv = dgc.variable "value/kernel" normal 0 0.02 : tensor<768x768xf32>
    %bv = dgc.variable "value/bias" zeros : tensor<768xf32>
    %wo = dgc.variable "output/kernel" normal 0 0.004 : tensor<768x768xf32>
    %bo = dgc.variable "output/bias" zeros : tensor<768xf32>
    %s2 = dgc.variable "norm2/scale" constant 1 : tensor<768xf32>
    %o2 = dgc.variable "norm2/offset" zeros : tensor<768xf32>
    %wu = dgc.variable "up/kernel" normal 0 0.02 : tensor<768x3072xf32>
    %bu = dgc.variable "up/bias" zeros : tensor<3072xf32>
    %wd = dgc.variable "down/kernel" normal 0 0.004 : tensor<3072x768xf32>
    %bd = dgc.variable "down/bias" zeros : tensor<768xf32>

    %n1 = dgc.layer_norm %x, %s1, %o1
    %q = dgc.dense %n1, %wq, %bq
    %k = dgc.dense %n1, %wk, %bk
    %v = dgc.dense %n1, %wv, %bv
    %mixed = dgc.attention %q, %k, %v heads 12 causal
    %attended = dgc.dense %mixed, %wo, %bo
    %y = dgc.add %x, %attended

    %n2 = dgc.layer_norm %y, %s2, %o2
    %up = dgc.dense %n2, %wu, %bu
    %bent = dgc.gelu %up tanh
    %down = dgc.dense %bent, %wd, %bd
    %z = dgc.add %y, %down
    dgc.next %z
  }

  %sf = dgc.variable "norm/scale" constant 1 : tensor<768xf32>
  %of = dgc.variable "norm/offset" zeros : tensor<768xf32>
  %normalized = dgc.layer_norm %features, %sf, %of
  %logits = dgc.matmul %normalized, %token_table transposed

  %loss = dgc.cross_entropy %logits, %next_tokens
  dgc.loss %loss
  dgc.optimizer adamw learning_rate 6e-4 cosine steps 600000 final 6e-5 warm_up 2000 beta2 0.95 weight_decay 0.1 clip_global_norm 1
}
