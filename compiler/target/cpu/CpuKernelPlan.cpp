//===- CpuKernelPlan.cpp --------------------------------------------------===//

#include "compiler/target/cpu/CpuKernelPlan.h"
#include "compiler/codegen/SumBlocks.h"

using namespace mlir;

namespace dgc {

CpuKernelPlan::CpuKernelPlan(KernelGraph given) : graph(std::move(given)), schedule(scheduleKernel(graph)) {
  auto lanesOf = [](const Root &root) { return root.callsFunctions ? int64_t(1) : kSumLanes; };
  for (const Segment &segment : schedule.segments) {
    std::vector<NestPlan> &plans = nests.emplace_back();
    for (const LoopNest &nest : segment.nests)
      plans.push_back(planNest(graph, nest, {lanesOf}));
  }
  auto ret = cast<func::ReturnOp>(graph.func.getBody().front().getTerminator());
  for (auto [number, root] : llvm::enumerate(graph.roots)) {
    // One row is enough for what only the nests of a row look at.
    unsigned home = schedule.segmentOf[number], rowDims = schedule.segments[home].rowDims;
    for (unsigned user = 0; user < graph.roots.size(); ++user)
      if (graph.reads(user, number) && schedule.segmentOf[user] != home)
        rowDims = 0;
    for (Value value : root.values)
      if (!llvm::is_contained(ret.getOperands(), value))
        scratch[value] = {rowDims, std::max<int64_t>(sizeOf(shapeOf(value).drop_front(rowDims)), 1)};
  }
}

static void printSplit(llvm::raw_ostream &out, const Schedule &schedule, const Segment &segment) {
  if (segment.rowDims > 0) {
    out << "rows of ";
    printSizes(out, segment.rowShape);
    out << ", ";
  }
  if (schedule.sequential || segment.extent == 1) {
    out << "one part";
    return;
  }
  out << segment.extent << " parts";
  if (segment.rowDims == 0)
    out << " of " << segment.chunk << " of d" << segment.splitLoop;
}

void CpuKernelPlan::print(llvm::raw_ostream &out) const {
  out << "kernel @" << graph.func.getName() << ": extent " << schedule.extent
      << (schedule.sequential ? ", one segment after the other" : "") << "\n";
  for (auto [number, segment] : llvm::enumerate(schedule.segments)) {
    out << "  segment " << number << ": ";
    printSplit(out, schedule, segment);
    out << "\n";
    for (const NestPlan &nest : nests[number]) {
      out << "    nest: ";
      printNest(out, graph, nest);
      out << "\n";
    }
  }
  for (const auto &[value, memory] : scratch) {
    out << "  scratch: ";
    printValue(out, graph, value);
    out << ", " << memory.elements << " elements" << (memory.rowDims > 0 ? " of a row" : "") << "\n";
  }
}

} // namespace dgc
