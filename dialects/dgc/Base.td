// The dgc dialect: its definition, types and the classes that its ops share.

#ifndef DGC_BASE_TD
#define DGC_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/dgc/Interfaces.td"

def DGC_Dialect : Dialect {
  let name = "dgc";
  let cppNamespace = "::dgc";
  let summary = "Models: tensor math on global shapes, variables, a loss, an optimizer";
  let description = [{
    A program of this dialect says what is computed, for one device and the global batch. Primitive ops
    have the meaning of the StableHLO ops of the same name; composite ops are what people write, and know
    their decomposition into primitives.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = [{
    /// For the register function of an op family, which sees the definitions of its ops.
    template <typename... Ops> void registerFamily() { addOperations<Ops...>(); }

    /// The module of Optimizers.mlir, the optimizers that are part of the language; read once, by whichever thread asks.
    ::mlir::ModuleOp getBuiltinOptimizers();
    /// The same of Schedules.mlir, the schedules of learning rates.
    ::mlir::ModuleOp getBuiltinSchedules();

  private:
    std::once_flag optimizersAreRead, schedulesAreRead;
    ::mlir::OwningOpRef<::mlir::ModuleOp> optimizers, schedules;

  public:
  }];
}

class DGC_Type<string name, string mnem> : TypeDef<DGC_Dialect, name> { let mnemonic = mnem; }
class DGC_Attr<string name, string mnem> : AttrDef<DGC_Dialect, name> { let mnemonic = mnem; }

def DGC_Untyped : DGC_Type<"Untyped", "untyped"> {
  let summary = "a tensor whose shape is still to be inferred";
  let description = [{
    The type of every value of a model as it is written. `dgc-infer-types` replaces it. An op with an
    operand of this type has results of this type.
  }];
}

// Element types. Signless integers are signed.
def DGC_Float : AnyTypeOf<[F16, BF16, F32, F64], "float">;
def DGC_SInt : AnyTypeOf<[I8, I16, I32, I64], "signed integer">;
def DGC_UInt : AnyTypeOf<[UI8, UI16, UI32, UI64], "unsigned integer">;
def DGC_Int : AnyTypeOf<[DGC_SInt, DGC_UInt], "integer">;
def DGC_Pred : AnyTypeOf<[I1], "boolean">;
def DGC_Element : AnyTypeOf<[DGC_Float, DGC_Int, DGC_Pred], "element">;

// A tensor of static shape, or one that is still to be inferred. `description` completes "must be ...".
class DGC_TensorOf<list<Type> elements, string description>
    : AnyTypeOf<[StaticShapeTensorOf<elements>, DGC_Untyped], description>;
def DGC_Tensor : DGC_TensorOf<[DGC_Element],
    "a tensor of static shape of floats (f16, bf16, f32, f64), integers (i8 to i64, ui8 to ui64) or i1">;
def DGC_FloatTensor : DGC_TensorOf<[DGC_Float], "a tensor of static shape of f16, bf16, f32 or f64">;
def DGC_NumberTensor : DGC_TensorOf<[DGC_Float, DGC_Int],
    "a tensor of static shape of floats (f16, bf16, f32, f64) or integers (i8 to i64, ui8 to ui64)">;
def DGC_SignedTensor : DGC_TensorOf<[DGC_Float, DGC_SInt],
    "a tensor of static shape of floats (f16, bf16, f32, f64) or signed integers (i8 to i64)">;
def DGC_IntTensor : DGC_TensorOf<[DGC_Int], "a tensor of static shape of integers (i8 to i64, ui8 to ui64)">;
def DGC_LogicTensor : DGC_TensorOf<[DGC_Int, DGC_Pred],
    "a tensor of static shape of integers (i8 to i64, ui8 to ui64) or i1">;
def DGC_PredTensor : DGC_TensorOf<[DGC_Pred], "a tensor of static shape of i1">;

// An op whose work is products: with mixed precision it takes floats of 16 bits and gives such.
def DGC_LowPrecision : NativeOpTrait<"LowPrecision"> { let cppNamespace = "::dgc"; }

// An op that gives elements of its operands, zeros, or their sum: with mixed precision its result has 16 bits where all
// operands have.
def DGC_AnyPrecision : NativeOpTrait<"AnyPrecision"> { let cppNamespace = "::dgc"; }

// An op that computes in f32 whatever its first operand is: with mixed precision its first result has the type of that.
def DGC_AnyPrecisionOfFirst : NativeOpTrait<"AnyPrecisionOfFirst"> { let cppNamespace = "::dgc"; }

// An op that computes each element of its results from those at the same place of operands of their shape, and from
// scalars.

def DGC_Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;

// A pure op whose result types follow from its operands and attributes. The class of the op defines
//   static LogicalResult inferTypes(std::optional<Location>, Adaptor, SmallVectorImpl<Type> &);
// which is called only when every operand is a ranked tensor of static shape. Types that differ in encoding alone are
// compatible: the partitioner marks partial sums in the encoding. An op with several results says how many; one that
// declares more in its class writes `let extraClassDeclaration = inferredDeclaration # [{...}];`, and likewise for the
// definition.
class DGC_Op<string mnemonic, list<Trait> traits = [], int numResults = 1>
    : Op<DGC_Dialect, mnemonic, !listconcat(traits, [
        Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>])> {
  code inferredDeclaration = [{
    static ::llvm::LogicalResult inferTypes(std::optional<::mlir::Location> location, Adaptor adaptor,
                                            ::llvm::SmallVectorImpl<::mlir::Type> &types);
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual);
  }];
  let extraClassDeclaration = inferredDeclaration;
  code inferredDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location, ::mlir::ValueRange operands,
        ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      if (::dgc::anyUntyped(operands)) {
        types.assign(}] # !cast<string>(numResults) # [{, ::dgc::UntypedType::get(context));
        return ::mlir::success();
      }
      if (::mlir::failed(::dgc::checkTensors(location, getOperationName(), operands)))
        return ::mlir::failure();
      if (::mlir::failed(inferTypes(location, Adaptor(operands, attributes, properties, regions), types)))
        return ::mlir::failure();
      ::dgc::applyEncodings(attributes, types);
      return ::mlir::success();
    }
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
      return ::dgc::equalUpToEncoding(inferred, actual);
    }
  }];
  let extraClassDefinition = inferredDefinition;
}

#endif // DGC_BASE_TD
