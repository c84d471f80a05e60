// Which dimensions of a loop or a branch may be cut over devices.

#include "dialects/dgc/RegionDims.h"
#include "dialects/dgc/TensorUtil.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace dgc;

bool dgc::isLinearIn(Operation *op, ArrayRef<unsigned> partial) {
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  if (!rule || op->getNumResults() == 0)
    return false;
  size_t numbers = llvm::count_if(op->getOperandTypes(), [&](Type type) { // and not what chooses among them, or a place
    auto tensor = dyn_cast<RankedTensorType>(type), result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    return tensor && result && tensor.getElementType() == result.getElementType();
  });
  return (partial.size() == numbers && rule.isLinearIn(-1)) || (partial.size() == 1 && rule.isLinearIn(partial[0]));
}

RegionDims::RegionDims(RegionTiesOpInterface op, bool isCut) : op(op), ties(op.getRegionTies()), dependsOnPlace(isCut) {
  for (Value operand : op->getOperands())
    add(operand);
  for (Value result : op->getResults())
    add(result);
  for (Region &region : op->getRegions()) {
    for (Value argument : region.getArguments())
      add(argument);
    for (Operation &inner : region.getOps())
      for (Value result : inner.getResults())
        add(result);
  }
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front().without_terminator())
      relate(&inner);
  for (const RegionTies::Same &each : ties.same)
    tie(each.outside, each.inside);
  for (const RegionTies::Sliced &each : ties.sliced)
    tieSlice(each.whole, each.slice, each.dim);
  for (const RegionTies::Carried &each : ties.carried) {
    for (Value value : each.inside)
      tie(each.first, value);
    tie(each.first, each.next);
    tie(each.first, each.result);
  }
}

/// A value that is given twice is cut in one way: it is one.
void RegionDims::add(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !firstDim.try_emplace(value, mixed.size()).second)
    return;
  values.push_back(value);
  mixed.append(type.getRank(), false);
  llvm::append_range(major, type.getShape());
}

void RegionDims::tie(Value a, Value b) {
  auto type = dyn_cast<RankedTensorType>(a.getType());
  for (unsigned dim = 0; type && dim < type.getRank(); ++dim)
    join(first(a) + dim, first(b) + dim);
}

void RegionDims::tieSlice(Value whole, Value slice, int64_t dim) {
  auto type = dyn_cast<RankedTensorType>(slice.getType());
  if (!type)
    return;
  mix(first(whole) + dim);
  for (int64_t i = 0; i < type.getRank(); ++i)
    join(first(slice) + i, first(whole) + i + (i >= dim ? 1 : 0));
}

void RegionDims::mixAll(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (unsigned dim = 0; type && dim < type.getRank(); ++dim)
    mix(first(value) + dim);
}

void RegionDims::relate(Operation *inner) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(inner);
  if (!ruled) {
    for (Value value : inner->getOperands())
      mixAll(value);
    for (Value value : inner->getResults())
      mixAll(value);
    return;
  }
  auto nested = dyn_cast<RegionTiesOpInterface>(inner);
  ShardingRule rule = nested ? RegionDims(nested, dependsOnPlace).rule() : ruled.getShardingRule();
  SmallVector<int64_t> dimOfFactor(rule.factors.size(), -1);
  llvm::SmallDenseSet<unsigned> minor; // factors that others are before in a dimension
  for (const TensorFactors &shape : llvm::concat<const TensorFactors>(rule.operands, rule.results))
    for (ArrayRef<unsigned> factors : shape.dims)
      if (!factors.empty())
        minor.insert_range(factors.drop_front());
  auto mayCut = [&](ArrayRef<unsigned> factors, int64_t size) {
    if (factors.empty() || minor.contains(factors[0]))
      return false;
    const Factor &factor = rule.factors[factors[0]];
    const bool isSum = factor.kind == FactorKind::Reduction && factor.reduction == ReductionKind::Sum;
    return (isSum || factor.kind == FactorKind::PassThrough) && !factor.moves &&
           (factors.size() > 1 || factor.size == size);
  };
  auto visit = [&](Value value, const TensorFactors &shape) {
    for (auto [i, factors] : llvm::enumerate(shape.dims)) {
      const unsigned dim = first(value) + i;
      if (!mayCut(factors, cast<RankedTensorType>(value.getType()).getDimSize(i))) {
        mix(dim);
        continue;
      }
      major[dim] = std::gcd(major[dim], rule.factors[factors[0]].size);
      int64_t &known = dimOfFactor[factors[0]];
      if (known >= 0)
        join(known, dim);
      else if (rule.factors[factors[0]].kind == FactorKind::Reduction)
        sums.push_back({inner, dim});
      known = dim;
    }
  };
  for (auto [value, shape] : llvm::zip_equal(inner->getOperands(), rule.operands))
    visit(value, shape);
  for (auto [value, shape] : llvm::zip_equal(inner->getResults(), rule.results))
    visit(value, shape);
  // What depends on its place would have to be told where the part is.
  if (auto positional = dyn_cast<PositionalOpInterface>(inner); positional && dependsOnPlace) {
    const int operand = positional.getPositionedOperand();
    Value value = operand < 0 ? Value(inner->getResult(0)) : inner->getOperand(operand);
    for (int64_t dim = 0, rank = cast<RankedTensorType>(value.getType()).getRank(); dim < rank; ++dim)
      if (positional.isPositionedAlong(dim))
        mix(first(value) + dim);
  }
}

/// Joins what is to be joined. A class with two dimensions of one value is mixed: one of them would be cut twice.
void RegionDims::settle() {
  classes.clear();
  classes.grow(mixed.size());
  for (auto [a, b] : joined)
    classes.join(a, b);
  classes.compress();
  SmallVector<bool> byClass(classes.getNumClasses(), false);
  SmallVector<int64_t> sizes(classes.getNumClasses(), 0);
  for (auto [dim, isMixed] : llvm::enumerate(mixed)) {
    if (isMixed)
      byClass[classes[dim]] = true;
    sizes[classes[dim]] = std::gcd(sizes[classes[dim]], major[dim]);
  }
  for (Value value : values) {
    SmallVector<unsigned, 4> seen;
    for (unsigned dim = 0, rank = cast<RankedTensorType>(value.getType()).getRank(); dim < rank; ++dim) {
      const unsigned one = classes[first(value) + dim];
      if (llvm::is_contained(seen, one))
        byClass[one] = true;
      seen.push_back(one);
    }
  }
  mixed = byClass;
  major = sizes;
  // Of what the op itself has, only whole dimensions are cut.
  auto keepWhole = [&](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (auto [dim, size] : llvm::enumerate(type.getShape()))
        if (const unsigned one = classes[first(value) + dim]; major[one] != size)
          mixed[one] = true;
  };
  llvm::for_each(op->getOperands(), keepWhole);
  llvm::for_each(op->getResults(), keepWhole);
  for (Value value : values)
    for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(value.getType()).getShape()))
      if (const unsigned one = classes[first(value) + dim]; major[one] != size)
        larger.insert(one);
  for (auto [inner, dim] : sums)
    summed.insert(classes[dim]);
  for (unsigned one : summed)
    if (!mixed[one] && !sumsUp(one))
      mixed[one] = true;
}

bool RegionDims::isCut(Value value, unsigned one) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (unsigned dim = 0; type && dim < type.getRank(); ++dim)
    if (classes[first(value) + dim] == one)
      return true;
  return false;
}

/// The values in the regions that are addends on each device where a class is cut: sums over it, and what follows from them.
DenseSet<Value> RegionDims::addends(unsigned one) const {
  DenseSet<Value> result;
  for (auto [inner, dim] : sums)
    if (classes[dim] == one)
      result.insert_range(inner->getResults());
  for (size_t before = 0; before != result.size();) {
    before = result.size();
    for (Region &region : op->getRegions())
      for (Operation &inner : region.front().without_terminator())
        if (llvm::any_of(inner.getOperands(), [&](Value operand) { return result.contains(operand); }))
          result.insert_range(inner.getResults());
    for (const RegionTies::Carried &each : ties.carried)
      if (result.contains(each.next))
        result.insert_range(each.inside);
  }
  return result;
}

Value dgc::behindShardings(Value value) {
  for (Operation *op = value.getDefiningOp(); op && op->getDialect() && op->getDialect()->getNamespace() == "dist" &&
                                              op->getNumOperands() == 1 && op->getNumResults() == 1;
       op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

bool dgc::isZeros(Value value) {
  value = behindShardings(value);
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// True where all that is added up along a class ends, as a sum from zero on, in what the loop carries and gives.
bool RegionDims::sumsUp(unsigned one) const {
  const DenseSet<Value> partial = addends(one);
  auto isPartial = [&](Value value) { return partial.contains(value); };
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front().without_terminator()) {
      if (llvm::none_of(inner.getResults(), isPartial))
        continue;
      if (llvm::any_of(inner.getResults(), [&](Value result) { return isCut(result, one); }))
        return false;
      SmallVector<unsigned> operands;
      for (OpOperand &operand : inner.getOpOperands())
        if (isPartial(operand.get()))
          operands.push_back(operand.getOperandNumber());
      // Neither a function of a sum that is not linear, nor a sum over products of addends.
      if (!operands.empty() && (!isLinearIn(&inner, operands) ||
                                llvm::any_of(inner.getOperands(), [&](Value operand) { return isCut(operand, one); })))
        return false;
    }
  DenseSet<Value> carriedOn, given;
  for (const RegionTies::Carried &each : ties.carried)
    if (isPartial(each.next)) {
      if (!isZeros(each.first))
        return false;
      carriedOn.insert(each.next);
      given.insert(each.result);
    }
  // Every other result is cut, as the rule says that what is not cut is an addend.
  return llvm::all_of(
             op->getResults(),
             [&](Value result) { return result.use_empty() || given.contains(result) != isCut(result, one); }) &&
         llvm::all_of(op->getRegions(), [&](Region &region) {
           return llvm::all_of(region.front().getTerminator()->getOperands(),
                               [&](Value value) { return !isPartial(value) || carriedOn.contains(value); });
         });
}

ShardingRule RegionDims::rule() {
  settle();
  ShardingRuleBuilder builder(op);
  auto placesOf = [&](ValueRange among, unsigned wanted) {
    return llvm::map_to_vector(among, [&](Value value) -> int64_t {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      for (unsigned dim = 0; type && dim < type.getRank(); ++dim)
        if (classes[first(value) + dim] == wanted)
          return dim;
      return -1;
    });
  };
  llvm::SmallDenseSet<unsigned> done;
  auto visit = [&](Value value, bool isResult, unsigned index) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    for (unsigned dim = 0; type && dim < type.getRank(); ++dim) {
      const unsigned one = classes[first(value) + dim];
      if (mixed[one]) {
        SmallVector<int64_t> operands(op->getNumOperands(), -1), results(op->getNumResults(), -1);
        (isResult ? results : operands)[index] = dim;
        builder.factor(operands, results, type.getDimSize(dim), FactorKind::NeedReplication);
      } else if (done.insert(one).second) {
        SmallVector<int64_t> operands = placesOf(op->getOperands(), one), results = placesOf(op->getResults(), one);
        const bool isSum = summed.contains(one);
        builder.factor(operands, results, type.getDimSize(dim),
                       isSum ? FactorKind::Reduction : FactorKind::PassThrough);
        // Padding would be added up, and would be in the midst of larger dimensions. With another factor behind it, it is
        // cut into equal parts alone.
        if (isSum || larger.contains(one))
          builder.factor(operands, results, 1, FactorKind::NeedReplication);
      }
    }
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    visit(operand, /*isResult=*/false, i);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    visit(result, /*isResult=*/true, i);
  return builder.build();
}

LogicalResult RegionDims::localize(TypeRange globalOperands, TypeRange globalResults) {
  settle();
  struct Cut {
    int64_t global = 0, local = 0;
  };
  SmallVector<Cut> cuts(classes.getNumClasses());
  bool isAnyCut = false;
  auto read = [&](ValueRange locals, TypeRange globals) {
    for (auto [local, global] : llvm::zip_equal(locals, globals))
      if (auto type = dyn_cast<RankedTensorType>(global))
        for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(local.getType()).getShape()))
          if (const int64_t whole = type.getDimSize(dim); size != whole) {
            cuts[classes[first(local) + dim]] = {whole, size};
            isAnyCut = true;
          }
  };
  read(op->getOperands(), globalOperands);
  read(op->getResults(), globalResults);
  if (!isAnyCut)
    return success();
  auto localType = [&](Value value) -> Type {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return value.getType();
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, size] : llvm::enumerate(shape))
      if (const Cut &cut = cuts[classes[first(value) + dim]]; cut.global != 0)
        size = size == cut.global ? cut.local : size / cut.global * cut.local;
    return type.clone(shape);
  };
  struct Global {
    Operation *inner;
    SmallVector<Type> operands, results;
  };
  SmallVector<Global> globals;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      globals.push_back(
          {&inner, SmallVector<Type>(inner.getOperandTypes()), SmallVector<Type>(inner.getResultTypes())});
  for (Value value : values)
    if (value.getParentBlock() != op->getBlock())
      value.setType(localType(value));
  for (const Global &global : globals)
    if (auto localizable = dyn_cast<LocalizableOpInterface>(global.inner))
      if (failed(localizable.localize(global.operands, global.results)))
        return failure();
  return success();
}
