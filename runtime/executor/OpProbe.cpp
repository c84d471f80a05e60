#include "runtime/executor/OpProbe.h"

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Structure.h"
#include "runtime/base/Status.h"
#include "runtime/executor/Executor.h"

#include <algorithm>
#include <map>

namespace dgc::rt {

namespace {
/// The buffers of an action, and the ranges of the shared arena that a collective has, in elements.
struct Operands : ActionSink<Operands> {
  struct Range {
    std::string name;
    uint64_t begin, count;
    DType dtype;
  };
  void operand(std::string_view, Role, int64_t buffer) {
    if (buffer >= 0)
      buffers.push_back(static_cast<uint32_t>(buffer));
  }
  void range(uint64_t src, uint64_t srcCount, uint64_t dst, uint64_t dstCount, artifact::DType dtype) {
    const std::string number = ranges.empty() ? "" : str(".", ranges.size() / 2);
    ranges.push_back({"src" + number, src, srcCount, toDType(dtype)});
    ranges.push_back({"dst" + number, dst, dstCount, toDType(dtype)});
  }
  std::vector<uint32_t> buffers;
  std::vector<Range> ranges;
};
} // namespace

absl::Status Executor::setProbe(OpProbe *probe) {
  if (probe && deviceArena)
    return absl::UnimplementedError("what an op works on can be taken on CPUs only");
  this->probe = probe;
  return absl::OkStatus();
}

void Executor::take(OpProbe &probe, const artifact::Program &program, const artifact::Step &step,
                    std::string_view when) const {
  Operands operands;
  visit(step, [&](const auto &action) { describe(action, operands); });
  const std::string prefix = str(when, probe.times ? str(".", probe.times) : std::string(), "/");
  std::map<std::string, int> names; // several buffers may have one name
  auto add = [&](std::string name, DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
    for (char &c : name)
      if (c == '/')
        c = '.';
    if (const int before = names[name]++)
      name += str("#", before);
    probe.values.push_back({prefix + name, dtype, std::move(shape), {bytes.begin(), bytes.end()}});
  };
  std::vector<uint32_t> seen;
  for (uint32_t index : operands.buffers) {
    if (std::find(seen.begin(), seen.end(), index) != seen.end())
      continue;
    seen.push_back(index);
    const artifact::Buffer &buffer = *program.buffers()->Get(index);
    const std::string name = buffer.name() ? buffer.name()->str() : "";
    add(name.empty() ? str("buffer", index) : name, toDType(buffer.dtype()), toVector(buffer.shape()),
        memoryOf(buffer));
  }
  for (const Operands::Range &range : operands.ranges)
    add(range.name, range.dtype, {static_cast<int64_t>(range.count)},
        transport.sharedArena().subspan(range.begin, range.count * sizeOf(range.dtype)));
}

} // namespace dgc::rt
