// Layers: matrix products, and what changes shape or scale between them.

#ifndef DGC_LAYER_OPS_TD
#define DGC_LAYER_OPS_TD

include "dialects/dgc/Composite.td"

def DGC_MatmulOp : DGC_CompositeOp<"matmul", [DGC_LowPrecision]> {
  let summary = "matrix product";
  let description = [{
    `%c = dgc.matmul %a, %b`: `[.., m, k] x [.., k, n] -> [.., m, n]`. The leading dimensions are the same on both
    sides, or the right side has none. `%c = dgc.matmul %a, %b transposed` multiplies by the transposed right side:
    `[.., m, k] x [.., n, k] -> [.., m, n]`, as for logits of a model whose output layer is its embedding.
  }];
  let arguments = (ins DGC_NumberTensor:$lhs, DGC_NumberTensor:$rhs, UnitAttr:$transposed);
  let results = (outs DGC_NumberTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transposed` $transposed^)? attr-dict custom<OperandTypes>(type($lhs), type($rhs))
  }];
}

def DGC_DenseOp : DGC_CompositeOp<"dense", [DGC_LowPrecision]> {
  let summary = "dense layer: matrix product and bias";
  let description = "`%y = dgc.dense %x, %w, %b`: `[.., in] x [in, out] + [out] -> [.., out]`. The bias may be left out.";
  let arguments = (ins DGC_FloatTensor:$input, DGC_FloatTensor:$weights, Optional<DGC_FloatTensor>:$bias);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weights (`,` $bias^)? attr-dict
    custom<OperandTypes>(type($input), type($weights), type($bias), ref($bias))
  }];
}

def DGC_BiasAddOp : DGC_CompositeOp<"bias_add"> {
  let summary = "adds a vector along the last dimension";
  let description = "`%y = dgc.bias_add %x, %b`: `[.., c] + [c] -> [.., c]`";
  let arguments = (ins DGC_NumberTensor:$input, DGC_NumberTensor:$bias);
  let results = (outs DGC_NumberTensor:$result);
  let assemblyFormat = "$input `,` $bias attr-dict custom<OperandTypes>(type($input), type($bias))";
}

def DGC_ScaleOp : DGC_CompositeOp<"scale"> {
  let summary = "multiplies by a number, and adds one";
  let description = "`%y = dgc.scale %x by 0.5` or `%y = dgc.scale %x by 0.5 plus -1.0`";
  let arguments = (ins DGC_FloatTensor:$input, F64Attr:$factor, OptionalAttr<F64Attr>:$offset);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input custom<ScaleClause>($factor, $offset) attr-dict custom<OperandTypes>(type($input))";
}

def DGC_MeanOp : DGC_CompositeOp<"mean", [
    DeclareOpInterfaceMethods<SizeDependentOpInterface, ["decomposeWithCount"]>]> {
  let summary = "mean along dimensions";
  let description = [{
    `%y = dgc.mean %x dims [1, 2]` leaves these dimensions out; without `dims` it is the mean of all elements, a scalar. An
    operand of 16 bits is added up in f32. Where a batch is not full its padding does not count. -1 is the last dimension.
    With `keep` the dimensions remain, with the size 1, so that the mean of each row is broadcast to its row.
  }];
  let arguments = (ins DGC_FloatTensor:$input, OptionalAttr<DenseI64ArrayAttr>:$dims, UnitAttr:$keep);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input (`dims` $dims^)? (`keep` $keep^)? attr-dict custom<OperandTypes>(type($input))";
}

def DGC_ArgmaxOp : DGC_CompositeOp<"argmax"> {
  let summary = "where the largest element along one dimension is";
  let description = [{
    `%i = dgc.argmax %x`, along the last dimension, or `%i = dgc.argmax %x dim 1`: the first index, an i32, of the largest
    element. The dimension is left out.
  }];
  let arguments = (ins DGC_FloatTensor:$input, DefaultValuedOptionalAttr<I64Attr, "-1">:$dim);
  let results = (outs DGC_IntTensor:$result);
  let assemblyFormat = "$input (`dim` $dim^)? attr-dict custom<OperandTypes>(type($input))";
}

def DGC_TopKOp : DGC_KeptCompositeOp<"top_k", [], 2> {
  let summary = "the largest elements along the last dimension, and where they are";
  let description = [{
    `%values, %indices = dgc.top_k %x k 5`: `[.., n] -> [.., 5], [.., 5]`, the largest first, of equal ones the one with the
    lower index. The indices are i32. Each of the k takes a pass over the elements.
  }];
  let arguments = (ins DGC_FloatTensor:$input, I64Attr:$k);
  let results = (outs DGC_FloatTensor:$values, DGC_IntTensor:$indices);
  let assemblyFormat = "$input `k` $k attr-dict custom<OperandTypes>(type($input))";
}

def DGC_OneHotOp : DGC_CompositeOp<"one_hot"> {
  let summary = "1 at the index that each number says, else 0";
  let description = [{
    `%y = dgc.one_hot %labels classes 10`: `[..] -> [.., 10]`, of f32. A number that is no index gives zeros.
  }];
  let arguments = (ins DGC_IntTensor:$input, I64Attr:$classes);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$input `classes` $classes attr-dict custom<OperandTypes>(type($input))";
}

def DGC_FlattenOp : DGC_CompositeOp<"flatten", [DGC_AnyPrecision]> {
  let summary = "makes one dimension of all but the first";
  let description = "`%y = dgc.flatten %x`: `[n, a, b, ..] -> [n, a * b * ..]`";
  let arguments = (ins DGC_Tensor:$input);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$input attr-dict custom<OperandTypes>(type($input))";
}

def DGC_ExpandDimsOp : DGC_CompositeOp<"expand_dims", [DGC_AnyPrecision]> {
  let summary = "inserts a dimension of size 1";
  let description = [{
    `%y = dgc.expand_dims %x at 3` puts it where the result's dimension 3 is; `at -1` is the last one.
  }];
  let arguments = (ins DGC_Tensor:$input, I64Attr:$dim);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$input `at` $dim attr-dict custom<OperandTypes>(type($input))";
}

#endif // DGC_LAYER_OPS_TD
