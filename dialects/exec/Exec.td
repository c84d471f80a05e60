// The exec dialect: one schedule per kind of worker. Nothing is decided after it: what dgc-run does can be
// read here.
//
// Steps exist on two levels. After kernel formation they take and give tensors; after scheduling the same ops
// have no results and write to the buffers that follow `outs`.

#ifndef DGC_EXEC_TD
#define DGC_EXEC_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/dist/Base.td"
include "dialects/exec/Enums.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::dgc::exec";
  let summary = "Schedules: buffers at fixed offsets, kernels, library calls, communication";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

class Exec_EnumAttr<EnumInfo enum, string mnem> : EnumAttr<Exec_Dialect, enum, mnem> {
  let cppNamespace = "::dgc::exec";
  let assemblyFormat = "$value";
}
def Exec_SpaceAttr : Exec_EnumAttr<Exec_Space, "space">;
def Exec_MatmulValueAttr : Exec_EnumAttr<Exec_MatmulValue, "matmul_value">;
def Exec_ConvKindAttr : Exec_EnumAttr<Exec_ConvKind, "conv_kind">;
def Exec_PoolKindAttr : Exec_EnumAttr<Exec_PoolKind, "pool_kind">;
def Exec_CollectiveKindAttr : Exec_EnumAttr<Dist_CollectiveKind, "collective_kind">;
def Exec_ReductionAttr : Exec_EnumAttr<Dist_Reduction, "reduction">;

def Exec_PostOp : AttrDef<Exec_Dialect, "PostOp"> {
  let mnemonic = "post_op";
  let summary = "one operation that a library call applies to its result before it stores it";
  let description = [{
    `#exec.post_op<relu>`, `#exec.post_op<add, 0>`. `arg` counts among the `args` of the call, -1: none. An
    argument has the shape of the result, or one element per output channel (the last dimension). `relu_grad` and
    `gelu_tanh_grad` multiply by the derivative of relu and of gelu (its approximation by tanh), at what the call that
    computed these kept for it.
    Constraints: `add`, `multiply`, `relu_grad` and `gelu_tanh_grad` have an argument, the others none.
  }];
  let parameters = (ins EnumParameter<Exec_PostOpKind>:$kind, DefaultValuedParameter<"int64_t", "-1">:$arg);
  let assemblyFormat = "`<` $kind (`,` $arg^)? `>`";
  let genVerifyDecl = 1;
}
def Exec_PostOps : TypedArrayAttrBase<Exec_PostOp, "list of post ops">;

def Exec_Value : AnyTypeOf<[AnyStaticShapeTensor, AnyStaticShapeMemRef], "tensor or buffer">;

def StepOpInterface : OpInterface<"StepOpInterface"> {
  let cppNamespace = "::dgc::exec";
  let description = "An entry of a schedule: on tensors it has results, on buffers it has outputs.";
  let methods = [
    InterfaceMethod<"The buffers written, when on buffers.", "::mlir::OperandRange", "getOuts">,
    InterfaceMethod<"The operand values that are read.", "::llvm::SmallVector<::mlir::Value>", "getReads">,
    InterfaceMethod<[{
      The operand whose memory result `result` may take over, or -1. The op may read that operand and write the
      result element by element in place.
    }], "int64_t", "getInplaceOperand", (ins "unsigned":$result), [{}], [{ return -1; }]>,
    InterfaceMethod<[{
      The same op on buffers: `mapping` gives the buffer of each tensor operand, `outs` those of the results.
    }], "void", "cloneOnBuffers",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::IRMapping &":$mapping, "::mlir::ValueRange":$outs)>,
  ];
}

// `segments` is empty for an op in which `outs` is the only operand that may be several or none.
class Exec_StepOp<string mnemonic, list<Trait> traits = [], list<Trait> segments = [AttrSizedOperandSegments]>
    : Exec_Op<mnemonic, !listconcat(traits, segments, [
        DeclareOpInterfaceMethods<StepOpInterface, ["getReads", "cloneOnBuffers"]>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let hasVerifier = 1;
}

def Exec_LaunchOp : Exec_StepOp<"launch", [DeclareOpInterfaceMethods<StepOpInterface, ["getInplaceOperand"]>,
                                           DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a generated kernel";
  let description = [{
    `%r = exec.launch @kernels::@k0(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>`, and on buffers
    `exec.launch @kernels::@k0(%a, %b) outs(%r : memref<8xf32>) : (memref<8xf32>, memref<8xf32>) -> ()`.
    `inplace` has for each result the operand whose memory it may take over, or -1.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<Exec_Value>:$inputs, Variadic<AnyStaticShapeMemRef>:$outs,
                       OptionalAttr<DenseI64ArrayAttr>:$inplace);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict `:` functional-type($inputs, $results)
  }];
}

def Exec_MatmulOp : Exec_StepOp<"matmul"> {
  let summary = "matrix product by the device's library";
  let description = [{
    dst[.., m, n] = sum over k of a[.., m, k] b[.., k, n] (+ bias[n]), then the post ops. `transpose_a`: a is
    stored as [.., k, m]; `transpose_b`: b as [.., n, k]. Leading dimensions are batch dimensions and agree.

    `a_order`, `b_order` and `order` are for operands and a result whose dimensions are stored in any order: dimension i
    of [.., m, k], [.., k, n] and [.., m, n] is dimension `order[i]` of the stored one. So the heads of an attention are
    multiplied without a transpose: q [b, t, h, d] and k [b, s, h, d] with a_order [0, 2, 1, 3] and b_order [0, 2, 3, 1] give
    [b, h, t, s].

    Calls for GPUs, of one product of 16 bits each, may have more results, in this order:
    `keep_aux`: what the gradient of the last post op, relu or gelu_tanh, needs. Of gelu: its operand. Of relu: a bit for
    each element, in rows of a multiple of 128 bits, as the library has them: [m, 16 * ceil(n / 128)] of ui8.
    `bias_gradient`: the sum of the rows of what is stored, after `relu_grad` or `gelu_tanh_grad`, `result`: [n]; or of
    an operand, along k, `a`: [m], `b`: [n].
  }];
  let arguments = (ins Exec_Value:$a, Exec_Value:$b, Optional<Exec_Value>:$bias, Variadic<Exec_Value>:$args,
                       Variadic<AnyStaticShapeMemRef>:$outs, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       OptionalAttr<Exec_PostOps>:$post_ops, UnitAttr:$keep_aux,
                       OptionalAttr<Exec_MatmulValueAttr>:$bias_gradient, OptionalAttr<DenseI64ArrayAttr>:$a_order,
                       OptionalAttr<DenseI64ArrayAttr>:$b_order, OptionalAttr<DenseI64ArrayAttr>:$order);
  let assemblyFormat = [{
    $a `,` $b (`bias` `(` $bias^ `:` type($bias) `)`)? (`args` `(` $args^ `:` type($args) `)`)?
    (`post_ops` $post_ops^)? (`keep_aux` $keep_aux^)? (`bias_gradient` `` $bias_gradient^)?
    (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict `:` type($a) `,` type($b) (`->` type($results)^)?
  }];
  // A plain product.
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$a, "::mlir::Value":$b, "bool":$transposeA,
                             "bool":$transposeB, CArg<"::mlir::DenseI64ArrayAttr", "{}">:$aOrder,
                             CArg<"::mlir::DenseI64ArrayAttr", "{}">:$bOrder,
                             CArg<"::mlir::DenseI64ArrayAttr", "{}">:$order), [{
    build($_builder, $_state, type, a, b, ::mlir::Value(), {}, {}, transposeA, transposeB, ::mlir::ArrayAttr(), false,
          MatmulValueAttr(), aOrder, bOrder, order);
  }]>];
  let extraClassDeclaration = [{
    /// The type of what `keep_aux` keeps for a relu of a result of this type.
    static ::mlir::RankedTensorType getReluMaskType(::mlir::RankedTensorType result);
    /// The first post op of this kind; null when there is none.
    PostOpAttr findPostOp(PostOpKind kind);
    /// Where the dimensions of [.., m, k], [.., k, n] and [.., m, n] are in a, b and the result, transposes included.
    ::llvm::SmallVector<int64_t> getStoredOrderA();
    ::llvm::SmallVector<int64_t> getStoredOrderB();
    ::llvm::SmallVector<int64_t> getStoredOrder();
    /// True when some order is given: the memory is described by strides then.
    bool isStrided() { return getAOrder() || getBOrder() || getOrder(); }
  }];
}

def Exec_ConvolutionOp : Exec_StepOp<"convolution"> {
  let summary = "convolution by the device's library";
  let description = [{
    Activations are [N, spatial.., C], weights [spatial.., C / groups, O]. `forward` reads src and weights and
    gives dst; `backward_data` reads the gradient of dst and the weights and gives that of src;
    `backward_weights` reads src and the gradient of dst and gives that of the weights. Dilation 1 is dense. With
    `weights_out_first` the weights are [O, spatial.., C / groups].
  }];
  let arguments = (ins Exec_ConvKindAttr:$kind, Exec_Value:$lhs, Exec_Value:$rhs, Optional<Exec_Value>:$bias,
                       Variadic<Exec_Value>:$args, Variadic<AnyStaticShapeMemRef>:$outs,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       DenseI64ArrayAttr:$dilation, DefaultValuedAttr<I64Attr, "1">:$groups,
                       OptionalAttr<Exec_PostOps>:$post_ops, UnitAttr:$weights_out_first);
  let assemblyFormat = [{
    $kind $lhs `,` $rhs (`bias` `(` $bias^ `:` type($bias) `)`)? (`args` `(` $args^ `:` type($args) `)`)?
    `strides` $strides `padding` $pad_low $pad_high `dilation` $dilation (`groups` $groups^)?
    (`post_ops` $post_ops^)? (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict
    `:` type($lhs) `,` type($rhs) (`->` type($results)^)?
  }];
}

def Exec_PoolOp : Exec_StepOp<"pool"> {
  let summary = "pooling by the device's library";
  let description = [{
    Over [N, spatial.., C]. `max_forward` and `avg_forward`: src gives dst. `max_backward`: src and the gradient
    of dst give that of src (the first maximum of each window gets it). `avg_backward`: the gradient of dst
    gives that of src.
  }];
  let arguments = (ins Exec_PoolKindAttr:$kind, Variadic<Exec_Value>:$inputs, Variadic<AnyStaticShapeMemRef>:$outs,
                       DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pad_low,
                       DenseI64ArrayAttr:$pad_high, UnitAttr:$count_include_pad);
  let assemblyFormat = [{
    $kind `(` $inputs `)` `window` $window `strides` $strides `padding` $pad_low $pad_high
    (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict `:` functional-type($inputs, $results)
  }];
}

def Exec_ScatterAddOp : Exec_StepOp<"scatter_add"> {
  let summary = "add slices to those of a zero tensor, by the device";
  let description = [{
    `%r = exec.scatter_add %indices, %updates dim 0 : tensor<4xi32>, tensor<4x8xf32> -> tensor<10x8xf32>`: what
    `dgc.scatter_add` does, going through the updates once. An index that is not in the result is left out; the first
    is `offset`, a scalar i64, where it is given.
  }];
  let arguments = (ins Exec_Value:$indices, Exec_Value:$updates, Optional<Exec_Value>:$offset,
                       Variadic<AnyStaticShapeMemRef>:$outs, I64Attr:$dimension);
  let assemblyFormat = [{
    $indices `,` $updates (`offset` `(` $offset^ `:` type($offset) `)`)? `dim` $dimension
    (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict `:` type($indices) `,` type($updates) (`->` type($results)^)?
  }];
}

def Exec_UpdateSliceOp : Exec_StepOp<"update_slice", [DeclareOpInterfaceMethods<StepOpInterface, ["getInplaceOperand"]>],
                                     /*segments=*/[]> {
  let summary = "replace a slice of a tensor, by the device";
  let description = [{
    `%r = exec.update_slice %x, %update at %i dim 0 : tensor<10x8xf32>, tensor<1x8xf32>, tensor<i32> -> tensor<10x8xf32>`:
    what `dgc.dynamic_update_slice` does. Where the result has the memory of the operand, the slice alone is written.
  }];
  let arguments = (ins Exec_Value:$operand, Exec_Value:$update, Exec_Value:$start, Variadic<AnyStaticShapeMemRef>:$outs,
                       I64Attr:$dimension);
  let assemblyFormat = [{
    $operand `,` $update `at` $start `dim` $dimension (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict
    `:` type($operand) `,` type($update) `,` type($start) (`->` type($results)^)?
  }];
}

def Exec_AttentionOp : Exec_StepOp<"attention"> {
  let summary = "attention by the device's library";
  let description = [{
    `%y, %lse = exec.attention(%q, %k, %v) heads 4 causal scale 0.125 : (..) -> (..)` is `dgc.fused_attention`, and
    `exec.attention backward(%q, %k, %v, %y, %lse, %dy) heads 4 causal scale 0.125 : ..`, with the gradients of the
    first three as results, `dgc.fused_attention_grad`.
  }];
  let arguments = (ins UnitAttr:$backward, Variadic<Exec_Value>:$inputs, Variadic<AnyStaticShapeMemRef>:$outs,
                       I64Attr:$heads, UnitAttr:$causal, F64Attr:$scale);
  let assemblyFormat = [{
    (`backward` $backward^)? `(` $inputs `)` `heads` $heads (`causal` $causal^)? `scale` $scale
    (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict `:` functional-type($inputs, $results)
  }];
}

// Buffer level.

def Exec_ProgramOp : Exec_Op<"program", [Symbol, NoTerminator, SingleBlock, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "one entry point for one kind of worker";
  let description = [{
    Buffers first, then the steps in the order in which they run. `entry` is the name of the entry point where that
    of the symbol is another; `on` names the mesh of the workers that run it, where not all of them do:
    `exec.program @train_stage1 entry "train" on @stage1 {..}`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$entry, OptionalAttr<FlatSymbolRefAttr>:$mesh);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`entry` $entry^)? (`on` $mesh^)? attr-dict-with-keyword $body";
}

def Exec_VariableOp : Exec_Op<"variable", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "state that outlives a step, at a fixed offset of the private arena";
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<I64Attr, "-1">:$offset, TypeAttrOf<AnyStaticShapeMemRef>:$type,
                       TypeAttrOf<AnyRankedTensor>:$global_type, OptionalAttr<AnyAttr>:$sharding,
                       OptionalAttr<FlatSymbolRefAttr>:$mesh, DictionaryAttr:$state);
  let assemblyFormat = [{
    $sym_name (`at` $offset^)? `:` $type `of` $global_type (`sharding` $sharding^)? (`on` $mesh^)?
    `state` $state attr-dict
  }];
}

def Exec_BufferOp : Exec_Op<"buffer", [Pure, HasParent<"ProgramOp">]> {
  let summary = "a range of memory";
  let description = [{
    `%b = exec.buffer private at 4096 "h1" : memref<128x512xf32>`. Offset -1: not planned yet (`dgc-plan-memory`
    does it). A buffer in the constant space has its `value`.
  }];
  let arguments = (ins Exec_SpaceAttr:$space, DefaultValuedAttr<I64Attr, "-1">:$offset, StrAttr:$name,
                       OptionalAttr<ElementsAttr>:$value);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$space (`at` $offset^)? $name (`=` $value^)? attr-dict `:` type($result)";
}

def Exec_ViewOp : Exec_Op<"view", [Pure, HasParent<"ProgramOp">]> {
  let summary = "a part of a buffer, as another type";
  let description = "`%v = exec.view %b at 64 : memref<1024xf32> to memref<8x16xf32>`; the offset is in bytes.";
  let arguments = (ins AnyStaticShapeMemRef:$source, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$source (`at` $offset^)? attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Exec_GetVariableOp : Exec_Op<"get_variable", [Pure, HasParent<"ProgramOp">]> {
  let summary = "the buffer of a variable";
  let description = [{
    Attributes `argument` and `result` are where the variable is among the arguments and the results of the entry point,
    as `dgc.argument` and `dgc.result`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def Exec_InputOp : Exec_Op<"input", [HasParent<"ProgramOp">]> {
  let summary = "a buffer that is filled before the step";
  let description = [{
    An attribute `argument` is where it is among the arguments of the entry point, as `dgc.argument`; `index_limit` is as
    `dgc.index_limit`.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$role, AnyStaticShapeMemRef:$buffer,
                       TypeAttrOf<AnyRankedTensor>:$global_type, DefaultValuedAttr<I64Attr, "-1">:$batch_dim,
                       OptionalAttr<AnyAttr>:$sharding);
  let assemblyFormat = "$name $role $buffer `:` type($buffer) `of` $global_type (`batch_dim` $batch_dim^)? (`sharding` $sharding^)? attr-dict";
}

def Exec_OutputOp : Exec_Op<"output", [HasParent<"ProgramOp">]> {
  let summary = "a buffer that is read after the step";
  let description = [{
    An attribute `result` is where it is among the results of the entry point, as `dgc.result`; `over` and `function` are
    those of a metric, as `dgc.over` and `dgc.function`.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$role, AnyStaticShapeMemRef:$buffer,
                       TypeAttrOf<AnyRankedTensor>:$global_type, DefaultValuedAttr<I64Attr, "-1">:$batch_dim,
                       OptionalAttr<AnyAttr>:$sharding);
  let assemblyFormat = "$name $role $buffer `:` type($buffer) `of` $global_type (`batch_dim` $batch_dim^)? (`sharding` $sharding^)? attr-dict";
}

// What a program runs besides steps of the device may also be in its loops and branches.
def Exec_InProgram : ParentOneOf<["ProgramOp", "WhileOp", "IfOp"]>;

def Exec_CollectiveOp : Exec_Op<"collective", [Exec_InProgram, SameVariadicOperandSize]> {
  let summary = "a collective, in place on the shared arena";
  let description = [{
    `src` and `dst` are in the shared arena; an all-reduce and a broadcast have the same buffer for both. Every
    worker has this op at the same place of the order of communication, `order`. An all-reduce, a reduce-scatter and an
    all-gather may have several buffers of one element type, to which the same is done at once. `padding` elements of
    the buffers only align the values in them. An `async` one only begins here, and has ended at the `exec.wait` of its
    order.
  }];
  let arguments = (ins Exec_CollectiveKindAttr:$kind, Exec_ReductionAttr:$reduction, DenseI64ArrayAttr:$axes,
                       I64Attr:$order, Variadic<AnyStaticShapeMemRef>:$src, Variadic<AnyStaticShapeMemRef>:$dst,
                       DefaultValuedAttr<I64Attr, "0">:$padding, OptionalAttr<DenseI64ArrayAttr>:$permutation,
                       DefaultValuedAttr<StrAttr, "\"\"">:$origin, UnitAttr:$async);
  let assemblyFormat = [{
    (`async` $async^)? $kind $reduction `axes` $axes `order` $order $src `to` $dst (`padding` $padding^)?
    (`permutation` $permutation^)? (`origin` $origin^)? attr-dict `:` type($src) `to` type($dst)
  }];
  let hasVerifier = 1;
}

def Exec_WaitOp : Exec_Op<"wait", [HasParent<"ProgramOp">]> {
  let summary = "wait for the end of a collective";
  let description = "`exec.wait 3 for %src, %dst : ..`: from here on the buffers of collective 3 may be used again.";
  let arguments = (ins I64Attr:$order, Variadic<AnyStaticShapeMemRef>:$buffers);
  let assemblyFormat = "$order `for` $buffers attr-dict `:` type($buffers)";
}

def Exec_SendOp : Exec_Op<"send", [Exec_InProgram]> {
  let summary = "send a buffer to the worker at the same place of another mesh";
  let description = [{
    The buffer is in the shared arena. With `gathered` each worker sends a part to the one of the mesh, or the one worker sends
    each of the mesh its part.
  }];
  let arguments = (ins I64Attr:$channel, FlatSymbolRefAttr:$peer, AnyStaticShapeMemRef:$buffer,
                       DefaultValuedAttr<StrAttr, "\"\"">:$origin, UnitAttr:$gathered);
  let assemblyFormat = "(`gathered` $gathered^)? $buffer `to` $peer `channel` $channel (`origin` $origin^)? attr-dict `:` type($buffer)";
}

def Exec_ReceiveOp : Exec_Op<"receive", [Exec_InProgram]> {
  let summary = "receive a buffer from the worker at the same place of another mesh";
  let description = [{
    With `gathered` each worker of the mesh sends a part, and they are stored in the order of the workers; or each of several
    gets its part.
  }];
  let arguments = (ins I64Attr:$channel, FlatSymbolRefAttr:$peer, AnyStaticShapeMemRef:$buffer,
                       DefaultValuedAttr<StrAttr, "\"\"">:$origin, UnitAttr:$gathered);
  let assemblyFormat = "(`gathered` $gathered^)? $buffer `from` $peer `channel` $channel (`origin` $origin^)? attr-dict `:` type($buffer)";
}

def Exec_CopyOp : Exec_Op<"copy", [Exec_InProgram, SameTypeOperands]> {
  let summary = "copy a buffer";
  let arguments = (ins AnyStaticShapeMemRef:$src, AnyStaticShapeMemRef:$dst);
  let assemblyFormat = "$src `to` $dst attr-dict `:` type($src)";
}

def Exec_FillOp : Exec_Op<"fill", [Exec_InProgram]> {
  let summary = "give every element of a buffer one value";
  let arguments = (ins AnyStaticShapeMemRef:$dst, F64Attr:$value);
  let assemblyFormat = "$dst `with` $value attr-dict `:` type($dst)";
}

def Exec_WhileOp : Exec_Op<"while", [Exec_InProgram, NoTerminator, SingleBlock]> {
  let summary = "steps that run as long as a buffer holds true";
  let description = [{
    `exec.while %p : memref<i1> test { .. } do { .. }` runs the steps of `test`, which write `%p`, then looks at it: where it
    is true, it runs those of `do` and begins again. Buffers that are in use outside of it, too, keep what they hold from
    round to round. `rounds` is how many there are, if that is known; with `counted` that holds by construction, so that
    nothing needs to run `test`, which has no communication then.
  }];
  let arguments = (ins AnyStaticShapeMemRef:$predicate, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$rounds,
                       UnitAttr:$counted);
  let regions = (region MaxSizedRegion<1>:$test, MaxSizedRegion<1>:$body);
  let assemblyFormat = "$predicate (`rounds` $rounds^)? (`counted` $counted^)? attr-dict `:` type($predicate) `test` $test `do` $body";
  let hasVerifier = 1;
}

def Exec_IfOp : Exec_Op<"if", [Exec_InProgram, NoTerminator, SingleBlock]> {
  let summary = "steps that run if a buffer holds true, and others if not";
  let description = "`exec.if %p : memref<i1> then { .. } else { .. }`";
  let arguments = (ins AnyStaticShapeMemRef:$predicate);
  let regions = (region MaxSizedRegion<1>:$thenSteps, MaxSizedRegion<1>:$elseSteps);
  let assemblyFormat = "$predicate attr-dict `:` type($predicate) `then` $thenSteps `else` $elseSteps";
  let hasVerifier = 1;
}

#endif // DGC_EXEC_TD
