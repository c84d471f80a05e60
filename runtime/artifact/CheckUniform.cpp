// Loops and branches with communication: that what decides them is the same on all workers.
#include "runtime/artifact/Actions.h"
#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Varying.h"
#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <optional>
#include <string>
#include <utility>

using namespace dgc::rt;
namespace a = dgc::artifact;

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

//===-- Bytes -----------------------------------------------------------===//

std::map<uint64_t, AxisMask>::iterator VaryingBytes::split(uint64_t at) {
  auto next = ranges.upper_bound(at);
  auto holder = std::prev(next);
  return holder->first == at ? holder : ranges.emplace_hint(next, at, holder->second);
}

void VaryingBytes::set(uint64_t begin, uint64_t end, AxisMask axes) {
  if (begin >= end)
    return;
  const auto last = split(end), first = split(begin);
  first->second = axes;
  ranges.erase(std::next(first), last);
}

AxisMask VaryingBytes::of(uint64_t begin, uint64_t end) const {
  if (begin >= end)
    return 0;
  AxisMask axes = 0;
  forEachPart(begin, end, [&](uint64_t, uint64_t, AxisMask part) { axes |= part; });
  return axes;
}

bool VaryingBytes::join(const VaryingBytes &other) {
  for (const auto &[begin, axes] : other.ranges)
    split(begin);
  bool grew = false;
  for (auto &[begin, axes] : ranges) {
    const AxisMask both = axes | other.at(begin);
    grew |= both != axes;
    axes = both;
  }
  return grew;
}

//===-- Steps -----------------------------------------------------------===//

namespace {
/// What the steps of a program make of the arenas.
struct State {
  VaryingBytes own, shared;

  bool join(const State &other) {
    const bool first = own.join(other.own);
    return shared.join(other.shared) || first;
  }
};

struct Range {
  bool isShared;
  uint64_t begin, end;
};

/// What an action reads and writes, of arenas.
class Accesses : public ActionSink<Accesses> {
public:
  struct Write {
    Range range;
    const flatbuffers::Vector<uint32_t> *from = nullptr; // arguments of a kernel; null: all that is read
  };

  explicit Accesses(const ProgramContext &context) : context(context) {}

  void operand(std::string_view, Role role, int64_t index) {
    const uint32_t number = next++;
    if (index < 0)
      return;
    const uint32_t results = kernelOf ? count(kernelOf->inplace()) : 0,
                   inputs = kernelOf ? kernelOf->arg_count() - results : 0;
    if (role == Role::Unknown) // the results are the last arguments, where it is said how many there are
      role = results == 0 ? Role::Updated : number < inputs ? Role::Read : Role::Written;
    const a::Buffer &buffer = *context.program.buffers()->Get(static_cast<uint32_t>(index));
    const bool isConstant = buffer.space() == a::Space::Constant;
    const uint64_t size = isConstant ? 0 : *checkedBytes(buffer.shape(), buffer.dtype());
    const Range range{buffer.space() == a::Space::Shared, buffer.offset(), buffer.offset() + size};
    if (mayRead(role))
      read.push_back(range);
    if (mayWrite(role))
      written.push_back({range, kernelOf && number >= inputs && count(kernelOf->result_reads())
                                    ? kernelOf->result_reads()->Get(number - inputs)->numbers()
                                    : nullptr});
  }
  void kernel(std::string_view, uint32_t index) { kernelOf = context.plan.kernels()->Get(index); }
  void range(uint64_t src, uint64_t srcCount, uint64_t dst, uint64_t dstCount, a::DType dtype) {
    const uint64_t size = sizeOf(toDType(dtype));
    exchanged.push_back({{true, src, src + srcCount * size}, {true, dst, dst + dstCount * size}});
  }

  std::vector<Range> read; // of a kernel, by argument
  std::vector<Write> written;
  std::vector<std::pair<Range, Range>> exchanged; // by a collective, from and to

private:
  const ProgramContext &context;
  const a::Kernel *kernelOf = nullptr;
  uint32_t next = 0;
};

class UniformCheck {
public:
  explicit UniformCheck(const ProgramContext &context) : context(context) {}

  absl::Status run() {
    const a::Plan &plan = context.plan;
    const bool isForAll = context.program.group() < 0;
    for (uint32_t i = 0; i < count(plan.variables()); ++i) {
      const a::Variable &variable = *plan.variables()->Get(i);
      if (isForAll || variable.group() < 0 || variable.group() == context.program.group())
        begin(*plan.variable_buffers()->Get(variable.buffer()), axesOf(variable.sharding()));
    }
    for (uint32_t i = 0; i < count(context.program.inputs()); ++i) {
      const a::Input &input = *context.program.inputs()->Get(i);
      begin(*context.program.buffers()->Get(input.buffer()), input.role() == a::InputRole::AxisIndex
                                                                 ? axesNamed(input.name()->string_view())
                                                                 : axesOf(input.sharding()));
    }
    walk(0, count(context.program.steps()), 0);
    return error.value_or(absl::OkStatus());
  }

private:
  const a::Step &step(uint64_t number) const { return *context.program.steps()->Get(static_cast<uint32_t>(number)); }

  void begin(const a::Buffer &buffer, AxisMask axes) {
    VaryingBytes &bytes = buffer.space() == a::Space::Shared ? state.shared : state.own;
    bytes.set(buffer.offset(), buffer.offset() + *checkedBytes(buffer.shape(), buffer.dtype()), axes);
  }

  static AxisMask axesOf(const a::Sharding *sharding) {
    AxisMask axes = 0;
    for (uint32_t dim = 0; sharding && dim < count(sharding->dims()); ++dim)
      axes |= axesOf(sharding->dims()->Get(dim)->axes());
    return axes;
  }
  static AxisMask axesOf(const flatbuffers::Vector<uint32_t> *numbers) {
    AxisMask axes = 0;
    for (uint32_t i = 0; i < count(numbers); ++i)
      axes |= AxisMask{1} << numbers->Get(i);
    return axes;
  }
  /// Of names that commas separate.
  AxisMask axesNamed(std::string_view names) const {
    AxisMask axes = 0;
    for (uint32_t i = 0; i < count(context.plan.mesh()); ++i) {
      const std::string name = str(",", context.plan.mesh()->Get(i)->name()->c_str(), ",");
      if (str(",", names, ",").find(name) != std::string::npos)
        axes |= AxisMask{1} << i;
    }
    return axes;
  }
  std::string namesOf(AxisMask axes) const {
    std::string text;
    for (uint32_t i = 0; i < count(context.plan.mesh()); ++i)
      if (axes >> i & 1)
        text += str(text.empty() ? "" : ",", context.plan.mesh()->Get(i)->name()->c_str());
    return text;
  }

  AxisMask of(const Range &range) const {
    return (range.isShared ? state.shared : state.own).of(range.begin, range.end);
  }

  /// The steps from `begin` to `end`, to which workers come that differ along `decided` in whether they do.
  void walk(uint64_t begin, uint64_t end, AxisMask decided) {
    for (uint64_t i = begin; i < end && !error; ++i) {
      if (++walked > mostWalked) {
        error =
            absl::InvalidArgumentError("its loops are nested too deeply for a proof that all workers come to what is "
                                       "communicated in them");
        return;
      }
      if (const a::While *loop = step(i).action_as_While()) {
        loopAt(i, *loop, decided);
        i += uint64_t{loop->test_steps()} + loop->body_steps();
      } else if (const a::If *branch = step(i).action_as_If()) {
        branchAt(i, *branch, decided);
        i += uint64_t{branch->then_steps()} + branch->else_steps();
      } else {
        act(i, decided);
      }
    }
  }

  void loopAt(uint64_t at, const a::While &loop, AxisMask decided) {
    const uint64_t test = at + 1, body = test + loop.test_steps(), end = body + loop.body_steps();
    // What a byte varies along only grows, up to all axes: this ends.
    for (State before = state; !error;) {
      walk(test, body, decided);
      // Devices do the rounds of a counted loop without looking at the predicate.
      const AxisMask more = loop.counted() ? decided : decided | predicate(at, loop.predicate(), end);
      const State after = state;
      walk(body, end, more);
      if (!before.join(state)) {
        state = after;
        return;
      }
      state = before;
    }
  }

  void branchAt(uint64_t at, const a::If &branch, AxisMask decided) {
    const uint64_t first = at + 1, second = first + branch.then_steps(), end = second + branch.else_steps();
    decided |= predicate(at, branch.predicate(), end);
    const State before = state;
    walk(first, second, decided);
    const State after = std::exchange(state, before);
    walk(second, end, decided);
    state.join(after);
  }

  /// The axes that what decides varies along; an error if any step up to `end` communicates and there are such.
  AxisMask predicate(uint64_t at, uint32_t buffer, uint64_t end) {
    Accesses accesses(context);
    accesses.operand("predicate", Role::Read, buffer);
    const AxisMask axes = accesses.read.empty() ? 0 : of(accesses.read[0]);
    if (axes == 0 || error)
      return axes;
    for (uint64_t i = at + 1; i < end; ++i)
      if (communicates(infoOf(step(i).action_type()).kind)) {
        const std::string why = lastVaried ? str("; step ", *lastVaried, named(*lastVaried), " makes it differ") : "";
        error = absl::InvalidArgumentError(
            str("step ", i, named(i), " communicates in the loop or branch of step ", at,
                ", and what decides it is not known to be the same on all workers along ", namesOf(axes), why));
        return axes;
      }
    return axes;
  }

  std::string named(uint64_t number) const {
    const flatbuffers::String *name = step(number).name();
    return name && name->size() ? str(" '", name->str(), "'") : "";
  }

  void set(const Range &range, AxisMask axes) {
    (range.isShared ? state.shared : state.own).set(range.begin, range.end, axes);
  }

  void act(uint64_t number, AxisMask decided) {
    Accesses accesses(context);
    describe(step(number), accesses);
    if (const a::Collective *collective = step(number).action_as_Collective()) {
      exchange(number, *collective, accesses, decided);
      return;
    }
    AxisMask axes = infoOf(step(number).action_type()).kind == ActionKind::Transfer ? ~AxisMask{0}
                                                                                    // of workers of another kind
                                                                                    : 0;
    for (const Range &range : accesses.read)
      axes |= of(range);
    std::vector<AxisMask> results; // of what was read, before any of it is written over
    for (const Accesses::Write &write : accesses.written) {
      AxisMask &mine = results.emplace_back(write.from ? 0 : axes);
      for (uint32_t i = 0; i < count(write.from); ++i)
        mine |= of(accesses.read[write.from->Get(i)]);
      if (mine != 0)
        lastVaried = number;
    }
    for (size_t i = 0; i < results.size(); ++i)
      set(accesses.written[i].range, results[i] | decided);
  }

  /// Element by element, where as many come as go.
  void exchange(uint64_t number, const a::Collective &collective, const Accesses &accesses, AxisMask decided) {
    const CollectiveInfo &info = infoOf(toCollectiveKind(collective.kind()));
    const AxisMask along = axesOf(collective.axes());
    std::vector<std::pair<Range, AxisMask>> results;
    for (const auto &[from, to] : accesses.exchanged) {
      auto add = [&](uint64_t begin, uint64_t end, AxisMask axes) {
        axes = info.makesEqual ? axes & ~along : axes | along;
        if (axes != 0)
          lastVaried = number;
        results.push_back({{true, begin, end}, axes | decided});
      };
      if (info.sizes == CollectiveSizes::Equal)
        state.shared.forEachPart(from.begin, from.end, [&, begin = from.begin](uint64_t b, uint64_t e, AxisMask axes) {
          add(to.begin + (b - begin), to.begin + (e - begin), axes);
        });
      else
        add(to.begin, to.end, of(from));
    }
    for (const auto &[range, axes] : results)
      set(range, axes);
  }

  static constexpr uint64_t mostWalked = 1 << 22; // loops in loops are walked several times each

  const ProgramContext &context;
  State state;
  uint64_t walked = 0;
  std::optional<uint64_t> lastVaried;
  std::optional<absl::Status> error;
};
} // namespace

absl::Status dgc::rt::checkUniform(const ProgramContext &context) { return UniformCheck(context).run(); }
