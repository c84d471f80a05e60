//===- TileSegment.cpp - elementwise segments that transpose, on GPUs --------===//

#include "compiler/target/cuda/GridCode.h"
#include "compiler/target/cuda/Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

/// Rows of a tile that the warps of a block take at the same time.
static constexpr int64_t kRows = kBlock / kWarp;

namespace {
class TileEmitter {
public:
  explicit TileEmitter(GridCode &grid)
      : grid(grid), code(grid.code), group(grid.group), geometry(group.geometry), builder(code.builder), loc(code.loc),
        tile(grid.memory.tile) {}

  void emit(const Segment &segment, Value block);

private:
  /// A side of the tile: a loop, and the index at which the tile begins.
  struct Side {
    unsigned dim;
    int64_t trips;
    Value first;
  };

  Value bindRow(const Side &along, const Side &across, int64_t number);
  void nextStep(const Side &along);
  void stage(const Side &from, const Side &to);

  GridCode &grid;
  ElementEmitter &code;
  ThreadGroup &group;
  const ThreadGeometry &geometry;
  OpBuilder &builder;
  Location loc;
  StagedTile &tile;
  Value column, firstRow; // of a thread in a tile
};
} // namespace

/// The adjacent points of a row of the tile that a thread takes along one side. Those past the end of a loop are
/// the last ones of it, so that all that is read is there. Returns whether the row's points are such as are stored;
/// null: they are.
Value TileEmitter::bindRow(const Side &along, const Side &across, int64_t number) {
  tile.row = number;
  code.steps.current = 0;
  code.steps.count = geometry.vector;
  code.steps.dim = along.dim;
  Value isValid;
  auto inside = [&](Value at, int64_t trips, int64_t vector) {
    if (trips % (kWarp * geometry.vector) == 0)
      return at;
    Value is = code.below(at, trips);
    isValid = isValid ? arith::AndIOp::create(builder, loc, isValid, is) : is;
    return code.atMost(at, trips - vector);
  };
  code.steps.first = inside(code.plus(along.first, column), along.trips, code.steps.count);
  code.bind(along.dim, code.steps.first);
  Value at = code.plus(across.first, firstRow);
  code.bind(across.dim, inside(number == 0 ? at : code.plus(at, code.constant(number * kRows)), across.trips, 1));
  return isValid;
}

/// Goes to point `step` of a thread's points of a row.
void TileEmitter::nextStep(const Side &along) {
  code.scopes[code.current].values.clear();
  if (code.steps.current > 0)
    code.bind(along.dim, code.plus(code.steps.first, code.constant(code.steps.current)));
}

/// Reads the operands that are contiguous along `from` into shared memory.
void TileEmitter::stage(const Side &from, const Side &to) {
  AffineExpr mine = code.symbolFor(code.plus(code.times(firstRow, tilePitch(geometry)), column));
  int64_t offset = 0;
  for (const Access &access : geometry.staged) {
    Type type = elementOf(access.base);
    Value memory = code.baseOf(access.base);
    SmallVector<Value> elements; // all are on their way before the first is waited for
    for (int64_t number = 0; number < kWarp * geometry.vector / kRows; ++number) {
      code.enter(code.scopes[code.current].block);
      bindRow(from, to, number);
      for (; code.steps.current < code.steps.count; ++code.steps.current) {
        nextStep(from);
        elements.push_back(code.load(memory, type, access.linear));
      }
      code.leave();
    }
    code.steps.count = 1;
    code.steps.current = 0;
    Value memoryOfTile =
        code.addressOf(grid.tileMemory(), builder.getI8Type(), getAffineConstantExpr(offset, code.context));
    for (auto [i, element] : llvm::enumerate(elements)) {
      int64_t number = i / geometry.vector, place = i % geometry.vector;
      code.store(element, memoryOfTile, mine + number * kRows * tilePitch(geometry) + place, type);
    }
    tile.memoryOf[{memory, access.linear}] = memoryOfTile;
    offset += tileBytes(geometry, access.base);
  }
}

/// A block for each tile. Its threads read the operands that are contiguous along `from` in that order; then they take
/// the points in the order in which the result is contiguous.
void TileEmitter::emit(const Segment &segment, Value block) {
  const LoopNest &nest = segment.nests.front();
  grid.bindInner(nest, {});
  grid.bindLinear(geometry.outer, geometry.trips, code.divide(block, geometry.tiles), 1);
  int64_t side = kWarp * geometry.vector, inRow = llvm::divideCeil(geometry.innerTrips[1], side);
  Value number = code.modulo(block, geometry.tiles);
  Side from{geometry.inner[0], geometry.innerTrips[0], code.times(code.divide(number, inRow), side)};
  Side to{geometry.inner[1], geometry.innerTrips[1], code.times(code.modulo(number, inRow), side)};
  column = code.times(code.modulo(group.thread, kWarp), geometry.vector);
  firstRow = code.divide(group.thread, kWarp);
  tile.first = code.plus(code.times(column, tilePitch(geometry)), firstRow);

  tile.pitch = tilePitch(geometry);
  tile.rowStep = kRows;
  tile.memoryOf.clear();
  stage(from, to);
  group.blockBarrier();

  SmallVector<Running> running;
  for (unsigned root : nest.roots)
    running.push_back({root, {}});
  SmallVector<std::pair<Value, SmallVector<PendingStores>>> rows;
  for (int64_t number = 0; number < side / kRows; ++number) {
    code.enter(code.scopes[code.current].block);
    rows.push_back({bindRow(to, from, number), {}});
    for (; code.steps.current < code.steps.count; ++code.steps.current) {
      nextStep(to);
      SmallVector<Store> stores = grid.nests.point(running);
      rows.back().second.push_back({code.dims, code.steps.first, code.steps.current, std::move(stores)});
    }
    code.leave();
  }
  tile.memoryOf.clear();
  for (auto &[isValid, pending] : rows)
    storeAll(code, geometry.vector, pending, isValid);
}

void emitTiles(GridCode &grid, const Segment &segment, Value block) { TileEmitter(grid).emit(segment, block); }

} // namespace dgc
