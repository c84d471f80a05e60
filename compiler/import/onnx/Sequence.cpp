// Sequences of ONNX, which are lists while a model is read, and optional tensors.

#include "compiler/import/onnx/Node.h"

using namespace mlir;

namespace dgc::import {
namespace {

FailureOr<std::vector<Item>> listAt(Node &n, unsigned input) {
  Item item = n.item(input);
  if (!item.isList)
    return n.refuse("operand " + Twine(input) + " is no sequence");
  return std::move(item.list);
}

FailureOr<Value> tensorAt(Node &n, unsigned input) {
  if (!n.item(input) || n.item(input).isList)
    return n.refuse("operand " + Twine(input) + " is no tensor");
  return n.in(input);
}

/// A place in a list, which has to be known.
FailureOr<int64_t> placeAt(Node &n, unsigned input, size_t size) {
  if (!n.item(input) || n.item(input).isList)
    return n.refuse("its position is no tensor");
  FailureOr<SmallVector<int64_t>> given = n.integers(input, "position");
  if (failed(given))
    return failure();
  const auto count = static_cast<int64_t>(size);
  const int64_t at = given->size() != 1 ? count : given->front() < 0 ? given->front() + count : given->front();
  if (at < 0 || at >= count)
    return n.refuse("its position is none of a sequence of " + Twine(count));
  return at;
}

LogicalResult construct(Node &n) {
  std::vector<Item> list;
  for (unsigned i = 0; i < n.numInputs(); ++i) {
    if (!n.item(i) || n.item(i).isList)
      return n.refuse("operand " + Twine(i) + " is no tensor");
    list.push_back(n.item(i));
  }
  return n.giveItems(Item::of(std::move(list)));
}

LogicalResult at(Node &n) {
  FailureOr<std::vector<Item>> list = listAt(n, 0);
  FailureOr<int64_t> place = failed(list) ? FailureOr<int64_t>() : placeAt(n, 1, list->size());
  return failed(place) ? failure() : n.giveItems((*list)[static_cast<size_t>(*place)]);
}

LogicalResult length(Node &n) {
  FailureOr<std::vector<Item>> list = listAt(n, 0);
  if (failed(list))
    return failure();
  auto type = RankedTensorType::get({}, n.b.builder.getI64Type());
  return n.give(DenseElementsAttr::get(type, static_cast<int64_t>(list->size())));
}

LogicalResult insert(Node &n) {
  FailureOr<std::vector<Item>> list = listAt(n, 0);
  if (failed(list) || !n.item(1) || n.item(1).isList)
    return failed(list) ? failure() : n.refuse("operand 1 is no tensor");
  auto place = static_cast<int64_t>(list->size());
  if (n.has(2)) { // the end is a place, too
    if (n.item(2).isList)
      return n.refuse("its position is no tensor");
    FailureOr<SmallVector<int64_t>> given = n.integers(2, "position");
    if (failed(given))
      return failure();
    const int64_t wrapped = given->size() != 1 ? -1 : given->front() < 0 ? given->front() + place : given->front();
    if (wrapped < 0 || wrapped > place)
      return n.refuse("its position is none of a sequence of " + Twine(place));
    place = wrapped;
  }
  list->insert(list->begin() + place, n.item(1));
  return n.giveItems(Item::of(*std::move(list)));
}

LogicalResult erase(Node &n) {
  FailureOr<std::vector<Item>> list = listAt(n, 0);
  if (failed(list) || list->empty())
    return failed(list) ? failure() : n.refuse("its sequence is empty");
  FailureOr<int64_t> place = n.has(1) ? placeAt(n, 1, list->size()) : static_cast<int64_t>(list->size()) - 1;
  if (failed(place))
    return failure();
  list->erase(list->begin() + *place);
  return n.giveItems(Item::of(*std::move(list)));
}

/// Parts of a dimension: of one size, or of sizes that are listed.
LogicalResult split(Node &n) {
  FailureOr<Value> x = tensorAt(n, 0);
  FailureOr<int64_t> dim = failed(x) ? FailureOr<int64_t>() : n.dim(n.integer("axis", 0), n.rank(0));
  if (failed(dim) || n.item(1).isList)
    return failed(dim) ? failure() : n.refuse("its parts are no tensor");
  const int64_t size = n.shape(0)[*dim];
  SmallVector<int64_t> sizes;
  if (n.has(1)) {
    FailureOr<SmallVector<int64_t>> given = n.integers(1, "split");
    if (failed(given))
      return failure();
    sizes = *given;
  }
  if (!n.has(1) || n.rank(1) == 0) {
    const int64_t part = n.has(1) ? sizes[0] : 1;
    if (part < 1)
      return n.refuse("parts of " + Twine(part));
    sizes.clear();
    for (int64_t left = size; left > 0; left -= part)
      sizes.push_back(std::min(part, left));
  }
  int64_t sum = 0;
  for (int64_t part : sizes)
    sum = part < 1 || part > size ? size + 1 : std::min(sum + part, size + 1);
  if (sum != size)
    return n.refuse("the parts are not those of a dimension of " + Twine(size));
  const bool isKept = n.has(1) || n.integer("keepdims", 1) != 0;
  std::vector<Item> list;
  SmallVector<int64_t> starts(n.rank(0), 0), limits(n.shape(0));
  for (int64_t part : sizes) {
    limits[*dim] = starts[*dim] + part;
    Value each = n.b.slice(*x, starts, limits);
    starts[*dim] = limits[*dim];
    SmallVector<int64_t> shape(tensorOf(each).getShape());
    if (!isKept)
      shape.erase(shape.begin() + *dim);
    list.push_back(Item::of(n.b.reshape(each, shape)));
  }
  return n.giveItems(Item::of(std::move(list)));
}

LogicalResult concat(Node &n) {
  FailureOr<std::vector<Item>> list = listAt(n, 0);
  if (failed(list) || list->empty())
    return failed(list) ? failure() : n.refuse("its sequence is empty: tensors have at least one element");
  SmallVector<Value> parts;
  const bool isNew = n.integer("new_axis", 0) != 0;
  const int64_t rank = tensorOf(n.valueOf(list->front())).getRank();
  FailureOr<int64_t> dim = n.dim(n.integer("axis", 0), rank + (isNew ? 1 : 0));
  if (failed(dim))
    return failure();
  for (const Item &item : *list) {
    Value part = n.valueOf(item);
    SmallVector<int64_t> shape(tensorOf(part).getShape()), like(tensorOf(n.valueOf(list->front())).getShape()),
        own(shape);
    if (shape.size() == like.size() && !isNew)
      own[*dim] = like[*dim];
    if (own != like || elementOf(part) != elementOf(n.valueOf(list->front())))
      return n.refuse("the tensors of its sequence do not fit together");
    if (isNew)
      shape.insert(shape.begin() + *dim, 1);
    parts.push_back(n.b.reshape(part, shape));
  }
  return n.give(parts.size() == 1 ? parts[0] : Value(ConcatenateOp::create(n.b.builder, n.b.location, parts, *dim)));
}

/// The body for each entry of the sequences; tensors are the same for each.
LogicalResult map(Node &n) {
  FailureOr<std::vector<Item>> first = listAt(n, 0);
  if (failed(first))
    return failure();
  if (static_cast<int64_t>(first->size()) > kMostRounds)
    return n.refuse("of more than " + Twine(kMostRounds) + " entries");
  std::vector<std::vector<Item>> results(n.numResultsOf("body"));
  for (size_t i = 0; i < first->size(); ++i) {
    SmallVector<Item> inputs;
    for (unsigned input = 0; input < n.numInputs(); ++input) {
      const Item item = n.item(input);
      if (!item || (item.isList && item.list.size() != first->size()))
        return n.refuse("operand " + Twine(input) + " has another length than the first");
      inputs.push_back(item.isList ? item.list[i] : item);
    }
    FailureOr<SmallVector<Item>> each = n.run("body", inputs);
    if (failed(each))
      return failure();
    for (auto [list, item] : llvm::zip_equal(results, *each))
      list.push_back(item);
  }
  SmallVector<Item> all;
  for (std::vector<Item> &list : results)
    all.push_back(Item::of(std::move(list)));
  return n.giveItems(all);
}

LogicalResult hasElement(Node &n) {
  auto type = RankedTensorType::get({}, n.b.builder.getI1Type());
  return n.give(DenseElementsAttr::get(type, static_cast<bool>(n.item(0))));
}

constexpr OnnxRule rules[] = {
    {"ConcatFromSequence", concat, 11, /*takesLists=*/true},
    {"OptionalGetElement", [](Node &n) { return n.giveItems(n.item(0)); }, 15, /*takesLists=*/true},
    {"OptionalHasElement", hasElement, 15, /*takesLists=*/true},
    {"SequenceAt", at, 11, /*takesLists=*/true},
    {"SequenceConstruct", construct, 11, /*takesLists=*/true},
    {"SequenceEmpty", [](Node &n) { return n.giveItems(Item::of(std::vector<Item>())); }, 11},
    {"SequenceErase", erase, 11, /*takesLists=*/true},
    {"SequenceInsert", insert, 11, /*takesLists=*/true},
    {"SequenceLength", length, 11, /*takesLists=*/true},
    {"SequenceMap", map, 17, /*takesLists=*/true},
    {"SplitToSequence", split, 11, /*takesLists=*/true},
};

} // namespace

ArrayRef<OnnxRule> onnxSequenceRules() { return rules; }

} // namespace dgc::import
