// dgc-send-rows: of a table on a parameter server only the rows that a batch touches are sent, both ways.

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/TensorBuilder.h"
#include "dialects/dgc/TensorUtil.h"
#include "passes/analysis/Layout.h"
#include "passes/partition/Differences.h"
#include "passes/partition/Passes.h"
#include "passes/place/Stages.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-send-rows"

namespace dgc {
#define GEN_PASS_DEF_SENDROWSPASS
#include "passes/partition/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
/// A variable on servers that workers only look rows up in.
struct Table {
  Value whole;                    // the variable, or its blocks put together
  SmallVector<Value, 1> blocks;   // arguments on servers, in the order of their rows
  SmallVector<GatherOp, 1> reads; // of `whole`, on the workers
};

/// Sends rows in place of tables in one function.
class RowSender {
public:
  RowSender(func::FuncOp function, MeshOp world, int64_t servers)
      : function(function), body(function.getBody().front()), world(world), mesh(world.getMesh()),
        firstServer(mesh.getAxisSize(kStageAxis) - servers),
        workers(mesh.getNumDevices() / mesh.getAxisSize(kStageAxis)), differences(function) {
    for (MeshAxisAttr axis : mesh.getAxes())
      if (axis.getName().getValue() != kStageAxis)
        axes.push_back(axis.getName());
  }

  void run() {
    for (const Table &table : findTables())
      if (isWorthLookups(table))
        lookUpOnServers(table);
    for (OpOperand *use : findGradients())
      addUpOnServer(*use);
    eraseDead();
  }

  unsigned numLookups = 0, numGradients = 0;

private:
  bool isOnServer(Operation *op) const {
    std::optional<int64_t> stage = stageOf(op);
    return stage && *stage >= firstServer;
  }
  bool isOnWorkers(Operation *op) const {
    std::optional<int64_t> stage = op ? stageOf(op) : std::nullopt;
    return op && op->getBlock() == &body && stage && *stage < firstServer;
  }
  /// The server that holds a value which is an argument; none for others.
  std::optional<int64_t> serverOf(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &body || !argumentState(function, argument.getArgNumber()))
      return std::nullopt;
    std::optional<int64_t> stage = argumentStage(function, argument.getArgNumber());
    return stage && *stage >= firstServer ? stage : std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Lookups
  //===--------------------------------------------------------------------===//

  SmallVector<Table> findTables() {
    SmallVector<Table> tables;
    auto add = [&](Value whole, ArrayRef<Value> blocks) {
      Table table{whole, SmallVector<Value, 1>(blocks), {}};
      if (findReads(table) && !table.reads.empty())
        tables.push_back(std::move(table));
    };
    for (BlockArgument argument : function.getArguments())
      if (serverOf(argument))
        add(argument, {argument});
    for (auto joined : function.getOps<ConcatenateOp>()) {
      auto blocks = llvm::to_vector(joined.getInputs());
      if (joined.getDimension() == 0 && isOnWorkers(joined) &&
          llvm::all_of(blocks, [&](Value block) { return serverOf(block).has_value(); }))
        add(joined.getResult(), blocks);
    }
    return tables;
  }

  /// Finds the lookups of a table; false where the workers do anything else with it.
  bool findReads(Table &table) {
    for (OpOperand &use : table.whole.getUses()) {
      Operation *user = use.getOwner();
      if (isOnServer(user))
        continue;
      auto read = dyn_cast<GatherOp>(user);
      if (!read || !isOnWorkers(read) || use.getOperandNumber() != 0 || read.getDimension() != 0 || read.getOffset() ||
          shapeOf(read.getIndices()).empty()) {
        LDBG() << "a worker needs the whole of " << table.whole << " for " << *user;
        return false;
      }
      table.reads.push_back(read);
    }
    return true;
  }

  /// Whether fewer bytes are sent for a table where servers look its rows up.
  bool isWorthLookups(const Table &table) {
    int64_t bytes = 0;
    for (GatherOp read : table.reads)
      bytes += bytesOf(read.getIndices()) + bytesOf(read.getResult());
    const bool isWorth = bytes * static_cast<int64_t>(table.blocks.size()) < bytesOf(table.whole);
    if (!isWorth)
      LDBG() << "the rows that are read take no fewer bytes than the table " << table.whole;
    return isWorth;
  }

  /// What all workers have of a value, one part after the other along dimension 0, to be sent to servers.
  Value collect(Value part) {
    Value &all = collected[part];
    if (all)
      return all;
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfterValue(part);
    RankedTensorType type = tensorOf(part);
    SmallVector<int64_t> shape(type.getShape());
    shape[0] *= workers;
    auto gather = AllGatherOp::create(builder, part.getLoc(), type.clone(shape), part, 0, world.getSymName(),
                                      builder.getArrayAttr(axes),
                                      builder.getStrArrayAttr(StringRef("rows of tables on parameter servers")));
    setStage(gather, 0);
    return all = gather.getResult(0);
  }

  /// The part of this worker of what all of them get.
  Value partOf(OpBuilder &builder, Location location, Value all) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    Value index = AxisIndexOp::create(builder, location, type, FlatSymbolRefAttr::get(world.getSymNameAttr()),
                                      builder.getArrayAttr(axes));
    auto part = dist::SliceOp::create(builder, location, all, index, 0, workers);
    setStage(part, 0);
    return part;
  }

  static Value firstRow(OpBuilder &builder, Location location, int64_t row) {
    return TensorBuilder(builder, location)
        .splat(static_cast<double>(row), RankedTensorType::get({}, builder.getI64Type()));
  }

  /// Each server looks all rows up in its block, and finds zeros for those of other blocks; the workers add them up.
  void lookUpOnServers(const Table &table) {
    for (GatherOp read : table.reads) {
      OpBuilder builder(read);
      const bool areParts = workers > 1 && differences.contains(read.getIndices());
      Value indices = areParts ? collect(read.getIndices()) : read.getIndices(), sum;
      int64_t first = 0;
      for (Value block : table.blocks) {
        Value offset = table.blocks.size() > 1 ? firstRow(builder, read.getLoc(), first) : Value();
        auto rows = GatherOp::create(builder, read.getLoc(), block, indices, offset, /*dimension=*/0);
        setStage(rows, *serverOf(block));
        first += shapeOf(block)[0];
        Value found = areParts ? partOf(builder, read.getLoc(), rows) : rows.getResult();
        if (sum) {
          found = AddOp::create(builder, read.getLoc(), sum, found);
          setStage(found.getDefiningOp(), 0);
        }
        sum = found;
      }
      read.getResult().replaceAllUsesWith(sum);
      ++numLookups;
    }
  }

  //===--------------------------------------------------------------------===//
  // Gradients
  //===--------------------------------------------------------------------===//

  /// True for an all-reduce after which each worker has the sum over all of them.
  bool sumsUpWorkers(AllReduceOp op) const {
    return op->getNumResults() == 1 && op.getKind() == Reduction::Sum && getGroupSize(mesh, op.getAxes()) == workers;
  }

  /// True for a slice of rows that follow each other.
  static bool isOfRows(dgc::SliceOp op) {
    ArrayRef<int64_t> whole = shapeOf(op.getOperand()), part = shapeOf(op.getResult());
    return llvm::all_of(op.getStrides(), [](int64_t stride) { return stride == 1; }) &&
           whole.drop_front() == part.drop_front();
  }

  /// The sum of scattered rows that a value of the workers is made from; false where it is made from anything else, or
  /// is needed by the workers.
  bool isSumOfRows(Value value, bool isReduced, SmallVectorImpl<std::pair<ScatterAddOp, bool>> &leaves) {
    Operation *op = value.getDefiningOp();
    if (!isOnWorkers(op) || !goesToServers(op))
      return false;
    if (auto reduce = dyn_cast<AllReduceOp>(op))
      return !isReduced && sumsUpWorkers(reduce) && isSumOfRows(reduce.getInputs()[0], true, leaves);
    if (auto slice = dyn_cast<dgc::SliceOp>(op))
      return isOfRows(slice) && isSumOfRows(slice.getOperand(), isReduced, leaves);
    if (auto add = dyn_cast<AddOp>(op))
      return isSumOfRows(add.getLhs(), isReduced, leaves) && isSumOfRows(add.getRhs(), isReduced, leaves);
    auto scatter = dyn_cast<ScatterAddOp>(op);
    if (!scatter || scatter.getDimension() != 0 || scatter.getOffset() || shapeOf(scatter.getIndices()).empty() ||
        tensorOf(scatter.getUpdates()).getEncoding()) // partial itself
      return false;
    leaves.push_back({scatter, isReduced});
    return true;
  }

  /// Whether servers alone need what an op of the workers gives, or sums and rows of it.
  bool goesToServers(Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return isOnServer(user) ||
             (isOnWorkers(user) && isa<AllReduceOp, dgc::SliceOp, AddOp>(user) && goesToServers(user));
    });
  }

  /// What ops of servers take of the gradients of tables, where the rows of these are fewer bytes.
  SmallVector<OpOperand *> findGradients() {
    SmallVector<OpOperand *> found;
    for (Operation &op : body)
      for (OpOperand &operand : op.getOpOperands()) {
        SmallVector<std::pair<ScatterAddOp, bool>> leaves;
        if (!isOnServer(&op) || !isSumOfRows(operand.get(), /*isReduced=*/false, leaves))
          continue;
        int64_t bytes = 0;
        for (auto [scatter, isReduced] : leaves)
          bytes += bytesOf(scatter.getIndices()) + bytesOf(scatter.getUpdates());
        if (bytes < bytesOf(operand.get()))
          found.push_back(&operand);
        else
          LDBG() << "the rows that are updated take no fewer bytes than " << operand.get();
      }
    return found;
  }

  /// The rows from `first` on of a sum of scattered rows, on a server.
  Value buildOnServer(OpBuilder &builder, Value value, bool isReduced, int64_t first, int64_t count, int64_t stage) {
    Operation *op = value.getDefiningOp();
    if (auto reduce = dyn_cast<AllReduceOp>(op))
      return buildOnServer(builder, reduce.getInputs()[0], true, first, count, stage);
    if (auto slice = dyn_cast<dgc::SliceOp>(op))
      return buildOnServer(builder, slice.getOperand(), isReduced, first + slice.getStartIndices()[0], count, stage);
    Operation *built;
    if (auto add = dyn_cast<AddOp>(op)) {
      Value lhs = buildOnServer(builder, add.getLhs(), isReduced, first, count, stage);
      Value rhs = buildOnServer(builder, add.getRhs(), isReduced, first, count, stage);
      built = AddOp::create(builder, op->getLoc(), lhs, rhs);
    } else {
      auto scatter = cast<ScatterAddOp>(op);
      const bool areParts = isReduced && workers > 1;
      Value indices = areParts ? collect(scatter.getIndices()) : scatter.getIndices();
      Value updates = areParts ? collect(scatter.getUpdates()) : scatter.getUpdates();
      const bool isWhole = first == 0 && count == static_cast<int64_t>(scatter.getSize());
      Value offset = isWhole ? Value() : firstRow(builder, op->getLoc(), first);
      built = ScatterAddOp::create(builder, op->getLoc(), indices, updates, offset, /*dimension=*/0, count);
    }
    setStage(built, stage);
    return built->getResult(0);
  }

  /// Replaces an operand by what the server adds up itself.
  void addUpOnServer(OpOperand &use) {
    const int64_t stage = *stageOf(use.getOwner());
    Value &sum = added[{use.get(), stage}];
    if (!sum) {
      OpBuilder builder(use.getOwner());
      sum = buildOnServer(builder, use.get(), /*isReduced=*/false, 0, shapeOf(use.get())[0], stage);
      ++numGradients;
    }
    use.set(sum);
  }

  /// Erases what only tables and their gradients were for.
  void eraseDead() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOnWorkers(&op) && op.use_empty() && (isOpTriviallyDead(&op) || isa<AllReduceOp>(op)))
        op.erase();
  }

  func::FuncOp function;
  Block &body;
  MeshOp world;
  MeshAttr mesh; // of `world`
  int64_t firstServer, workers;
  SmallVector<Attribute> axes; // that the workers are along
  Differences differences;
  DenseMap<Value, Value> collected;                 // of a part what all workers have
  DenseMap<std::pair<Value, int64_t>, Value> added; // of a gradient what a server adds up
};

struct SendRows : dgc::impl::SendRowsPassBase<SendRows> {
  using SendRowsPassBase::SendRowsPassBase;

  void runOnOperation() override {
    auto meshes = getOperation().getOps<MeshOp>();
    if (servers == 0 || meshes.empty())
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      RowSender sender(function, *meshes.begin(), servers);
      sender.run();
      numLookups += sender.numLookups;
      numGradients += sender.numGradients;
    }
  }
};
} // namespace
