// Ops that choose elements by numbers that are only known when the program runs.

#ifndef DGC_INDEX_OPS_TD
#define DGC_INDEX_OPS_TD

include "dialects/dgc/Attrs.td"
include "dialects/dgc/Structured.td"

class DGC_IndexOp<string mnemonic, list<Trait> traits = []>
    : DGC_StructuredOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<DifferentiableOpInterface>, DeclareOpInterfaceMethods<LocalizableOpInterface>])>;

def DGC_GatherOp : DGC_IndexOp<"gather", [
    DeclareOpInterfaceMethods<ChoosingOpInterface>, DeclareOpInterfaceMethods<PositionalOpInterface, ["getPositionedOperand", "isPositionedAlong"]>]> {
  let summary = "slices of a tensor, chosen by numbers along one dimension";
  let description = [{
    `%y = dgc.gather %table, %rows dim 0 : tensor<65x128xf32>, tensor<12x64xi32>` gives a `tensor<12x64x128xf32>`: the
    dimension gives way to those of the indices. Where an index is not in [0, size) the slice is zero. The part of a
    larger table that begins at `%k` along the dimension is given as `dgc.gather %table, %rows dim 0 from %k`.
  }];
  let arguments = (ins DGC_NumberTensor:$operand, DGC_IntTensor:$indices, Optional<DGC_Offset>:$offset,
                       I64Attr:$dimension);
  let results = (outs DGC_NumberTensor:$result);
  let assemblyFormat = [{
    $operand `,` $indices `dim` $dimension (`from` $offset^)? attr-dict
    custom<OperandTypes>(type($operand), type($indices))
  }];
}

def DGC_ScatterAddOp : DGC_IndexOp<"scatter_add", [
    DeclareOpInterfaceMethods<PositionalOpInterface, ["isPositionedAlong"]>]> {
  let summary = "zeros, to which slices are added at places that numbers choose along one dimension";
  let description = [{
    `%y = dgc.scatter_add %rows, %updates dim 0 size 65 : tensor<12x64xi32>, tensor<12x64x128xf32>` gives a
    `tensor<65x128xf32>`: slice i of it is the sum of all slices of the updates whose index is i. It is the gradient of
    `dgc.gather`. Updates whose index is not in [0, size) are left out. The order of additions depends on the indices alone.
    `from %k` computes the part of a larger result that begins at `%k` along the dimension.
  }];
  let arguments = (ins DGC_IntTensor:$indices, DGC_NumberTensor:$updates, Optional<DGC_Offset>:$offset,
                       I64Attr:$dimension, I64Attr:$size);
  let results = (outs DGC_NumberTensor:$result);
  let assemblyFormat = [{
    $indices `,` $updates `dim` $dimension `size` $size (`from` $offset^)? attr-dict
    custom<OperandTypes>(type($indices), type($updates))
  }];
}

def DGC_DynamicUpdateSliceOp : DGC_IndexOp<"dynamic_update_slice"> {
  let summary = "a tensor in which a slice is replaced, at a place that a number chooses";
  let description = [{
    `%y = dgc.dynamic_update_slice %x, %update at %i dim 0 : tensor<10x4xf32>, tensor<2x4xf32>, tensor<i32>` is `%x` with
    the rows `%i` and `%i + 1` those of `%update`. A number with which the update would not be inside is moved to the
    nearest one with which it is. `dgc.gather` takes a slice.
  }];
  let arguments = (ins DGC_Tensor:$operand, DGC_Tensor:$update, DGC_IntTensor:$start, I64Attr:$dimension);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $update `at` $start `dim` $dimension attr-dict
    custom<OperandTypes>(type($operand), type($update), type($start))
  }];
}

#endif // DGC_INDEX_OPS_TD
