// Reads ONNX files: a graph becomes a function of dgc ops.

#include "compiler/import/onnx/Constants.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <onnx/onnx_pb.h>

#include <map>

using namespace mlir;

namespace dgc::import {
namespace {

/// Operator sets whose ops are read.
constexpr int64_t kFirstVersion = 13, kLastVersion = 28;
/// Functions that call each other go no deeper.
constexpr int kMostDepth = 64;

class OnnxReader {
public:
  OnnxReader(StringRef file, MLIRContext *context) : builder(context), start(FileLineColLoc::get(context, file, 0, 0)) {
    for (ArrayRef<OnnxRule> list :
         {onnxElementwiseRules(), onnxShapeRules(), onnxIndexRules(), onnxReductionRules(), onnxLayerRules(),
          onnxConvolutionRules(), onnxRecurrentRules(), onnxAttentionRules(), onnxLossRules()})
      for (const OnnxRule &rule : list)
        rules[rule.op] = rule.lower;
  }

  OwningOpRef<ModuleOp> read(const onnx::ModelProto &model);

private:
  InFlightDiagnostic error() { return emitError(start); }
  LogicalResult readVersions(const onnx::ModelProto &model);
  FailureOr<RankedTensorType> typeOf(const onnx::ValueInfoProto &value);
  LogicalResult readInitializers(const onnx::GraphProto &graph);
  LogicalResult checkSupported(const onnx::ModelProto &model);
  LogicalResult readNodes(const auto &nodes, GraphValues &values, int depth);
  LogicalResult readNode(const onnx::NodeProto &proto, GraphValues &values, int depth);
  LogicalResult call(const onnx::FunctionProto &function, const onnx::NodeProto &proto, GraphValues &values, int depth);

  OpBuilder builder;
  Location start;
  llvm::StringMap<LogicalResult (*)(Node &)> rules;
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto *> functions; // by domain and name
  GraphValues main;
  int64_t version = 0;
};

/// The main operator set has two names.
std::string domainOf(const std::string &domain) { return domain == "ai.onnx" ? "" : domain; }

} // namespace

LogicalResult OnnxReader::readVersions(const onnx::ModelProto &model) {
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    if (domainOf(set.domain()).empty())
      version = set.version();
  if (version < kFirstVersion || version > kLastVersion)
    return error() << "is written for version " << version << " of the operators of ONNX; " << kFirstVersion << " to "
                   << kLastVersion << " are read. onnx.version_converter.convert_version converts it";
  for (const onnx::FunctionProto &function : model.functions())
    functions[{domainOf(function.domain()), function.name()}] = &function;
  return success();
}

FailureOr<RankedTensorType> OnnxReader::typeOf(const onnx::ValueInfoProto &value) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape())
    return error() << "'" << value.name() << "' is no tensor whose shape is known";
  const auto &tensor = value.type().tensor_type();
  Type element = elementTypeOf(tensor.elem_type(), builder.getContext());
  if (!element)
    return error() << "'" << value.name() << "' has elements of type " << tensor.elem_type()
                   << " of ONNX, which dgc has not";
  SmallVector<int64_t> shape;
  for (const auto &dim : tensor.shape().dim()) {
    if (!dim.has_dim_value())
      return error() << "dimension " << shape.size() << " of '" << value.name() << "'"
                     << (dim.has_dim_param() ? " is '" + dim.dim_param() + "'" : " is open")
                     << "; all sizes have to be known: export the model for one batch";
    if (dim.dim_value() <= 0)
      return error() << "dimension " << shape.size() << " of '" << value.name() << "' is " << dim.dim_value();
    shape.push_back(dim.dim_value());
  }
  return RankedTensorType::get(shape, element);
}

LogicalResult OnnxReader::readInitializers(const onnx::GraphProto &graph) {
  if (graph.sparse_initializer_size() > 0)
    return error() << "has sparse initializers, which are not supported";
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    std::string reason;
    DenseElementsAttr value = readTensor(tensor, builder, reason);
    if (!value)
      return error() << "initializer '" << tensor.name() << "' " << reason;
    main.constants[tensor.name()] = value;
  }
  return success();
}

/// Says of all ops at once which are not supported.
LogicalResult OnnxReader::checkSupported(const onnx::ModelProto &model) {
  std::map<std::string, int> unknown;
  auto check = [&](const auto &nodes) {
    for (const onnx::NodeProto &node : nodes) {
      const std::string domain = domainOf(node.domain());
      if (!functions.contains({domain, node.op_type()}) && (!domain.empty() || !rules.contains(node.op_type())))
        ++unknown[(domain.empty() ? "" : domain + ".") + node.op_type()];
    }
  };
  check(model.graph().node());
  for (const auto &[name, function] : functions)
    check(function->node());
  if (unknown.empty())
    return success();
  InFlightDiagnostic diagnostic = error() << "dgc has no equivalent for " << unknown.size()
                                          << (unknown.size() == 1 ? " op" : " ops") << " of this model";
  for (const auto &[name, count] : unknown)
    diagnostic.attachNote() << count << " x '" << name << "'";
  return diagnostic;
}

LogicalResult OnnxReader::call(const onnx::FunctionProto &function, const onnx::NodeProto &proto, GraphValues &values,
                               int depth) {
  if (depth > kMostDepth)
    return error() << "function '" << function.name() << "' is called in itself";
  if (function.attribute_size() > 0 || proto.attribute_size() > 0)
    return error() << "function '" << function.name() << "' has attributes, which is not supported";
  GraphValues inner;
  for (int i = 0; i < function.input_size() && i < proto.input_size(); ++i) {
    const std::string &name = proto.input(i);
    if (auto value = values.values.find(name); value != values.values.end())
      inner.values[function.input(i)] = value->second;
    else if (auto constant = values.constants.find(name); constant != values.constants.end())
      inner.constants[function.input(i)] = constant->second;
  }
  if (failed(readNodes(function.node(), inner, depth + 1)))
    return failure();
  for (int i = 0; i < function.output_size() && i < proto.output_size(); ++i) {
    if (auto value = inner.values.find(function.output(i)); value != inner.values.end())
      values.values[proto.output(i)] = value->second;
    else if (auto constant = inner.constants.find(function.output(i)); constant != inner.constants.end())
      values.constants[proto.output(i)] = constant->second;
    else
      return error() << "function '" << function.name() << "' has no value '" << function.output(i) << "'";
  }
  return success();
}

LogicalResult OnnxReader::readNode(const onnx::NodeProto &proto, GraphValues &values, int depth) {
  for (const std::string &name : proto.input())
    if (!name.empty() && !values.values.contains(name) && !values.constants.contains(name))
      return error() << "node '" << proto.name() << "' (" << proto.op_type() << ") takes '" << name
                     << "', which nothing before it gives";
  if (auto function = functions.find({domainOf(proto.domain()), proto.op_type()}); function != functions.end())
    return call(*function->second, proto, values, depth);
  const std::string name = proto.name().empty() ? proto.op_type() : proto.name();
  TensorBuilder b(builder, NameLoc::get(builder.getStringAttr(name), start));
  Node node(proto, values, b);
  if (DenseElementsAttr known = computeConstant(node))
    return node.give(known);
  return rules.lookup(proto.op_type())(node);
}

LogicalResult OnnxReader::readNodes(const auto &nodes, GraphValues &values, int depth) {
  for (const onnx::NodeProto &node : nodes)
    if (failed(readNode(node, values, depth)))
      return failure();
  return success();
}

OwningOpRef<ModuleOp> OnnxReader::read(const onnx::ModelProto &model) {
  const onnx::GraphProto &graph = model.graph();
  if (failed(readVersions(model)) || failed(checkSupported(model)) || failed(readInitializers(graph)))
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
  builder.setInsertionPointToEnd(body);
  if (failed(readNodes(graph.node(), main, 0)))
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
  function.setFunctionType(builder.getFunctionType(types, ValueRange(results).getTypes()));
  function.setAllResultAttrs(resultNames);
  return module;
}

} // namespace dgc::import

/// What the compiler looks up in this library: a function of dgc ops from the bytes of a file. Null, with diagnostics, where it
/// cannot be read.
extern "C" const void *dgcReadOnnx(const llvm::MemoryBufferRef *file, mlir::MLIRContext *context) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(file->getBufferStart(), static_cast<int>(file->getBufferSize())) || !model.has_graph()) {
    emitError(FileLineColLoc::get(context, file->getBufferIdentifier(), 0, 0))
        << "is no ONNX model, or damaged: copy it again, or export it again";
    return nullptr;
  }
  mlir::OwningOpRef<mlir::ModuleOp> module = dgc::import::OnnxReader(file->getBufferIdentifier(), context).read(model);
  return module.release().getAsOpaquePointer();
}
