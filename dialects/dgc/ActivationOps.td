// Activations.

#ifndef DGC_ACTIVATION_OPS_TD
#define DGC_ACTIVATION_OPS_TD

include "dialects/dgc/Composite.td"

class DGC_ActivationOp<string mnemonic, list<Trait> traits = []> : DGC_KeptCompositeOp<mnemonic, traits> {
  let arguments = (ins DGC_FloatTensor:$input);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict custom<OperandTypes>(type($input))";
}

def DGC_ReluOp : DGC_ActivationOp<"relu", [DGC_AnyPrecision]> {
  let summary = "max(x, 0)";
  let description = "`%y = dgc.relu %x`. The gradient at 0 is 0.";
}

def DGC_SigmoidOp : DGC_CompositeOp<"sigmoid"> {
  let summary = "1 / (1 + exp(-x))";
  let description = "`%y = dgc.sigmoid %x`";
  let arguments = (ins DGC_FloatTensor:$input);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict custom<OperandTypes>(type($input))";
}

def DGC_SiluOp : DGC_CompositeOp<"silu"> {
  let summary = "x / (1 + exp(-x))";
  let description = "`%y = dgc.silu %x`, also known as swish. An operand of 16 bits is computed in f32.";
  let arguments = (ins DGC_FloatTensor:$input);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict custom<OperandTypes>(type($input))";
}

def DGC_SwigluOp : DGC_CompositeOp<"swiglu"> {
  let summary = "silu of a gate, times what it lets through";
  let description = [{
    `%y = dgc.swiglu %gate, %x` is silu(gate) x. `%y = dgc.swiglu %x` takes both from one tensor, `[.., 2 c] -> [.., c]`: the
    first half of the last dimension is the gate. Operands of 16 bits are computed in f32 and rounded once.
  }];
  let arguments = (ins DGC_FloatTensor:$gate, Optional<DGC_FloatTensor>:$input);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $gate (`,` $input^)? attr-dict custom<OperandTypes>(type($gate), type($input), ref($input))
  }];
}

def DGC_LeakyReluOp : DGC_CompositeOp<"leaky_relu"> {
  let summary = "x where it is above 0, else x times a slope";
  let description = "`%y = dgc.leaky_relu %x slope 0.01`. The slope is 0.01 if it is left out; it is the gradient at 0.";
  let arguments = (ins DGC_FloatTensor:$input, OptionalAttr<F64Attr>:$slope);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input `` custom<Slope>($slope) attr-dict custom<OperandTypes>(type($input))";
}

def DGC_EluOp : DGC_KeptCompositeOp<"elu"> {
  let summary = "x where it is above 0, else alpha (exp(x) - 1)";
  let description = "`%y = dgc.elu %x alpha 1.0`. Alpha is above 0, and 1 if it is left out.";
  let arguments = (ins DGC_FloatTensor:$input, OptionalAttr<F64Attr>:$alpha);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input `` custom<Alpha>($alpha) attr-dict custom<OperandTypes>(type($input))";
}

// An activation that may stay whole up to the phase kernel: libraries of GPUs compute it, or its gradient, in the
// epilogue of a product.
defvar DGC_KeptForLibraries = [DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["isLinearIn"]>,
                               DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>];

def DGC_GeluOp : DGC_KeptCompositeOp<"gelu", DGC_KeptForLibraries> {
  let summary = "x times the normal distribution function of x";
  let description = [{
    `%y = dgc.gelu %x` is x (1 + erf(x / sqrt 2)) / 2; `%y = dgc.gelu %x tanh` its approximation
    x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
  }];
  let arguments = (ins DGC_FloatTensor:$input, UnitAttr:$approximate);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input (`tanh` $approximate^)? attr-dict custom<OperandTypes>(type($input))";
}

def DGC_GeluGradOp : DGC_CompositeOp<"gelu_grad", DGC_KeptForLibraries> {
  let summary = "the gradient of the operand of dgc.gelu";
  let description = [{
    `%dx = dgc.gelu_grad %x, %dy`, or `dgc.gelu_grad %x, %dy tanh`: dy times the derivative of `dgc.gelu` at x, computed
    from x alone, so that nothing in between need be kept.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$gradient, UnitAttr:$approximate);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $gradient (`tanh` $approximate^)? attr-dict custom<OperandTypes>(type($input), type($gradient))
  }];
}

class DGC_SoftmaxLikeOp<string mnemonic> : DGC_KeptCompositeOp<mnemonic> {
  let arguments = (ins DGC_FloatTensor:$input, DefaultValuedOptionalAttr<I64Attr, "-1">:$dim);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input (`dim` $dim^)? attr-dict custom<OperandTypes>(type($input))";
}

def DGC_SoftmaxOp : DGC_SoftmaxLikeOp<"softmax"> {
  let summary = "exp(x) over its sum along one dimension";
  let description = "`%y = dgc.softmax %x`, along the last dimension, or `%y = dgc.softmax %x dim 1`.";
}

def DGC_LogSoftmaxOp : DGC_SoftmaxLikeOp<"log_softmax"> {
  let summary = "logarithm of softmax, computed without taking the logarithm of a small number";
  let description = "`%y = dgc.log_softmax %x`, along the last dimension, or `%y = dgc.log_softmax %x dim 1`.";
}

#endif // DGC_ACTIVATION_OPS_TD
