// Random bits, and random numbers in models.

#ifndef DGC_RANDOM_OPS_TD
#define DGC_RANDOM_OPS_TD

include "dialects/dgc/Composite.td"

def DGC_ScalarI64 : AnyTypeOf<[0DTensorOf<[I64]>, DGC_Untyped], "scalar tensor of i64">;

def DGC_RngBitGeneratorOp : Op<DGC_Dialect, "rng_bit_generator", [
    Pure, DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,
    DeclareOpInterfaceMethods<LinalgLowerableOpInterface>,
    DeclareOpInterfaceMethods<DeclaredTypeOpInterface, ["resolveType"]>,
    DeclareOpInterfaceMethods<PositionalOpInterface>]> {
  let summary = "random bits that depend on seed, step, op and place only";
  let description = [{
    Philox4x32-10, counter-based: the bits of an element depend on the seed, the step, `id`, which is different for
    every such op of a program, and on the linear index of the element in the whole tensor; not on how the tensor
    is cut. The key is the seed (low word first). The counter is the index of the block in the first two words, and
    id * 2^40 + step in the last two. Element e of a `ui32` tensor is word e mod 4 of block e / 4; of a `ui64`
    tensor, words 2 (e mod 2), low, and 2 (e mod 2) + 1, high, of block e / 2.

    In a model the batch may be written `?`, and seed and step are constants: such an op draws the same in every step.

    On a part of a tensor, `offsets` says where the part begins in the tensor of `global_shape`.

    ```mlir
    %r = dgc.rng_bit_generator %seed, %step id 3 : tensor<128x64xui32>
    %p = dgc.rng_bit_generator %seed, %step id 3 at (%i, %j) in [128, 64] : tensor<32x64xui32>
    ```
  }];
  let arguments = (ins DGC_ScalarI64:$seed, DGC_ScalarI64:$step, I64Attr:$id, Variadic<DGC_ScalarI64>:$offsets,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$global_shape,
                       OptionalAttr<TypeAttr>:$declared_type);
  let results = (outs AnyTypeOf<[RankedTensorOf<[UI32, UI64]>, DGC_Untyped], "ranked tensor of ui32 or ui64">:$result);
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$type, "::mlir::Value":$seed, "::mlir::Value":$step,
                                 "int64_t":$id)>];
  let assemblyFormat = [{
    $seed `,` $step `id` $id (`at` `(` $offsets^ `)` `in` $global_shape)? attr-dict `:`
    custom<WrittenType>($declared_type, type($result), type($seed), type($step), type($offsets), ref($offsets))
  }];
  let hasVerifier = 1;
}

// Random numbers of a written type. The two numbers are those of the distribution, as of the initializers of
// dgc.variable: both are there, or neither.
class DGC_NoiseOp<string mnemonic> : Op<DGC_Dialect, mnemonic, [
    Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<DecomposableOpInterface>,
    DeclareOpInterfaceMethods<ModeOpInterface, ["drawsRandomNumbers"]>,
    DeclareOpInterfaceMethods<DeclaredTypeOpInterface, ["resolveType"]>]> {
  let arguments = (ins OptionalAttr<F64Attr>:$first, OptionalAttr<F64Attr>:$second, UnitAttr:$always,
                       Optional<DGC_StepScalar>:$seed, Optional<DGC_StepScalar>:$step, OptionalAttr<I64Attr>:$rng_id,
                       OptionalAttr<TypeAttr>:$declared_type);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    `` custom<TwoNumbers>($first, $second) (`always` $always^)? (`keyed` $seed^ `,` $step `rng` $rng_id)? attr-dict `:`
    custom<WrittenType>($declared_type, type($result))
  }];
  let hasVerifier = 1;
}

def DGC_RandomNormalOp : DGC_NoiseOp<"random_normal"> {
  let summary = "random numbers of a normal distribution, others in each step";
  let description = [{
    `%noise = dgc.random_normal : tensor<?x20xf32>`, with the batch written `?`; `dgc.random_normal 0.0 0.1` says the mean
    and the standard deviation, which are 0 and 1 if they are left out. A number depends on the seed of the run, the step, the
    op and the place of the element in the whole tensor, never on how it is cut. It is formed from two times 24 random bits
    as initial values are (Box-Muller).

    It draws in training. In `evaluate` and `predict` every element is the mean, unless the op says `always`: then it draws
    there too, others for each batch of an evaluation.

    In a function that draws the op has its keys: `dgc.random_normal keyed %seed, %step rng 4 : tensor<8x20xf32>`.
  }];
}

def DGC_RandomUniformOp : DGC_NoiseOp<"random_uniform"> {
  let summary = "random numbers between two limits, others in each step";
  let description = [{
    `%u = dgc.random_uniform -1.0 1.0 : tensor<?x20xf32>`: at least the first number and below the second; 0 and 1 if they
    are left out. (Where the type is so coarse that it cannot tell the largest from the second, they are equal.) There
    are 2^24 different numbers, of f64 2^53. Otherwise as dgc.random_normal: outside of training every element is the mean of
    the two, unless the op says `always`.
  }];
}

#endif // DGC_RANDOM_OPS_TD
