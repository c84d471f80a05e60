//===- Lifetimes.cpp - how long buffers are in use -------------------------===//

#include "passes/schedule/Lifetimes.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace dgc::exec;

namespace dgc {

uint64_t byteSize(Type type) {
  auto shaped = cast<ShapedType>(type);
  return storageBytes(shaped.getElementType()) * shaped.getNumElements();
}

static void number(Block &block, StepNumbers &steps) {
  for (Operation &op : block) {
    steps.begin[&op] = ++steps.last;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        number(inner, steps);
    steps.end[&op] = steps.last;
  }
}

StepNumbers::StepNumbers(ProgramOp program) {
  number(*program.getBody().begin(), *this);
  ++last;
}

/// All that use the buffer through views as well.
static SmallVector<Operation *> usersOf(BufferOp buffer) {
  SmallVector<Operation *> users;
  SmallVector<Value> views{buffer.getResult()};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<ViewOp>(user))
        views.push_back(view.getResult());
      else
        users.push_back(user);
    }
  return users;
}

ArenaRequest lifetime(BufferOp buffer, const StepNumbers &steps) {
  ArenaRequest request{byteSize(buffer.getType()), steps.last, 0};
  SmallVector<Operation *> users = usersOf(buffer);
  auto use = [&](int64_t begin, int64_t end) {
    request.begin = std::min(request.begin, begin);
    request.end = std::max(request.end, end);
  };
  for (Operation *user : users) {
    if (isa<exec::InputOp>(user))
      use(0, 0);
    else if (isa<exec::OutputOp>(user))
      use(steps.last, steps.last);
    else
      use(steps.begin.lookup(user), steps.end.lookup(user));
    for (auto loop = user->getParentOfType<exec::WhileOp>(); loop; loop = loop->getParentOfType<exec::WhileOp>())
      if (llvm::any_of(users, [&](Operation *other) { return !loop->isProperAncestor(other); }))
        use(steps.begin.lookup(loop), steps.end.lookup(loop));
  }
  request.begin = std::min(request.begin, request.end);
  return request;
}

/// The buffers that are in use at the worst step of a program, each with its age there, and their bytes.
static std::pair<uint64_t, SmallVector<std::pair<BufferOp, int64_t>>> atWorstStep(ProgramOp program) {
  const StepNumbers steps(program);
  SmallVector<std::pair<BufferOp, ArenaRequest>> requests;
  std::map<int64_t, int64_t> change; // step -> bytes that begin minus bytes that ended before it
  for (auto buffer : program.getOps<BufferOp>())
    if (buffer.getSpace() != Space::Constant) {
      ArenaRequest request = lifetime(buffer, steps);
      requests.push_back({buffer, request});
      change[request.begin] += static_cast<int64_t>(request.size);
      change[request.end + 1] -= static_cast<int64_t>(request.size);
    }
  int64_t live = 0, worst = 0, worstStep = 0;
  for (auto [step, bytes] : change) {
    live += bytes;
    if (live > worst) {
      worst = live;
      worstStep = step;
    }
  }
  SmallVector<std::pair<BufferOp, int64_t>> buffers;
  for (auto &[buffer, request] : requests)
    if (request.begin <= worstStep && worstStep <= request.end)
      buffers.push_back({buffer, worstStep - request.begin});
  return {static_cast<uint64_t>(worst), buffers};
}

MemoryPeak findMemoryPeak(ModuleOp module, size_t count) {
  MemoryPeak peak;
  auto number = [&](StringRef name) -> uint64_t {
    auto attribute = module->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : 0;
  };
  peak.bytes = number(kPeakBytesAttr);
  if (peak.bytes == 0)
    peak.bytes = number(kPrivateBytesAttr) + number(kSharedBytesAttr);
  DenseMap<Attribute, uint64_t> variables; // bytes by group of workers
  for (auto variable : module.getOps<exec::VariableOp>())
    variables[variable.getMeshAttr()] += byteSize(variable.getType());
  uint64_t worst = 0;
  SmallVector<std::pair<BufferOp, int64_t>> buffers;
  Attribute group;
  for (auto program : module.getOps<ProgramOp>()) {
    auto [bytes, held] = atWorstStep(program);
    bytes += variables.lookup(program.getMeshAttr());
    if (!peak.program.empty() && bytes <= worst)
      continue;
    worst = bytes;
    buffers = held;
    group = program.getMeshAttr();
    peak.program = program.getSymName().str();
  }
  peak.variables = variables.lookup(group);
  for (auto variable : module.getOps<exec::VariableOp>())
    if (variable.getMeshAttr() == group)
      peak.largest.push_back(
          {"variable " + variable.getSymName().str(), byteSize(variable.getType()), variable.getLoc(), true});
  for (auto program : module.getOps<ProgramOp>())
    if (auto scratch = program->getAttrOfType<IntegerAttr>(kScratchBytesAttr);
        scratch && scratch.getInt() > 0 && program.getSymName() == peak.program)
      peak.largest.push_back(
          {"the inside of library calls", static_cast<uint64_t>(scratch.getInt()), program.getLoc(), false});
  for (auto [buffer, age] : buffers)
    peak.largest.push_back({buffer.getName().str(), byteSize(buffer.getType()), buffer.getLoc(), false, age});
  llvm::stable_sort(peak.largest, [](const HeldValue &a, const HeldValue &b) { return a.bytes > b.bytes; });
  if (peak.largest.size() > count)
    peak.largest.erase(peak.largest.begin() + count, peak.largest.end());
  return peak;
}

std::string formatBytes(uint64_t bytes) {
  static constexpr StringRef units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  return unit == 0 ? std::to_string(bytes) + " bytes" : llvm::formatv("{0:f1} {1}", value, units[unit]).str();
}

} // namespace dgc
