// Layers of transformers: embeddings and attention.

#ifndef DGC_TRANSFORMER_OPS_TD
#define DGC_TRANSFORMER_OPS_TD

include "dialects/dgc/Composite.td"

def DGC_EmbeddingOp : DGC_CompositeOp<"embedding", [DeclareOpInterfaceMethods<ChoosingOpInterface>]> {
  let summary = "a row of a table for each number";
  let description = [{
    `%y = dgc.embedding %table, %tokens`: `[n, d] x [..] -> [.., d]`. A number that is no row of the table gives zeros.
  }];
  let arguments = (ins DGC_FloatTensor:$table, DGC_IntTensor:$numbers);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$table `,` $numbers attr-dict custom<OperandTypes>(type($table), type($numbers))";
}

def DGC_EmbeddingBagOp : DGC_CompositeOp<"embedding_bag"> {
  let summary = "the sum, or the mean, of the rows of a table that numbers choose";
  let description = [{
    `%y = dgc.embedding_bag %table, %numbers`: `[n, d] x [.., k] -> [.., d]`, the sum of the rows along the last dimension of
    the numbers; `dgc.embedding_bag %table, %numbers mean` is their mean. A number that is no row, such as -1, is none: it
    does not count, and of no rows the sum and the mean are 0.
  }];
  let arguments = (ins DGC_FloatTensor:$table, DGC_IntTensor:$numbers, UnitAttr:$mean);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$table `,` $numbers (`mean` $mean^)? attr-dict custom<OperandTypes>(type($table), type($numbers))";
}

def DGC_PositionEmbeddingOp : DGC_CompositeOp<"position_embedding"> {
  let summary = "adds to every place of a sequence the row of a table that belongs to it";
  let description = [{
    `%y = dgc.position_embedding %x, %table`: `[.., t, d] + [n, d] -> [.., t, d]`, with the first t of n rows.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$table);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input `,` $table attr-dict custom<OperandTypes>(type($input), type($table))";
}

def DGC_RotaryEmbeddingOp : DGC_CompositeOp<"rotary_embedding"> {
  let summary = "turns pairs of features by angles that grow along a sequence";
  let description = [{
    `%y = dgc.rotary_embedding %x heads 4`: `[.., t, h * d] -> [.., t, h * d]`, for queries and keys of `dgc.attention`. Of
    each head, features i and i + d / 2 are a pair; with `interleaved`, features 2 i and 2 i + 1 are. At place p, pair i
    is turned by the angle p / base^(2 i / d): (a, b) becomes (a cos - b sin, b cos + a sin).

    Places are 0, 1, .. along the sequence, or what the integers of an operand say, `[t]` or `[.., t]`:
    `dgc.rotary_embedding %x at %places heads 4`. There is one head unless their number is given, and the base is 10000
    unless `base 500000` says another. f16 and bf16 are computed in f32 and rounded once.
  }];
  let arguments = (ins DGC_FloatTensor:$input, Optional<DGC_IntTensor>:$places,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$heads, OptionalAttr<F64Attr>:$base,
                       UnitAttr:$interleaved);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input (`at` $places^)? (`heads` $heads^)? `` custom<RotaryBase>($base) (`interleaved` $interleaved^)? attr-dict
    custom<OperandTypes>(type($input), type($places), ref($places))
  }];
}

def DGC_MaskTensor : DGC_TensorOf<[DGC_Float, DGC_Pred], "a tensor of static shape of f16, bf16, f32, f64 or i1">;

def DGC_AttentionOp : DGC_CompositeOp<"attention", [
    DGC_LowPrecision, DeclareOpInterfaceMethods<SizeDependentOpInterface>]> {
  let summary = "scaled dot-product attention with heads";
  let description = [{
    `%y = dgc.attention %q, %k, %v heads 4 causal`: `[b, t, h * d] x [b, s, h * d] x [b, s, h * e] -> [b, t, h * e]`.

    The features of each operand are those of head 0, then of head 1, and so on. For each example and head,
    softmax(q k^T / sqrt(d)) v. With `causal` a place attends to itself and to those before it; where the query has fewer
    places than the key, they are the last ones of these. `scale 0.1` takes another factor than 1 / sqrt(d).

    `heads 8 kv_heads 2`: keys and values have fewer heads, each of which is that of h / kv_heads neighbouring heads of
    the query: `[b, t, h * d] x [b, s, kv_heads * d] x [b, s, kv_heads * e] -> [b, t, h * e]`.

    `dgc.attention %q, %k, %v mask %m heads 4` takes a mask, which is broadcast to the scores `[b, h, t, s]` by NumPy's
    rule. One of i1 says where a place may attend; a place that may attend to none gets zeros. One of floats, of the type
    of the query or f32, is added to the scores. With a mask the scores are kept for the gradient.
  }];
  let arguments = (ins DGC_FloatTensor:$query, DGC_FloatTensor:$key, DGC_FloatTensor:$value,
                       Optional<DGC_MaskTensor>:$mask, I64Attr:$heads, OptionalAttr<I64Attr>:$kv_heads,
                       UnitAttr:$causal, OptionalAttr<F64Attr>:$scale);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? `heads` $heads (`kv_heads` $kv_heads^)? (`causal` $causal^)? ``
    custom<AttentionScale>($scale) attr-dict
    custom<OperandTypes>(type($query), type($key), type($value), type($mask), ref($mask))
  }];
  let extraClassDeclaration = inferredDeclaration # [{
    /// The heads of keys and values.
    int64_t getNumKeyHeads() { return getKvHeads().value_or(getHeads()); }
    /// What scores are multiplied by.
    double getFactor();
  }];
}

#endif // DGC_TRANSFORMER_OPS_TD
