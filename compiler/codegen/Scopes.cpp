//===- Scopes.cpp - where code is written -----------------------------------===//

#include "compiler/codegen/ElementEmitter.h"

using namespace mlir;

namespace dgc {

void ElementEmitter::enter(Block *block, bool conditional) {
  scopes.emplace_back(block, conditional);
  moveTo(scopes.size() - 1);
}

void ElementEmitter::leave() {
  scopes.pop_back();
  if (!scopes.empty())
    moveTo(scopes.size() - 1);
}

void ElementEmitter::moveTo(unsigned level) {
  current = level;
  if (Operation *before = scopes[level].before)
    builder.setInsertionPoint(before);
  else
    builder.setInsertionPointToEnd(scopes[level].block);
}

ElementEmitter::Key ElementEmitter::keyOf(Value value, ArrayRef<AffineExpr> index) const {
  return {value.getAsOpaquePointer(), AffineMap::get(kMaxDims, kMaxSymbols, index, context)};
}

Value ElementEmitter::lookup(Key key) const {
  for (int level = current; level >= 0; --level)
    if (Value value = scopes[level].values.lookup(key))
      return value;
  return {};
}

void ElementEmitter::remember(Value value, ArrayRef<AffineExpr> index, Value scalarValue) {
  scopes[current].values[keyOf(value, index)] = scalarValue;
}

/// The outermost scope in which everything that an index depends on is known.
unsigned ElementEmitter::levelOf(ArrayRef<AffineExpr> index) const {
  unsigned level = floor;
  for (AffineExpr expr : index)
    expr.walk([&](AffineExpr inner) {
      if (auto dim = dyn_cast<AffineDimExpr>(inner))
        level = std::max(level, dimLevel[dim.getPosition()]);
      else if (isa<AffineSymbolExpr>(inner))
        level = current;
    });
  // Not above a condition: what is guarded stays guarded.
  for (unsigned i = current + 1; i-- > level + 1;)
    if (scopes[i].conditional)
      return std::max(level, i);
  return std::min(level, current);
}

scf::ForOp ElementEmitter::loop(Value lower, Value upper, ValueRange init, bool parallel, int64_t step) {
  auto loopOp = scf::ForOp::create(builder, loc, lower, upper, constant(step), init);
  if (parallel) {
    auto group = LLVM::AccessGroupAttr::get(context, DistinctAttr::create(builder.getUnitAttr()));
    groups.push_back(group);
    loopOp->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                                                                     {}, {}, {}, {}, {group}));
  }
  if (init.empty())
    loopOp.getBody()->getTerminator()->erase();
  scopes[current].before = loopOp;
  enter(loopOp.getBody());
  return loopOp;
}

void ElementEmitter::bind(unsigned dim, Value index) {
  dims[dim] = index;
  dimLevel[dim] = current;
}

void ElementEmitter::closeLoop() {
  leave();
  scopes[current].before = nullptr;
  moveTo(current);
}

void ElementEmitter::when(Value condition, llvm::function_ref<void()> inside) {
  if (!condition)
    return inside();
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  branch.thenBlock()->getTerminator()->erase();
  Operation *outer = scopes[current].before;
  scopes[current].before = branch;
  enter(branch.thenBlock(), /*conditional=*/true);
  inside();
  scf::YieldOp::create(builder, loc);
  closeLoop();
  scopes[current].before = outer;
  moveTo(current);
}

} // namespace dgc
