#include "compiler/verify/DimensionClasses.h"
#include "dialects/dgc/Decompose.h"
#include "dialects/dist/Dist.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dgc {

DimensionClasses::DimensionClasses(ModelOp model, ArrayRef<Dim> batch) {
  ScopedDiagnosticHandler quiet(model.getContext(), [](Diagnostic &) { return success(); });
  for (Operation &op : model.getBody().getOps())
    ops.push_back(&op);
  for (size_t related = 0; related < ops.size();) // what an op is decomposed into is appended
    relate(ops[related++]);
  for (const Dim &each : batch) {
    const Part first = dimsOf(batch[0].value)[batch[0].dim], part = dimsOf(each.value)[each.dim];
    unify(first, part);
  }
  settleWindows();
  for (Operation *op : ops)
    test(op);
}

//===-- Parts -----------------------------------------------------------===//

DimensionClasses::Part DimensionClasses::add(int64_t size) {
  nodes.push_back({size, false, {}, -1});
  return nodes.size() - 1;
}

void DimensionClasses::appendLeaves(Part part, Product &to) const {
  const Node &node = nodes[part];
  if (node.is.empty() && node.size != 1)
    to.push_back(part);
  for (Part each : node.is)
    appendLeaves(each, to);
}

DimensionClasses::Product DimensionClasses::leaves(ArrayRef<Part> product) const {
  Product result;
  for (Part part : product)
    appendLeaves(part, result);
  return result;
}

/// 0 where a window that it follows from does not fit.
int64_t DimensionClasses::sizeOfLeaf(Part part, const Sizes &sizes) const {
  if (const int number = nodes[part].follows; number >= 0) {
    const Slide &slide = slides[number];
    const std::optional<WindowDim> window = slide.window.withInput(sizeOfLeaf(slide.input.front(), sizes));
    return window ? window->output : 0;
  }
  return sizes.contains(part) ? sizes.at(part) : nodes[part].size;
}

int64_t DimensionClasses::sizeOf(ArrayRef<Part> product, const Sizes &sizes) const {
  int64_t result = 1;
  for (Part part : leaves(product))
    result *= sizeOfLeaf(part, sizes);
  return result;
}

void DimensionClasses::fix(ArrayRef<Part> product) {
  for (Part part : leaves(product))
    nodes[part].isFixed = true;
}

void DimensionClasses::fix(Value value) { fix(ArrayRef<Part>(dimsOf(value))); }

/// The products are the same. A part that is several ones on the other side is split; parts that do not go into each other are
/// fixed.
void DimensionClasses::unify(ArrayRef<Part> a, ArrayRef<Part> b) {
  Product left = leaves(a), right = leaves(b);
  while (!left.empty() && !right.empty()) {
    const Part x = left.front(), y = right.front();
    const int64_t sizeX = nodes[x].size, sizeY = nodes[y].size;
    if (x != y && sizeX == sizeY) {
      const auto [first, second] = std::minmax(x, y); // chains stay short
      nodes[first].isFixed |= nodes[second].isFixed;
      nodes[second].is = {first};
    } else if (sizeX % sizeY == 0 && sizeX > sizeY) {
      const Part rest = add(sizeX / sizeY);
      nodes[rest].isFixed = nodes[x].isFixed;
      nodes[y].isFixed |= nodes[x].isFixed;
      nodes[x].is = {y, rest};
    } else if (sizeY % sizeX == 0 && sizeY > sizeX) {
      const Part rest = add(sizeY / sizeX);
      nodes[rest].isFixed = nodes[y].isFixed;
      nodes[x].isFixed |= nodes[y].isFixed;
      nodes[y].is = {x, rest};
    } else if (x != y) {
      break;
    }
    // What is left behind the first part of each, whatever became of that.
    left = leaves(ArrayRef<Part>(left));
    right = leaves(ArrayRef<Part>(right));
    left.erase(left.begin());
    right.erase(right.begin());
  }
  fix(ArrayRef<Part>(left));
  fix(ArrayRef<Part>(right));
}

void DimensionClasses::unify(Value a, Value b) {
  const SmallVector<Part> x = dimsOf(a), y = dimsOf(b);
  for (auto [left, right] : llvm::zip_equal(x, y))
    unify(ArrayRef<Part>(left), ArrayRef<Part>(right));
}

SmallVector<DimensionClasses::Part> &DimensionClasses::dimsOf(Value value) {
  auto [at, isNew] = dims.try_emplace(value);
  if (auto type = dyn_cast<RankedTensorType>(value.getType()); isNew && type)
    for (int64_t size : type.getShape())
      at->second.push_back(add(size));
  return at->second;
}

DimensionClasses::Product DimensionClasses::partsOf(Dim dim) {
  return leaves(ArrayRef<Part>(dimsOf(dim.value)[dim.dim]));
}

RankedTensorType DimensionClasses::typeWith(Value value, const Sizes &sizes) {
  SmallVector<int64_t> shape;
  for (Part part : dimsOf(value))
    shape.push_back(sizeOf(ArrayRef<Part>(part), sizes));
  return cast<RankedTensorType>(value.getType()).clone(shape);
}

//===-- Windows ---------------------------------------------------------===//

DimensionClasses::Part DimensionClasses::sourceOf(Part part) const {
  while (nodes[part].follows >= 0)
    part = slides[nodes[part].follows].input.front();
  return part;
}

/// Whether a side of a window follows from a part.
bool DimensionClasses::isOf(const Slide &slide, Part source) const {
  return sourceOf(slide.input.front()) == source || (!slide.output.empty() && sourceOf(slide.output.front()) == source);
}

bool DimensionClasses::slidesAlike(Part part, const Sizes &sizes) const {
  return llvm::all_of(slides, [&](const Slide &slide) {
    if (!isOf(slide, part))
      return true;
    const std::optional<WindowDim> window = slide.window.withInput(sizeOf(slide.input, sizes));
    return window && window->output == sizeOf(slide.output, sizes) && window->hasEndsOf(slide.window);
  });
}

/// Has each output follow from its input. What is a product on either side is fixed; a window whose output is known already is a
/// condition of `slidesAlike` alone.
void DimensionClasses::settleWindows() {
  SmallVector<Slide> found;
  std::swap(found, slides);
  for (Slide &slide : found) {
    slide.input = leaves(slide.input);
    slide.output = leaves(slide.output);
    if (slide.input.size() != 1 || slide.output.size() > 1) {
      fix(slide.input);
      fix(slide.output);
      continue;
    }
    slides.push_back(slide);
    const Part source = sourceOf(slide.input.front());
    if (!slide.output.empty() && nodes[slide.output.front()].follows < 0 && source != slide.output.front())
      nodes[slide.output.front()].follows = slides.size() - 1;
  }
  for (Part part = 0; part < nodes.size(); ++part)
    if (nodes[part].isFixed)
      nodes[sourceOf(part)].isFixed = true;
}

//===-- Operations ------------------------------------------------------===//

/// Whether a window slides over a dimension of operands or results.
static bool isSlidOver(const ShardingRule &rule, bool isResult, size_t index, int64_t dim) {
  auto has = [&](const DimOccurrence &at) { return (isResult ? at.results : at.operands)[index] == dim; };
  return llvm::any_of(rule.windows, [&](const SlidingWindow &each) { return has(each.input) || has(each.output); });
}

/// A window that is a whole dimension gives 1 at any size.
void DimensionClasses::relateByWindow(Operation *op, const SlidingWindow &sliding) {
  auto unifySide = [&](const DimOccurrence &at) {
    std::optional<Part> side;
    auto add = [&](ValueRange values, ArrayRef<int64_t> dims) {
      for (auto [value, dim] : llvm::zip_equal(values, dims))
        if (dim >= 0) {
          const Part mine = dimsOf(value)[dim];
          side = side.value_or(mine);
          unify(*side, mine);
        }
    };
    add(op->getOperands(), at.operands);
    add(op->getResults(), at.results);
    return *side;
  };
  const Part input = unifySide(sliding.input), output = unifySide(sliding.output);
  if (!sliding.window.isWhole())
    slides.push_back({sliding.window, {input}, {output}});
}

void DimensionClasses::relateByRule(ShardingRuleOpInterface op) {
  const ShardingRule rule = op.getShardingRule();
  SmallVector<Part> parts;
  for (const Factor &factor : rule.factors)
    parts.push_back(add(factor.size));
  auto relateDims = [&](ValueRange values, ArrayRef<TensorFactors> all, bool areResults) {
    for (auto [index, value, tensor] : llvm::enumerate(values, all))
      for (auto [dim, numbers] : llvm::enumerate(tensor.dims)) {
        const Part mine = dimsOf(value)[dim];
        Product product;
        for (unsigned number : numbers)
          product.push_back(parts[number]);
        if (llvm::none_of(numbers, [&](unsigned number) { return rule.factors[number].moves; }))
          unify(mine, product);
        else if (!isSlidOver(rule, areResults, index, dim))
          fix(mine);
      }
  };
  relateDims(op->getOperands(), rule.operands, false);
  relateDims(op->getResults(), rule.results, true);
  for (const SlidingWindow &window : rule.windows)
    relateByWindow(op, window);
  factors[op] = std::move(parts);
}

void DimensionClasses::relate(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op); constant && !isa<SplatElementsAttr>(constant.getValue()))
    fix(constant.getResult());
  if (auto rule = dyn_cast<ShardingRuleOpInterface>(op))
    return relateByRule(rule);
  if (isa<dist::ConstraintOp, AssignOp>(op)) {
    unify(op->getOperand(0), op->getNumResults() ? op->getResult(0) : op->getOperand(1));
    return;
  }
  if (auto composite = dyn_cast<DecomposableOpInterface>(op)) {
    SmallVector<Operation *> built;
    InsertedOps listener(built);
    OpBuilder builder(op, &listener);
    if (FailureOr<SmallVector<Value>> values = composite.decompose(builder); succeeded(values)) {
      for (auto [value, result] : llvm::zip_equal(*values, op->getResults()))
        unify(value, result);
      ops.append(built);
      decompositions[op] = std::move(built);
      return;
    }
  }
  if (isa<DeclaredTypeOpInterface>(op) || op->getNumResults() == 0)
    return;
  for (Value operand : op->getOperands())
    fix(operand);
  for (Value result : op->getResults())
    fix(result);
}

/// Whether the factors of a copy have the sizes that follow.
bool DimensionClasses::hasRuleWith(Operation *copy, Operation *op, const Sizes &sizes) const {
  auto rule = dyn_cast<ShardingRuleOpInterface>(copy);
  const auto known = factors.find(op);
  if (!rule || known == factors.end())
    return true;
  const ShardingRule found = rule.getShardingRule();
  if (found.factors.size() != known->second.size())
    return false;
  return llvm::all_of(llvm::zip_equal(found.factors, known->second), [&](auto pair) {
    auto [factor, part] = pair;
    return factor.moves || factor.size == sizeOf(ArrayRef<Part>(part), sizes);
  });
}

/// Whether a copy is decomposed into the same operations, of the sizes that follow. Removes them.
bool DimensionClasses::isDecomposedWith(Operation *copy, Operation *op, const Sizes &sizes) {
  const auto known = decompositions.find(op);
  if (known == decompositions.end())
    return true;
  SmallVector<Operation *> built;
  InsertedOps listener(built);
  OpBuilder builder(copy, &listener);
  bool isSame =
      succeeded(cast<DecomposableOpInterface>(copy).decompose(builder)) && built.size() == known->second.size();
  for (size_t i = 0; isSame && i < built.size(); ++i) {
    Operation *mine = built[i], *like = known->second[i];
    isSame = mine->getName() == like->getName() && mine->getNumResults() == like->getNumResults();
    for (unsigned k = 0; isSame && k < mine->getNumResults(); ++k)
      isSame = equalUpToEncoding(mine->getResult(k).getType(), typeWith(like->getResult(k), sizes));
  }
  for (Operation *each : llvm::reverse(built))
    each->erase();
  return isSame;
}

/// The types that a copy infers are those that it has.
static bool infersItsTypes(Operation *copy) {
  auto inferring = dyn_cast<InferTypeOpInterface>(copy);
  if (!inferring || isa<DeclaredTypeOpInterface>(copy))
    return true;
  SmallVector<Type> types;
  return succeeded(inferring.inferReturnTypes(copy->getContext(), copy->getLoc(), copy->getOperands(),
                                              copy->getRawDictionaryAttrs(), copy->getPropertiesStorage(),
                                              copy->getRegions(), types)) &&
         equalUpToEncoding(types, copy->getResultTypes());
}

std::optional<DictionaryAttr> DimensionClasses::attributesWith(Operation *op, const Sizes &sizes) {
  OpBuilder builder(op);
  IRMapping operands;
  SmallVector<Operation *> placeholders;
  for (Value operand : op->getOperands())
    if (!operands.contains(operand)) {
      placeholders.push_back(
          UnrealizedConversionCastOp::create(builder, op->getLoc(), typeWith(operand, sizes), ValueRange()));
      operands.map(operand, placeholders.back()->getResult(0));
    }
  Operation *copy = builder.clone(*op, operands);
  for (auto [result, original] : llvm::zip_equal(copy->getResults(), op->getResults()))
    result.setType(typeWith(original, sizes));
  if (auto windowed = dyn_cast<WindowAttributeOpInterface>(copy))
    windowed.keepWhole(cast<RankedTensorType>(op->getOperand(0).getType()));
  auto localizable = dyn_cast<LocalizableOpInterface>(copy);
  const bool hasThem = (!localizable || isa<DeclaredTypeOpInterface>(copy) ||
                        succeeded(localizable.localize(op->getOperandTypes(), op->getResultTypes()))) &&
                       infersItsTypes(copy) && hasRuleWith(copy, op, sizes) && isDecomposedWith(copy, op, sizes);
  const DictionaryAttr attributes = copy->getAttrDictionary();
  copy->erase();
  for (Operation *each : placeholders)
    each->erase();
  return hasThem ? std::optional(attributes) : std::nullopt;
}

/// About twice the size, with which windows slide alike.
std::optional<int64_t> DimensionClasses::otherSize(Part part) const {
  const int64_t size = nodes[part].size;
  for (int64_t other = 2 * size; other <= 4 * size; ++other)
    if (slidesAlike(part, {{part, other}}))
      return other;
  return std::nullopt;
}

/// Fixes the parts that an operation cannot have larger, with what follows from them.
void DimensionClasses::test(Operation *op) {
  if (!isa<ShardingRuleOpInterface, DecomposableOpInterface>(op))
    return;
  llvm::SetVector<Part> parts;
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      for (Part part : leaves(dimsOf(value)))
        parts.insert(sourceOf(part));
  for (Part part : parts) {
    if (nodes[part].isFixed)
      continue;
    const std::optional<int64_t> other = otherSize(part);
    nodes[part].isFixed = !other || !attributesWith(op, {{part, *other}});
  }
}

} // namespace dgc
