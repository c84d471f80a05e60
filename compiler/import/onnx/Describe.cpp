// What an ONNX file says of itself, before its nodes are read.

#include "compiler/import/ProgramSummary.h"
#include "compiler/import/onnx/Node.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <onnx/onnx_pb.h>

#include <set>

using namespace mlir;

namespace dgc::import {
namespace {

/// `f32 ['batch'x3]`; sizes that are open are `?`.
std::string typeText(const onnx::TypeProto &type, MLIRContext *context) {
  const onnx::TypeProto &inner = type.has_optional_type() ? type.optional_type().elem_type() : type;
  if (!inner.has_tensor_type())
    return inner.has_sequence_type() ? "a sequence" : "no tensor";
  const auto &tensor = inner.tensor_type();
  Type element = elementTypeOf(tensor.elem_type(), context);
  std::string text = element ? elementText(element) : "type " + std::to_string(tensor.elem_type());
  if (!tensor.has_shape())
    return text + " of open shape";
  text += " [";
  for (const auto &dim : tensor.shape().dim())
    text += (text.ends_with("[") ? "" : "x") + (dim.has_dim_value()   ? std::to_string(dim.dim_value())
                                                : dim.has_dim_param() ? "'" + dim.dim_param() + "'"
                                                                      : "?");
  return text + "]";
}

/// Counts nodes with those of subgraphs.
void countNodes(const auto &nodes, ProgramSummary &summary) {
  for (const onnx::NodeProto &node : nodes) {
    const bool isMain = node.domain().empty() || node.domain() == "ai.onnx";
    ++summary.ops[isMain ? node.op_type() : node.domain() + "." + node.op_type()];
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        countNodes(attribute.g().node(), summary);
  }
}

/// The elements of an initializer of floats that has at least one dimension, else 0.
int64_t floatsIn(const onnx::TensorProto &tensor, MLIRContext *context) {
  if (!isa_and_nonnull<FloatType>(elementTypeOf(tensor.data_type(), context)) || tensor.dims_size() == 0)
    return 0;
  int64_t count = 1;
  for (const int64_t size : tensor.dims())
    if (llvm::MulOverflow(count, size, count))
      return 0;
  return std::max<int64_t>(count, 0);
}

void describe(const onnx::ModelProto &model, MLIRContext *context, ProgramSummary &summary) {
  const onnx::GraphProto &graph = model.graph();
  summary.name = graph.name();
  summary.format = "ONNX, version " + std::to_string(model.ir_version()) + " of the format";
  summary.producer = model.producer_name() + (model.producer_version().empty() ? "" : " " + model.producer_version());
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    summary.operatorSets.emplace_back(set.domain().empty() ? "ai.onnx" : set.domain(), set.version());
  summary.entry = "main";
  std::set<std::string> initializers;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    initializers.insert(tensor.name());
    summary.constantElements += floatsIn(tensor, context);
  }
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!initializers.contains(input.name()))
      summary.inputs.push_back({input.name(), typeText(input.type(), context), ""});
  for (const onnx::ValueInfoProto &output : graph.output())
    summary.outputs.push_back({output.name(), typeText(output.type(), context), ""});
  countNodes(graph.node(), summary);
  for (const onnx::FunctionProto &function : model.functions())
    countNodes(function.node(), summary);
}

} // namespace
} // namespace dgc::import

/// What the compiler looks up in this library. Of a file that is no model nothing is filled in.
extern "C" void dgcDescribeOnnx(const llvm::MemoryBufferRef *file, mlir::MLIRContext *context,
                                dgc::import::ProgramSummary *summary) {
  onnx::ModelProto model;
  if (model.ParseFromArray(file->getBufferStart(), static_cast<int>(file->getBufferSize())) && model.has_graph())
    dgc::import::describe(model, context, *summary);
}
