// A node of an ONNX graph, as the rules of its op see it.

#ifndef DGC_COMPILER_IMPORT_ONNX_NODE_H
#define DGC_COMPILER_IMPORT_ONNX_NODE_H

#include "compiler/import/Patterns.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

namespace onnx {
class AttributeProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace dgc::import {

/// The values of a graph by name. Constants are those of the file, and what is computed from shapes.
struct GraphValues {
  llvm::StringMap<Value> values;
  llvm::StringMap<DenseElementsAttr> constants;
};

/// Reads the elements of a tensor, which are in the file; null, with `error`, where it cannot.
DenseElementsAttr readTensor(const onnx::TensorProto &tensor, Builder &builder, std::string &error);

class Node {
public:
  Node(const onnx::NodeProto &proto, GraphValues &graph, TensorBuilder &b) : b(b), proto(proto), graph(graph) {}

  StringRef op() const;

  // Inputs: an optional one may be absent.
  unsigned numInputs() const;
  bool has(unsigned input) const;
  Value in(unsigned input);
  int64_t rank(unsigned input) { return tensorOf(in(input)).getRank(); }
  ArrayRef<int64_t> shape(unsigned input) { return tensorOf(in(input)).getShape(); }
  /// The elements of an input that is known here; null where it is not.
  DenseElementsAttr constant(unsigned input) const;
  /// The same as integers. Fails with a diagnostic.
  FailureOr<SmallVector<int64_t>> integers(unsigned input, StringRef what);
  FailureOr<SmallVector<double>> numbers(unsigned input, StringRef what);

  // Attributes.
  bool hasAttribute(StringRef name) const { return find(name) != nullptr; }
  int64_t integer(StringRef name, int64_t fallback) const;
  double number(StringRef name, double fallback) const;
  StringRef text(StringRef name, StringRef fallback) const;
  SmallVector<int64_t> integers(StringRef name) const;
  SmallVector<double> numbers(StringRef name) const;
  SmallVector<StringRef> texts(StringRef name) const;
  /// A tensor; null, with a diagnostic, where it is damaged.
  DenseElementsAttr tensor(StringRef name);
  /// The element type that `name` says.
  FailureOr<Type> elementType(StringRef name, int64_t fallback);

  /// A dimension, where a negative one counts from the end. Fails with a diagnostic where there is none.
  FailureOr<int64_t> dim(int64_t number, int64_t rank);

  // Results.
  unsigned numResults() const;
  bool wants(unsigned result) const;
  LogicalResult give(ValueRange results);
  LogicalResult give(Value result) { return give(ValueRange(result)); }
  /// A result that is known here.
  LogicalResult give(DenseElementsAttr constant);
  LogicalResult giveIntegers(ArrayRef<int64_t> list);

  /// Says that the op is not supported so.
  LogicalResult refuse(const Twine &reason);

  // What many rules need.
  Value broadcast(Value x, ArrayRef<int64_t> shape);
  /// The shape that two have together; false where they do not fit.
  static bool joinShapes(ArrayRef<int64_t> x, ArrayRef<int64_t> y, SmallVectorImpl<int64_t> &together);
  /// All inputs, of the shape that they have together.
  FailureOr<SmallVector<Value>> broadcastInputs();
  Value splat(double value, Value like) { return b.splat(value, like); }
  Value constantOfIntegers(ArrayRef<int64_t> list, ArrayRef<int64_t> shape);
  Value constantOfNumbers(ArrayRef<double> list, ArrayRef<int64_t> shape, Type element);

  TensorBuilder &b;

private:
  const onnx::AttributeProto *find(StringRef name) const;

  const onnx::NodeProto &proto;
  GraphValues &graph;
};

/// The type of elements that ONNX numbers so; null for one that dgc has not.
Type elementTypeOf(int64_t number, MLIRContext *context);

/// How the nodes of an op become ops of dgc.
struct OnnxRule {
  llvm::StringLiteral op;
  LogicalResult (*lower)(Node &node);
};

ArrayRef<OnnxRule> onnxAttentionRules();
ArrayRef<OnnxRule> onnxElementwiseRules();
ArrayRef<OnnxRule> onnxShapeRules();
ArrayRef<OnnxRule> onnxIndexRules();
ArrayRef<OnnxRule> onnxReductionRules();
ArrayRef<OnnxRule> onnxLayerRules();
ArrayRef<OnnxRule> onnxConvolutionRules();
ArrayRef<OnnxRule> onnxLossRules();
ArrayRef<OnnxRule> onnxRecurrentRules();

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_ONNX_NODE_H
