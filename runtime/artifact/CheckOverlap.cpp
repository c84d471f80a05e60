// Collectives that go on beside other steps: that nothing touches what they work on.
#include "runtime/artifact/Check.h"

#include "runtime/artifact/Mesh.h"

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <string>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

static absl::Status bad(std::string message) { return absl::InvalidArgumentError(message); }

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

namespace {
/// Bytes of the shared arena.
struct Range {
  uint64_t begin, end;
};
using Ranges = std::vector<Range>;

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
        underWay.push_back({i, std::move(mine)});
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

  /// A buffer that a step names, where it lies in the shared arena.
  void add(int64_t index, Ranges &ranges) const {
    if (index < 0)
      return;
    const a::Buffer &buffer = *program.buffers()->Get(static_cast<uint32_t>(index));
    if (buffer.space() == a::Space::Shared)
      ranges.push_back({buffer.offset(), buffer.offset() + *checkedBytes(buffer.shape(), buffer.dtype())});
  }

  Ranges rangesOf(const a::Step &step) const {
    Ranges ranges;
    auto addAll = [&](std::initializer_list<int64_t> buffers) {
      for (int64_t buffer : buffers)
        add(buffer, ranges);
    };
    auto addPostOps = [&](const auto *ops) {
      for (uint32_t i = 0; i < count(ops); ++i)
        add(ops->Get(i)->arg(), ranges);
    };
    switch (step.action_type()) {
    case a::Action::KernelCall:
      for (uint32_t i = 0; i < count(step.action_as_KernelCall()->args()); ++i)
        add(step.action_as_KernelCall()->args()->Get(i), ranges);
      break;
    case a::Action::Matmul: {
      const a::Matmul &op = *step.action_as_Matmul();
      addAll({op.a(), op.b(), op.dst(), op.bias(), op.aux(), op.bias_gradient()});
      addPostOps(op.post_ops());
      break;
    }
    case a::Action::Convolution: {
      const a::Convolution &op = *step.action_as_Convolution();
      addAll({op.src(), op.weights(), op.dst(), op.bias()});
      addPostOps(op.post_ops());
      break;
    }
    case a::Action::Pool: {
      const a::Pool &op = *step.action_as_Pool();
      addAll({op.src(), op.dst(), op.diff_src(), op.diff_dst(), op.indices()});
      break;
    }
    case a::Action::Collective: {
      const a::Collective &op = *step.action_as_Collective();
      if (op.dtype() > a::DType::MAX)
        break; // refused with the other communication
      const uint64_t size = sizeOf(toDType(op.dtype()));
      auto addRange = [&](const auto &range) {
        ranges.push_back({range.src(), range.src() + range.src_count() * size});
        ranges.push_back({range.dst(), range.dst() + range.dst_count() * size});
      };
      addRange(op);
      for (uint32_t i = 0; i < count(op.more()); ++i)
        addRange(*op.more()->Get(i));
      break;
    }
    case a::Action::Send:
      add(step.action_as_Send()->buffer(), ranges);
      break;
    case a::Action::Receive:
      add(step.action_as_Receive()->buffer(), ranges);
      break;
    case a::Action::Copy:
      addAll({step.action_as_Copy()->src(), step.action_as_Copy()->dst()});
      break;
    case a::Action::Fill:
      add(step.action_as_Fill()->dst(), ranges);
      break;
    case a::Action::ScatterAdd: {
      const a::ScatterAdd &op = *step.action_as_ScatterAdd();
      addAll({op.indices(), op.updates(), op.dst(), op.offset()});
      break;
    }
    case a::Action::Attention: {
      const a::Attention &op = *step.action_as_Attention();
      addAll({op.query(), op.key(), op.value(), op.result(), op.log_sum(), op.result_gradient(), op.query_gradient(),
              op.key_gradient(), op.value_gradient()});
      break;
    }
    case a::Action::NONE:
      break;
    }
    return ranges;
  }

  const a::Program &program;
};
} // namespace

absl::Status dgc::rt::checkOverlap(const a::Program &program) { return OverlapCheck(program).run(); }
