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

uint64_t dgc::verify::countOf(const artifact::Buffer &buffer) {
  uint64_t count = 1;
  for (uint32_t i = 0; buffer.shape() && i < buffer.shape()->size(); ++i)
    count *= static_cast<uint64_t>(buffer.shape()->Get(i));
  return count;
}

reference::Type dgc::verify::typeOf(const artifact::Buffer &buffer) {
  return reference::typeOf(rt::toDType(buffer.dtype()));
}

uint64_t dgc::verify::bytesOf(const artifact::Buffer &buffer) { return countOf(buffer) * sizeOf(typeOf(buffer)); }

WorkerRun::WorkerRun(PlanRun &plan, uint32_t rank) : plan(plan), rank_(rank), group(rt::groupOf(plan.plan, rank)) {}

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
  std::shared_ptr<Tensor> local = Tensor::uninitialized(global.type, countOf(buffer));
  makeUndefined(*local, undefinedIn(run)); // padding
  for (const rt::BlockPiece &piece : rt::blockPieces(shape, slice.offsets, slice.sizes, slice.extents()))
    copyElements(global, piece.from, piece.count, *local, piece.to);
  local->degree = global.degree;
  memoryOf(buffer).write(buffer.offset(), local, 0, local->count, {run, -1});
  return absl::OkStatus();
}

absl::Status WorkerRun::beginVariables(const Call &call) {
  const artifact::Plan &p = plan.plan;
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
  const artifact::Plan &p = plan.plan;
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
  controls.clear();
  follows = false;
  found = {};
  started.clear();
  clock = Clock();
  log.clear();
  program = rt::programOf(plan.plan, call.program, rank_);
  DGC_RETURN_IF_ERROR(beginVariables(call));
  return program ? beginInputs(call) : absl::OkStatus();
}

//===-- Order of accesses -----------------------------------------------===//

absl::Status WorkerRun::note(ByteRange range, const Access &access, const Clock &at) {
  if (!plan.options.checksOrder)
    return absl::OkStatus();
  const std::optional<AccessLog::Conflict> conflict = log.add(range, access, at);
  if (!conflict)
    return absl::OkStatus();
  auto verb = [](const Access &each) { return each.writes ? "writes" : "reads"; };
  const Access &other = conflict->other;
  const std::string later = str("step ", std::max(access.step, other.step));
  return absl::FailedPreconditionError(str(verb(access), " bytes from ", conflict->byte, " of the shared arena, which ",
                                           describe(static_cast<int32_t>(other.step)), " ", verb(other),
                                           ", and nothing orders the two: ", later, " does not wait for step ",
                                           std::min(access.step, other.step)));
}

absl::Status WorkerRun::note(uint32_t index, bool writes) {
  const artifact::Buffer &buffer = *program->buffers()->Get(index);
  if (buffer.space() != artifact::Space::Shared)
    return absl::OkStatus();
  return note({buffer.offset(), buffer.offset() + bytesOf(buffer)}, {now, next, writes}, clock);
}

absl::Status WorkerRun::noteCollective(Member &member) {
  const uint32_t number = static_cast<uint32_t>(member.writer.step);
  const artifact::Collective &collective = *step(number).action_as_Collective();
  const uint64_t size = rt::sizeOf(rt::toDType(collective.dtype()));
  const Moment moment = member.clock.advance(member.task);
  absl::Status status;
  rt::forEachRange(collective, [&](const auto &range) {
    for (bool writes : {false, true}) {
      const uint64_t begin = writes ? range.dst() : range.src(), count = writes ? range.dst_count() : range.src_count();
      status.Update(note({begin, begin + count * size}, {moment, number, writes}, member.clock));
    }
  });
  return status.ok() ? status : named(status, number);
}

//===-- Steps -----------------------------------------------------------===//

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

absl::Status WorkerRun::compute() {
  DGC_ASSIGN_OR_RETURN(const PlanRun::Work *work, plan.workOf(*program, step(next)));
  std::vector<TensorRef> inputs;
  for (uint32_t index : work->inputs) {
    DGC_RETURN_IF_ERROR(note(index, /*writes=*/false));
    DGC_ASSIGN_OR_RETURN(inputs.emplace_back(), read(index));
  }
  DGC_ASSIGN_OR_RETURN(std::vector<TensorRef> results, interpret(*work->kernel, inputs, plan.interpreterOptions()));
  for (size_t i = 0; i < results.size(); ++i) {
    const artifact::Buffer &buffer = *program->buffers()->Get(work->results[i]);
    if (buffer.space() == artifact::Space::Constant)
      return absl::FailedPreconditionError("writes a constant");
    DGC_RETURN_IF_ERROR(note(work->results[i], /*writes=*/true));
    memoryOf(buffer).write(buffer.offset(), results[i], 0, results[i]->count, writer(next));
  }
  return absl::OkStatus();
}

absl::Status WorkerRun::communicate(const artifact::Collective &collective) {
  rt::CollectiveDesc desc = rt::describeCollective(plan.plan, collective, rank_);
  PendingCollective &pending = rendezvous->next(collective.id(), desc.group, rank_);
  const uint32_t task = step(next).queue() == 1 ? rendezvous->newTask() : rank_;
  rendezvous->arrive(pending, {std::move(desc), rank_, &shared, writer(next), task, clock});
  started.push_back({next, &pending});
  return absl::OkStatus();
}

absl::Status WorkerRun::communicate(const artifact::Send &send) {
  DGC_RETURN_IF_ERROR(note(send.buffer(), /*writes=*/false));
  DGC_ASSIGN_OR_RETURN(TensorRef value, read(send.buffer()));
  const artifact::Buffer &buffer = *program->buffers()->Get(send.buffer());
  const uint64_t parts = rt::partsOf(plan.plan, send), part = countOf(buffer) / parts;
  uint64_t next = buffer.offset();
  for (uint32_t to : rt::receiversOf(plan.plan, send, rank_)) {
    if (parts > 1) {
      DGC_ASSIGN_OR_RETURN(value, memoryOf(buffer).read(next, typeOf(buffer), part, run));
      next += part * sizeOf(typeOf(buffer));
    }
    rendezvous->post(rank_, to, send.channel(), {value, clock});
  }
  return absl::OkStatus();
}

absl::Status WorkerRun::communicate(const artifact::Receive &receive) {
  const std::vector<uint32_t> from = rt::sendersOf(plan.plan, receive, rank_);
  const artifact::Buffer &buffer = *program->buffers()->Get(receive.buffer());
  const uint64_t part = countOf(buffer) / from.size();
  for (uint32_t sender : from)
    clock.join(rendezvous->messages(sender, rank_, receive.channel()).front().clock);
  DGC_RETURN_IF_ERROR(note(receive.buffer(), /*writes=*/true));
  for (size_t i = 0; i < from.size(); ++i) {
    Rendezvous::Messages &messages = rendezvous->messages(from[i], rank_, receive.channel());
    TensorRef value = messages.front().value;
    messages.pop_front();
    if (value->count != part || value->type != typeOf(buffer))
      return absl::FailedPreconditionError(str("receives ", value->count, " elements of ", EnumNameType(value->type),
                                               " from worker ", from[i], " where it has room for ", part, " of ",
                                               EnumNameType(typeOf(buffer))));
    memoryOf(buffer).write(buffer.offset() + i * part * sizeOf(value->type), value, 0, part, writer(next));
  }
  return absl::OkStatus();
}

/// A collective that was started and not awaited; null: there is none.
const PendingCollective *WorkerRun::pendingOf(uint32_t number) const {
  for (const StartedCollective &each : started)
    if (each.step == number)
      return each.pending;
  return nullptr;
}

bool WorkerRun::isDone() const {
  return !program || (next == numSteps() && !follows &&
                      std::all_of(started.begin(), started.end(),
                                  [](const StartedCollective &each) { return each.pending->done; }));
}

bool WorkerRun::canStep() const {
  if (program && follows)
    return pendingOf(next - 1)->done;
  if (!program || next == numSteps())
    return false;
  if (found.step != next || (found.waits && found.changes != rendezvous->changes()))
    found = {next, rendezvous->changes(), waits()};
  return !found.waits;
}

/// Whether the next step waits for something.
bool WorkerRun::waits() const {
  if (!started.empty() && started.back().step + 1 == next && step(next - 1).queue() == 0 &&
      !started.back().pending->done)
    return true;
  const artifact::Step &mine = step(next);
  for (uint32_t i = 0; mine.waits() && i < mine.waits()->size(); ++i)
    if (const PendingCollective *pending = pendingOf(mine.waits()->Get(i)); pending && !pending->done)
      return true;
  const artifact::Receive *receive = mine.action_as_Receive();
  if (!receive)
    return false;
  const std::vector<uint32_t> from = rt::sendersOf(plan.plan, *receive, rank_);
  return std::any_of(from.begin(), from.end(),
                     [&](uint32_t sender) { return rendezvous->messages(sender, rank_, receive->channel()).empty(); });
}

/// What a collective did is before what follows.
void WorkerRun::await(uint32_t number) {
  const PendingCollective *pending = pendingOf(number);
  if (!pending)
    return;
  clock.join(pending->memberOf(rank_).clock);
  std::erase_if(started, [&](const StartedCollective &each) { return each.step == number; });
}

absl::Status WorkerRun::act() {
  return rt::visit(step(next), [&](const auto &action) -> absl::Status {
    using Action = std::decay_t<decltype(action)>;
    if constexpr (rt::isCommunication<Action>)
      return communicate(action);
    else if constexpr (rt::isControl<Action>)
      return enter(action);
    else
      return compute();
  });
}

//===-- Loops and branches ----------------------------------------------===//

/// Rounds after which a loop counts as one without an end.
static constexpr uint32_t kMostRounds = 1 << 20;

absl::StatusOr<bool> WorkerRun::holds(uint32_t predicate) {
  DGC_ASSIGN_OR_RETURN(const TensorRef value, read(predicate));
  return value->i[0] != 0;
}

absl::Status WorkerRun::enter(const artifact::While &loop) {
  const uint32_t begin = next + 1, body = begin + loop.test_steps();
  controls.push_back({begin, body, body + loop.body_steps(), loop.predicate(), /*isLoop=*/true, loop.rounds()});
  return absl::OkStatus();
}

absl::Status WorkerRun::enter(const artifact::If &branch) {
  const uint32_t begin = next + 1, others = begin + branch.then_steps();
  DGC_ASSIGN_OR_RETURN(const bool isTrue, holds(branch.predicate()));
  controls.push_back({begin, others, others + branch.else_steps(), branch.predicate(), /*isLoop=*/false});
  if (!isTrue) {
    controls.back().body = controls.back().end;
    next = others - 1; // the step before the next one
  }
  return absl::OkStatus();
}

/// Goes on from where the loops and branches that steps are in lead to.
absl::Status WorkerRun::follow() {
  while (!controls.empty()) {
    Control &inner = controls.back();
    if (inner.isLoop && next == inner.body) {
      DGC_ASSIGN_OR_RETURN(const bool again, holds(inner.predicate));
      if (again && ++inner.rounds > kMostRounds)
        return absl::FailedPreconditionError(rt::str("the loop did not end in ", kMostRounds, " rounds"));
      if (again && inner.body != inner.end)
        return absl::OkStatus();
      next = again ? inner.begin : inner.end;
      if (again)
        continue;
      if (inner.known != 0 && inner.known != inner.rounds)
        return absl::FailedPreconditionError(
            rt::str("the loop ended after ", inner.rounds, " rounds, and the plan says that it has ", inner.known));
    } else if (inner.isLoop && next == inner.end) {
      next = inner.begin;
      if (inner.begin != inner.body)
        return absl::OkStatus();
      continue;
    } else if (!inner.isLoop && next == inner.body) {
      next = inner.end;
    } else {
      return absl::OkStatus();
    }
    controls.pop_back();
  }
  return absl::OkStatus();
}

absl::Status WorkerRun::doStep() {
  found = {};
  if (next > 0 && step(next - 1).queue() == 0)
    await(next - 1);
  if (follows) {
    follows = false;
    const uint32_t before = next - 1;
    absl::Status status = follow();
    return status.ok() ? status : named(status, before);
  }
  const artifact::Step &mine = step(next);
  for (uint32_t i = 0; mine.waits() && i < mine.waits()->size(); ++i)
    await(mine.waits()->Get(i));
  now = clock.advance(rank_);
  const uint32_t number = next;
  if (absl::Status status = act(); !status.ok())
    return named(status, number);
  ++next;
  if (!controls.empty() && pendingOf(number) && step(number).queue() == 0) {
    follows = true;
    return absl::OkStatus();
  }
  absl::Status status = follow();
  return status.ok() ? status : named(status, number);
}

absl::Status WorkerRun::computeSteps(uint32_t most) {
  auto communicates = [](const auto &action) { return rt::isCommunication<std::decay_t<decltype(action)>>; };
  for (; most > 0 && canStep() && (follows || !rt::visit(step(next), communicates)); --most)
    DGC_RETURN_IF_ERROR(doStep());
  return absl::OkStatus();
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
