// Ops without operands.

#ifndef DGC_CONSTANT_OPS_TD
#define DGC_CONSTANT_OPS_TD

include "dialects/dgc/Attrs.td"

def DGC_ConstantOp : Op<DGC_Dialect, "constant", [Pure, ConstantLike,
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<DeclaredTypeOpInterface, ["declareShape"]>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<LocalizableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,
    DeclareOpInterfaceMethods<LinalgLowerableOpInterface>]> {
  let summary = "a tensor known at compile time";
  let description = [{
    `%c = dgc.constant dense<[1.0, 2.0]> : tensor<2xf32>`; `dense<1.0>` has this value everywhere. In a model, a constant
    has a type as an input has one. A number for elementwise ops needs none: it is written in place of the operand, as in
    `dgc.multiply %x, 0.5`.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs DGC_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual);
  }];
}

def DGC_LiteralAttr : Attr<Or<[I64Attr.predicate, UI64Attr.predicate, F64Attr.predicate, BoolAttr.predicate]>,
                           "a number: i64, ui64, f64 or i1"> {
  let storageType = "::mlir::TypedAttr";
  let returnType = storageType;
  let convertFromStorage = "$_self";
}

def DGC_LiteralOp : Op<DGC_Dialect, "literal", [Pure]> {
  let summary = "a number without a type";
  let description = [{
    `%c = dgc.literal 0.5`. What the number in `dgc.multiply %x, 0.5` becomes when a model is read. `dgc-infer-types`
    replaces it by a `dgc.constant` of the shape and element type of the elementwise op that uses it. A number without a
    decimal point (-2^63 to 2^64 - 1) fits each element type that has it, others those floats that do not round it to 0.
  }];
  let arguments = (ins DGC_LiteralAttr:$value);
  let results = (outs DGC_Untyped:$result);
  let assemblyFormat = "custom<Literal>($value) attr-dict";
}

// An offset that may be a value of a model.
def DGC_OffsetInModel : AnyTypeOf<[DGC_Offset, DGC_Untyped], "a scalar tensor<i64>">;

def DGC_IotaOp : Op<DGC_Dialect, "iota", [Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,
    DeclareOpInterfaceMethods<LinalgLowerableOpInterface>,
    DeclareOpInterfaceMethods<DeclaredTypeOpInterface, ["resolveType"]>,
    DeclareOpInterfaceMethods<PositionalOpInterface, ["isPositionedAlong"]>]> {
  let summary = "0, 1, 2, ... along a dimension";
  let description = [{
    `%i = dgc.iota dim 0 : tensor<128xi32>`. The part of a larger one that begins at element `%k` along `dim` is
    `dgc.iota dim 0 from %k : tensor<64xi32>`, with `%k` a `tensor<i64>`. In a model, the batch may be written `?`.
  }];
  let arguments = (ins I64Attr:$dimension, Optional<DGC_OffsetInModel>:$offset, OptionalAttr<TypeAttr>:$declared_type);
  let results = (outs DGC_NumberTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$type, "int64_t":$dimension, "::mlir::Value":$offset)>];
  let assemblyFormat = [{
    `dim` $dimension (`from` $offset^)? attr-dict `:`
    custom<WrittenType>($declared_type, type($result), type($offset), ref($offset))
  }];
  let hasVerifier = 1;
}

#endif // DGC_CONSTANT_OPS_TD
