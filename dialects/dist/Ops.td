// The ops of the dist dialect.

#ifndef DIST_OPS_TD
#define DIST_OPS_TD

include "dialects/dist/Base.td"
include "dialects/dist/Interfaces.td"
include "dialects/dgc/Interfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, traits>;

def Dist_Untyped : Type<CPred<"::llvm::isa<::dgc::UntypedType>($_self)">, "a value of a model, not typed yet">;
def Dist_Tensor : AnyTypeOf<[AnyRankedTensor, Dist_Untyped]>;

// An op of a manual region in a model: without types, as every op there.
defvar Dist_InModel = DeclareOpInterfaceMethods<TypesFromContextOpInterface, ["inferResultTypes"]>;
defvar Dist_Differentiable = DeclareOpInterfaceMethods<DifferentiableOpInterface>;

//===----------------------------------------------------------------------===//
// Global level
//===----------------------------------------------------------------------===//

def Dist_MeshOp : Dist_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "names the devices of a program as a grid";
  let description = "`dist.mesh @mesh <data = 4, model = 2>`";
  let arguments = (ins SymbolNameAttr:$sym_name, Dist_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name $mesh attr-dict";
}

def Dist_ConstraintOp : Dist_Op<"constraint", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "declares the sharding of a value";
  let description = [{
    `%1 = dist.constraint %0 to <@mesh, [{"data"}, {?} ]> : tensor<8x4xf32>`

    Propagation starts from it, in both directions; the partitioner removes it. In a model it is written without
    a type, as all ops there. The gradient of the value has the same sharding.
  }];
  let arguments = (ins Dist_Tensor:$input, Dist_ShardingAttr:$sharding);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$input `to` $sharding attr-dict custom<OperandTypes>(type($input))";
}

def Dist_ReshardOp : Dist_Op<"reshard", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "spreads a value in another way";
  let description = [{
    `%1 = dist.reshard %0 to <@mesh, [{}, {"data"} ]> : tensor<8x4xf32>`

    The one op that moves data between devices before the partitioner. From which sharding follows from the
    operand. A value that is unreduced along an axis that the sharding does not have as unreduced is combined.
    `because` names the user that needs it, for messages.
  }];
  let arguments = (ins AnyRankedTensor:$input, Dist_ShardingAttr:$sharding, OptionalAttr<StrAttr>:$cause);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `to` $sharding (`because` $cause^)? attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Dist_ManualOp : Dist_Op<"manual", [IsolatedFromAbove, SingleBlockImplicitTerminator<"ReturnOp">,
    RecursiveMemoryEffects, RecursivelySpeculatable, Dist_Differentiable,
    DeclareOpInterfaceMethods<TypesFromContextOpInterface, ["inferTypesInside", "inferResultTypes"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a region that is written for one device";
  let description = [{
    ```mlir
    %r = dist.manual %x over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"} ]>]
        out [#dist.sharding<@mesh, [{"data"} ]>] : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%local: tensor<4xf32>):
      dist.return %local : tensor<4xf32>
    }
    ```
    and in a model, where types are inferred:
    ```mlir
    %r = dist.manual (%local = %x) over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"} ]>]
        out [#dist.sharding<@mesh, [{"data"} ]>] {
      dist.return %local
    }
    ```
    Inside, shapes are local with regard to the manual axes, and communication along them is written out. Along a
    manual axis that a sharding does not have, the value is the same on all devices; of a result, the region sees
    to that.

    The gradient is a manual region, too, which computes the body again (common subexpressions are
    eliminated after the partitioner) and differentiates it, collectives included. The gradients of an operand that is
    the same along a manual axis are summed over the devices along that axis.

    Constraints:
    - There is one `in` sharding for each operand and one `out` sharding for each result, each valid for it.
    - The shardings cut by manual axes only.
    - Each block argument has the local shape of its operand, and each operand of the terminator that of its
      result.
  }];
  let arguments = (ins Variadic<Dist_Tensor>:$inputs, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes,
                       TypedArrayAttrBase<Dist_ShardingAttr, "array of shardings">:$in_shardings,
                       TypedArrayAttrBase<Dist_ShardingAttr, "array of shardings">:$out_shardings);
  let results = (outs Variadic<Dist_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Dist_ReturnOp : Dist_Op<"return", [Pure, ReturnLike, Terminator, HasParent<"ManualOp">]> {
  let summary = "ends a manual region";
  let arguments = (ins Variadic<Dist_Tensor>:$values);
  let assemblyFormat = "($values^)? attr-dict custom<ListTypes>(type($values), ref($values))";
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
}

//===----------------------------------------------------------------------===//
// Local level
//===----------------------------------------------------------------------===//

// A position: a scalar i64 tensor.
def Dist_Index : Type<CPred<"$_self == ::mlir::RankedTensorType::get({}, ::mlir::IntegerType::get($_self.getContext(), 64))">,
                      "tensor<i64>", "::mlir::RankedTensorType">,
                 BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;

// The same; in a model it is untyped, as every value there.
def Dist_IndexInModel : AnyTypeOf<[Dist_Index, Dist_Untyped], "tensor<i64>">;

def Dist_AxisIndexOp : Dist_Op<"axis_index", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<DeclaredTypeOpInterface>]> {
  let summary = "the position of this device along axes of a mesh";
  let description = [{
    `%i = dist.axis_index @mesh ["data", "model"]`, a `tensor<i64>`. The first axis is the major one.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs Dist_IndexInModel:$result);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$mesh, "::mlir::ArrayAttr":$axes)>];
  let assemblyFormat = "$mesh $axes attr-dict custom<IndexResult>(type($result))";
  let hasFolder = 1;
}

def Dist_SliceOp : Dist_Op<"slice", [Pure, InferTypeOpAdaptor, Dist_Differentiable,
    DeclareOpInterfaceMethods<LinalgLowerableOpInterface>, CostOpInterface]> {
  let summary = "one of several equal parts of a tensor";
  let description = [{
    `%1 = dist.slice %0 at %i dim 0 parts 4 : tensor<8x3xf32>` is part `%i` (a scalar i64) of dimension 0 cut
    in four: `tensor<2x3xf32>`. How a device takes its part of a value that it holds whole.
  }];
  let arguments = (ins Dist_Tensor:$input, Dist_IndexInModel:$index, I64Attr:$dim, I64Attr:$parts);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$input `at` $index `dim` $dim `parts` $parts attr-dict custom<IndexedTypes>(type($input), type($index))";
  let hasFolder = 1;
}

def Dist_DynamicSliceOp : Dist_Op<"dynamic_slice", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<LinalgLowerableOpInterface>, CostOpInterface]> {
  let summary = "some neighbouring elements of a tensor along a dimension";
  let description = [{
    `%1 = dist.dynamic_slice %0 from %k dim 0 size 3 : tensor<8x3xf32>` is elements `%k` (a scalar i64), `%k` + 1 and
    `%k` + 2 of dimension 0: `tensor<3x3xf32>`. All of them must be inside.
  }];
  let arguments = (ins AnyRankedTensor:$input, Dist_Index:$start, I64Attr:$dim, I64Attr:$size);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `from` $start `dim` $dim `size` $size attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Dist_VaryOp : Dist_Op<"vary", [Pure, SameOperandsAndResultType, Dist_Differentiable,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "takes a value that is the same along axes as one that may differ";
  let description = [{
    `%1 = dist.vary %0 over @mesh ["model"] : tensor<4xf32>`

    The value itself. Its gradient is the sum over the devices along these axes: each uses the value in its own way.
    The gradient of a manual region puts it where a value that is the same on all devices meets one that is not; it
    goes away once that is done.
  }];
  let arguments = (ins AnyRankedTensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `over` $mesh $axes attr-dict `:` type($input)";
  let hasFolder = 1;
}

class Dist_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Dist_Op<mnemonic, !listconcat(traits, [Pure, DeclareOpInterfaceMethods<CollectiveOpInterface, ["describe"]>,
                                            DeclareOpInterfaceMethods<SymbolUserOpInterface>])> {
  string common = [{
    The devices that agree in all other axes of the mesh form a group; within it they are numbered
    by their position along `axes`, the first being the major one. `origin` says what caused the op; an op that
    several were merged into has the causes of all of them, `origin "a", "b"`.
  }];
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce", [InferTypeOpAdaptor, Dist_Differentiable]> {
  let summary = "combines values over a group";
  let description = [{
    `%r:2 = dist.all_reduce sum %a, %b over @mesh ["data"] origin "..." : tensor<4xf32>, tensor<f32>`

    Each result is the combination of that operand over the group. An operand that is marked as partial is so
    by the same kind and at least along `axes`; the result is no longer partial along them.
  }] # common;
  let arguments = (ins Dist_ReductionAttr:$kind, Variadic<Dist_Tensor>:$inputs, FlatSymbolRefAttr:$mesh,
                       StrArrayAttr:$axes, OptionalAttr<StrArrayAttr>:$origins);
  let results = (outs Variadic<Dist_Tensor>:$results);
  let assemblyFormat = [{
    $kind $inputs `over` $mesh $axes (`origin` custom<Origins>($origins)^)? attr-dict custom<ListTypes>(type($inputs), ref($inputs))
  }];
  let hasFolder = 1;
}

class Dist_ReshapingCollectiveOp<string mnemonic, dag extra, string format>
    : Dist_CollectiveOp<mnemonic, [Dist_InModel, Dist_Differentiable]> {
  let arguments = !con((ins Dist_Tensor:$input), extra,
                       (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, OptionalAttr<StrArrayAttr>:$origins));
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = format # [{ `over` $mesh $axes (`origin` custom<Origins>($origins)^)? attr-dict
                               custom<FromTo>(type($input), type($result))}];
  let hasFolder = 1;
}

// One that does the same to several values, of one element type, at once.
class Dist_ListCollectiveOp<string mnemonic, dag extra, string format>
    : Dist_CollectiveOp<mnemonic, [Dist_InModel, Dist_Differentiable]> {
  let arguments = !con((ins Variadic<Dist_Tensor>:$inputs), extra,
                       (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, OptionalAttr<StrArrayAttr>:$origins));
  let results = (outs Variadic<Dist_Tensor>:$results);
  let assemblyFormat = format # [{ `over` $mesh $axes (`origin` custom<Origins>($origins)^)? attr-dict
                               custom<ListFromTo>(type($inputs), ref($inputs), type($results))}];
  let hasFolder = 1;
}

def Dist_AllGatherOp : Dist_ListCollectiveOp<"all_gather", (ins I64Attr:$dim), "$inputs `dim` $dim"> {
  let summary = "puts the parts of a group together along a dimension";
  let description = [{
    `%r = dist.all_gather %a dim 0 over @mesh ["data"] : tensor<4x3xf32> to tensor<8x3xf32>`, and of several values
    `%r:2 = dist.all_gather %a, %b dim 0 over @mesh ["data"] : tensor<4xf32>, tensor<2xf32> to tensor<8xf32>, tensor<4xf32>`.

  }] # common;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "int64_t":$dim,
                                 "::llvm::StringRef":$mesh, "::mlir::ArrayAttr":$axes, "::mlir::ArrayAttr":$origins), [{
    build($_builder, $_state, ::mlir::TypeRange(result), ::mlir::ValueRange(input), dim, mesh, axes, origins);
  }]>];
}

def Dist_ReduceScatterOp : Dist_ListCollectiveOp<"reduce_scatter",
    (ins Dist_ReductionAttr:$kind, I64Attr:$dim), "$kind $inputs `dim` $dim"> {
  let summary = "combines values over a group and leaves each member its part";
  let description = [{
    `%r = dist.reduce_scatter sum %a dim 0 over @mesh ["data"] : tensor<8x3xf32> to tensor<4x3xf32>`, and of several
    values as for `all_gather`.

  }] # common;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::dgc::dist::Reduction":$kind,
                                 "int64_t":$dim, "::llvm::StringRef":$mesh, "::mlir::ArrayAttr":$axes,
                                 "::mlir::ArrayAttr":$origins), [{
    build($_builder, $_state, ::mlir::TypeRange(result), ::mlir::ValueRange(input), kind, dim, mesh, axes, origins);
  }]>];
}

def Dist_AllToAllOp : Dist_ReshapingCollectiveOp<"all_to_all",
    (ins I64Attr:$split, I64Attr:$concat), "$input `split` $split `concat` $concat"> {
  let summary = "moves a cut from one dimension to another";
  let description = [{
    `%r = dist.all_to_all %a split 0 concat 1 over @mesh ["data"] : tensor<8x2xf32> to tensor<4x4xf32>`

    Member m receives part m of dimension `split` from every member, and puts these together along
    dimension `concat` in the order of the members. The dimensions may be the same.

  }] # common;
}

def Dist_PermuteOp : Dist_ReshapingCollectiveOp<"permute", (ins DenseI64ArrayAttr:$targets),
                                                "$input `targets` $targets"> {
  let summary = "each member sends its value to one other";
  let description = [{
    `%r = dist.permute %a targets [1, 2, -1] over @mesh ["data"] : tensor<4xf32> to tensor<4xf32>`

    Member m sends to member `targets[m]`; -1: to none. Who receives nothing has zeros.

  }] # common;
}

def Dist_BroadcastOp : Dist_ReshapingCollectiveOp<"broadcast", (ins I64Attr:$root), "$input `root` $root"> {
  let summary = "every member gets the value of one";
  let description = [{
    `%r = dist.broadcast %a root 0 over @mesh ["data"] : tensor<4xf32> to tensor<4xf32>`

  }] # common;
}

def Dist_DoneOp : Dist_Op<"done", [Pure, InferTypeOpAdaptor, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the end of an asynchronous collective";
  let description = [{
    ```mlir
    %s:2 = dist.all_reduce sum %a, %b over @mesh ["data"] : tensor<4xf32>, tensor<f32>  // begins here
    ...
    %r:2 = dist.done %s#0, %s#1 : tensor<4xf32>, tensor<f32>                            // has ended here
    ```
    Takes all results of one collective, in order, and returns them. The results of the collective have no other use.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
}

def Dist_ChannelResource : Resource<"::dgc::dist::ChannelResource">;

class Dist_TransferOp<string mnemonic> : Dist_Op<mnemonic, [
    MemoryEffects<[MemRead<Dist_ChannelResource>, MemWrite<Dist_ChannelResource>]>, TransferOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Dist_SendOp : Dist_TransferOp<"send"> {
  let summary = "sends a value to the device at the same position of another mesh";
  let description = [{
    `dist.send %a channel 3 from @stage0 to @stage1 origin "..." : tensor<4xf32>`

    Belongs to the `dist.recv` of the same channel and meshes; of several the first to the first. It ends when
    the receiver has the value. From a mesh of one device it goes to all of the other one; to a mesh of one device the
    first of the other one sends, or, with `gathered`, each sends its part, and the receiver concatenates the parts
    along dimension 0, in the order of the devices. From a mesh of one device to a larger one, `gathered` gives each
    its part along dimension 0.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$channel, FlatSymbolRefAttr:$source,
                       FlatSymbolRefAttr:$target, OptionalAttr<StrArrayAttr>:$origins, UnitAttr:$gathered);
  let assemblyFormat = [{
    (`gathered` $gathered^)? $input `channel` $channel `from` $source `to` $target (`origin` custom<Origins>($origins)^)? attr-dict
    `:` type($input)
  }];
}

def Dist_RecvOp : Dist_TransferOp<"recv"> {
  let summary = "receives a value from the device at the same position of another mesh";
  let description = "`%a = dist.recv channel 3 from @stage0 to @stage1 origin \"...\" : tensor<4xf32>`";
  let arguments = (ins I64Attr:$channel, FlatSymbolRefAttr:$source, FlatSymbolRefAttr:$target,
                       OptionalAttr<StrArrayAttr>:$origins, UnitAttr:$gathered);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    (`gathered` $gathered^)? `channel` $channel `from` $source `to` $target (`origin` custom<Origins>($origins)^)? attr-dict `:` type($result)
  }];
}

#endif // DIST_OPS_TD
