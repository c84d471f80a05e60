#include "compiler/verify/Shrink.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "passes/model/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dgc {

//===-- The model -------------------------------------------------------===//

/// The products of some of the numbers, but for 1.
static SmallVector<int64_t> productsOf(ArrayRef<int64_t> numbers) {
  std::set<int64_t> products = {1};
  for (int64_t number : numbers)
    if (number > 1)
      for (int64_t product : std::set<int64_t>(products))
        products.insert(product * number);
  return SmallVector<int64_t>(std::next(products.begin()), products.end());
}

void Shrinker::findModuli(const CompilePlan &plan) {
  SmallVector<int64_t> divisors = {plan.strategies.servers()};
  for (const MeshShape::Axis &axis : plan.mesh.axes)
    if (axis.name != dist::kStageAxis)
      divisors.push_back(axis.size);
  moduli = productsOf(divisors);
  divisors.push_back(plan.strategies.accumulate ? plan.strategies.accumulate : plan.asked.microbatches.value);
  batchModuli = productsOf(divisors);
  for (const DimensionClasses::Dim &dim : batchDims)
    for (Part part : classes->partsOf(dim))
      batchParts.insert(part);
}

LogicalResult Shrinker::inferTypes(int64_t batch) {
  PassManager manager(typed->getContext());
  manager.addPass(createInferTypesPass({.batch = batch}));
  return manager.run(*typed);
}

FailureOr<std::unique_ptr<Shrinker>> Shrinker::create(ModuleOp module, const CompilePlan &plan) {
  std::unique_ptr<Shrinker> result(new Shrinker());
  result->flat = module.clone();
  auto models = result->flat->getOps<ModelOp>();
  if (!llvm::hasSingleElement(models))
    return module.emitError("cannot be shrunk: it is no dgc.model, whose types are inferred");
  PassManager manager(module.getContext());
  manager.addPass(createUnifyMeshesPass());
  manager.addPass(createInlineCallsPass());
  manager.addPass(createUnrollRepeatsPass());
  if (failed(manager.run(*result->flat)))
    return failure();
  IRMapping copies;
  result->typed = cast<ModuleOp>(result->flat->getOperation()->clone(copies));
  if (failed(result->inferTypes(plan.asked.batch.value)))
    return failure();
  for (Operation &op : (*models.begin()).getBody().getOps()) {
    Operation *copy = copies.lookupOrNull(&op);
    if (auto declares = dyn_cast<DeclaredTypeOpInterface>(op); declares && declares.getDeclared()) {
      result->declared.emplace_back(declares, copy);
      if (std::optional<int64_t> dim = declares.getBatchDim())
        result->batchDims.push_back({copy->getResult(0), *dim});
    } else if (isa<LocalizableOpInterface, WindowAttributeOpInterface>(op)) {
      result->adapting.emplace_back(&op, copy);
    }
  }
  result->classes = std::make_unique<DimensionClasses>(*result->typed->getOps<ModelOp>().begin(), result->batchDims);
  result->findUses();
  result->findModuli(plan);
  return result;
}

//===-- Sizes -----------------------------------------------------------===//

static constexpr int kTries = 8; // to find one size for what has one

/// How many of `parts` equal parts of a dimension have an element.
static int64_t numFilled(int64_t size, int64_t parts) { return llvm::divideCeil(size, llvm::divideCeil(size, parts)); }

/// Whether a dimension is divided as before.
bool Shrinker::behaves(const std::vector<Part> &product, int64_t size) const {
  const int64_t original = classes->sizeOf(product, Sizes());
  const bool isOfBatch = llvm::any_of(product, [&](Part part) { return batchParts.contains(part); });
  return (size > 1) == (original > 1) && llvm::all_of(isOfBatch ? batchModuli : moduli, [&](int64_t divisor) {
           return (size % divisor == 0) == (original % divisor == 0) &&
                  (llvm::divideCeil(size, divisor) > 1) == (llvm::divideCeil(original, divisor) > 1) &&
                  numFilled(size, divisor) == numFilled(original, divisor);
         });
}

void Shrinker::findUses() {
  for (auto [op, copy] : declared)
    for (int64_t dim = 0, rank = op.getDeclared().getRank(); dim < rank; ++dim) {
      const DimensionClasses::Product product = classes->partsOf({copy->getResult(0), dim});
      for (Part part : product)
        if (!classes->isFixed(part))
          uses[classes->sourceOf(part)].insert({product.begin(), product.end()});
    }
}

/// The least size of a part with which every dimension that follows from it behaves as before, windows slide as before, and
/// the largest of these dimensions is above `above`.
int64_t Shrinker::sizeFor(Part part, const Sizes &sizes, int64_t least, int64_t above) {
  const int64_t original = classes->sizeOf(part);
  Sizes with = sizes;
  for (int64_t size = least; size < original; ++size) {
    with[part] = size;
    int64_t largest = 0;
    const bool fits = llvm::all_of(uses[part], [&](const std::vector<Part> &product) {
      const int64_t now = classes->sizeOf(product, with);
      largest = std::max(largest, now);
      return behaves(product, now);
    });
    if (fits && largest > above && classes->slidesAlike(part, with))
      return size;
  }
  return original;
}

/// The largest dimension that has a part.
int64_t Shrinker::largestOf(Part part, const Sizes &sizes) {
  int64_t largest = 0;
  for (const std::vector<Part> &product : uses[part])
    largest = std::max(largest, classes->sizeOf(product, sizes));
  return largest;
}

/// First what windows slide over; then from the least dimension to the largest. Dimensions of one size remain of one size if
/// that can be, and so do parts of dimensions: shapes that are equal are so in the smaller model, too.
Shrinker::Sizes Shrinker::choose(int64_t least) {
  Sizes sizes;
  std::map<int64_t, std::vector<Part>> byDimension; // the largest that has the part
  for (const auto &[part, products] : uses)
    if (classes->hasWindows(part))
      sizes[part] = sizeFor(part, sizes, least, 0);
    else
      byDimension[largestOf(part, Sizes())].push_back(part);
  int64_t above = 0;
  std::map<int64_t, int64_t> chosen; // by dimension: what it becomes
  for (const auto &[dimension, parts] : byDimension) {
    for (int64_t divisor : moduli) // a part of it is as large as a part, or all, of another dimension
      if (auto whole = chosen.find(dimension / divisor); dimension % divisor == 0 && whole != chosen.end())
        above = std::max(above, whole->second * divisor - 1);
    std::set<int64_t> reached; // what the dimension becomes, for each part
    auto chooseAbove = [&](int64_t bound) {
      for (Part part : parts)
        sizes[part] = sizeFor(part, sizes, least, bound);
      reached.clear();
      for (Part part : parts)
        reached.insert(largestOf(part, sizes));
    };
    chooseAbove(above);
    for (int tries = 1; tries < kTries && reached.size() > 1; ++tries)
      chooseAbove(*reached.rbegin() - 1);
    if (reached.size() > 1)
      chooseAbove(above);
    above = *reached.rbegin();
    chosen[dimension] = above;
  }
  return sizes;
}

FailureOr<ShrunkModel> Shrinker::shrink(int64_t least) {
  const Sizes sizes = choose(least);
  ShrunkModel result;
  IRMapping copies;
  result.module = cast<ModuleOp>(flat->getOperation()->clone(copies));
  std::map<int64_t, std::set<int64_t>> changes;
  for (auto [op, typedOp] : declared) {
    const auto before = cast<RankedTensorType>(typedOp->getResult(0).getType());
    const RankedTensorType type = classes->typeWith(typedOp->getResult(0), sizes);
    if (type == before)
      continue;
    auto copy = cast<DeclaredTypeOpInterface>(copies.lookup(op.getOperation()));
    if (failed(copy.declareShape(type.getShape())))
      return copy->emitOpError("cannot have other sizes"), failure();
    for (auto [was, is] : llvm::zip_equal(before.getShape(), type.getShape()))
      if (was != is)
        changes[was].insert(is);
  }
  for (auto [op, typedOp] : adapting) {
    std::optional<DictionaryAttr> attributes = classes->attributesWith(typedOp, sizes);
    if (!attributes)
      return op->emitOpError("cannot have other sizes"), failure();
    if (*attributes != typedOp->getAttrDictionary())
      copies.lookup(op)->setAttrs(*attributes);
  }
  if (!batchDims.empty())
    result.batch = classes->typeWith(batchDims[0].value, sizes).getDimSize(batchDims[0].dim);
  for (const auto &[was, is] : changes) {
    result.sizes += (result.sizes.empty() ? "" : ", ") + std::to_string(was) + " -> ";
    llvm::raw_string_ostream stream(result.sizes);
    llvm::interleave(is, stream, " or ");
  }
  return result;
}

} // namespace dgc
