// Attention as one op, whose scores are kept nowhere: what libraries of devices compute at once.

#ifndef DGC_ATTENTION_OPS_TD
#define DGC_ATTENTION_OPS_TD

include "dialects/dgc/Composite.td"
include "dialects/dgc/Structured.td"

class DGC_AttentionPartOp<string mnemonic, int numResults, list<Trait> traits = []>
    : DGC_Op<mnemonic, !listconcat([
        DGC_StandaloneKernel, DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
        DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,
        DeclareOpInterfaceMethods<LocalizableOpInterface>], traits), numResults>;

def DGC_FusedAttentionOp : DGC_AttentionPartOp<"fused_attention", 2, [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<DecomposableOpInterface, ["keepForGradient"]>]> {
  let summary = "attention with what its gradient needs";
  let description = [{
    `%y, %lse = dgc.fused_attention %q, %k, %v heads 4 causal scale 0.125`: as `dgc.attention`, and for each head and
    place the logarithm of the sum of the exponentials of its scores:
    `[b, t, h * d] x [b, s, h * d] x [b, s, h * e] -> [b, t, h * e], [b, h, t]`. From that the gradient computes the
    weights again, so the scores, `[b, h, t, s]`, are kept nowhere. f16 and bf16 are computed in f32 and rounded once;
    `lse` is f32 then.

    `dgc-fuse-attention` puts it in place of `dgc.attention`. The library of GPUs has it; elsewhere
    `dgc-expand-attention` makes products and a softmax of it.
  }];
  let arguments = (ins DGC_FloatTensor:$query, DGC_FloatTensor:$key, DGC_FloatTensor:$value, I64Attr:$heads,
                       UnitAttr:$causal, F64Attr:$scale);
  let results = (outs DGC_FloatTensor:$result, DGC_FloatTensor:$log_sum);
  let assemblyFormat = [{
    $query `,` $key `,` $value `heads` $heads (`causal` $causal^)? `scale` custom<Number>($scale) attr-dict
    custom<OperandTypes>(type($query), type($key), type($value))
  }];
  let extraClassDefinition = inferredDefinition # [{
    bool $cppClass::keepForGradient() { return true; }
  }];
}

def DGC_FusedAttentionGradOp : DGC_AttentionPartOp<"fused_attention_grad", 3, [
    DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "the gradients of the operands of dgc.fused_attention";
  let description = [{
    `%dq, %dk, %dv = dgc.fused_attention_grad %q, %k, %v, %y, %lse, %dy heads 4 causal scale 0.125` from the operands
    and results of `dgc.fused_attention` and the gradient of its result. With the weights w = exp(scores - lse) and
    dw = dy v^T, the gradient of the scores is w * (dw - sum over features of dy * y).
  }];
  let arguments = (ins DGC_FloatTensor:$query, DGC_FloatTensor:$key, DGC_FloatTensor:$value, DGC_FloatTensor:$result,
                       DGC_FloatTensor:$log_sum, DGC_FloatTensor:$result_gradient, I64Attr:$heads,
                       UnitAttr:$causal, F64Attr:$scale);
  let results = (outs DGC_FloatTensor:$query_gradient, DGC_FloatTensor:$key_gradient, DGC_FloatTensor:$value_gradient);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $result `,` $log_sum `,` $result_gradient `heads` $heads (`causal` $causal^)?
    `scale` custom<Number>($scale) attr-dict
    custom<OperandTypes>(type($query), type($key), type($value), type($result), type($log_sum),
                         type($result_gradient))
  }];
}

#endif // DGC_ATTENTION_OPS_TD
