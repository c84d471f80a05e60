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

def DGC_PositionEmbeddingOp : DGC_CompositeOp<"position_embedding"> {
  let summary = "adds to every place of a sequence the row of a table that belongs to it";
  let description = [{
    `%y = dgc.position_embedding %x, %table`: `[.., t, d] + [n, d] -> [.., t, d]`, with the first t of n rows.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$table);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input `,` $table attr-dict custom<OperandTypes>(type($input), type($table))";
}

def DGC_AttentionOp : DGC_CompositeOp<"attention", [
    DGC_LowPrecision, DeclareOpInterfaceMethods<SizeDependentOpInterface>]> {
  let summary = "scaled dot-product attention with heads";
  let description = [{
    `%y = dgc.attention %q, %k, %v heads 4 causal`: `[b, t, h * d] x [b, s, h * d] x [b, s, h * e] -> [b, t, h * e]`.

    The features of each operand are those of head 0, then of head 1, and so on. For each example and head,
    softmax(q k^T / sqrt(d)) v. With `causal` a place attends to itself and to those before it. `scale 0.1` takes
    another factor than 1 / sqrt(d).
  }];
  let arguments = (ins DGC_FloatTensor:$query, DGC_FloatTensor:$key, DGC_FloatTensor:$value, I64Attr:$heads,
                       UnitAttr:$causal, OptionalAttr<F64Attr>:$scale);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value `heads` $heads (`causal` $causal^)? `` custom<AttentionScale>($scale) attr-dict
    custom<OperandTypes>(type($query), type($key), type($value))
  }];
  let extraClassDeclaration = inferredDeclaration # [{
    /// What scores are multiplied by.
    double getFactor();
  }];
}

#endif // DGC_TRANSFORMER_OPS_TD
