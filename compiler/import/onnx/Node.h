// A node of an ONNX graph, as the rules of its op see it.

#ifndef DGC_COMPILER_IMPORT_ONNX_NODE_H
#define DGC_COMPILER_IMPORT_ONNX_NODE_H

#include "compiler/import/Patterns.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace dgc::import {

/// How many elements a tensor of a shape has; the largest number where that is beyond.
int64_t elementsOf(ArrayRef<int64_t> shape);

/// What a name stands for: a value, a tensor whose elements are known, or a sequence of these.
struct Item {
  Value value;
  DenseElementsAttr constant;
  std::vector<Item> list;
  bool isList = false;

  static Item of(Value value) { return {value, {}, {}, false}; }
  static Item of(DenseElementsAttr constant) { return {{}, constant, {}, false}; }
  static Item of(std::vector<Item> list) { return {{}, {}, std::move(list), true}; }
  explicit operator bool() const { return value || constant || isList; }
};

/// The values of a graph by name. Constants are those of the file, and what is computed from shapes.
struct GraphValues {
  llvm::StringMap<Value> values;
  llvm::StringMap<DenseElementsAttr> constants;
  llvm::StringMap<std::vector<Item>> lists;
  /// The graph around a subgraph, whose values it sees.
  GraphValues *outer = nullptr;
  /// The operator set of the nodes.
  int64_t version = 0;

  /// False where the name stands for nothing.
  Item find(StringRef name) const;
  void set(StringRef name, Item item);
  /// The value, or an op that gives the constant, once for each graph.
  Value materialize(StringRef name, TensorBuilder &b);
};

/// Reads a subgraph in the graph where it is, with these as its inputs, and gives its outputs.
using ReadGraph = llvm::function_ref<FailureOr<SmallVector<Item>>(const onnx::GraphProto &, ArrayRef<Item>)>;

/// Reads the elements of a tensor, which are in the file, or in one of `folder` unless that is empty; null, with `error`, where
/// it cannot.
DenseElementsAttr readTensor(const onnx::TensorProto &tensor, Builder &builder, std::string &error,
                             StringRef folder = {});

class Node {
public:
  Node(const onnx::NodeProto &proto, GraphValues &graph, TensorBuilder &b, ReadGraph readGraph)
      : b(b), proto(proto), graph(graph), readGraph(readGraph) {}

  StringRef op() const;
  /// The version of the operator set.
  int64_t version() const { return graph.version; }

  // Inputs: an optional one may be absent.
  unsigned numInputs() const;
  bool has(unsigned input) const;
  Value in(unsigned input);
  int64_t rank(unsigned input) const { return type(input).getRank(); }
  ArrayRef<int64_t> shape(unsigned input) const { return type(input).getShape(); }
  RankedTensorType type(unsigned input) const;
  /// The input as it is: a value, a constant or a sequence; false for none.
  Item item(unsigned input) const;
  /// The value of an item that is no sequence.
  Value valueOf(const Item &item);
  /// The elements of an input that is known here; null where it is not.
  DenseElementsAttr constant(unsigned input) const;
  /// The same of an input that nothing changes: a weight that is trained has other elements later.
  DenseElementsAttr fixed(unsigned input) const;
  /// The elements as integers. Fails with a diagnostic.
  FailureOr<SmallVector<int64_t>> integers(unsigned input, StringRef what);
  FailureOr<SmallVector<double>> numbers(unsigned input, StringRef what);
  /// The integers of an input, or those of the attribute that it was in older versions; none where neither is there.
  FailureOr<SmallVector<int64_t>> list(unsigned input, StringRef attribute);

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

  // Subgraphs.
  /// The results of the graph of an attribute, which has so many inputs. Fails with a diagnostic.
  FailureOr<SmallVector<Item>> run(StringRef name, ArrayRef<Item> inputs);
  unsigned numInputsOf(StringRef name) const;
  unsigned numResultsOf(StringRef name) const;

  /// A dimension, where a negative one counts from the end. Fails with a diagnostic where there is none.
  FailureOr<int64_t> dim(int64_t number, int64_t rank);

  // Results.
  unsigned numResults() const;
  bool wants(unsigned result) const;
  LogicalResult give(ValueRange results);
  LogicalResult give(Value result) { return give(ValueRange(result)); }
  LogicalResult giveItems(ArrayRef<Item> results);
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
  /// A tensor without elements, of the type of the operand. It has to vanish while the model is read.
  DenseElementsAttr nothing(ArrayRef<int64_t> shape) const {
    return DenseElementsAttr::get(RankedTensorType::get(shape, type(0).getElementType()), ArrayRef<Attribute>());
  }
  Value splat(double value, Value like) { return b.splat(value, like); }
  Value constantOfIntegers(ArrayRef<int64_t> list, ArrayRef<int64_t> shape);
  Value constantOfNumbers(ArrayRef<double> list, ArrayRef<int64_t> shape, Type element);

  TensorBuilder &b;

private:
  const onnx::AttributeProto *find(StringRef name) const;

  const onnx::NodeProto &proto;
  GraphValues &graph;
  ReadGraph readGraph;
};

/// The type of elements that ONNX numbers so; null for one that dgc has not.
Type elementTypeOf(int64_t number, MLIRContext *context);

/// Rounds of loops and steps of recurrent layers are written out one after the other.
inline constexpr int64_t kMostRounds = 1024;

/// An op without a rule, and why it has none where that is known: `'NonZero': the shapes of its results depend on elements`.
std::string unsupported(StringRef op);

/// How the nodes of an op become ops of dgc. The name has the domain before it, unless that is the main one.
struct OnnxRule {
  llvm::StringLiteral op;
  LogicalResult (*lower)(Node &node) = nullptr;
  /// The first operator set in which the op is what the rule takes it for.
  int64_t since = 7;
  /// Whether inputs may be sequences.
  bool takesLists = false;
};

ArrayRef<OnnxRule> onnxAttentionRules();
ArrayRef<OnnxRule> onnxControlRules();
ArrayRef<OnnxRule> onnxElementwiseRules();
ArrayRef<OnnxRule> onnxLinearAttentionRules();
ArrayRef<OnnxRule> onnxEinsumRules();
ArrayRef<OnnxRule> onnxSamplingRules();
ArrayRef<OnnxRule> onnxShapeRules();
ArrayRef<OnnxRule> onnxSignalRules();
ArrayRef<OnnxRule> onnxSlicingRules();
ArrayRef<OnnxRule> onnxIndexRules();
ArrayRef<OnnxRule> onnxReductionRules();
ArrayRef<OnnxRule> onnxLayerRules();
ArrayRef<OnnxRule> onnxConvolutionRules();
ArrayRef<OnnxRule> onnxPoolingRules();
ArrayRef<OnnxRule> onnxResizeRules();
ArrayRef<OnnxRule> onnxLossRules();
ArrayRef<OnnxRule> onnxQuantizationRules();
ArrayRef<OnnxRule> onnxRecurrentRules();
ArrayRef<OnnxRule> onnxSequenceRules();
ArrayRef<OnnxRule> onnxTrainingRules();

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_ONNX_NODE_H
