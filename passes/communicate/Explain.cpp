// dgc-explain: prints what is communicated, and why.

#include "dialects/dgc/LoopRuns.h"
#include "passes/communicate/Passes.h"
#include "passes/communicate/Payload.h"
#include "passes/partition/PipelineSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"

namespace dgc {
#define GEN_PASS_DEF_EXPLAINPASS
#include "passes/communicate/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::dist;

namespace {
struct Row {
  std::string op, where, bytes;
  SmallVector<std::string> causes;
};
} // namespace

static SmallVector<std::string> causesOf(ArrayAttr origins) {
  if (!origins || origins.empty())
    return {"-"};
  return llvm::map_to_vector(origins.getAsRange<StringAttr>(), [](StringAttr origin) { return origin.str(); });
}

/// The bytes of an op for each time, and how often it runs.
static std::string bytesText(Operation *op, int64_t bytes) {
  const LoopRuns runs = runsOf(op);
  return (runs.isLowerBound ? "rounds x " : "") + (runs.times == 1 ? "" : std::to_string(runs.times) + " x ") +
         std::to_string(bytes);
}

static std::optional<Row> rowOf(Operation *op) {
  Row row;
  row.op = op->getName().stripDialect().str();
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    MeshAttr mesh = lookupMesh(op, collective.getMeshAttr());
    llvm::raw_string_ostream os(row.where);
    llvm::interleave(
        collective.getAxes().getAsRange<StringAttr>(), os,
        [&](StringAttr axis) { os << axis.getValue() << '=' << mesh.getAxisSize(axis); }, ",");
    row.bytes = bytesText(op, payloadOf(collective));
    row.causes = causesOf(collective.getOriginsAttr());
    return row;
  }
  if (auto transfer = dyn_cast<TransferOpInterface>(op)) {
    row.where = (transfer.getSourceAttr().getValue() + "->" + transfer.getTargetAttr().getValue()).str();
    row.bytes = bytesText(op, bytesOf(Type(transfer.getTransferType())));
    row.causes = causesOf(transfer.getOriginsAttr());
    return row;
  }
  return std::nullopt;
}

namespace dgc {

/// The schedule of a pipeline as a chart.
static void explainPipeline(ModuleOp module, llvm::raw_ostream &os) {
  auto pipeline = module->getAttrOfType<DictionaryAttr>(kPipelineAttr);
  if (!pipeline)
    return;
  auto number = [&](StringRef name) {
    auto value = pipeline.getAs<IntegerAttr>(name);
    return static_cast<int>(value ? value.getInt() : 1);
  };
  auto name = pipeline.getAs<StringAttr>("schedule");
  std::string error;
  std::optional<PipelineScheduleKind> kind = fromName<PipelineScheduleKind>(name ? name.getValue() : "");
  std::optional<PipelineSchedule> schedule;
  if (kind)
    schedule = schedulePipeline(*kind, number("positions"), number("microbatches"), number("chunks"), error);
  if (schedule)
    os << "schedule " << name.getValue() << ", " << number("microbatches")
       << " micro-batches, forward pass and both parts of the backward pass taken as equally long:\n"
       << chartOf(*schedule, {});
  if (auto barriers = pipeline.getAs<ArrayAttr>("barriers")) {
    os << "  in " << number("rounds") << " rounds of this order: before each, all micro-batches have finished the one "
       << "before, as these need values of the whole batch:\n";
    for (auto barrier : barriers.getAsRange<StringAttr>())
      os << "    " << barrier.getValue() << '\n';
  }
}

void explain(ModuleOp module, llvm::raw_ostream &os) {
  explainPipeline(module, os);
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<Row> rows;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (std::optional<Row> row = rowOf(op))
        rows.push_back(std::move(*row));
    });
    os << '@' << function.getSymName() << ": ";
    if (rows.empty()) {
      os << "no communication\n";
      continue;
    }
    os << rows.size() << (rows.size() == 1 ? " operation: " : " operations: ") << rt::describe(trafficOf(function))
       << '\n';
    size_t opWidth = 2, whereWidth = 4, bytesWidth = 5;
    for (const Row &row : rows) {
      opWidth = std::max(opWidth, row.op.size());
      whereWidth = std::max(whereWidth, row.where.size());
      bytesWidth = std::max(bytesWidth, row.bytes.size());
    }
    auto line = [&](StringRef op, StringRef where, StringRef bytes, StringRef cause) {
      os << "  " << llvm::left_justify(op, opWidth) << "  " << llvm::left_justify(where, whereWidth) << "  "
         << llvm::right_justify(bytes, bytesWidth) << "  " << cause << '\n';
    };
    line("op", "axes", "bytes", "cause");
    for (const Row &row : rows)
      for (auto [i, cause] : llvm::enumerate(row.causes))
        i == 0 ? line(row.op, row.where, row.bytes, cause) : line("", "", "", cause);
  }
}

} // namespace dgc

namespace {
struct Explain : dgc::impl::ExplainPassBase<Explain> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    explain(getOperation(), llvm::outs());
  }
};
} // namespace
