//===- TileEmitter.cpp - elementwise segments that transpose, on GPUs --------===//

#include "compiler/target/cuda/TileEmitter.h"
#include "compiler/target/cuda/GridEmitter.h"
#include "compiler/target/cuda/Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// Rows of a tile that the warps of a block take at the same time.
static constexpr int64_t kRows = kBlock / kWarp;

/// Memory of the block for tiles. A block has one segment, so those of a grid share it.
Value TileEmitter::tileMemory() {
  if (!memoryOfTiles)
    memoryOfTiles = shared("tile", builder.getI8Type(), sharedTileBytes);
  return memoryOfTiles;
}

/// The adjacent points of a row of the tile that a thread takes along one side. Those past the end of a loop are
/// the last ones of it, so that all that is read is there. Returns whether the row's points are such as are stored;
/// null: they are.
Value TileEmitter::bindRow(const Side &along, const Side &across, int64_t number) {
  row = number;
  step = 0;
  steps = geometry.vector;
  steppedDim = along.dim;
  Value isValid;
  auto inside = [&](Value at, int64_t trips, int64_t vector) {
    if (trips % (kWarp * geometry.vector) == 0)
      return at;
    Value is = below(at, trips);
    isValid = isValid ? arith::AndIOp::create(builder, loc, isValid, is) : is;
    return atMost(at, trips - vector);
  };
  steppedFrom = inside(plus(along.first, column), along.trips, steps);
  bind(along.dim, steppedFrom);
  Value at = plus(across.first, firstRow);
  bind(across.dim, inside(number == 0 ? at : plus(at, constant(number * kRows)), across.trips, 1));
  return isValid;
}

/// Goes to point `step` of a thread's points of a row.
void TileEmitter::nextStep(const Side &along) {
  scopes[current].values.clear();
  if (step > 0)
    bind(along.dim, plus(steppedFrom, constant(step)));
}

/// Reads the operands that are contiguous along `from` into shared memory.
void TileEmitter::stage(const Side &from, const Side &to) {
  AffineExpr mine = symbolFor(plus(times(firstRow, tilePitch(geometry)), column));
  int64_t offset = 0;
  for (const Access &access : geometry.staged) {
    Type type = elementOf(access.base);
    Value memory = baseOf(access.base);
    SmallVector<Value> elements; // all are on their way before the first is waited for
    for (int64_t number = 0; number < kWarp * geometry.vector / kRows; ++number) {
      enter(scopes[current].block);
      bindRow(from, to, number);
      for (; step < steps; ++step) {
        nextStep(from);
        elements.push_back(ElementEmitter::load(memory, type, access.linear));
      }
      leave();
    }
    steps = 1;
    step = 0;
    Value tile = addressOf(tileMemory(), builder.getI8Type(), getAffineConstantExpr(offset, context));
    for (auto [i, element] : llvm::enumerate(elements)) {
      int64_t number = i / geometry.vector, place = i % geometry.vector;
      store(element, tile, mine + number * kRows * tilePitch(geometry) + place, type);
    }
    tileOf[{memory, access.linear}] = {tile, type};
    offset += tileBytes(geometry, access.base);
  }
}

/// An element of a staged array is in the tile.
Value TileEmitter::load(Value memory, Type type, AffineExpr linear) {
  auto it = tileOf.find({memory, linear});
  if (it == tileOf.end())
    return ElementEmitter::load(memory, type, linear);
  AffineExpr at = symbolFor(firstInTile) + step * tilePitch(geometry) + row * kRows;
  return ElementEmitter::load(it->second.memory, it->second.type, at);
}

/// A block for each tile. Its threads read the operands that are contiguous along `from` in that order; then they take
/// the points in the order in which the result is contiguous.
void TileEmitter::tiles(const Segment &segment, Value block) {
  const LoopNest &nest = segment.nests.front();
  bindInner(nest, {});
  bindLinear(geometry.outer, geometry.trips, divide(block, geometry.tiles), 1);
  int64_t side = kWarp * geometry.vector, inRow = llvm::divideCeil(geometry.innerTrips[1], side);
  Value tile = modulo(block, geometry.tiles);
  Side from{geometry.inner[0], geometry.innerTrips[0], times(divide(tile, inRow), side)};
  Side to{geometry.inner[1], geometry.innerTrips[1], times(modulo(tile, inRow), side)};
  column = times(modulo(thread, kWarp), geometry.vector);
  firstRow = divide(thread, kWarp);
  firstInTile = plus(times(column, tilePitch(geometry)), firstRow);

  tileOf.clear();
  stage(from, to);
  call(device_function::barrier, {});

  SmallVector<Running> running;
  for (unsigned root : nest.roots)
    running.push_back({root, {}});
  SmallVector<std::pair<Value, SmallVector<Pending>>> rows;
  for (int64_t number = 0; number < side / kRows; ++number) {
    enter(scopes[current].block);
    rows.push_back({bindRow(to, from, number), {}});
    for (; step < steps; ++step) {
      nextStep(to);
      SmallVector<Store> stores = point(running);
      rows.back().second.push_back({dims, steppedFrom, step, std::move(stores)});
    }
    leave();
  }
  tileOf.clear();
  for (auto &[isValid, pending] : rows)
    storeAll(geometry.vector, pending, isValid);
}

} // namespace dgc
