#include "runtime/verify/WorkerRun.h"

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Groups.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/device/reference/Scalar.h"
#include "runtime/executor/CollectiveOf.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

static uint64_t countOf(const artifact::Buffer &buffer) {
  uint64_t count = 1;
  for (uint32_t i = 0; buffer.shape() && i < buffer.shape()->size(); ++i)
    count *= static_cast<uint64_t>(buffer.shape()->Get(i));
  return count;
}

static reference::Type typeOf(const artifact::Buffer &buffer) { return reference::typeOf(rt::toDType(buffer.dtype())); }

static uint64_t bytesOf(const artifact::Buffer &buffer) { return countOf(buffer) * sizeOf(typeOf(buffer)); }

WorkerRun::WorkerRun(PlanRun &plan, uint32_t rank)
    : plan(plan), rank_(rank), group(rt::groupOf(plan.artifact.plan(), rank)) {}

std::string WorkerRun::describe(int32_t number) const {
  if (number < 0)
    return "what was there before the run";
  if (!program || static_cast<uint32_t>(number) >= numSteps())
    return str("worker ", rank_, ", the end");
  const artifact::Step &each = step(static_cast<uint32_t>(number));
  const std::string name = each.name() && each.name()->size() ? str(" '", each.name()->str(), "'") : "";
  const std::string location = each.location() && each.location()->size() ? str(" (", each.location()->str(), ")") : "";
  return str("worker ", rank_, ", step ", number, " ", rt::nameOf(each.action_type()), name, location);
}

absl::Status WorkerRun::named(const absl::Status &status, uint32_t number) const {
  return rt::annotate(status, describe(static_cast<int32_t>(number)));
}

//===-- Before a run ----------------------------------------------------===//

absl::Status WorkerRun::set(const artifact::Buffer &buffer, const Tensor &global, const std::vector<int64_t> &shape,
                            const rt::Slice &slice) {
  if (global.type != typeOf(buffer))
    return absl::InvalidArgumentError(
        str("has elements of ", EnumNameType(global.type), ", and in the plan of ", EnumNameType(typeOf(buffer))));
  uint64_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<uint64_t>(size);
  if (global.count != count)
    return absl::InvalidArgumentError(str("has ", global.count, " elements, and in the plan ", count));
  auto local = std::make_shared<Tensor>(global.type, countOf(buffer));
  makeUndefined(*local, undefinedIn(run)); // padding
  for (const rt::BlockPiece &piece : rt::blockPieces(shape, slice.offsets, slice.sizes, slice.extents()))
    copyElements(global, piece.from, piece.count, *local, piece.to);
  local->degree = global.degree;
  memoryOf(buffer).write(buffer.offset(), local, 0, local->count, {run, -1});
  return absl::OkStatus();
}

absl::Status WorkerRun::beginVariables(const Call &call) {
  const artifact::Plan &p = plan.artifact.plan();
  for (uint32_t i = 0; p.variables() && i < p.variables()->size(); ++i) {
    const artifact::Variable &variable = *p.variables()->Get(i);
    if (!rt::belongs(variable.group(), group))
      continue;
    const artifact::Buffer &buffer = *p.variable_buffers()->Get(variable.buffer());
    const auto value = call.variables.find(variable.name()->str());
    if (value == call.variables.end()) {
      memoryOf(buffer).keep(buffer.offset(), bytesOf(buffer), run);
      continue;
    }
    absl::Status status =
        set(buffer, *value->second, rt::toVector(variable.global_shape()), rt::localSlice(p, variable, rank_));
    if (!status.ok())
      return rt::annotate(status, str("variable '", value->first, "'"));
  }
  return absl::OkStatus();
}

absl::Status WorkerRun::beginInputs(const Call &call) {
  const artifact::Plan &p = plan.artifact.plan();
  auto scalar = [&](const artifact::Buffer &buffer, int64_t value) {
    auto tensor = std::make_shared<Tensor>(typeOf(buffer), 1);
    tensor->i[0] = reference::wrapped(tensor->type, static_cast<uint64_t>(value));
    memoryOf(buffer).write(buffer.offset(), tensor, 0, 1, {run, -1});
  };
  for (uint32_t i = 0; program->inputs() && i < program->inputs()->size(); ++i) {
    const artifact::Input &input = *program->inputs()->Get(i);
    const artifact::Buffer &buffer = *program->buffers()->Get(input.buffer());
    switch (input.role()) {
    case artifact::InputRole::Data: {
      const auto value = call.inputs.find(input.name()->str());
      if (value == call.inputs.end())
        return absl::InvalidArgumentError(str("the model has no input '", input.name()->str(), "'"));
      absl::Status status = set(buffer, *value->second, rt::toVector(input.global_shape()),
                                rt::localSlice(p, input.global_shape(), input.sharding(), rank_));
      if (!status.ok())
        return rt::annotate(status, str("input '", value->first, "'"));
      break;
    }
    case artifact::InputRole::ValidCount:
      scalar(buffer, call.validCount);
      break;
    case artifact::InputRole::Step:
      scalar(buffer, call.step);
      break;
    case artifact::InputRole::Seed:
      scalar(buffer, call.seed);
      break;
    case artifact::InputRole::AxisIndex:
      scalar(buffer, rt::positionAlong(p, input.name()->str(), rank_));
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status WorkerRun::begin(const Call &call, uint64_t number, Rendezvous &place) {
  run = number;
  rendezvous = &place;
  next = 0;
  underWay.clear();
  begun.clear();
  program = rt::programOf(plan.artifact.plan(), call.program, rank_);
  DGC_RETURN_IF_ERROR(beginVariables(call));
  return program ? beginInputs(call) : absl::OkStatus();
}

//===-- Steps -----------------------------------------------------------===//

namespace {
/// What an action works on in the shared arena.
struct SharedRanges : rt::ActionSink<SharedRanges> {
  explicit SharedRanges(const artifact::Program &program) : program(program) {}
  void operand(std::string_view, rt::Role, int64_t index) {
    if (index < 0)
      return;
    const artifact::Buffer &buffer = *program.buffers()->Get(static_cast<uint32_t>(index));
    if (buffer.space() == artifact::Space::Shared)
      found.emplace_back(buffer.offset(), buffer.offset() + bytesOf(buffer));
  }
  void range(uint64_t src, uint64_t srcCount, uint64_t dst, uint64_t dstCount, artifact::DType dtype) {
    const uint64_t size = rt::sizeOf(rt::toDType(dtype));
    found.emplace_back(src, src + srcCount * size);
    found.emplace_back(dst, dst + dstCount * size);
  }
  const artifact::Program &program;
  std::vector<std::pair<uint64_t, uint64_t>> found;
};
} // namespace

std::vector<WorkerRun::Range> WorkerRun::rangesOf(uint32_t number) const {
  SharedRanges ranges(*program);
  rt::describe(step(number), ranges);
  std::vector<Range> result;
  for (auto [begin, end] : ranges.found)
    result.push_back({begin, end});
  return result;
}

/// That this step uses nothing that communication which goes on works on.
absl::Status WorkerRun::checkRanges(uint32_t number) const {
  if (underWay.empty())
    return absl::OkStatus();
  for (const Range &mine : rangesOf(number))
    for (const Async &other : underWay)
      for (const Range &its : other.ranges)
        if (other.step != number && mine.meets(its))
          return named(absl::FailedPreconditionError(str("uses bytes from ", std::max(mine.begin, its.begin),
                                                         " of the shared arena while ",
                                                         describe(static_cast<int32_t>(other.step)),
                                                         " works on them: it waits for that too late, or never")),
                       number);
  return absl::OkStatus();
}

absl::StatusOr<TensorRef> WorkerRun::read(uint32_t index) {
  const artifact::Buffer &buffer = *program->buffers()->Get(index);
  if (buffer.space() == artifact::Space::Constant)
    return plan.constant(buffer);
  absl::StatusOr<TensorRef> value = memoryOf(buffer).read(buffer.offset(), typeOf(buffer), countOf(buffer), run);
  if (value.ok())
    return value;
  const std::string name = buffer.name() && buffer.name()->size() ? str(" '", buffer.name()->str(), "'") : "";
  return rt::annotate(value.status(), str("buffer ", index, name, " at ", buffer.offset(), " of the ",
                                          buffer.space() == artifact::Space::Shared ? "shared" : "private", " arena"));
}

absl::Status WorkerRun::compute(uint32_t number) {
  DGC_ASSIGN_OR_RETURN(const PlanRun::Work *work, plan.workOf(*program, step(number)));
  std::vector<TensorRef> inputs;
  for (uint32_t index : work->inputs) {
    DGC_ASSIGN_OR_RETURN(inputs.emplace_back(), read(index));
  }
  DGC_ASSIGN_OR_RETURN(std::vector<TensorRef> results, interpret(*work->kernel, inputs, plan.interpreterOptions()));
  for (size_t i = 0; i < results.size(); ++i) {
    const artifact::Buffer &buffer = *program->buffers()->Get(work->results[i]);
    if (buffer.space() == artifact::Space::Constant)
      return absl::FailedPreconditionError("writes a constant");
    memoryOf(buffer).write(buffer.offset(), results[i], 0, results[i]->count, writer(number));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> WorkerRun::communicate(uint32_t number, const artifact::Collective &collective) {
  rt::CollectiveDesc desc = rt::describeCollective(plan.artifact.plan(), collective, rank_);
  Meeting &meeting = rendezvous->meeting(collective, desc.group);
  if (begun.insert(number).second) {
    const size_t members = desc.group.size();
    meeting.arrived.push_back({std::move(desc), rank_, &shared, writer(number)});
    if (meeting.arrived.size() == members) {
      DGC_RETURN_IF_ERROR(exchange(meeting.arrived, plan.artifact.plan().world_size(),
                                   plan.artifact.plan().shared_bytes(), plan.options.functions, plan.options.counts));
      meeting.done = true;
    }
  }
  return meeting.done;
}

absl::StatusOr<bool> WorkerRun::communicate(uint32_t number, const artifact::Send &send) {
  if (!begun.insert(number).second)
    return true;
  DGC_ASSIGN_OR_RETURN(TensorRef value, read(send.buffer()));
  for (uint32_t to : rt::receiversOf(plan.artifact.plan(), send, rank_))
    rendezvous->letters(rank_, to, send.channel()).push_back(value);
  return true;
}

absl::StatusOr<bool> WorkerRun::communicate(uint32_t number, const artifact::Receive &receive) {
  if (begun.contains(number))
    return true;
  const std::vector<uint32_t> from = rt::sendersOf(plan.artifact.plan(), receive, rank_);
  for (uint32_t sender : from)
    if (rendezvous->letters(sender, rank_, receive.channel()).empty())
      return false;
  begun.insert(number);
  const artifact::Buffer &buffer = *program->buffers()->Get(receive.buffer());
  const uint64_t part = countOf(buffer) / from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    Rendezvous::Letters &letters = rendezvous->letters(from[i], rank_, receive.channel());
    TensorRef value = letters.front();
    letters.pop_front();
    if (value->count != part || value->type != typeOf(buffer))
      return absl::FailedPreconditionError(str("receives ", value->count, " elements of ", EnumNameType(value->type),
                                               " from worker ", from[i], " where it has room for ", part, " of ",
                                               EnumNameType(typeOf(buffer))));
    memoryOf(buffer).write(buffer.offset() + i * part * sizeOf(value->type), value, 0, part, writer(number));
  }
  return true;
}

/// Does the action of a step, or as much of it as is possible now; whether it is done.
absl::StatusOr<bool> WorkerRun::tryAction(uint32_t number) {
  return rt::visit(step(number), [&](const auto &action) -> absl::StatusOr<bool> {
    if constexpr (rt::isCommunication<std::decay_t<decltype(action)>>) {
      absl::StatusOr<bool> done = communicate(number, action);
      return done.ok() ? done : named(done.status(), number);
    } else {
      absl::Status status = compute(number);
      if (!status.ok())
        return named(status, number);
      return true;
    }
  });
}

/// The next step, behind what it waits for; whether anything was done.
absl::StatusOr<bool> WorkerRun::tryStep() {
  const artifact::Step &mine = step(next);
  for (uint32_t i = 0; mine.waits() && i < mine.waits()->size(); ++i) {
    const uint32_t awaited = mine.waits()->Get(i);
    auto at = std::find_if(underWay.begin(), underWay.end(), [&](const Async &each) { return each.step == awaited; });
    if (at == underWay.end())
      continue;
    DGC_ASSIGN_OR_RETURN(bool done, tryAction(awaited));
    if (!done)
      return false;
    underWay.erase(at);
  }
  DGC_RETURN_IF_ERROR(checkRanges(next));
  const bool isFirst = !begun.contains(next);
  DGC_ASSIGN_OR_RETURN(bool done, tryAction(next));
  const bool isAsync = mine.queue() == 1 && rt::communicates(rt::infoOf(mine.action_type()).kind);
  if (isAsync)
    underWay.push_back({next, rangesOf(next)});
  else if (!done)
    return isFirst && begun.contains(next);
  ++next;
  return true;
}

absl::StatusOr<bool> WorkerRun::advance() {
  bool any = false;
  while (program && next < numSteps()) {
    DGC_ASSIGN_OR_RETURN(bool did, tryStep());
    if (!did)
      return any;
    any = true;
  }
  while (!underWay.empty()) { // the program ends when all has ended
    DGC_ASSIGN_OR_RETURN(bool done, tryAction(underWay.back().step));
    if (!done)
      return any;
    underWay.pop_back();
    any = true;
  }
  return any;
}

Part WorkerRun::part(const std::string &name, const rt::Slice &slice, const artifact::Buffer &buffer) const {
  const Memory &memory = buffer.space() == artifact::Space::Shared ? shared : own;
  const uint64_t begin = buffer.offset(), width = sizeOf(typeOf(buffer));
  auto writerOf = [this, &memory, begin, width](size_t element) {
    std::optional<Writer> by = memory.writerOf(begin + element * width);
    return by && by->run == run ? describe(by->step) : std::string("an earlier run");
  };
  Part part{rank_, slice, nullptr, writerOf, absl::OkStatus()};
  absl::StatusOr<TensorRef> value = memory.read(buffer.offset(), typeOf(buffer), countOf(buffer), run);
  if (value.ok())
    part.value = *std::move(value);
  else
    part.unreadable = rt::annotate(value.status(), str("worker ", rank_, ", '", name, "'"));
  return part;
}
