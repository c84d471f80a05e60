// The dialects that StableHLO programs are written in: types, attributes and classes of ops.

#ifndef DGC_STABLEHLO_BASE_TD
#define DGC_STABLEHLO_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def StableHLO_Dialect : Dialect {
  let name = "stablehlo";
  let summary = "the operations of the StableHLO specification";
  let description = [{
    What frameworks export. Names, operands, attributes and textual forms are those of the
    [specification](https://openxla.org/stablehlo/spec) and of what JAX prints. An op of this dialect that is not defined
    here is read in its generic form, and refused by `stablehlo-to-dgc` like each op that has no equivalent in dgc.
  }];
  let cppNamespace = "::dgc::stablehlo";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerContractionOps();
    void registerControlOps();
    void registerElementwiseOps();
    void registerIndexOps();
    void registerReductionOps();
    void registerShapeOps();
  }];
}

def Chlo_Dialect : Dialect {
  let name = "chlo";
  let summary = "functions that frameworks print beside StableHLO, each made of ops of it";
  let cppNamespace = "::dgc::chlo";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def StableHLO_Token : TypeDef<StableHLO_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "an order of side effects";
}

def StableHLO_Bool : I<1>;
def StableHLO_FloatOrComplex : AnyTypeOf<[AnyFloat, AnyComplex]>;
def StableHLO_Number : AnyTypeOf<[AnyInteger, AnyFloat, AnyComplex]>;
def StableHLO_Real : AnyTypeOf<[AnyInteger, AnyFloat]>;

class StableHLO_TensorOf<Type element> : StaticShapeTensorOf<[element]>;
def StableHLO_Tensor : StableHLO_TensorOf<StableHLO_Number>;
def StableHLO_BoolTensor : StableHLO_TensorOf<StableHLO_Bool>;
def StableHLO_FloatTensor : StableHLO_TensorOf<AnyFloat>;
def StableHLO_FloatOrComplexTensor : StableHLO_TensorOf<StableHLO_FloatOrComplex>;
def StableHLO_ComplexTensor : StableHLO_TensorOf<AnyComplex>;
def StableHLO_IntTensor : StableHLO_TensorOf<AnyInteger>;
def StableHLO_RealTensor : StableHLO_TensorOf<StableHLO_Real>;
def StableHLO_ScalarInt : 0DTensorOf<[AnyInteger]>;
// Of the ops that take a shape: what has a size that is not known is refused by stablehlo-to-dgc, with all else that is.
def StableHLO_AnyShape : RankedTensorOf<[StableHLO_Number]>;
def StableHLO_Sizes : 1DTensorOf<[AnyInteger, Index]>;
def StableHLO_Value : AnyTypeOf<[StableHLO_Tensor, StableHLO_Token, AnyTuple]>;

//===----------------------------------------------------------------------===//
// Enumerations: the numbers are those of portable artifacts
//===----------------------------------------------------------------------===//

class StableHLO_Enum<string name, string summary, list<I32EnumCase> cases> : I32Enum<name, summary, cases> {
  let cppNamespace = "::dgc::stablehlo";
}
class StableHLO_EnumAttr<EnumInfo enumInfo, string mnemonic> : EnumAttr<StableHLO_Dialect, enumInfo, mnemonic> {
  let assemblyFormat = "$value";
}

def StableHLO_ComparisonDirection : StableHLO_Enum<"ComparisonDirection", "which relation is tested", [
    I32EnumCase<"EQ", 0>, I32EnumCase<"NE", 1>, I32EnumCase<"GE", 2>, I32EnumCase<"GT", 3>, I32EnumCase<"LE", 4>,
    I32EnumCase<"LT", 5>]>;
def StableHLO_ComparisonDirectionAttr : StableHLO_EnumAttr<StableHLO_ComparisonDirection, "comparison_direction">;

def StableHLO_ComparisonType : StableHLO_Enum<"ComparisonType", "how elements are compared", [
    I32EnumCase<"NOTYPE", 0>, I32EnumCase<"FLOAT", 1>, I32EnumCase<"TOTALORDER", 2>, I32EnumCase<"SIGNED", 3>,
    I32EnumCase<"UNSIGNED", 4>]>;
def StableHLO_ComparisonTypeAttr : StableHLO_EnumAttr<StableHLO_ComparisonType, "comparison_type">;

def StableHLO_CustomCallApiVersion : StableHLO_Enum<"CustomCallApiVersion", "how a custom call passes its operands", [
    I32EnumCase<"API_VERSION_UNSPECIFIED", 0>, I32EnumCase<"API_VERSION_ORIGINAL", 1>,
    I32EnumCase<"API_VERSION_STATUS_RETURNING", 2>, I32EnumCase<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
    I32EnumCase<"API_VERSION_TYPED_FFI", 4>]>;
def StableHLO_CustomCallApiVersionAttr : StableHLO_EnumAttr<StableHLO_CustomCallApiVersion, "custom_call_api_version">;

def StableHLO_FftType : StableHLO_Enum<"FftType", "which Fourier transform", [
    I32EnumCase<"FFT", 0>, I32EnumCase<"IFFT", 1>, I32EnumCase<"RFFT", 2>, I32EnumCase<"IRFFT", 3>]>;
def StableHLO_FftTypeAttr : StableHLO_EnumAttr<StableHLO_FftType, "fft_type">;

def StableHLO_Precision : StableHLO_Enum<"Precision", "how exact a product is", [
    I32EnumCase<"DEFAULT", 0>, I32EnumCase<"HIGH", 1>, I32EnumCase<"HIGHEST", 2>]>;
def StableHLO_PrecisionAttr : StableHLO_EnumAttr<StableHLO_Precision, "precision">;

def StableHLO_RngAlgorithm : StableHLO_Enum<"RngAlgorithm", "which generator of random bits", [
    I32EnumCase<"DEFAULT", 0>, I32EnumCase<"THREE_FRY", 1>, I32EnumCase<"PHILOX", 2>]>;
def StableHLO_RngAlgorithmAttr : StableHLO_EnumAttr<StableHLO_RngAlgorithm, "rng_algorithm">;

def StableHLO_RngDistribution : StableHLO_Enum<"RngDistribution", "how random numbers are distributed", [
    I32EnumCase<"UNIFORM", 1>, I32EnumCase<"NORMAL", 2>]>;
def StableHLO_RngDistributionAttr : StableHLO_EnumAttr<StableHLO_RngDistribution, "rng_distribution">;

def StableHLO_Transpose : StableHLO_Enum<"Transpose", "how a matrix is used", [
    I32EnumCase<"TRANSPOSE_INVALID", 0>, I32EnumCase<"NO_TRANSPOSE", 1>, I32EnumCase<"TRANSPOSE", 2>,
    I32EnumCase<"ADJOINT", 3>]>;
def StableHLO_TransposeAttr : StableHLO_EnumAttr<StableHLO_Transpose, "transpose">;

def StableHLO_ResultAccuracyMode : StableHLO_Enum<"ResultAccuracyMode", "how exact a function is", [
    I32EnumCase<"DEFAULT", 0>, I32EnumCase<"HIGHEST", 1>, I32EnumCase<"TOLERANCE", 2>]>;
def StableHLO_ResultAccuracyModeAttr : StableHLO_EnumAttr<StableHLO_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Attributes with fields
//===----------------------------------------------------------------------===//

// `#stablehlo.NAME<key = value, ...>`. A field that is absent is an empty list, 0 or false. Lists are kept as
// DenseI64ArrayAttr.
class StableHLO_FieldsAttr<string name, string mnem, list<string> lists, list<string> others = []>
    : AttrDef<StableHLO_Dialect, name> {
  let mnemonic = mnem;
  let parameters = (ins "::mlir::DictionaryAttr":$fields);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  string allLists = !interleave(!foreach(each, lists, "\"" # each # "\""), ", ");
  string allOthers = !interleave(!foreach(each, others, "\"" # each # "\""), ", ");
  let extraClassDeclaration = [{
    /// The list of this name.
    ::llvm::ArrayRef<int64_t> list(::llvm::StringRef field) const { return listField(getFields(), field); }
    /// The number of this name.
    int64_t number(::llvm::StringRef field) const { return numberField(getFields(), field); }
  }];
  let extraClassDefinition = [{
    ::mlir::Attribute $cppClass::parse(::mlir::AsmParser &parser, ::mlir::Type) {
      ::llvm::SMLoc location = parser.getCurrentLocation();
      ::mlir::DictionaryAttr fields = parseFields(parser);
      return fields ? parser.getChecked<$cppClass>(location, parser.getContext(), fields)
                    : ::mlir::Attribute();
    }
    void $cppClass::print(::mlir::AsmPrinter &printer) const { printFields(printer, getFields()); }
    ::llvm::LogicalResult $cppClass::verify(::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
                                            ::mlir::DictionaryAttr fields) {
      return verifyFields(emitError, fields, }] # "{" # allLists # "}, {" # allOthers # "}" # [{);
    }
  }];
}

def StableHLO_GatherDims : StableHLO_FieldsAttr<"GatherDims", "gather",
    ["offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map"],
    ["index_vector_dim"]>;
def StableHLO_ScatterDims : StableHLO_FieldsAttr<"ScatterDims", "scatter",
    ["update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
     "scatter_dims_to_operand_dims"],
    ["index_vector_dim"]>;
def StableHLO_DotDims : StableHLO_FieldsAttr<"DotDims", "dot",
    ["lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions"]>;
def StableHLO_DotAlgorithm : StableHLO_FieldsAttr<"DotAlgorithm", "dot_algorithm", [],
    ["lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count", "rhs_component_count",
     "num_primitive_operations", "allow_imprecise_accumulation"]>;
def StableHLO_ChannelHandle : StableHLO_FieldsAttr<"ChannelHandle", "channel_handle", [], ["handle", "type"]>;
def StableHLO_OutputOperandAlias : StableHLO_FieldsAttr<"OutputOperandAlias", "output_operand_alias",
    ["output_tuple_indices", "operand_tuple_indices"], ["operand_index"]>;
def StableHLO_ResultAccuracy : StableHLO_FieldsAttr<"ResultAccuracy", "result_accuracy", [],
    ["atol", "rtol", "ulps", "mode"]>;

def StableHLO_ConvDims : AttrDef<StableHLO_Dialect, "ConvDims"> {
  let mnemonic = "conv";
  let summary = "what the dimensions of a convolution are";
  let description = [{
    `#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`: for the input, the weights and the result, which dimension
    is the batch (`b`), the features (`f`, `i`, `o`) and each spatial dimension (by its number).
  }];
  let parameters = (ins "int64_t":$input_batch_dimension, "int64_t":$input_feature_dimension,
                        ArrayRefParameter<"int64_t">:$input_spatial_dimensions,
                        "int64_t":$kernel_input_feature_dimension, "int64_t":$kernel_output_feature_dimension,
                        ArrayRefParameter<"int64_t">:$kernel_spatial_dimensions,
                        "int64_t":$output_batch_dimension, "int64_t":$output_feature_dimension,
                        ArrayRefParameter<"int64_t">:$output_spatial_dimensions);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

class StableHLO_Op<string mnemonic, list<Trait> traits = []> : Op<StableHLO_Dialect, mnemonic, traits>;
class StableHLO_PureOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([Pure], traits)>;

def StableHLO_PrecisionConfig : OptionalAttr<TypedArrayAttrBase<StableHLO_PrecisionAttr, "precisions">>;
def StableHLO_Padding : OptionalAttr<I64ElementsAttr>;

#endif // DGC_STABLEHLO_BASE_TD
