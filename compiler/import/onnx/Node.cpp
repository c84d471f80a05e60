#include "compiler/import/onnx/Node.h"

#include <onnx/onnx_pb.h>

using namespace mlir;

namespace dgc::import {

//===-- Values by name ---------------------------------------------------===//

Item GraphValues::find(StringRef name) const {
  for (const GraphValues *graph = this; graph; graph = graph->outer) {
    Item item;
    item.value = graph->values.lookup(name);
    item.constant = graph->constants.lookup(name);
    if (auto list = graph->lists.find(name); list != graph->lists.end())
      item = Item::of(list->second);
    if (item)
      return item;
  }
  return {};
}

void GraphValues::set(StringRef name, Item item) {
  values.erase(name);
  constants.erase(name);
  lists.erase(name);
  if (item.isList)
    lists[name] = std::move(item.list);
  if (item.value)
    values[name] = item.value;
  if (item.constant)
    constants[name] = item.constant;
}

Value GraphValues::materialize(StringRef name, TensorBuilder &b) {
  GraphValues *graph = this;
  while (!graph->values.contains(name) && !graph->constants.contains(name))
    graph = graph->outer; // that it is somewhere was checked when the node was reached
  Value &value = graph->values[name];
  if (value)
    return value;
  OpBuilder::InsertionGuard guard(b.builder);
  if (graph != this) // which may be the body of a loop, and the constant is used around it as well
    while (auto loop = dyn_cast<dgc::WhileOp>(b.builder.getInsertionBlock()->getParentOp()))
      b.builder.setInsertionPoint(loop);
  return value = ConstantOp::create(b.builder, b.location, graph->constants.lookup(name));
}

//===-- Inputs and attributes --------------------------------------------===//

StringRef Node::op() const { return proto.op_type(); }
unsigned Node::numInputs() const { return static_cast<unsigned>(proto.input_size()); }
unsigned Node::numResults() const { return static_cast<unsigned>(proto.output_size()); }
bool Node::has(unsigned input) const { return input < numInputs() && !proto.input(static_cast<int>(input)).empty(); }
bool Node::wants(unsigned result) const {
  return result < numResults() && !proto.output(static_cast<int>(result)).empty();
}

Value Node::in(unsigned input) { return graph.materialize(proto.input(static_cast<int>(input)), b); }

Item Node::item(unsigned input) const { return has(input) ? graph.find(proto.input(static_cast<int>(input))) : Item(); }

Value Node::valueOf(const Item &item) {
  return item.value ? item.value : Value(ConstantOp::create(b.builder, b.location, item.constant));
}

RankedTensorType Node::type(unsigned input) const {
  const Item given = item(input);
  return cast<RankedTensorType>(given.value ? given.value.getType() : Type(given.constant.getType()));
}

DenseElementsAttr Node::constant(unsigned input) const { return item(input).constant; }

DenseElementsAttr Node::fixed(unsigned input) const {
  const Item given = item(input);
  return isa_and_nonnull<BlockArgument>(given.value) ? DenseElementsAttr() : given.constant;
}

static SmallVector<int64_t> integersOf(DenseElementsAttr elements) {
  const bool isUnsigned = elements.getElementType().isUnsignedInteger() || elements.getElementType().isInteger(1);
  return llvm::map_to_vector(elements.getValues<APInt>(), [&](const APInt &value) {
    return isUnsigned ? static_cast<int64_t>(value.getLimitedValue(INT64_MAX)) : value.getSExtValue();
  });
}

static SmallVector<double> numbersOf(DenseElementsAttr elements) {
  return llvm::map_to_vector(elements.getValues<APFloat>(), [](APFloat value) {
    bool loses = false;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return value.convertToDouble();
  });
}

FailureOr<SmallVector<int64_t>> Node::integers(unsigned input, StringRef what) {
  DenseElementsAttr elements = constant(input);
  if (!elements || !isa<IntegerType>(elements.getElementType()))
    return refuse("its " + what + " (input " + Twine(input) +
                  ") is no constant integer: all shapes have to be known when a model is compiled");
  return integersOf(elements);
}

FailureOr<SmallVector<double>> Node::numbers(unsigned input, StringRef what) {
  DenseElementsAttr elements = constant(input);
  if (!elements || !isa<FloatType>(elements.getElementType()))
    return refuse("its " + what + " (input " + Twine(input) + ") is no constant number");
  return numbersOf(elements);
}

FailureOr<SmallVector<int64_t>> Node::list(unsigned input, StringRef attribute) {
  return has(input) ? integers(input, attribute) : FailureOr<SmallVector<int64_t>>(integers(attribute));
}

const onnx::AttributeProto *Node::find(StringRef name) const {
  for (const onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.name() == name.str())
      return &attribute;
  return nullptr;
}

int64_t Node::integer(StringRef name, int64_t fallback) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->i() : fallback;
}
double Node::number(StringRef name, double fallback) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? double{attribute->f()} : fallback;
}
StringRef Node::text(StringRef name, StringRef fallback) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? StringRef(attribute->s()) : fallback;
}
SmallVector<int64_t> Node::integers(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? SmallVector<int64_t>(attribute->ints().begin(), attribute->ints().end()) : SmallVector<int64_t>();
}
SmallVector<double> Node::numbers(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? SmallVector<double>(attribute->floats().begin(), attribute->floats().end())
                   : SmallVector<double>();
}
SmallVector<StringRef> Node::texts(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? SmallVector<StringRef>(attribute->strings().begin(), attribute->strings().end())
                   : SmallVector<StringRef>();
}

DenseElementsAttr Node::tensor(StringRef name) {
  std::string error = "is not there";
  const onnx::AttributeProto *attribute = find(name);
  DenseElementsAttr value = attribute ? readTensor(attribute->t(), b.builder, error) : DenseElementsAttr();
  if (!value)
    (void)refuse("its attribute '" + name + "' " + error);
  return value;
}

FailureOr<Type> Node::elementType(StringRef name, int64_t fallback) {
  const int64_t number = integer(name, fallback);
  if (Type type = elementTypeOf(number, b.builder.getContext()))
    return type;
  return refuse("element type " + Twine(number) + " of ONNX is none of dgc");
}

FailureOr<SmallVector<Item>> Node::run(StringRef name, ArrayRef<Item> inputs) {
  const onnx::AttributeProto *attribute = find(name);
  if (!attribute || !attribute->has_g())
    return refuse("its graph '" + name + "' is not there");
  return readGraph(attribute->g(), inputs);
}
unsigned Node::numInputsOf(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? static_cast<unsigned>(attribute->g().input_size()) : 0;
}
unsigned Node::numResultsOf(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? static_cast<unsigned>(attribute->g().output_size()) : 0;
}

FailureOr<int64_t> Node::dim(int64_t number, int64_t rank) {
  const int64_t wrapped = number < 0 ? number + rank : number;
  if (wrapped >= 0 && wrapped < rank)
    return wrapped;
  return refuse("dimension " + Twine(number) + " is none of a tensor of rank " + Twine(rank));
}

LogicalResult Node::give(ValueRange results) {
  for (unsigned i = 0; i < numResults(); ++i) {
    if (!wants(i))
      continue;
    if (i >= results.size() || !results[i])
      return refuse("its result " + Twine(i) + " is used");
    graph.set(proto.output(static_cast<int>(i)), Item::of(results[i]));
  }
  return success();
}

LogicalResult Node::giveItems(ArrayRef<Item> results) {
  for (unsigned i = 0; i < numResults(); ++i) {
    if (!wants(i))
      continue;
    if (i >= results.size() || !results[i])
      return refuse("its result " + Twine(i) + " is used");
    graph.set(proto.output(static_cast<int>(i)), results[i]);
  }
  return success();
}

LogicalResult Node::give(DenseElementsAttr constant) {
  if (!constant)
    return failure(); // the caller has given the error
  if (wants(0))
    graph.set(proto.output(0), Item::of(constant));
  return success();
}

LogicalResult Node::giveIntegers(ArrayRef<int64_t> list) {
  return give(
      DenseElementsAttr::get(RankedTensorType::get({static_cast<int64_t>(list.size())}, b.builder.getI64Type()), list));
}

LogicalResult Node::refuse(const Twine &reason) {
  return emitError(b.location) << "'" << proto.op_type() << "'"
                               << (proto.name().empty() ? "" : " node '" + proto.name() + "'") << ": " << reason;
}

//===-- What many rules need --------------------------------------------===//

Value Node::broadcast(Value x, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = tensorOf(x).getShape();
  if (own == shape)
    return x;
  SmallVector<int64_t> dims, sizes;
  for (auto [i, size] : llvm::enumerate(own)) {
    const size_t dim = i + shape.size() - own.size();
    if (size != 1 || shape[dim] == 1) {
      dims.push_back(static_cast<int64_t>(dim));
      sizes.push_back(size);
    }
  }
  return b.broadcast(b.reshape(x, sizes), shape, dims);
}

bool Node::joinShapes(ArrayRef<int64_t> x, ArrayRef<int64_t> y, SmallVectorImpl<int64_t> &together) {
  together.assign(std::max(x.size(), y.size()), 1);
  for (ArrayRef<int64_t> own : {x, y})
    for (auto [i, size] : llvm::enumerate(own)) {
      int64_t &joined = together[i + together.size() - own.size()];
      if (size != joined && size != 1 && joined != 1)
        return false;
      joined = joined == 1 ? size : joined;
    }
  return true;
}

FailureOr<SmallVector<Value>> Node::broadcastInputs() {
  SmallVector<int64_t> shape, before;
  for (unsigned i = 0; i < numInputs(); ++i) {
    before = shape;
    if (!joinShapes(before, this->shape(i), shape))
      return refuse("the shapes of its operands do not fit");
  }
  SmallVector<Value> values;
  for (unsigned i = 0; i < numInputs(); ++i)
    values.push_back(broadcast(in(i), shape));
  return values;
}

Value Node::constantOfIntegers(ArrayRef<int64_t> list, ArrayRef<int64_t> shape) {
  return ConstantOp::create(b.builder, b.location,
                            DenseElementsAttr::get(RankedTensorType::get(shape, b.builder.getI64Type()), list));
}

Value Node::constantOfNumbers(ArrayRef<double> list, ArrayRef<int64_t> shape, Type element) {
  SmallVector<Attribute> values =
      llvm::map_to_vector(list, [&](double each) -> Attribute { return FloatAttr::get(element, each); });
  return ConstantOp::create(b.builder, b.location,
                            DenseElementsAttr::get(RankedTensorType::get(shape, element), values));
}

} // namespace dgc::import
