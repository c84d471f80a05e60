// Random bits.

#ifndef DGC_RANDOM_OPS_TD
#define DGC_RANDOM_OPS_TD

include "dialects/dgc/Base.td"

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

#endif // DGC_RANDOM_OPS_TD
