// Dropout.

#ifndef DGC_DROPOUT_OPS_TD
#define DGC_DROPOUT_OPS_TD

include "dialects/dgc/Composite.td"

def DGC_DropoutOp : DGC_CompositeOp<"dropout", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<ModeOpInterface, ["drawsRandomNumbers"]>]> {
  let summary = "sets elements to zero at random, and scales the others up";
  let description = [{
    `%y = dgc.dropout %x rate 0.5` keeps each element with probability 1 - rate and divides it by that. It does so in
    training; in `evaluate` and `predict` it is the identity. Which elements are kept depends on the seed, the step,
    the op and the place of the element in the whole tensor, never on how it is cut.

    In a training function the op is given its keys: `dgc.dropout %x rate 0.5 keyed %seed, %step rng 4`.
  }];
  let arguments = (ins DGC_FloatTensor:$input, F64Attr:$rate, Optional<DGC_StepScalar>:$seed,
                       Optional<DGC_StepScalar>:$step, OptionalAttr<I64Attr>:$rng_id);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input custom<Rate>($rate) (`keyed` $seed^ `,` $step `rng` $rng_id)? attr-dict custom<OperandTypes>(type($input))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // DGC_DROPOUT_OPS_TD
