// The dist dialect: its definition, enums and attributes.

#ifndef DIST_BASE_TD
#define DIST_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::dgc::dist";
  let summary = "A model, placed: meshes, devices, shardings, local programs and their communication";
  let description = [{
    The same math as in `dgc`, with the answer to "where does it run and what is sent". Before the partitioner,
    values have global shapes and carry `#dist.sharding`; redistribution is `dist.reshard`, and nothing else.
    After it, values have local shapes, partial sums carry `#dist.partial` in their type, and communication
    is explicit.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = "void registerAttributes();";
  let dependentDialects = ["::dgc::DGCDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def Dist_Reduction : I32EnumAttr<"Reduction", "how the parts of a value combine", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Product", 1, "product">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::dgc::dist";
  let genSpecializedAttr = 0;
}

def Dist_CollectiveKind : I32EnumAttr<"CollectiveKind", "what a collective does", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
    I32EnumAttrCase<"AllGather", 2, "all_gather">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
    I32EnumAttrCase<"Broadcast", 4, "broadcast">,
    I32EnumAttrCase<"Permute", 5, "permute">]> {
  let cppNamespace = "::dgc::dist";
  let genSpecializedAttr = 0;
}

def Dist_OriginKind : I32EnumAttr<"OriginKind", "who decided", [
    I32EnumAttrCase<"User", 0, "user">,
    I32EnumAttrCase<"Strategy", 1, "strategy">,
    I32EnumAttrCase<"Op", 2, "op">]> {
  let cppNamespace = "::dgc::dist";
  let genSpecializedAttr = 0;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Dist_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<Dist_Dialect, name, traits> {
  let mnemonic = mnem;
}

def Dist_ReductionAttr : EnumAttr<Dist_Dialect, Dist_Reduction, "reduction">;

def Dist_MeshAxisAttr : Dist_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "a named axis of a mesh";
  let description = [{
    `data = 4`

    Constraints:
    - The name is not empty.
    - The size is at least 1.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_MeshAttr : Dist_Attr<"Mesh", "mesh"> {
  let summary = "a logical grid of devices with named axes";
  let description = [{
    `<data = 4, model = 2>`, `<data = 2, first = 6>`

    The devices of a mesh are consecutive ranks from `first` on, in row-major order: the last axis varies
    fastest. Several meshes may cover the same devices.

    Constraints:
    - There is at least one axis.
    - No two axes have the same name, and none is called `first`.
    - `first` is not negative.
    - The mesh has at most 2^31 - 1 devices.
  }];
  let parameters = (ins ArrayRefParameter<"::dgc::dist::MeshAxisAttr">:$axes,
                        DefaultValuedParameter<"int64_t", "0">:$first);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The size of an axis; 0 when there is none of that name.
    int64_t getAxisSize(::llvm::StringRef axis) const;
    /// The place of an axis in the list; -1 when there is none of that name.
    int64_t getAxisIndex(::llvm::StringRef axis) const;
    /// The number of devices.
    int64_t getNumDevices() const;
  }];
}

def Dist_OriginAttr : Dist_Attr<"Origin", "origin"> {
  let summary = "who decided that a value is cut";
  let description = [{
    `user`, `strategy "data-parallel"`, `op "dgc.dot_general at model.mlir:12:8"`

    Constraints:
    - A strategy and an op are named; a user is not.
  }];
  let parameters = (ins "::dgc::dist::OriginKind":$kind, "::mlir::StringAttr":$name);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_AxisRefAttr : Dist_Attr<"AxisRef", "axis"> {
  let summary = "an axis of a mesh in a sharding, with its origin";
  let description = [{
    `"data"`, `"data" by strategy "data-parallel"`. Without an origin it is the user's.

    Constraints:
    - The name is not empty.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::dgc::dist::OriginAttr":$origin);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_DimShardingAttr : Dist_Attr<"DimSharding", "dim"> {
  let summary = "how one dimension is cut";
  let description = [{
    `{"data", "model"}` (closed), `{"data", ?}` (open: propagation may add axes after those), `{?}`, `{}`,
    `{"data"} round 1` (takes part in propagation from round 1 on; without it: from round 0).

    The first axis is the major one: with `a` of size 2 and `b` of size 3, the device at (a, b) holds part
    3 * a + b of 6.

    Constraints:
    - No axis appears twice.
    - The round is not negative, and 0 for a closed dimension without axes.
  }];
  let parameters = (ins ArrayRefParameter<"::dgc::dist::AxisRefAttr">:$axes, "bool":$open,
                        DefaultValuedParameter<"int64_t", "0">:$round);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_ShardingAttr : Dist_Attr<"Sharding", "sharding"> {
  let summary = "how a tensor is spread over a mesh";
  let description = [{
    ```mlir
    #dist.sharding<@mesh, [{"data"}, {?} ], replicated = ["model"], unreduced = sum ["stage"]>
    ```
    One entry for each dimension; `replicated` axes, along which all devices hold the same (propagation
    may not cut the tensor by them); `unreduced` axes, along which the devices hold addends (or, for the other
    kinds, operands) that have yet to be combined. Along an axis that is not mentioned the value is replicated,
    as long as nothing else is decided.

    Constraints of the attribute:
    - Each axis appears at most once, in the dimensions, replicated and unreduced axes together.
    - There is a kind of reduction exactly when there are unreduced axes.

    Constraints where it is attached to a value (`verifyFor`):
    - The mesh is a `dist.mesh` of the module.
    - It has as many entries as the tensor has dimensions.
    - Each axis is one of the mesh.
    - Replicated and unreduced axes are in the order of the mesh.
    - Only numbers are unreduced by sum or product.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
                        ArrayRefParameter<"::dgc::dist::DimShardingAttr">:$dims,
                        OptionalArrayRefParameter<"::dgc::dist::AxisRefAttr">:$replicated,
                        "::dgc::dist::Reduction":$kind,
                        OptionalArrayRefParameter<"::dgc::dist::AxisRefAttr">:$unreduced);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Checks the constraints that need the type of the value and the meshes of the module around `anchor`.
    ::llvm::LogicalResult verifyFor(::mlir::Type type, ::mlir::Operation *anchor,
                                    ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
    /// True when every device holds the whole value.
    bool isWhole() const;
    /// The shape of the block that one device holds: a dimension of size n that k parts cut has the local size
    /// c = ceil(n / k), and block i the elements from i * c on. Where k does not divide n the last blocks have fewer
    /// elements than c, or none; the rest of their room is padding, whose values mean nothing.
    ::llvm::SmallVector<int64_t> getLocalShape(::llvm::ArrayRef<int64_t> globalShape,
                                               ::dgc::dist::MeshAttr mesh) const;
    /// Fails with a diagnostic that names both numbers when a dimension does not divide into equal parts. `remedy` says
    /// what to do about it.
    ::llvm::LogicalResult verifyEqualParts(::llvm::ArrayRef<int64_t> globalShape, ::dgc::dist::MeshAttr mesh,
                                           ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
                                           ::llvm::StringRef remedy) const;
    /// True when both put the same elements on the same devices; origins and openness do not count.
    bool hasSameLayout(::dgc::dist::ShardingAttr other) const;
    /// The same with closed dimensions, of round 0.
    ::dgc::dist::ShardingAttr getClosed() const;
    /// The sharding that holds the whole value on every device.
    static ::dgc::dist::ShardingAttr getWhole(::mlir::FlatSymbolRefAttr mesh, int64_t rank, bool open = false);
    /// "[{data}, {} ] unreduced sum [model]", for messages.
    ::std::string describe() const;
  }];
}

def Dist_PartialAttr : Dist_Attr<"Partial", "partial",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "encoding of a local tensor that has yet to be combined with those of other devices";
  let description = [{
    `tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>`: the value is the sum over the devices along `data`.

    Constraints:
    - There is at least one axis, and none appears twice.
    - Only numbers are combined by sum or product.
  }];
  let parameters = (ins "::dgc::dist::Reduction":$kind, "::mlir::FlatSymbolRefAttr":$mesh,
                        ArrayRefParameter<"::mlir::StringAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_DeviceAttr : Dist_Attr<"Device", "device"> {
  let summary = "a device, or a set of devices, by name";
  let description = [{
    `#dist.device<"/job:worker/task:1/gpu:0">`. Parts may be left out: `"/job:ps"`, `"/gpu:0"`, `"cpu:0"`.

    Constraints:
    - There is at least one part; parts are `job:NAME`, `task:NUMBER`, `cpu:NUMBER` or `gpu:NUMBER`, in this
      order, separated by `/`.
    - No part appears twice, and there is one of `cpu` and `gpu` at most.
  }];
  let parameters = (ins "::mlir::StringAttr":$name);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The value of a part ("job", "task", "cpu", "gpu"); empty when it is not given.
    ::llvm::StringRef getPart(::llvm::StringRef part) const;
  }];
}

#endif // DIST_BASE_TD
