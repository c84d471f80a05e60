// Attention, as JAX writes it. In which order dimensions are does not matter: each has a role, and a product is right when its
// batch is that of the scores and it adds up what it has to.

#include "compiler/import/raise/Attention.h"
#include "dialects/dgc/CompositeBuilder.h"

using namespace mlir;
using namespace dgc;

namespace dgc::import::raise {

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

int64_t Operand::sizeOf(int64_t role) const {
  const auto *at = llvm::find(roles, role);
  return at == roles.end() || role == kUnit ? 1 : tensorOf(value).getDimSize(at - roles.begin());
}

static Roles existing(std::initializer_list<int64_t> roles) {
  return llvm::to_vector(llvm::make_filter_range(roles, [](int64_t role) { return role != kUnit; }));
}

Roles Attention::batch() const { return existing({example, head}); }
Roles Attention::query() const { return existing({place, group}); }
Roles Attention::order(int64_t places, bool isGrouped, int64_t own) const {
  return existing({example, places, head, isGrouped ? group : kUnit, own});
}

Side::Side(DotGeneralOp dot, unsigned index)
    : batch(index == 0 ? dot.getLhsBatch() : dot.getRhsBatch()),
      contract(index == 0 ? dot.getLhsContract() : dot.getRhsContract()),
      free(index == 0 ? dot.getLhsFree() : dot.getRhsFree()),
      firstFree(static_cast<int64_t>(batch.size() + (index == 0 ? 0 : dot.getLhsFree().size()))) {}

Operand baseOf(Value value, ArrayRef<int64_t> roles) {
  const Expression x = Expression::of(value).stripped();
  Operand base{x.value, {}};
  for (int64_t place : x.place)
    base.roles.push_back(place < 0 ? kUnit : roles[place]);
  const bool isRepeated = llvm::any_of(roles, [&](int64_t role) { return role != kUnit && !base.has(role); });
  return isRepeated ? Operand{value, Roles(roles)} : base;
}

static bool isOfOne(Value value, int64_t dim) { return tensorOf(value).getDimSize(dim) == 1; }

Roles rolesFromResult(DotGeneralOp dot, unsigned index, ArrayRef<int64_t> result, int64_t contracted) {
  const Side side(dot, index);
  Value value = dot->getOperand(index);
  Roles roles(tensorOf(value).getRank(), kUnit);
  for (auto [position, dim] : llvm::enumerate(side.batch))
    roles[dim] = result[position];
  for (auto [position, dim] : llvm::enumerate(side.free))
    roles[dim] = result[side.firstFree + static_cast<int64_t>(position)];
  for (int64_t dim : side.contract)
    roles[dim] = isOfOne(value, dim) ? kUnit : contracted;
  return roles;
}

Roles rolesFromOther(DotGeneralOp dot, unsigned index, ArrayRef<int64_t> other, int64_t free) {
  const Side side(dot, index), otherSide(dot, 1 - index);
  Value value = dot->getOperand(index);
  Roles roles(tensorOf(value).getRank(), kUnit);
  for (auto [dim, otherDim] : llvm::zip(side.batch, otherSide.batch))
    roles[dim] = other[otherDim];
  for (auto [dim, otherDim] : llvm::zip(side.contract, otherSide.contract))
    roles[dim] = other[otherDim];
  for (int64_t dim : side.free)
    roles[dim] = isOfOne(value, dim) ? kUnit : free;
  return roles;
}

Roles resultRoles(DotGeneralOp dot, ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  Roles roles;
  for (int64_t dim : dot.getLhsBatch())
    roles.push_back(left[dim]);
  for (int64_t dim : dot.getLhsFree())
    roles.push_back(left[dim]);
  for (int64_t dim : dot.getRhsFree())
    roles.push_back(right[dim]);
  return roles;
}

Roles rolesThrough(Value value, const Expression &x) {
  Roles roles(tensorOf(value).getRank(), kUnit);
  for (auto [dim, place] : llvm::enumerate(x.place))
    if (place >= 0)
      roles[place] = static_cast<int64_t>(dim);
  for (auto [role, size] : llvm::zip(roles, tensorOf(value).getShape()))
    if (role == kUnit && size != 1)
      return {};
  return roles;
}

bool areRoles(ArrayRef<int64_t> dims, ArrayRef<int64_t> ofDims, ArrayRef<int64_t> roles) {
  Roles found;
  for (int64_t dim : dims)
    if (ofDims[dim] != kUnit)
      found.push_back(ofDims[dim]);
  return found.size() == roles.size() &&
         llvm::all_of(roles, [&](int64_t role) { return llvm::is_contained(found, role); });
}

bool isProductOver(DotGeneralOp dot, unsigned index, ArrayRef<int64_t> roles, ArrayRef<int64_t> batch,
                   ArrayRef<int64_t> contracted) {
  const Side side(dot, index);
  return areRoles(side.batch, roles, batch) && areRoles(side.contract, roles, contracted);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Expression truthOf(Expression x, bool &isInverted) {
  while (true) {
    if (x.as<NotOp>()) {
      isInverted = !isInverted;
      x = x.operand(0);
      continue;
    }
    auto compare = x.as<CompareOp>();
    std::optional<double> number = compare ? x.operand(1).number() : std::nullopt;
    if (number != 0 && number != 1)
      return x;
    const auto direction = compare.getComparisonDirection();
    const bool isEqual = direction == ComparisonDirection::EQ;
    if (!isEqual && direction != ComparisonDirection::NE && (direction != ComparisonDirection::GT || *number != 0))
      return x;
    Expression compared = x.operand(0);
    if (auto convert = compared.as<ConvertOp>(); convert && elementOf(convert.getOperand()).isInteger(1))
      compared = compared.operand(0);
    else if (compared.as<SelectOp>() && compared.operand(1).number() == 1 && compared.operand(2).number() == 0)
      compared = compared.operand(0);
    else
      return x;
    isInverted ^= isEqual == (*number == 0);
    x = compared;
  }
}

/// Whether `x` is true where a place of the key is not behind that of the query, the last of which are those of the key.
static bool isCausalMask(const Expression &x, int64_t query, int64_t key) {
  const int64_t first = (*x.space)[key] - (*x.space)[query];
  if (first < 0)
    return false;
  if (auto compare = x.as<CompareOp>()) {
    if (compare.getComparisonDirection() == ComparisonDirection::GE)
      return x.operand(0).countsAlong(query, first) && x.operand(1).countsAlong(key, 0);
    return compare.getComparisonDirection() == ComparisonDirection::LE && x.operand(0).countsAlong(key, 0) &&
           x.operand(1).countsAlong(query, first);
  }
  const Expression bare = x.stripped();
  DenseElementsAttr elements = constantOf(bare.value);
  if (!elements || !elements.getElementType().isInteger(1) || elements.isSplat())
    return false;
  if (bare.dims() != ArrayRef<int64_t>{query, key})
    return false;
  const int64_t size = (*x.space)[key];
  return llvm::all_of(llvm::enumerate(elements.getValues<bool>()), [&](auto each) {
    const auto index = static_cast<int64_t>(each.index());
    return each.value() == (index % size <= index / size + first);
  });
}

/// Takes a mask of truth values: what is causal, or any. What is both is the one mask.
static bool addMask(Attention &parts, const Expression &pred, bool isInverted) {
  bool inverted = isInverted;
  Expression mask = truthOf(pred, inverted);
  if (!inverted && parts.place != kUnit && isCausalMask(mask, parts.place, parts.key)) {
    parts.isCausal = true;
    return true;
  }
  // A place that sees none has the mean of all values, or NaN: what adds a number to scores has the same.
  constexpr double kFar = -1e20;
  if (parts.fill > kFar)
    return false;
  parts.mask = mask.stripped();
  parts.isInverted = inverted;
  return true;
}

/// What hides scores: selects between them and a number far below; null where `x` has no such.
static std::optional<Expression> behindMask(const Expression &x, Attention &parts) {
  constexpr double kFar = -1e4;
  if (!x.as<SelectOp>())
    return std::nullopt;
  for (unsigned hidden : {2U, 1U}) {
    std::optional<double> number = x.operand(hidden).number();
    if (!number || !(*number <= kFar))
      continue;
    parts.predicate = x.operand(0).stripped();
    parts.fill = *number;
    parts.hiddenIndex = hidden;
    return x.operand(3 - hidden);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The scores
//===----------------------------------------------------------------------===//

/// The product of queries and keys, times a number: the only factor.
static bool takeProduct(const Expression &x, Attention &parts, Expression &product) {
  const Product all = Product::of(x);
  if (all.factors.size() != 1 || !all.divisors.empty() || !all.factors.front().as<DotGeneralOp>())
    return false;
  parts.scale = all.coefficient;
  product = all.factors.front().stripped();
  return true;
}

/// Which of the roles of the query are examples, heads and groups of heads: as they follow one another in it.
static bool nameRoles(Attention &parts, ArrayRef<int64_t> batch) {
  Roles order, places;
  for (int64_t role : parts.q.roles)
    if (role != kUnit && role != kFeature)
      order.push_back(role);
  for (int64_t role : order)
    if (!llvm::is_contained(batch, role))
      places.push_back(role);
  if (batch.size() > 2 || places.size() > 2 || order.size() != batch.size() + places.size())
    return false;
  if (batch.size() == 2) {
    const bool isFirst = llvm::find(order, batch[0]) < llvm::find(order, batch[1]);
    parts.example = batch[isFirst ? 0 : 1];
    parts.head = batch[isFirst ? 1 : 0];
  } else if (batch.size() == 1) {
    (order.front() == batch[0] ? parts.example : parts.head) = batch[0];
  }
  if (places.size() == 2) {
    const auto *group = llvm::find(order, parts.head);
    if (parts.head == kUnit || ++group == order.end() || !llvm::is_contained(places, *group))
      return false;
    parts.group = *group;
    places.erase(llvm::find(places, *group));
  }
  parts.place = places.empty() ? kUnit : places.front();
  return true;
}

/// Takes the scores, in their own space, apart.
static bool takeScores(const Expression &scores, Attention &parts) {
  Expression product, rest = scores;
  std::optional<Expression> visible = behindMask(rest, parts);
  if (visible)
    rest = *visible;
  const bool isProduct =
      takeProduct(rest, parts, product) || anyOrder<AddOp>(rest, [&](const Expression &x, const Expression &bias) {
        parts.bias = bias.stripped();
        return takeProduct(x, parts, product);
      });
  if (!isProduct)
    return false;
  // The side that has the places along which weights add up to 1 is the key.
  auto dot = product.as<DotGeneralOp>();
  const Side left(dot, 0);
  bool isLeft = false;
  for (size_t index = 0; index < left.free.size(); ++index)
    isLeft |= product.place[left.firstFree + static_cast<int64_t>(index)] == parts.key;
  const unsigned keyIndex = isLeft ? 0 : 1;
  const Roles ofKey = rolesFromResult(dot, keyIndex, product.place, kFeature);
  const Roles ofQuery = rolesFromResult(dot, 1 - keyIndex, product.place, kFeature);
  parts.k = baseOf(dot->getOperand(keyIndex), ofKey);
  parts.q = baseOf(dot->getOperand(1 - keyIndex), ofQuery);
  Roles batch;
  for (int64_t dim : Side(dot, 1 - keyIndex).batch)
    if (ofQuery[dim] != kUnit)
      batch.push_back(ofQuery[dim]);
  const Side key(dot, keyIndex);
  return areRoles(key.free, ofKey, parts.key) && areRoles(key.contract, ofKey, kFeature) && nameRoles(parts, batch) &&
         (!visible || addMask(parts, parts.predicate, /*isInverted=*/parts.hiddenIndex == 1));
}

/// Takes attention apart that ends in the product `output`.
static std::optional<Attention> takeApart(DotGeneralOp output) {
  for (unsigned index : {0U, 1U}) {
    const Expression weights = Expression::of(output->getOperand(index), Precision::Ignored).stripped();
    auto softmax = weights.as<SoftmaxOp>();
    if (!softmax)
      continue;
    Attention parts;
    parts.weights = softmax;
    parts.output = output;
    parts.key = softmaxDim(softmax);
    if (tensorOf(softmax.getResult()).getDimSize(parts.key) == 1 ||
        !takeScores(Expression::of(softmax.getInput(), Precision::Ignored), parts))
      return std::nullopt;
    const Roles own = rolesThrough(output->getOperand(index), weights);
    if (own.empty() || !areRoles(Side(output, index).free, own, parts.query()))
      return std::nullopt;
    const Roles ofValue = rolesFromOther(output, 1 - index, own, kValueFeature);
    parts.v = baseOf(output->getOperand(1 - index), ofValue);
    parts.outputRoles = index == 0 ? resultRoles(output, own, ofValue) : resultRoles(output, ofValue, own);
    if (!isProductOver(output, index, own, parts.batch(), parts.key) || llvm::count(parts.v.roles, kValueFeature) > 1)
      return std::nullopt;
    return parts;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// The tensor with its dimensions in the order of these roles, merged into `shape`.
static Value arrange(CompositeBuilder &b, const Operand &x, ArrayRef<int64_t> order, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sizes, permutation;
  Roles roles;
  for (auto [role, size] : llvm::zip(x.roles, tensorOf(x.value).getShape()))
    if (role != kUnit) {
      roles.push_back(role);
      sizes.push_back(size);
    }
  for (int64_t role : order)
    if (const auto *at = llvm::find(roles, role); at != roles.end())
      permutation.push_back(at - roles.begin());
  return b.reshape(b.transpose(b.reshape(x.value, sizes), permutation), shape);
}

/// The other way: `x` has all roles of `order` that `roles` has, in that order.
static Value arrangeBack(CompositeBuilder &b, Value x, ArrayRef<int64_t> order, ArrayRef<int64_t> roles, Value like) {
  SmallVector<int64_t> sizes, permutation;
  Roles own;
  for (int64_t role : order)
    if (const auto *at = llvm::find(roles, role); at != roles.end()) {
      own.push_back(role);
      sizes.push_back(tensorOf(like).getDimSize(at - roles.begin()));
    }
  for (int64_t role : roles)
    if (role != kUnit)
      permutation.push_back(llvm::find(own, role) - own.begin());
  Value moved = b.transpose(b.reshape(x, sizes), permutation);
  return b.convert(b.reshape(moved, tensorOf(like).getShape()), elementOf(like));
}

/// What is added to scores, `[b, h, t, s]` with 1 along what it does not change along.
static Value arrangeMask(CompositeBuilder &b, const Attention &parts, Expression mask, Type element) {
  mask = mask.stripped();
  const Operand operand{mask.value, Roles(mask.place.begin(), mask.place.end())};
  const Roles order{parts.example, parts.head, parts.place, parts.key};
  SmallVector<int64_t> shape;
  for (int64_t role : order)
    shape.push_back(operand.sizeOf(role));
  return b.convert(arrange(b, operand, order, shape), element);
}

/// Whether it is one for all heads of a group, and has no dimension that attention has not.
static bool fitsMask(const Attention &parts, const Expression &mask) {
  if (!mask.value)
    return true;
  const Roles known = existing({parts.example, parts.group == kUnit ? parts.head : kUnit, parts.place, parts.key});
  return llvm::all_of(mask.stripped().place,
                      [&](int64_t place) { return place < 0 || llvm::is_contained(known, place); });
}

/// All that is added to scores besides what is causal; null where there is none.
static Value maskOf(CompositeBuilder &b, const Attention &parts) {
  Type element = computeType(elementOf(parts.v.value));
  Value bias = parts.bias.value ? arrangeMask(b, parts, parts.bias, element) : Value();
  if (!parts.mask.value)
    return bias;
  Value mask = arrangeMask(b, parts, parts.mask, b.builder.getI1Type());
  auto type = RankedTensorType::get(tensorOf(mask).getShape(), element);
  Value none = b.splat(0, type), hidden = b.splat(parts.fill, type);
  Value added = parts.isInverted ? b.select(mask, hidden, none) : b.select(mask, none, hidden);
  if (!bias)
    return added;
  SmallVector<int64_t> shape;
  for (auto [x, y] : llvm::zip(tensorOf(added).getShape(), tensorOf(bias).getShape()))
    shape.push_back(std::max(x, y));
  return b.add(b.broadcast(added, shape, firstNumbers(4)), b.broadcast(bias, shape, firstNumbers(4)));
}

/// The operand in the type that scores are computed from: queries and keys of 16 bits are converted to f32 in front of their
/// product, and the weights back to the type of the values behind softmax, where scores are kept in f32. `dgc.attention` of 16
/// bits does the same.
static Operand beforeWidening(const Operand &x, const Operand &values) {
  auto convert = x.value.getDefiningOp<ConvertOp>();
  Type narrow = elementOf(values.value);
  const bool isWidened = convert && narrow.getIntOrFloatBitWidth() == 16 && elementOf(x.value).isF32() &&
                         elementOf(convert.getOperand()) == narrow;
  return isWidened ? Operand{convert.getOperand(), x.roles} : x;
}

namespace {
/// The operands as `dgc.attention` has them.
struct Arranged {
  Value q, k, v, mask;
  int64_t heads, keyHeads;

  Arranged(CompositeBuilder &b, const Attention &parts) {
    const int64_t examples = parts.q.sizeOf(parts.example), places = parts.q.sizeOf(parts.place);
    const int64_t features = parts.q.sizeOf(kFeature), ofValue = parts.v.sizeOf(kValueFeature);
    const int64_t keys = parts.k.sizeOf(parts.key);
    keyHeads = parts.q.sizeOf(parts.head);
    heads = keyHeads * parts.q.sizeOf(parts.group);
    q = arrange(b, beforeWidening(parts.q, parts.v), parts.order(parts.place, true, kFeature),
                {examples, places, heads * features});
    k = arrange(b, beforeWidening(parts.k, parts.v), parts.order(parts.key, false, kFeature),
                {examples, keys, keyHeads * features});
    v = arrange(b, parts.v, parts.order(parts.key, false, kValueFeature), {examples, keys, keyHeads * ofValue});
    mask = maskOf(b, parts);
  }
};
} // namespace

static bool isWritable(const Attention &parts) {
  Type element = elementOf(parts.v.value);
  const bool isOneType = element == elementOf(beforeWidening(parts.q, parts.v).value) &&
                         element == elementOf(beforeWidening(parts.k, parts.v).value);
  return isa<FloatType>(element) && isOneType && fitsMask(parts, parts.mask) && fitsMask(parts, parts.bias) &&
         !(parts.isCausal && parts.place == kUnit);
}

static void writeGradient(CompositeBuilder &b, const Attention &parts, const Arranged &arranged, Value attention,
                          AttentionGradient &gradient) {
  const Roles outputOrder = parts.order(parts.place, true, kValueFeature);
  Value ofOutput = arrange(b, gradient.ofOutput, outputOrder, tensorOf(attention).getShape());
  Value sum = b.sum(b.multiply(attention, b.stopGradient(b.convert(ofOutput, elementOf(attention)))), allDims(3));
  SmallVector<Value> wanted{arranged.q, arranged.k, arranged.v};
  SmallVector<Type> types = llvm::map_to_vector(wanted, [](Value value) { return value.getType(); });
  auto op = GradientOp::create(b.builder, b.location, types, sum, wanted);
  const std::array orders{parts.order(parts.place, true, kFeature), parts.order(parts.key, false, kFeature),
                          parts.order(parts.key, false, kValueFeature)};
  for (size_t index = 0; index < 3; ++index) {
    Value product = gradient.products[index].getResult();
    product.replaceAllUsesWith(arrangeBack(b, op.getResult(index), orders[index], gradient.roles[index], product));
  }
}

bool raiseAttention(Operation *op, OpBuilder &builder) {
  auto output = dyn_cast<DotGeneralOp>(op);
  std::optional<Attention> parts = output ? takeApart(output) : std::nullopt;
  if (!parts || !isWritable(*parts))
    return false;
  std::optional<AttentionGradient> gradient = AttentionGradient::of(*parts);
  SmallVector<Operation *> roots{op};
  SmallVector<Value> inputs{parts->q.value, parts->k.value, parts->v.value};
  if (gradient) {
    llvm::append_range(roots, gradient->products);
    inputs.push_back(gradient->ofOutput.value);
  }
  for (const Expression &mask : {parts->mask, parts->bias})
    if (mask.value)
      inputs.push_back(mask.value);
  if (!isClosed(roots, inputs))
    return false;

  // The gradient is that of each operand alone: none may be computed from another, nor a mask from them.
  if (gradient) {
    const std::array operands{parts->q.value, parts->k.value, parts->v.value};
    for (Value input : inputs)
      for (Value operand : operands)
        if (input != gradient->ofOutput.value &&
            (llvm::count(inputs, operand) != 1 || (input != operand && dependsOn(input, operand))))
          return false;
    if (llvm::any_of(gradient->products, [&](DotGeneralOp product) { return product->isBeforeInBlock(op); }))
      return false;
  }
  builder.setInsertionPoint(op);
  CompositeBuilder b(builder, op->getLoc());
  const Arranged arranged(b, *parts);
  auto attention = AttentionOp::create(
      builder, op->getLoc(), arranged.q, arranged.k, arranged.v, arranged.mask, arranged.heads,
      arranged.heads == arranged.keyHeads ? IntegerAttr() : builder.getI64IntegerAttr(arranged.keyHeads),
      parts->isCausal, builder.getF64FloatAttr(parts->scale));
  if (gradient) {
    Operation *first =
        *llvm::min_element(gradient->products, [](DotGeneralOp x, DotGeneralOp y) { return x->isBeforeInBlock(y); });
    builder.setInsertionPoint(first);
    writeGradient(b, *parts, arranged, attention.getResult(), *gradient);
    builder.setInsertionPointAfter(attention);
  }
  const Roles order = parts->order(parts->place, true, kValueFeature);
  output.getResult().replaceAllUsesWith(
      arrangeBack(b, attention.getResult(), order, parts->outputRoles, output.getResult()));
  return true;
}

} // namespace dgc::import::raise
