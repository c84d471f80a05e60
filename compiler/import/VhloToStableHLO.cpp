// From the versioned operations of portable artifacts to StableHLO.

#include "compiler/import/Vhlo.h"
#include "dialects/stablehlo/StableHLO.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// Converts a module op by op.
class VhloConverter {
public:
  explicit VhloConverter(MLIRContext *context) : builder(context) {}
  LogicalResult convertModule(ModuleOp from, ModuleOp to);

private:
  LogicalResult convertOps(Block &from, Block &to);
  LogicalResult convertRegion(Region &from, Region &to);
  LogicalResult convertFunction(Operation *op);
  LogicalResult convertOp(Operation *op);
  FailureOr<NamedAttrList> convertAttributes(Operation *op, StringRef name);
  LogicalResult groupFields(Operation *op, StringRef name, NamedAttrList &attributes);

  OpBuilder builder;
  IRMapping mapping;
};

} // namespace

/// The name of an operation without the dialect and the version.
static StringRef baseName(Operation *op) {
  auto [name, version] = op->getName().stripDialect().rsplit("_v");
  return llvm::all_of(version, llvm::isDigit) ? name : op->getName().stripDialect();
}

/// Lists of numbers are not longer: they have one for each dimension. A tensor of many equal ones takes few bytes of a file.
static constexpr int64_t kLongestList = 1 << 16;

/// An attribute as StableHLO has it: lists of numbers are arrays, not tensors.
static Attribute convertAttribute(StringRef name, Attribute attribute) {
  auto tensor = dyn_cast<DenseIntElementsAttr>(attribute);
  if (!tensor || tensor.getType().getRank() != 1 || name == "value" || tensor.getNumElements() > kLongestList)
    return attribute;
  MLIRContext *context = attribute.getContext();
  if (tensor.getElementType().isInteger(64))
    return DenseI64ArrayAttr::get(context, llvm::to_vector(tensor.getValues<int64_t>()));
  if (tensor.getElementType().isInteger(1))
    return DenseBoolArrayAttr::get(context, llvm::to_vector(tensor.getValues<bool>()));
  return attribute;
}

/// Whether the attribute says that there is none.
static bool isAbsent(Attribute attribute) {
  auto type = dyn_cast<TypeAttr>(attribute);
  return type && isa<NoneType>(type.getValue());
}

/// The number of an attribute that is one.
static FailureOr<int64_t> numberOf(Operation *op, NamedAttrList &attributes, StringRef name) {
  auto number = dyn_cast_or_null<IntegerAttr>(attributes.erase(name));
  if (!number || number.getValue().getSignificantBits() > 64)
    return op->emitOpError() << "lacks the number '" << name << "'";
  return number.getValue().getSExtValue();
}

static FailureOr<SmallVector<int64_t>> listOf(Operation *op, NamedAttrList &attributes, StringRef name) {
  auto list = dyn_cast_or_null<DenseI64ArrayAttr>(attributes.erase(name));
  if (!list)
    return op->emitOpError() << "lacks the list '" << name << "'";
  return llvm::to_vector(list.asArrayRef());
}

/// Moves the attributes of these names, where they are there, into one dictionary.
static DictionaryAttr take(NamedAttrList &attributes, ArrayRef<StringRef> names, MLIRContext *context) {
  NamedAttrList fields;
  for (StringRef name : names)
    if (Attribute value = attributes.erase(name))
      fields.append(name, value);
  return fields.getDictionary(context);
}

static FailureOr<stablehlo::ConvDimsAttr> takeConvDims(Operation *op, NamedAttrList &attributes) {
  SmallVector<int64_t> numbers;
  SmallVector<SmallVector<int64_t>> lists;
  for (StringRef name : {"input_batch_dimension", "input_feature_dimension", "kernel_input_feature_dimension",
                         "kernel_output_feature_dimension", "output_batch_dimension", "output_feature_dimension"}) {
    FailureOr<int64_t> number = numberOf(op, attributes, name);
    if (failed(number))
      return failure();
    numbers.push_back(*number);
  }
  for (StringRef name : {"input_spatial_dimensions", "kernel_spatial_dimensions", "output_spatial_dimensions"}) {
    FailureOr<SmallVector<int64_t>> list = listOf(op, attributes, name);
    if (failed(list))
      return failure();
    lists.push_back(*std::move(list));
  }
  return stablehlo::ConvDimsAttr::get(op->getContext(), numbers[0], numbers[1], lists[0], numbers[2], numbers[3],
                                      lists[1], numbers[4], numbers[5], lists[2]);
}

/// Puts the attributes that StableHLO has in one attribute there.
LogicalResult VhloConverter::groupFields(Operation *op, StringRef name, NamedAttrList &attributes) {
  MLIRContext *context = builder.getContext();
  auto emitError = [&] { return op->emitOpError(); };
  auto set = [&](StringRef field, auto attribute) {
    if (attribute)
      attributes.set(field, attribute);
    return success(static_cast<bool>(attribute));
  };
  if (name == "gather" || name == "dynamic_gather")
    return set("dimension_numbers", stablehlo::GatherDimsAttr::getChecked(
                                        emitError, context,
                                        take(attributes,
                                             {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                                              "start_indices_batching_dims", "start_index_map", "index_vector_dim"},
                                             context)));
  if (name == "scatter")
    return set("scatter_dimension_numbers",
               stablehlo::ScatterDimsAttr::getChecked(
                   emitError, context,
                   take(attributes,
                        {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                         "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"},
                        context)));
  if (name == "dot_general") {
    DictionaryAttr algorithm =
        take(attributes,
             {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
              "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"},
             context);
    if (algorithm.size() == 7 && llvm::none_of(algorithm, [](NamedAttribute a) { return isAbsent(a.getValue()); }) &&
        failed(set("algorithm", stablehlo::DotAlgorithmAttr::getChecked(emitError, context, algorithm))))
      return failure();
    return set("dot_dimension_numbers",
               stablehlo::DotDimsAttr::getChecked(emitError, context,
                                                  take(attributes,
                                                       {"lhs_batching_dimensions", "rhs_batching_dimensions",
                                                        "lhs_contracting_dimensions", "rhs_contracting_dimensions"},
                                                       context)));
  }
  if (name == "convolution" || name == "dynamic_conv") {
    if (name == "dynamic_conv")
      attributes.erase("padding"); // of the first version, which has an operand as well
    FailureOr<stablehlo::ConvDimsAttr> dims = takeConvDims(op, attributes);
    return failed(dims) ? failure() : set("dimension_numbers", *dims);
  }
  return success();
}

FailureOr<NamedAttrList> VhloConverter::convertAttributes(Operation *op, StringRef name) {
  NamedAttrList attributes;
  for (NamedAttribute each : op->getAttrs()) {
    StringRef key = each.getName().getValue();
    auto text = dyn_cast<StringAttr>(each.getValue());
    if (key == "result_accuracy")
      continue; // dgc is exact to some units in the last place for all of them
    if (isAbsent(each.getValue()) && name != "dot_general")
      continue;
    if (text && (key == "callee" || key == "decomposition"))
      attributes.append(key, FlatSymbolRefAttr::get(text));
    else
      attributes.append(each.getName(), convertAttribute(key, each.getValue()));
  }
  if (failed(groupFields(op, name, attributes)))
    return failure();
  return attributes;
}

LogicalResult VhloConverter::convertRegion(Region &from, Region &to) {
  for (Block &block : from) {
    auto *copy = new Block();
    to.push_back(copy);
    for (BlockArgument argument : block.getArguments())
      mapping.map(argument, copy->addArgument(argument.getType(), argument.getLoc()));
    if (failed(convertOps(block, *copy)))
      return failure();
  }
  return success();
}

/// The attributes of arguments or results, or null where there are none.
static ArrayAttr dictionariesOf(Operation *op, StringRef name) {
  auto array = op->getAttrOfType<ArrayAttr>(name);
  bool isUsed = array && !array.empty() && llvm::all_of(array, llvm::IsaPred<DictionaryAttr>);
  return isUsed ? array : ArrayAttr();
}

LogicalResult VhloConverter::convertFunction(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("sym_name");
  auto type = op->getAttrOfType<TypeAttr>("function_type");
  auto function = type ? dyn_cast<FunctionType>(type.getValue()) : FunctionType();
  if (!name || !function || op->getNumRegions() != 1)
    return op->emitOpError("needs a name, a function type and a body");
  auto result = func::FuncOp::create(builder, op->getLoc(), name, function);
  auto visibility = op->getAttrOfType<StringAttr>("sym_visibility");
  if (visibility && visibility.getValue() == "private")
    result.setPrivate();
  auto setAll = [&](StringRef from, size_t count, auto set) {
    ArrayAttr all = dictionariesOf(op, from);
    if (all && all.size() == count)
      set(llvm::to_vector(all.getAsRange<DictionaryAttr>()));
  };
  setAll("arg_attrs", function.getNumInputs(), [&](ArrayRef<DictionaryAttr> all) { result.setAllArgAttrs(all); });
  setAll("res_attrs", function.getNumResults(), [&](ArrayRef<DictionaryAttr> all) { result.setAllResultAttrs(all); });
  OpBuilder::InsertionGuard guard(builder);
  return convertRegion(op->getRegion(0), result.getBody());
}

LogicalResult VhloConverter::convertOp(Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!mapping.contains(operand))
      return op->emitOpError("uses a value before it is defined");
    operands.push_back(mapping.lookup(operand));
  }
  if (isa<UnrealizedConversionCastOp>(op)) { // between types that are one type here
    if (operands.size() != op->getNumResults())
      return op->emitOpError("converts between different numbers of values");
    mapping.map(op->getResults(), operands);
    return success();
  }
  StringRef name = op->getName().getStringRef();
  NamedAttrList attributes(op->getAttrDictionary());
  std::string converted = name.str();
  if (op->getName().getDialectNamespace() == "vhlo") {
    StringRef base = baseName(op);
    if (base == "func")
      return convertFunction(op);
    bool isReturn =
        base == "return" && op->getParentOp() && op->getParentOp()->getName().getStringRef().starts_with("vhlo.func_v");
    converted = base == "call" ? "func.call" : isReturn ? "func.return" : ("stablehlo." + base).str();
    FailureOr<NamedAttrList> all = convertAttributes(op, base);
    if (failed(all))
      return failure();
    attributes = *std::move(all);
  }
  OperationState state(op->getLoc(), converted, operands, op->getResultTypes(), {});
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  Operation *result = builder.create(state);
  result->setAttrs(attributes.getDictionary(builder.getContext()));
  mapping.map(op->getResults(), result->getResults());
  OpBuilder::InsertionGuard guard(builder);
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), result->getRegions()))
    if (failed(convertRegion(from, to)))
      return failure();
  return success();
}

LogicalResult VhloConverter::convertOps(Block &from, Block &to) {
  builder.setInsertionPointToEnd(&to);
  for (Operation &op : from)
    if (failed(convertOp(&op)))
      return failure();
  return success();
}

LogicalResult VhloConverter::convertModule(ModuleOp from, ModuleOp to) {
  return convertOps(*from.getBody(), *to.getBody());
}

OwningOpRef<ModuleOp> convertVhlo(ModuleOp module) {
  if (module->getNumRegions() != 1 || !module.getBodyRegion().hasOneBlock())
    return emitError(module.getLoc()) << "the module needs a body of one block", nullptr;
  module.getContext()->loadDialect<func::FuncDialect, stablehlo::StableHLODialect>();
  OwningOpRef<ModuleOp> result = ModuleOp::create(module.getLoc(), module.getSymName());
  if (failed(VhloConverter(module.getContext()).convertModule(module, *result)))
    return {};
  return result;
}

} // namespace dgc::import
