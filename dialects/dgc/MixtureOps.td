// Mixtures of experts.

#ifndef DGC_MIXTURE_OPS_TD
#define DGC_MIXTURE_OPS_TD

include "dialects/dgc/Composite.td"

def DGC_MixtureOfExpertsOp : DGC_CompositeOp<"mixture_of_experts", [
    DeclareOpInterfaceMethods<SizeDependentOpInterface, ["decomposeWithCount"]>], 2> {
  let summary = "dense layers of which each token takes a few";
  let description = [{
    `%y, %balance = dgc.mixture_of_experts %x, %router, %w1, %b1, %w2, %b2 top 2 capacity 1.25`, with n experts:
    `[b, .., d] x [d, n] x [n, d, h] x [n, h] x [n, h, e] x [n, e] -> [b, .., e], []`.

    Each token, a vector along the last dimension, is given to the experts whose probabilities softmax(x router) are
    largest, here two. An expert is relu(x w1 + b1) w2 + b2, with `gelu` at the end of the op that instead of relu. The
    result is the sum of what they give times their probabilities, these divided by their sum where there are several
    (GShard; with one expert for a token, Switch Transformer).

    An expert takes ceil(capacity * top * tokens / n) tokens of the global batch: the first choices of all tokens in their
    order, then the second ones. A token beyond that is not given to it, and its part of the result is 0.

    `%balance`, an f32 (f64 where x is), is to be added to the loss, times a small number: n times the sum over the experts
    of the part of the tokens whose first choice they are, times their mean probability. It is 1 where both are even. The
    padding of a short batch takes no place and does not count.

    The operands from w1 on may be sharded along the experts.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$router, DGC_FloatTensor:$weights1, DGC_FloatTensor:$bias1,
                       DGC_FloatTensor:$weights2, DGC_FloatTensor:$bias2, I64Attr:$top, F64Attr:$capacity, UnitAttr:$gelu);
  let results = (outs DGC_FloatTensor:$result, DGC_FloatTensor:$balance);
  let assemblyFormat = [{
    $input `,` $router `,` $weights1 `,` $bias1 `,` $weights2 `,` $bias2 `top` $top `capacity` custom<Number>($capacity)
    (`gelu` $gelu^)? attr-dict
    custom<OperandTypes>(type($input), type($router), type($weights1), type($bias1), type($weights2), type($bias2))
  }];
}

#endif // DGC_MIXTURE_OPS_TD
