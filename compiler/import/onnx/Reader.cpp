// Reads ONNX files: a graph becomes a function of dgc ops.

#include "compiler/import/Refusals.h"
#include "compiler/import/onnx/Constants.h"
#include "dialects/dgc/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/Path.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <map>

using namespace mlir;

namespace dgc::import {
namespace {

/// Operator sets whose ops are read.
constexpr int64_t kFirstVersion = 7, kLastVersion = 28;
/// Functions that call each other go no deeper.
constexpr int kMostDepth = 64;
/// Nodes that are read, those of a loop once for each round.
constexpr int64_t kMostNodes = int64_t{1} << 20;

/// The main operator set has two names.
std::string domainOf(const std::string &domain) { return domain == "ai.onnx" ? "" : domain; }

/// The version of the main operator set; 0 for none.
int64_t versionOf(const auto &imports) {
  for (const onnx::OperatorSetIdProto &set : imports)
    if (domainOf(set.domain()).empty())
      return set.version();
  return 0;
}

class OnnxReader {
public:
  /// `hasWeights`: initializers that a gradient may change are variables. `findsAll`: nodes behind one that is refused are read, too.
  OnnxReader(StringRef file, MLIRContext *context, bool hasWeights, bool findsAll)
      : builder(context), start(FileLineColLoc::get(context, file, 0, 0)), hasWeights(hasWeights), findsAll(findsAll) {
    folder = llvm::sys::path::parent_path(file).str();
    folder = folder.empty() ? "." : folder;
    for (ArrayRef<OnnxRule> list :
         {onnxElementwiseRules(), onnxShapeRules(),        onnxIndexRules(),    onnxReductionRules(),
          onnxLayerRules(),       onnxConvolutionRules(),  onnxPoolingRules(),  onnxResizeRules(),
          onnxRecurrentRules(),   onnxAttentionRules(),    onnxLossRules(),     onnxControlRules(),
          onnxSlicingRules(),     onnxQuantizationRules(), onnxSequenceRules(), onnxTrainingRules(),
          onnxEinsumRules(),      onnxSignalRules(),       onnxSamplingRules(), onnxLinearAttentionRules()})
      for (const OnnxRule &rule : list)
        rules[rule.op] = &rule;
  }

  OwningOpRef<ModuleOp> read(const onnx::ModelProto &model);
  /// Takes note of the sizes of inputs, as `x=8x3`. Fails with a diagnostic.
  LogicalResult takeShapes(const onnx::GraphProto &graph, ArrayRef<std::string> shapes);

private:
  InFlightDiagnostic error() { return emitError(start); }
  FailureOr<RankedTensorType> typeOf(const onnx::ValueInfoProto &value);
  FailureOr<int64_t> sizeOf(const onnx::ValueInfoProto &value, int dim);
  LogicalResult readInitializers(const onnx::GraphProto &graph, GraphValues &values);
  void addWeights(const onnx::GraphProto &graph, func::FuncOp function);
  LogicalResult checkVersion(int64_t version, int64_t first);
  LogicalResult checkNodes(const auto &nodes, int64_t version, Refusals &unknown);
  LogicalResult checkSupported(const onnx::ModelProto &model);
  /// Functions that say no version have that of the model.
  int64_t versionIn(const onnx::FunctionProto &function) const {
    const int64_t version = versionOf(function.opset_import());
    return version == 0 ? main.version : version;
  }
  FailureOr<SmallVector<Item>> readGraph(const onnx::GraphProto &graph, ArrayRef<Item> inputs, GraphValues &outer,
                                         int depth);
  LogicalResult readNodes(const auto &nodes, GraphValues &values, int depth);
  LogicalResult readNode(const onnx::NodeProto &proto, GraphValues &values, int depth);
  LogicalResult readMainNodes(const onnx::GraphProto &graph);
  LogicalResult call(const onnx::FunctionProto &function, const onnx::NodeProto &proto, GraphValues &values, int depth);

  OpBuilder builder;
  Location start;
  std::string folder;                      // where files are that the model names
  llvm::StringMap<const OnnxRule *> rules; // by domain and name
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto *> functions; // by domain and name
  GraphValues main;
  const bool hasWeights, findsAll;
  bool isRefused = false;                                  // with findsAll: there was an error
  llvm::StringSet<> weights;                               // names of initializers
  std::map<std::string, SmallVector<int64_t>> givenShapes; // of inputs
  std::map<std::string, int64_t> givenSizes;               // of dimensions that have names
  int64_t nodesLeft = kMostNodes;
};

/// The name of an op in the tables of rules.
std::string ruleOf(const onnx::NodeProto &node) {
  const std::string domain = domainOf(node.domain());
  return domain.empty() ? node.op_type() : domain + "." + node.op_type();
}

} // namespace

/// The shape of an input: that of an optional tensor, which is given; null for what is no tensor.
static const onnx::TensorShapeProto *shapeOf(const onnx::ValueInfoProto &value) {
  const onnx::TypeProto &type =
      value.type().has_optional_type() ? value.type().optional_type().elem_type() : value.type();
  return type.has_tensor_type() && type.tensor_type().has_shape() ? &type.tensor_type().shape() : nullptr;
}

LogicalResult OnnxReader::takeShapes(const onnx::GraphProto &graph, ArrayRef<std::string> shapes) {
  for (StringRef text : shapes) {
    auto [name, list] = text.rsplit('=');
    SmallVector<StringRef> parts;
    list.split(parts, 'x');
    SmallVector<int64_t> sizes;
    for (StringRef part : parts)
      if (part.getAsInteger(10, sizes.emplace_back()) || sizes.back() < 1)
        return error() << "--input-shape=" << text << ": NAME=8x3x224x224 is expected";
    auto input = llvm::find_if(graph.input(), [&](const auto &each) { return each.name() == name.str(); });
    const onnx::TensorShapeProto *shape = input == graph.input().end() ? nullptr : shapeOf(*input);
    if (!shape)
      return error() << "--input-shape=" << text << ": the model has no input '" << name << "' that is a tensor";
    if (static_cast<size_t>(shape->dim_size()) != sizes.size())
      return error() << "--input-shape=" << text << ": '" << name << "' has " << shape->dim_size() << " dimensions";
    for (auto [dim, size] : llvm::zip_equal(shape->dim(), sizes)) {
      int64_t known = dim.has_dim_value() ? dim.dim_value() : size;
      if (dim.has_dim_param())
        known = givenSizes.try_emplace(dim.dim_param(), size).first->second;
      if (known != size)
        return error() << "--input-shape=" << text << ": "
                       << (dim.has_dim_param() ? "'" + dim.dim_param() + "'" : std::string("a dimension")) << " is "
                       << known << ", not " << size;
    }
    givenShapes[name.str()] = sizes;
  }
  return success();
}

/// A dimension of an input: a number, a name that has a size, or one that --input-shape says.
FailureOr<int64_t> OnnxReader::sizeOf(const onnx::ValueInfoProto &value, int dim) {
  const auto &proto = shapeOf(value)->dim(dim);
  if (auto given = givenShapes.find(value.name()); given != givenShapes.end())
    return given->second[static_cast<size_t>(dim)];
  if (auto given = givenSizes.find(proto.dim_param()); proto.has_dim_param() && given != givenSizes.end())
    return given->second;
  if (!proto.has_dim_value())
    return error() << "dimension " << dim << " of '" << value.name() << "'"
                   << (proto.has_dim_param() ? " is '" + proto.dim_param() + "'" : " is open")
                   << "; all sizes have to be known: --input-shape=" << value.name()
                   << "=8x.. says those of this input, or export the model for one batch";
  if (proto.dim_value() <= 0)
    return error() << "dimension " << dim << " of '" << value.name() << "' is " << proto.dim_value();
  return proto.dim_value();
}

FailureOr<RankedTensorType> OnnxReader::typeOf(const onnx::ValueInfoProto &value) {
  const onnx::TypeProto &type =
      value.type().has_optional_type() ? value.type().optional_type().elem_type() : value.type();
  if (!shapeOf(value))
    return error() << "'" << value.name() << "' is no tensor whose shape is known";
  const auto &tensor = type.tensor_type();
  Type element = elementTypeOf(tensor.elem_type(), builder.getContext());
  if (!element)
    return error() << "'" << value.name() << "' has elements of type " << tensor.elem_type()
                   << " of ONNX, which dgc has not";
  SmallVector<int64_t> shape;
  for (int dim = 0; dim < tensor.shape().dim_size(); ++dim) {
    FailureOr<int64_t> size = sizeOf(value, dim);
    if (failed(size))
      return failure();
    shape.push_back(*size);
  }
  return RankedTensorType::get(shape, element);
}

LogicalResult OnnxReader::readInitializers(const onnx::GraphProto &graph, GraphValues &values) {
  if (graph.sparse_initializer_size() > 0)
    return error() << "has sparse initializers, which are not supported";
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    std::string reason;
    DenseElementsAttr value = readTensor(tensor, builder, reason, folder);
    if (!value)
      return error() << "initializer '" << tensor.name() << "' " << reason;
    values.constants[tensor.name()] = value;
  }
  return success();
}

LogicalResult OnnxReader::checkVersion(int64_t version, int64_t first) {
  if (version >= first && version <= kLastVersion)
    return success();
  return error() << "is written for version " << version << " of the operators of ONNX; " << kFirstVersion << " to "
                 << kLastVersion << " are read. onnx.version_converter.convert_version converts it";
}

/// Counts the ops that are not supported, those of subgraphs too; but not those of branches, which may not be taken.
LogicalResult OnnxReader::checkNodes(const auto &nodes, int64_t version, Refusals &unknown) {
  for (const onnx::NodeProto &node : nodes) {
    const std::string domain = domainOf(node.domain()), name = ruleOf(node);
    auto rule = rules.find(name);
    if (functions.contains({domain, node.op_type()}))
      continue;
    if (rule == rules.end())
      unknown.add(unsupported(name),
                  NameLoc::get(builder.getStringAttr(node.name().empty() ? name : node.name()), start));
    else if (domain.empty() && failed(checkVersion(version, rule->second->since)))
      return failure();
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (node.op_type() != "If" && attribute.has_g() && failed(checkNodes(attribute.g().node(), version, unknown)))
        return failure();
  }
  return success();
}

/// Says of all ops at once which are not supported.
LogicalResult OnnxReader::checkSupported(const onnx::ModelProto &model) {
  Refusals unknown;
  for (const onnx::FunctionProto &function : model.functions())
    functions[{domainOf(function.domain()), function.name()}] = &function;
  main.version = versionOf(model.opset_import());
  if (failed(checkNodes(model.graph().node(), main.version, unknown)))
    return failure();
  for (const auto &[name, function] : functions)
    if (failed(checkNodes(function->node(), versionIn(*function), unknown)))
      return failure();
  if (unknown.empty())
    return success();
  InFlightDiagnostic diagnostic = error() << "dgc has no equivalent for " << unknown.kinds()
                                          << (unknown.kinds() == 1 ? " op" : " ops") << " of this model";
  unknown.attachTo(diagnostic);
  isRefused = true;
  return success(findsAll);
}

/// Attributes of a function that have a default, a field that came later than this version of the format.
static std::vector<onnx::AttributeProto> defaultsOf(const onnx::FunctionProto &function) {
  constexpr int kDefaults = 11;
  std::vector<onnx::AttributeProto> all;
  const auto &fields = function.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i)
    if (fields.field(i).number() == kDefaults &&
        fields.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      all.emplace_back().ParseFromString(fields.field(i).length_delimited());
  return all;
}

/// Replaces the attributes of nodes that refer to those of their function.
static void resolveAttributes(auto &nodes, const std::map<std::string, const onnx::AttributeProto *> &given) {
  for (onnx::NodeProto &node : nodes) {
    auto &attributes = *node.mutable_attribute();
    for (int i = attributes.size(); i-- > 0;) {
      onnx::AttributeProto &attribute = attributes[i];
      if (attribute.has_g())
        resolveAttributes(*attribute.mutable_g()->mutable_node(), given);
      if (attribute.ref_attr_name().empty())
        continue;
      const std::string name = attribute.name();
      if (auto value = given.find(attribute.ref_attr_name()); value != given.end()) {
        attribute = *value->second;
        attribute.set_name(name);
      } else {
        attributes.DeleteSubrange(i, 1);
      }
    }
  }
}

LogicalResult OnnxReader::call(const onnx::FunctionProto &function, const onnx::NodeProto &proto, GraphValues &values,
                               int depth) {
  if (depth > kMostDepth)
    return error() << "function '" << function.name() << "' is called in itself";
  GraphValues inner;
  inner.version = versionIn(function);
  for (int i = 0; i < function.input_size() && i < proto.input_size(); ++i)
    inner.set(function.input(i), values.find(proto.input(i)));
  onnx::FunctionProto body = function;
  std::map<std::string, const onnx::AttributeProto *> attributes;
  const std::vector<onnx::AttributeProto> defaults = defaultsOf(function);
  for (const onnx::AttributeProto &attribute : defaults)
    attributes[attribute.name()] = &attribute;
  for (const onnx::AttributeProto &attribute : proto.attribute())
    attributes[attribute.name()] = &attribute;
  resolveAttributes(*body.mutable_node(), attributes);
  if (failed(readNodes(body.node(), inner, depth + 1)))
    return failure();
  for (int i = 0; i < function.output_size() && i < proto.output_size(); ++i) {
    const Item item = inner.find(function.output(i));
    if (!item)
      return error() << "function '" << function.name() << "' has no value '" << function.output(i) << "'";
    values.set(proto.output(i), item);
  }
  return success();
}

FailureOr<SmallVector<Item>> OnnxReader::readGraph(const onnx::GraphProto &graph, ArrayRef<Item> inputs,
                                                   GraphValues &outer, int depth) {
  if (depth > kMostDepth)
    return error() << "subgraph '" << graph.name() << "' is more than " << kMostDepth << " deep";
  if (static_cast<size_t>(graph.input_size()) != inputs.size())
    return error() << "subgraph '" << graph.name() << "' has " << graph.input_size() << " inputs, and gets "
                   << inputs.size();
  GraphValues inner;
  inner.outer = &outer;
  inner.version = outer.version;
  if (failed(readInitializers(graph, inner)))
    return failure();
  for (auto [proto, input] : llvm::zip_equal(graph.input(), inputs))
    inner.set(proto.name(), input);
  if (failed(readNodes(graph.node(), inner, depth)))
    return failure();
  SmallVector<Item> results;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    results.push_back(inner.find(output.name()));
    if (!results.back())
      return error() << "subgraph '" << graph.name() << "' has no value '" << output.name() << "'";
  }
  return results;
}

LogicalResult OnnxReader::readNode(const onnx::NodeProto &proto, GraphValues &values, int depth) {
  if (--nodesLeft < 0)
    return error() << "has more than " << kMostNodes << " nodes, those of loops counted once for each round";
  bool hasList = false, hasWeight = false;
  for (const std::string &name : proto.input()) {
    const Item item = name.empty() ? Item::of(Value()) : values.find(name);
    if (!name.empty() && !item)
      return error() << "node '" << proto.name() << "' (" << proto.op_type() << ") takes '" << name
                     << "', which nothing before it gives";
    hasList |= item.isList;
    hasWeight |= weights.contains(name);
  }
  if (auto function = functions.find({domainOf(proto.domain()), proto.op_type()}); function != functions.end())
    return call(*function->second, proto, values, depth);
  const std::string name = proto.name().empty() ? proto.op_type() : proto.name();
  TensorBuilder b(builder, NameLoc::get(builder.getStringAttr(name), start));
  auto readInner = [&](const onnx::GraphProto &graph, ArrayRef<Item> inputs) {
    return readGraph(graph, inputs, values, depth + 1);
  };
  Node node(proto, values, b, readInner);
  const OnnxRule *rule = rules.lookup(ruleOf(proto));
  if (!rule)
    return error() << "dgc has no equivalent for " << unsupported(ruleOf(proto)) << ", which node '" << name << "' is";
  if (hasList && !rule->takesLists)
    return node.refuse("its operand is a sequence");
  if (DenseElementsAttr known = hasList || hasWeight ? DenseElementsAttr() : computeConstant(node))
    return node.give(known);
  if (failed(rule->lower(node)))
    return failure();
  for (const std::string &result : proto.output())
    if (Value value = values.values.lookup(result); value && tensorOf(value).getNumElements() == 0)
      return node.refuse("nothing is left of its result: tensors have at least one element");
  return success();
}

LogicalResult OnnxReader::readNodes(const auto &nodes, GraphValues &values, int depth) {
  for (const onnx::NodeProto &node : nodes)
    if (failed(readNode(node, values, depth)))
      return failure();
  return success();
}

/// Reads the nodes of the graph. To find all that are refused, what one of these would give is made up where the file says its type;
/// what depends on others is left out.
LogicalResult OnnxReader::readMainNodes(const onnx::GraphProto &graph) {
  if (!findsAll)
    return readNodes(graph.node(), main, 0);
  std::map<std::string, RankedTensorType> types;
  for (const auto *list : {&graph.value_info(), &graph.output()})
    for (const onnx::ValueInfoProto &value : *list) {
      ScopedDiagnosticHandler silence(builder.getContext(), [](Diagnostic &) {});
      if (FailureOr<RankedTensorType> type = typeOf(value); succeeded(type))
        types[value.name()] = *type;
    }
  llvm::StringSet<> lost;
  for (const onnx::NodeProto &node : graph.node()) {
    const bool isKnown = functions.contains({domainOf(node.domain()), node.op_type()}) || rules.contains(ruleOf(node));
    const bool isCut = llvm::any_of(node.input(), [&](const std::string &name) { return lost.contains(name); });
    if (isKnown && !isCut && succeeded(readNode(node, main, 0)))
      continue;
    if (nodesLeft < 0)
      return failure();
    isRefused = true;
    for (const std::string &result : node.output()) {
      if (auto type = types.find(result); type != types.end())
        main.values[result] =
            UnrealizedConversionCastOp::create(builder, start, TypeRange(type->second), ValueRange()).getResult(0);
      else
        lost.insert(result);
    }
  }
  return success();
}

/// The initializers that are no weights although they are floats: statistics of normalizations, which a model that was
/// exported for inference has no new values of.
static llvm::StringSet<> statisticsOf(const onnx::GraphProto &graph) {
  llvm::StringSet<> names;
  for (const onnx::NodeProto &node : graph.node())
    for (int i = 3; node.op_type() == "BatchNormalization" && i < std::min(node.input_size(), 5); ++i)
      names.insert(node.input(i));
  return names;
}

/// Makes initializers of floats arguments of the function, each with a state that begins with it. What a node needs to know when
/// the model is read is still a constant there.
void OnnxReader::addWeights(const onnx::GraphProto &graph, func::FuncOp function) {
  const llvm::StringSet<> statistics = statisticsOf(graph);
  OpBuilder states(function);
  int64_t number = 0;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    DenseElementsAttr value = main.constants[tensor.name()];
    auto type = cast<RankedTensorType>(value.getType());
    if (!isa<FloatType>(type.getElementType()) || type.getRank() == 0 || main.values.contains(tensor.name()))
      continue;
    const Location location = NameLoc::get(builder.getStringAttr(tensor.name()), start);
    const StateRole role = statistics.contains(tensor.name()) ? StateRole::Statistic : StateRole::Weight;
    StateOp::create(states, location, tensor.name(), role, InitAttr::stored(value), number++, type, StringAttr());
    const unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, type, DictionaryAttr(), location);
    function.setArgAttr(index, kStateAttr, FlatSymbolRefAttr::get(builder.getContext(), tensor.name()));
    main.values[tensor.name()] = function.getArgument(index);
    weights.insert(tensor.name());
  }
}

OwningOpRef<ModuleOp> OnnxReader::read(const onnx::ModelProto &model) {
  const onnx::GraphProto &graph = model.graph();
  if (failed(checkSupported(model)) || failed(readInitializers(graph, main)))
    return {};
  SmallVector<Type> types;
  SmallVector<Location> locations;
  SmallVector<std::string> names;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    if (main.constants.contains(input.name()))
      continue; // a default, which dgc takes
    FailureOr<RankedTensorType> type = typeOf(input);
    if (failed(type))
      return {};
    types.push_back(*type);
    names.push_back(input.name());
    locations.push_back(NameLoc::get(builder.getStringAttr(input.name()), start));
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(start);
  auto function = func::FuncOp::create(start, "main", builder.getFunctionType(types, {}));
  module->push_back(function);
  Block *body = function.addEntryBlock();
  for (auto [argument, location, name] : llvm::zip_equal(body->getArguments(), locations, names)) {
    argument.setLoc(location);
    main.values[name] = argument;
  }
  if (hasWeights)
    addWeights(graph, function);
  builder.setInsertionPointToEnd(body);
  if (failed(readMainNodes(graph)) || isRefused)
    return {};
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> resultNames;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    Value &value = main.values[output.name()];
    if (!value && main.constants.contains(output.name()))
      value = ConstantOp::create(builder, start, main.constants[output.name()]);
    if (!value)
      return error() << "no node gives output '" << output.name() << "'", nullptr;
    results.push_back(value);
    resultNames.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr("jax.result_info", builder.getStringAttr(output.name()))));
  }
  func::ReturnOp::create(builder, start, results);
  function.setFunctionType(builder.getFunctionType(body->getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(resultNames);
  return module;
}

} // namespace dgc::import

/// What the compiler looks up in this library: a function of dgc ops from the bytes of a file. Null, with diagnostics, where it
/// cannot be read.
extern "C" const void *dgcReadOnnx(const llvm::MemoryBufferRef *file, mlir::MLIRContext *context, bool hasWeights,
                                   bool findsAll, const llvm::ArrayRef<std::string> *inputShapes) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(file->getBufferStart(), static_cast<int>(file->getBufferSize())) || !model.has_graph()) {
    emitError(FileLineColLoc::get(context, file->getBufferIdentifier(), 0, 0))
        << "is no ONNX model, or damaged: copy it again, or export it again";
    return nullptr;
  }
  dgc::import::OnnxReader reader(file->getBufferIdentifier(), context, hasWeights, findsAll);
  if (failed(reader.takeShapes(model.graph(), *inputShapes)))
    return nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> module = reader.read(model);
  return module.release().getAsOpaquePointer();
}
