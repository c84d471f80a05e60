// Recurrent layers.

#ifndef DGC_RECURRENT_OPS_TD
#define DGC_RECURRENT_OPS_TD

include "dialects/dgc/Composite.td"

def DGC_LSTMOp : DGC_CompositeOp<"lstm", [DGC_DecomposesIntoScan], 3> {
  let summary = "long short-term memory";
  let description = [{
    `%y, %h, %c = dgc.lstm %x, %w, %u, %b`: `[b, t, in] x [in, 4 * n] x [n, 4 * n] + [4 * n] -> [b, t, n], [b, n], [b, n]`.
    With `z = x[t] w + h u + b`, whose four parts along the last dimension are i, f, g and o, in the order of PyTorch, a round
    computes `c = sigmoid(f) * c + sigmoid(i) * tanh(g)` and `h = sigmoid(o) * tanh(c)`. The results are all h, and the last h
    and c. They begin with zeros, or with what is given: `initial %h0, %c0`. `reverse` goes from the last place to the first
    one; a layer in both directions is two of them and `dgc.concatenate`.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$weights, DGC_FloatTensor:$recurrent_weights,
                       DGC_FloatTensor:$bias, Variadic<DGC_FloatTensor>:$initial, UnitAttr:$reverse);
  let results = (outs DGC_FloatTensor:$result, DGC_FloatTensor:$hidden, DGC_FloatTensor:$cell);
  let assemblyFormat = [{
    $input `,` $weights `,` $recurrent_weights `,` $bias (`initial` $initial^)? (`reverse` $reverse^)? attr-dict
    custom<OperandTypes>(type($input), type($weights), type($recurrent_weights), type($bias), type($initial), ref($initial))
  }];
}

def DGC_GRUOp : DGC_CompositeOp<"gru", [DGC_DecomposesIntoScan], 2> {
  let summary = "gated recurrent unit";
  let description = [{
    `%y, %h = dgc.gru %x, %w, %u, %b, %d`: `[b, t, in] x [in, 3 * n] x [n, 3 * n] + [3 * n] + [3 * n] -> [b, t, n], [b, n]`.
    With `p = x[t] w + b` and `q = h u + d`, whose three parts along the last dimension are r, z and n, in the order of PyTorch,
    a round computes `r = sigmoid(p.r + q.r)`, `z = sigmoid(p.z + q.z)`, `n = tanh(p.n + r * q.n)` and `h = (1 - z) * n + z * h`.
    The results are all h, and the last one. It begins with zeros, or with what is given: `initial %h0`. `reverse` as in
    `dgc.lstm`.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$weights, DGC_FloatTensor:$recurrent_weights,
                       DGC_FloatTensor:$bias, DGC_FloatTensor:$recurrent_bias, Variadic<DGC_FloatTensor>:$initial,
                       UnitAttr:$reverse);
  let results = (outs DGC_FloatTensor:$result, DGC_FloatTensor:$hidden);
  let assemblyFormat = [{
    $input `,` $weights `,` $recurrent_weights `,` $bias `,` $recurrent_bias (`initial` $initial^)? (`reverse` $reverse^)?
    attr-dict custom<OperandTypes>(type($input), type($weights), type($recurrent_weights), type($bias),
                                   type($recurrent_bias), type($initial), ref($initial))
  }];
}

#endif // DGC_RECURRENT_OPS_TD
