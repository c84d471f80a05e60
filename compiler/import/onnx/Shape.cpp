// ONNX ops that move elements, and constants.

#include "compiler/import/onnx/Node.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dgc::import {

int64_t elementsOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, size, count))
      return std::numeric_limits<int64_t>::max();
  return count;
}

namespace {

/// The result of a change of shape: what is known here remains known.
LogicalResult giveReshaped(Node &n, ArrayRef<int64_t> shape) {
  if (DenseElementsAttr constant = n.fixed(0))
    return n.give(constant.reshape(RankedTensorType::get(shape, constant.getElementType())));
  return n.give(n.b.reshape(n.in(0), shape));
}

LogicalResult reshape(Node &n) {
  FailureOr<SmallVector<int64_t>> to = n.integers(1, "shape");
  if (failed(to))
    return failure();
  ArrayRef<int64_t> from = n.shape(0);
  int64_t open = -1;
  for (auto [i, size] : llvm::enumerate(*to)) {
    if (size == 0 && n.integer("allowzero", 0) == 0) {
      if (i >= from.size())
        return n.refuse("dimension " + Twine(i) + " is to be that of an operand of rank " + Twine(from.size()));
      size = from[i];
    }
    if (size == -1) {
      if (open >= 0)
        return n.refuse("two sizes are open");
      open = static_cast<int64_t>(i);
    } else if (size <= 0) {
      return n.refuse("a dimension of size " + Twine(size));
    }
  }
  if (open >= 0) {
    (*to)[open] = 1;
    (*to)[open] = elementsOf(from) / elementsOf(*to);
  }
  if (elementsOf(*to) != elementsOf(from))
    return n.refuse("the new shape has another number of elements");
  return giveReshaped(n, *to);
}

LogicalResult squeeze(Node &n) {
  FailureOr<SmallVector<int64_t>> dims = n.list(1, "axes");
  if (failed(dims))
    return failure();
  SmallVector<bool> isGone(n.rank(0), false);
  for (int64_t number : *dims) {
    FailureOr<int64_t> dim = n.dim(number, n.rank(0));
    if (failed(dim) || n.shape(0)[*dim] != 1)
      return failed(dim) ? failure() : n.refuse("dimension " + Twine(*dim) + " is not 1");
    isGone[*dim] = true;
  }
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(n.shape(0)))
    if (dims->empty() ? size != 1 : !isGone[i])
      shape.push_back(size);
  return giveReshaped(n, shape);
}

LogicalResult unsqueeze(Node &n) {
  FailureOr<SmallVector<int64_t>> dims = n.list(1, "axes");
  if (failed(dims))
    return failure();
  const int64_t rank = n.rank(0) + static_cast<int64_t>(dims->size());
  SmallVector<bool> isNew(rank, false);
  for (int64_t number : *dims) {
    FailureOr<int64_t> dim = n.dim(number, rank);
    if (failed(dim) || isNew[*dim])
      return failed(dim) ? failure() : n.refuse("dimension " + Twine(*dim) + " twice");
    isNew[*dim] = true;
  }
  SmallVector<int64_t> shape, own(n.shape(0));
  size_t next = 0;
  for (bool each : isNew)
    shape.push_back(each ? 1 : own[next++]);
  return giveReshaped(n, shape);
}

LogicalResult flatten(Node &n) {
  const int64_t axis = n.integer("axis", 1), rank = n.rank(0);
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at > rank)
    return n.refuse("dimension " + Twine(axis) + " is none of a tensor of rank " + Twine(rank));
  SmallVector<int64_t> shape(n.shape(0));
  return giveReshaped(n, {elementsOf(ArrayRef(shape).take_front(at)), elementsOf(ArrayRef(shape).drop_front(at))});
}

LogicalResult transpose(Node &n) {
  SmallVector<int64_t> order = n.integers("perm");
  if (order.empty()) {
    order = firstNumbers(n.rank(0));
    std::reverse(order.begin(), order.end());
  }
  if (static_cast<int64_t>(order.size()) != n.rank(0) || !mlir::isPermutationVector(order))
    return n.refuse("'perm' is no order of the dimensions");
  return n.give(n.b.transpose(n.in(0), order));
}

LogicalResult expand(Node &n) {
  FailureOr<SmallVector<int64_t>> to = n.integers(1, "shape");
  if (failed(to))
    return failure();
  SmallVector<int64_t> shape(*to), own(n.shape(0));
  if (own.size() > shape.size())
    shape.insert(shape.begin(), own.size() - shape.size(), 1);
  for (auto [i, size] : llvm::enumerate(own)) {
    int64_t &together = shape[i + shape.size() - own.size()];
    if (size != together && size != 1 && together != 1)
      return n.refuse("a dimension of " + Twine(size) + " cannot become " + Twine(together));
    together = together == 1 ? size : together;
  }
  return n.give(n.broadcast(n.in(0), shape));
}

LogicalResult concat(Node &n) {
  FailureOr<int64_t> dim = n.dim(n.integer("axis", 0), n.rank(0));
  if (failed(dim))
    return failure();
  SmallVector<int64_t> known;
  bool isKnown = n.rank(0) == 1;
  for (unsigned i = 0; i < n.numInputs() && isKnown; ++i) {
    DenseElementsAttr part = n.constant(i);
    isKnown = part && part.getElementType().isInteger(64);
    if (isKnown)
      llvm::append_range(known, part.getValues<int64_t>());
  }
  if (isKnown)
    return n.giveIntegers(known);
  SmallVector<Value> parts; // tensors without elements vanish
  for (unsigned i = 0; i < n.numInputs(); ++i)
    if (n.type(i).getNumElements() != 0)
      parts.push_back(n.in(i));
  if (parts.empty())
    return n.give(n.constant(0));
  return n.give(parts.size() == 1 ? parts[0] : Value(ConcatenateOp::create(n.b.builder, n.b.location, parts, *dim)));
}

LogicalResult tile(Node &n) {
  FailureOr<SmallVector<int64_t>> repeats = n.integers(1, "repeats");
  if (failed(repeats))
    return failure();
  if (static_cast<int64_t>(repeats->size()) != n.rank(0) || llvm::any_of(*repeats, [](int64_t r) { return r < 1; }))
    return n.refuse("'repeats' is not one positive number for each dimension");
  SmallVector<int64_t> wide, result, dims;
  for (auto [size, repeat] : llvm::zip_equal(n.shape(0), *repeats)) {
    wide.append({repeat, size});
    dims.push_back(static_cast<int64_t>(wide.size()) - 1);
    result.push_back(size * repeat);
  }
  return n.give(n.b.reshape(n.b.broadcast(n.in(0), wide, dims), result));
}

LogicalResult shapeOf(Node &n) {
  SmallVector<int64_t> shape(n.shape(0));
  const auto rank = static_cast<int64_t>(shape.size());
  auto wrapped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = wrapped(n.integer("start", 0)), end = wrapped(n.integer("end", rank));
  return n.giveIntegers(start < end ? ArrayRef(shape).slice(start, end - start) : ArrayRef<int64_t>());
}

LogicalResult constant(Node &n) {
  if (n.hasAttribute("value"))
    return n.give(n.tensor("value"));
  if (n.hasAttribute("value_ints"))
    return n.giveIntegers(n.integers("value_ints"));
  Builder &builder = n.b.builder;
  auto scalar = [&](Attribute value, Type type) {
    return n.give(DenseElementsAttr::get(RankedTensorType::get({}, type), value));
  };
  if (n.hasAttribute("value_int"))
    return scalar(builder.getI64IntegerAttr(n.integer("value_int", 0)), builder.getI64Type());
  if (n.hasAttribute("value_float"))
    return scalar(builder.getF32FloatAttr(static_cast<float>(n.number("value_float", 0))), builder.getF32Type());
  if (n.hasAttribute("value_floats")) {
    SmallVector<float> list(llvm::map_range(n.numbers("value_floats"), [](double x) { return static_cast<float>(x); }));
    auto type = RankedTensorType::get({static_cast<int64_t>(list.size())}, builder.getF32Type());
    return n.give(DenseElementsAttr::get(type, ArrayRef<float>(list)));
  }
  return n.refuse("its value is no tensor of numbers");
}

LogicalResult constantOfShape(Node &n) {
  FailureOr<SmallVector<int64_t>> shape = n.integers(0, "shape");
  if (failed(shape))
    return failure();
  if (llvm::any_of(*shape, [](int64_t size) { return size < 0; }))
    return n.refuse("a dimension is negative");
  if (!n.hasAttribute("value"))
    return n.give(DenseElementsAttr::get(RankedTensorType::get(*shape, n.b.builder.getF32Type()), 0.0F));
  DenseElementsAttr value = n.tensor("value");
  return value ? n.give(DenseElementsAttr::get(RankedTensorType::get(*shape, value.getElementType()),
                                               *value.getValues<Attribute>().begin()))
               : failure();
}

/// Numbers from `start` on, `delta` apart, before `limit`; all of them are known.
LogicalResult range(Node &n) {
  constexpr int64_t most = int64_t{1} << 24;
  Type element = n.type(0).getElementType();
  SmallVector<double> list;
  if (isa<FloatType>(element)) {
    FailureOr<SmallVector<double>> from = n.numbers(0, "start"), to = n.numbers(1, "limit"),
                                   step = n.numbers(2, "delta");
    if (failed(from) || failed(to) || failed(step))
      return failure();
    const double count = std::ceil((to->front() - from->front()) / step->front());
    if (!(count <= static_cast<double>(most)))
      return n.refuse("has more than 2^24 elements");
    for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
      list.push_back(from->front() + static_cast<double>(i) * step->front());
  } else {
    FailureOr<SmallVector<int64_t>> from = n.integers(0, "start"), to = n.integers(1, "limit"),
                                    step = n.integers(2, "delta");
    if (failed(from) || failed(to) || failed(step))
      return failure();
    const int64_t delta = step->front(), end = to->front();
    SmallVector<int64_t> integers;
    for (int64_t i = from->front(); delta > 0 ? i < end : delta < 0 && i > end;) {
      if (static_cast<int64_t>(integers.size()) > most)
        return n.refuse("has more than 2^24 elements");
      integers.push_back(i);
      if (__builtin_add_overflow(i, delta, &i))
        break;
    }
    if (element.isInteger(64) && !element.isUnsignedInteger())
      return n.giveIntegers(integers);
    SmallVector<APInt> values = llvm::map_to_vector(integers, [&](int64_t i) {
      return APInt(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(i), /*isSigned=*/true,
                   /*implicitTrunc=*/true);
    });
    return n.give(
        DenseElementsAttr::get(RankedTensorType::get({static_cast<int64_t>(values.size())}, element), values));
  }
  SmallVector<Attribute> values =
      llvm::map_to_vector(list, [&](double each) -> Attribute { return FloatAttr::get(element, each); });
  return n.give(DenseElementsAttr::get(RankedTensorType::get({static_cast<int64_t>(values.size())}, element), values));
}

/// [n, c, h, w] between channels and places.
LogicalResult depthToSpace(Node &n) {
  const int64_t block = n.integer("blocksize", 0);
  if (n.rank(0) != 4 || block < 1 || n.shape(0)[1] % (block * block) != 0)
    return n.refuse("channels are not divided by the square of the block");
  SmallVector<int64_t> s(n.shape(0));
  const int64_t channels = s[1] / block / block;
  const bool isFirst = n.text("mode", "DCR") == "DCR"; // blocks before channels
  Value x = isFirst ? n.b.reshape(n.in(0), {s[0], block, block, channels, s[2], s[3]})
                    : n.b.reshape(n.in(0), {s[0], channels, block, block, s[2], s[3]});
  x = n.b.transpose(x, isFirst ? SmallVector<int64_t>{0, 3, 4, 1, 5, 2} : SmallVector<int64_t>{0, 1, 4, 2, 5, 3});
  return n.give(n.b.reshape(x, {s[0], channels, s[2] * block, s[3] * block}));
}

LogicalResult spaceToDepth(Node &n) {
  const int64_t block = n.integer("blocksize", 0);
  if (n.rank(0) != 4 || block < 1 || n.shape(0)[2] % block != 0 || n.shape(0)[3] % block != 0)
    return n.refuse("height and width are not divided by the block");
  SmallVector<int64_t> s(n.shape(0));
  Value x = n.b.reshape(n.in(0), {s[0], s[1], s[2] / block, block, s[3] / block, block});
  x = n.b.transpose(x, n.text("mode", "DCR") == "DCR" ? SmallVector<int64_t>{0, 3, 5, 1, 2, 4}
                                                      : SmallVector<int64_t>{0, 1, 3, 5, 2, 4});
  return n.give(n.b.reshape(x, {s[0], s[1] * block * block, s[2] / block, s[3] / block}));
}

/// One or none: the part of a square matrix above or below a diagonal.
LogicalResult triangle(Node &n) {
  int64_t k = 0;
  if (n.has(1)) {
    FailureOr<SmallVector<int64_t>> given = n.integers(1, "k");
    if (failed(given))
      return failure();
    k = given->front();
  }
  const int64_t rank = n.rank(0);
  if (rank < 2)
    return n.refuse("is of matrices");
  auto type = RankedTensorType::get(n.shape(0), n.b.builder.getI64Type());
  Value rows = IotaOp::create(n.b.builder, n.b.location, type, rank - 2, Value());
  Value columns = IotaOp::create(n.b.builder, n.b.location, type, rank - 1, Value());
  Value diagonal = n.b.add(rows, n.splat(static_cast<double>(k), rows));
  const bool upper = n.integer("upper", 1) != 0;
  Value keeps = n.b.compare(upper ? ComparisonDirection::GE : ComparisonDirection::LE, columns, diagonal);
  return n.give(n.b.select(keeps, n.in(0), n.splat(0, n.in(0))));
}

LogicalResult eyeLike(Node &n) {
  if (n.rank(0) != 2)
    return n.refuse("is of matrices");
  Type element = elementOf(n.in(0));
  if (n.hasAttribute("dtype")) {
    FailureOr<Type> given = n.elementType("dtype", 1);
    if (failed(given))
      return failure();
    element = *given;
  }
  auto type = RankedTensorType::get(n.shape(0), n.b.builder.getI64Type());
  Value rows = IotaOp::create(n.b.builder, n.b.location, type, 0, Value());
  Value columns = IotaOp::create(n.b.builder, n.b.location, type, 1, Value());
  Value is = n.b.equal(columns, n.b.add(rows, n.splat(static_cast<double>(n.integer("k", 0)), rows)));
  return n.give(element.isInteger(1) ? is : n.b.convert(is, element));
}

constexpr OnnxRule rules[] = {
    {"Concat", concat},
    {"Constant", constant},
    {"ConstantOfShape", constantOfShape},
    {"DepthToSpace", depthToSpace},
    {"Expand", expand},
    {"EyeLike", eyeLike},
    {"Flatten", flatten},
    {"Range", range},
    {"Reshape", reshape},
    {"Shape", shapeOf},
    {"Size",
     [](Node &n) {
       return n.give(
           DenseElementsAttr::get(RankedTensorType::get({}, n.b.builder.getI64Type()), elementsOf(n.shape(0))));
     }},
    {"SpaceToDepth", spaceToDepth},
    {"Squeeze", squeeze},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Trilu", triangle},
    {"Unsqueeze", unsqueeze},
};

} // namespace

ArrayRef<OnnxRule> onnxShapeRules() { return rules; }

} // namespace dgc::import
