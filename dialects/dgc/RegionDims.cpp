// Which dimensions of a loop or a branch may be cut over devices.

#include "dialects/dgc/RegionDims.h"
#include "dialects/dgc/TensorUtil.h"

using namespace mlir;
using namespace dgc;

RegionDims::RegionDims(Operation *op) : op(op) {
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
}

/// A value that is given twice is cut in one way: it is one.
void RegionDims::add(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !firstDim.try_emplace(value, mixed.size()).second)
    return;
  values.push_back(value);
  mixed.append(type.getRank(), false);
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
  ShardingRule rule = ruled.getShardingRule();
  SmallVector<int64_t> dimOfFactor(rule.factors.size(), -1);
  auto visit = [&](Value value, const TensorFactors &shape) {
    for (auto [i, factors] : llvm::enumerate(shape.dims)) {
      const unsigned dim = first(value) + i;
      const int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(i);
      if (factors.size() != 1 || rule.factors[factors[0]].kind != FactorKind::PassThrough ||
          rule.factors[factors[0]].moves || rule.factors[factors[0]].size != size) {
        mix(dim);
        continue;
      }
      int64_t &known = dimOfFactor[factors[0]];
      if (known >= 0)
        join(known, dim);
      known = dim;
    }
  };
  for (auto [value, shape] : llvm::zip_equal(inner->getOperands(), rule.operands))
    visit(value, shape);
  for (auto [value, shape] : llvm::zip_equal(inner->getResults(), rule.results))
    visit(value, shape);
  // What depends on its place would have to be told where the part is.
  if (auto positional = dyn_cast<PositionalOpInterface>(inner)) {
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
  for (auto [dim, isMixed] : llvm::enumerate(mixed))
    if (isMixed)
      byClass[classes[dim]] = true;
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
        builder.factor(placesOf(op->getOperands(), one), placesOf(op->getResults(), one), type.getDimSize(dim));
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
  SmallVector<int64_t> sizes(classes.getNumClasses(), -1); // of the classes that are cut
  auto read = [&](ValueRange locals, TypeRange globals) {
    for (auto [local, global] : llvm::zip_equal(locals, globals))
      if (auto type = dyn_cast<RankedTensorType>(global))
        for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(local.getType()).getShape()))
          if (size != type.getDimSize(dim))
            sizes[classes[first(local) + dim]] = size;
  };
  read(op->getOperands(), globalOperands);
  read(op->getResults(), globalResults);
  if (llvm::all_of(sizes, [](int64_t size) { return size < 0; }))
    return success();
  auto localType = [&](Value value) -> Type {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return value.getType();
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, size] : llvm::enumerate(shape))
      if (int64_t cut = sizes[classes[first(value) + dim]]; cut >= 0)
        size = cut;
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
