// Collectives that run during other steps: that nothing touches what they work on.
#include "runtime/artifact/Check.h"
#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <string>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

static absl::Status bad(const std::string &message) { return absl::InvalidArgumentError(message); }

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

namespace {
/// Bytes of the shared arena.
struct Range {
  uint64_t begin, end;
};
using Ranges = std::vector<Range>;

/// What an action works on in the shared arena.
class SharedRanges : public ActionSink<SharedRanges> {
public:
  explicit SharedRanges(const a::Program &program) : program(program) {}

  void operand(std::string_view, Role, int64_t index) {
    if (index < 0)
      return;
    const a::Buffer &buffer = *program.buffers()->Get(static_cast<uint32_t>(index));
    if (buffer.space() == a::Space::Shared)
      found.push_back({buffer.offset(), buffer.offset() + *checkedBytes(buffer.shape(), buffer.dtype())});
  }
  void range(uint64_t src, uint64_t srcCount, uint64_t dst, uint64_t dstCount, a::DType dtype) {
    const uint64_t size = sizeOf(toDType(dtype));
    found.push_back({src, src + srcCount * size});
    found.push_back({dst, dst + dstCount * size});
  }

  Ranges found;

private:
  const a::Program &program;
};

class OverlapCheck {
public:
  explicit OverlapCheck(const a::Program &program) : program(program) {}

  absl::Status run() {
    std::vector<std::pair<uint32_t, Ranges>> underWay; // step, what it works on
    for (uint32_t i = 0; i < count(program.steps()); ++i) {
      const a::Step &step = *program.steps()->Get(i);
      for (uint32_t w = 0; w < count(step.waits()); ++w) {
        uint32_t awaited = step.waits()->Get(w);
        auto at =
            std::find_if(underWay.begin(), underWay.end(), [&](const auto &each) { return each.first == awaited; });
        if (at == underWay.end())
          return bad(str("step ", i, " waits for step ", awaited, ", which is not under way"));
        underWay.erase(at);
      }
      if (underWay.empty() && step.queue() == 0)
        continue;
      Ranges mine = rangesOf(step);
      for (const auto &[other, ranges] : underWay)
        if (meet(mine, ranges))
          return bad(str("step ", i, " uses memory that step ", other, ", which goes on meanwhile, works on"));
      if (step.queue() == 1 && underWay.size() == mostUnderWay)
        return bad(str("more than ", mostUnderWay, " collectives go on at a time"));
      if (step.queue() == 1)
        underWay.emplace_back(i, std::move(mine));
    }
    return absl::OkStatus(); // the program ends when all have ended
  }

private:
  static constexpr size_t mostUnderWay = 64;

  static bool meet(const Ranges &a, const Ranges &b) {
    for (const Range &x : a)
      for (const Range &y : b)
        if (x.begin < y.end && y.begin < x.end)
          return true;
    return false;
  }

  Ranges rangesOf(const a::Step &step) const {
    SharedRanges ranges(program);
    describe(step, ranges);
    return std::move(ranges.found);
  }

  const a::Program &program;
};
} // namespace

absl::Status dgc::rt::checkOverlap(const a::Program &program) { return OverlapCheck(program).run(); }
