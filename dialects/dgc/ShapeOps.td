// Ops that move, repeat or choose elements and compute nothing.

#ifndef DGC_SHAPE_OPS_TD
#define DGC_SHAPE_OPS_TD

include "dialects/dgc/Structured.td"

// `linear` is a C++ expression over `index`, as for ShardingRuleOpInterface::isLinearIn. An op that `adapts` has sizes
// in its attributes and defines localize.
class DGC_ShapeOp<string mnemonic, string linear = "true", bit adapts = 0, list<Trait> traits = []>
    : DGC_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["isLinearIn"]>,
        DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,
        DeclareOpInterfaceMethods<LinalgLowerableOpInterface>,
        DGC_Differentiable],
        !if(adapts, [DeclareOpInterfaceMethods<LocalizableOpInterface>], []<Trait>))> {
  let hasFolder = 1;
  let extraClassDefinition = inferredDefinition # [{
    bool $cppClass::isLinearIn(int index) { return }] # linear # [{; }
    ::dgc::OpCost $cppClass::getCost() { return ::dgc::costPerElement(*this, 0); }
  }];
}

def DGC_Rearranging : DeclareOpInterfaceMethods<RearrangingOpInterface>;

def DGC_BroadcastInDimOp : DGC_ShapeOp<"broadcast_in_dim", "true", 1> {
  let summary = "repeat a tensor along new dimensions, or along those of size 1";
  let description = [{
    `%y = dgc.broadcast_in_dim %x dims [1] to [4, 8] : tensor<8xf32>` gives a `tensor<4x8xf32>`. The i-th number of
    `dims` is the dimension of the result that dimension i of the operand becomes; the numbers ascend.
  }];
  let arguments = (ins DGC_Tensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions, DenseI64ArrayAttr:$shape);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = [{
    $operand `dims` $broadcast_dimensions `to` $shape attr-dict custom<OperandTypes>(type($operand))
  }];
}

def DGC_ConcatenateOp : DGC_ShapeOp<"concatenate", "index == -1", 0,
                                    [DGC_AnyPrecision, DGC_Rearranging]> {
  let summary = "tensors one after the other along a dimension";
  let description = [{
    `%z = dgc.concatenate %x, %y dim 1 : tensor<4x8xf32>, tensor<4x2xf32>` gives a `tensor<4x10xf32>`.
  }];
  let arguments = (ins Variadic<DGC_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = [{
    $inputs `dim` $dimension attr-dict custom<OperandTypes>(type($inputs), ref($inputs))
  }];
}

def DGC_PadOp : DGC_ShapeOp<"pad", "index == -1 || (index == 0 && ::dgc::isSplatOf(getPaddingValue(), 0))", 0,
                            [DGC_Rearranging, DeclareOpInterfaceMethods<MovingOpInterface, ["takeWindows"]>]> {
  let summary = "put elements around a tensor and between its elements";
  let description = [{
    `%y = dgc.pad %x, %value low [0, 1] high [0, 2] : tensor<4x8xf32>, tensor<f32>` gives a `tensor<4x11xf32>`. With
    `interior [0, 1]`, one element is put between each two neighbours as well. Negative numbers for `low` and `high`
    take elements away.
  }];
  let arguments = (ins DGC_Tensor:$operand, DGC_Tensor:$padding_value, DenseI64ArrayAttr:$edge_padding_low,
                       DenseI64ArrayAttr:$edge_padding_high, DGC_DimList:$interior_padding);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `low` $edge_padding_low `high` $edge_padding_high (`interior` $interior_padding^)?
    attr-dict custom<OperandTypes>(type($operand), type($padding_value))
  }];
  let extraClassDeclaration = inferredDeclaration # [{
    /// What is put between two neighbours along the dimension.
    int64_t interior(int64_t dim) { return getInteriorPadding().empty() ? 0 : getInteriorPadding()[dim]; }
    /// True when the dimension is padded nowhere.
    bool isUntouched(int64_t dim) {
      return getEdgePaddingLow()[dim] == 0 && getEdgePaddingHigh()[dim] == 0 && interior(dim) == 0;
    }
  }];
}

def DGC_ReshapeOp : DGC_ShapeOp<"reshape", "true", 1, [DGC_AnyPrecision]> {
  let summary = "the same elements in the same order, with other dimensions";
  let description = [{
    `%y = dgc.reshape %x to [4, 784] : tensor<4x28x28xf32>` gives a `tensor<4x784xf32>`. One of the numbers may be -1:
    it becomes what the number of elements asks for.
  }];
  let arguments = (ins DGC_Tensor:$operand, DenseI64ArrayAttr:$shape);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$operand `to` $shape attr-dict custom<OperandTypes>(type($operand))";
}

def DGC_ReverseOp : DGC_ShapeOp<"reverse", "true", 0,
                                [DGC_AnyPrecision, DGC_Rearranging, DeclareOpInterfaceMethods<MovingOpInterface>]> {
  let summary = "the elements in the opposite order along some dimensions";
  let description = "`%y = dgc.reverse %x dims [1] : tensor<4x8xf32>`";
  let arguments = (ins DGC_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$operand `dims` $dimensions attr-dict custom<OperandTypes>(type($operand))";
}

def DGC_SliceOp : DGC_ShapeOp<"slice", "true", 1,
                              [DGC_AnyPrecision, DGC_Rearranging,
                               DeclareOpInterfaceMethods<MovingOpInterface, ["takeWindows"]>]> {
  let summary = "a part of a tensor";
  let description = [{
    `%y = dgc.slice %x from [0, 2] to [4, 8] : tensor<4x8xf32>` gives a `tensor<4x6xf32>`: the elements from the first
    index to before the second. With `strides [1, 2]`, every second one along dimension 1.
  }];
  let arguments = (ins DGC_Tensor:$operand, DenseI64ArrayAttr:$start_indices, DenseI64ArrayAttr:$limit_indices,
                       DGC_DimList:$strides);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = [{
    $operand `from` $start_indices `to` $limit_indices (`strides` $strides^)? attr-dict
    custom<OperandTypes>(type($operand))
  }];
  let extraClassDeclaration = inferredDeclaration # [{
    /// The distance between neighbours of the result along the dimension.
    int64_t stride(int64_t dim) { return getStrides().empty() ? 1 : getStrides()[dim]; }
  }];
}

def DGC_TransposeOp : DGC_ShapeOp<"transpose", "true", 0, [DGC_AnyPrecision]> {
  let summary = "the dimensions in another order";
  let description = [{
    `%y = dgc.transpose %x permutation [1, 0] : tensor<4x8xf32>` gives a `tensor<8x4xf32>`. Dimension i of the result is
    dimension `permutation[i]` of the operand.
  }];
  let arguments = (ins DGC_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$operand `permutation` $permutation attr-dict custom<OperandTypes>(type($operand))";
}

#endif // DGC_SHAPE_OPS_TD
