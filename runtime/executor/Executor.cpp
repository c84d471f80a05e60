// Prepares and runs the programs of one worker.
#include "runtime/executor/Executor.h"

#include "runtime/artifact/Check.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/VariableParts.h"
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/executor/CollectiveOf.h"
#include "runtime/executor/IndexCheck.h"
#include "runtime/executor/PlannedMemory.h"

#include <algorithm>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

static std::string text(const flatbuffers::String *s) { return s ? s->str() : ""; }

std::vector<VariableView> dgc::rt::partsOf(const VariableView &view) {
  const size_t stacked = countStackedDims(*view.variable);
  if (stacked == 0)
    return {view};
  std::vector<VariableView> views;
  std::vector<VariablePart> parts = partsOf(*view.variable);
  const size_t bytes = view.memory.size() / parts.size(); // no worker has some of them only
  for (VariablePart &part : parts) {
    VariableView &made = views.emplace_back(view);
    made.name = std::move(part.name);
    made.beginsAs = std::move(part.beginsAs);
    made.rngId = part.rngId;
    made.globalShape = std::move(part.shape);
    for (std::vector<int64_t> *dims : {&made.slice.offsets, &made.slice.sizes, &made.slice.block})
      dims->erase(dims->begin(), dims->begin() + static_cast<int64_t>(std::min(stacked, dims->size())));
    made.memory = view.memory.subspan((views.size() - 1) * bytes, bytes);
  }
  return views;
}

std::vector<VariableView> dgc::rt::partsOf(std::span<const VariableView> views) {
  std::vector<VariableView> all;
  for (const VariableView &view : views)
    for (VariableView &part : partsOf(view))
      all.push_back(std::move(part));
  return all;
}

//===-- Making ----------------------------------------------------------===//

std::byte *Executor::address(const artifact::Buffer &buffer) const {
  switch (buffer.space()) {
  case artifact::Space::Shared:
    return transport.sharedArena().data() + buffer.offset();
  case artifact::Space::Constant:
    // Never written: checkPlan refuses a plan that does.
    return const_cast<std::byte *>(artifact.constants().data()) + buffer.offset();
  case artifact::Space::Private:
    break;
  }
  return arena.bytes().data() + buffer.offset();
}

std::span<std::byte> Executor::memoryOf(const artifact::Buffer &buffer) const {
  return {address(buffer), *checkedBytes(buffer.shape(), buffer.dtype())};
}

template <typename View, typename Table>
View Executor::viewOf(const Table &table, const artifact::Buffer &buffer) const {
  View view;
  view.name = table.name()->str();
  view.dtype = toDType(buffer.dtype());
  view.globalShape = toVector(table.global_shape());
  const artifact::Plan &plan = artifact.plan();
  const uint32_t rank = static_cast<uint32_t>(transport.rank());
  if constexpr (std::is_same_v<Table, artifact::Variable>) {
    view.slice = localSlice(plan, table, rank);
    view.split = isSplit(plan, table);
  } else {
    view.slice = localSlice(plan, table.global_shape(), table.sharding(), rank);
    view.split = isSplit(plan, table.sharding());
  }
  view.memory = memoryOf(buffer);
  return view;
}

absl::Status Executor::prepareOnHost(const artifact::Program &, const artifact::Collective &c, ProgramRunner::Op &op) {
  DGC_ASSIGN_OR_RETURN(op.communication, transport.prepare(describeCollective(
                                             artifact.plan(), c, static_cast<uint32_t>(transport.rank()))));
  return absl::OkStatus();
}

absl::Status Executor::prepareOnHost(const artifact::Program &program, const artifact::Send &send,
                                     ProgramRunner::Op &op) {
  const std::span<std::byte> sent = memoryOf(*program.buffers()->Get(send.buffer()));
  const uint32_t parts = partsOf(artifact.plan(), send);
  const size_t part = sent.size() / parts;
  auto sends = std::make_unique<SequentialTransfers>();
  size_t next = 0;
  for (uint32_t peer : receiversOf(artifact.plan(), send, static_cast<uint32_t>(transport.rank()))) {
    DGC_ASSIGN_OR_RETURN(auto each,
                         transport.prepareSend(send.channel(), static_cast<int>(peer), sent.subspan(next, part)));
    next += parts > 1 ? part : 0;
    sends->all.push_back(std::move(each));
  }
  op.communication = std::move(sends);
  return absl::OkStatus();
}

absl::Status Executor::prepareOnHost(const artifact::Program &program, const artifact::Receive &receive,
                                     ProgramRunner::Op &op) {
  const artifact::Buffer &buffer = *program.buffers()->Get(receive.buffer());
  op.received = memoryOf(buffer);
  if (device->memory() && buffer.space() != artifact::Space::Shared) { // which is pinned
    DGC_ASSIGN_OR_RETURN(op.received, device->memory()->allocatePinned(op.received.size()));
  }
  const std::vector<uint32_t> peers = sendersOf(artifact.plan(), receive, static_cast<uint32_t>(transport.rank()));
  const size_t part = op.received.size() / peers.size();
  auto receives = std::make_unique<SequentialTransfers>();
  for (size_t i = 0; i < peers.size(); ++i) {
    DGC_ASSIGN_OR_RETURN(auto each, transport.prepareReceive(receive.channel(), static_cast<int>(peers[i]),
                                                             op.received.subspan(i * part, part)));
    receives->all.push_back(std::move(each));
  }
  op.communication = std::move(receives);
  return absl::OkStatus();
}

ProgramRunner::Control Executor::controlOf(const artifact::While &loop) {
  return {true, loop.test_steps(), loop.body_steps(), loop.counted() ? loop.rounds() : 0, {}};
}

ProgramRunner::Control Executor::controlOf(const artifact::If &branch) {
  return {false, branch.then_steps(), branch.else_steps(), 0, {}};
}

/// Where the host finds a predicate: on a device with memory of its own it gets a copy, in pinned memory.
absl::StatusOr<HostMirror> Executor::predicateOf(const artifact::Buffer &buffer) {
  if (!device->memory())
    return HostMirror{nullptr, memoryOf(buffer)};
  DGC_ASSIGN_OR_RETURN(std::span<std::byte> copy, device->memory()->allocatePinned(memoryOf(buffer).size()));
  return HostMirror{deviceAddress(buffer), copy};
}

absl::StatusOr<ProgramRunner::Op> Executor::prepareOp(const artifact::Program &program, const artifact::Step &step,
                                                      std::span<const Operand> buffers) {
  ProgramRunner::Op op{nullptr, nullptr, &step};
  absl::Status status = visit(step, [&](const auto &action) -> absl::Status {
    using Action = std::decay_t<decltype(action)>;
    if constexpr (isControl<Action>) {
      op.control = std::make_unique<ProgramRunner::Control>(controlOf(action));
      DGC_ASSIGN_OR_RETURN(op.control->predicate, predicateOf(*program.buffers()->Get(action.predicate())));
      return absl::OkStatus();
    } else if constexpr (!isCommunication<Action>) {
      DGC_ASSIGN_OR_RETURN(op.local, device->prepare(action, buffers));
      return absl::OkStatus();
    } else {
      DeviceCommunication byDevice;
      if (device->memory()) {
        DGC_ASSIGN_OR_RETURN(byDevice, prepareOnDevice(program, action, op));
      }
      if (!byDevice.op)
        return prepareOnHost(program, action, op);
      op.by = byDevice.isRecorded ? ProgramRunner::Op::Segments : ProgramRunner::Op::Device;
      op.communication = std::move(byDevice.op);
      return absl::OkStatus();
    }
  });
  if (!status.ok())
    return status;
  return op;
}

absl::Status Executor::prepareProgram(const artifact::Program &program, uint32_t firstOp) {
  auto runner = std::make_unique<ProgramRunner>();
  runner->firstOp = firstOp;
  runner->program = &program;
  runner->executor = this;
  std::vector<Operand> buffers;
  for (uint32_t i = 0; i < program.buffers()->size(); ++i) {
    const artifact::Buffer &buffer = *program.buffers()->Get(i);
    buffers.push_back({deviceAddress(buffer), toDType(buffer.dtype()), toVector(buffer.shape())});
  }
  for (uint32_t i = 0; i < count(program.inputs()); ++i) {
    const artifact::Input &input = *program.inputs()->Get(i);
    auto view = viewOf<InputView>(input, *program.buffers()->Get(input.buffer()));
    view.role = input.role();
    if (view.role == artifact::InputRole::AxisIndex)
      view.axisIndex = positionAlong(artifact.plan(), view.name, transport.rank());
    view.batchDim = input.batch_dim();
    view.indexLimit = input.index_limit();
    runner->inputViews.push_back(std::move(view));
  }
  for (uint32_t i = 0; i < count(program.outputs()); ++i) {
    const artifact::Output &output = *program.outputs()->Get(i);
    auto view = viewOf<OutputView>(output, *program.buffers()->Get(output.buffer()));
    view.role = output.role();
    view.over = output.over() ? output.over()->str() : "";
    view.function = output.function();
    view.batchDim = output.batch_dim();
    runner->outputViews.push_back(std::move(view));
  }
  for (uint32_t i = 0; i < count(program.steps()); ++i) {
    const artifact::Step &step = *program.steps()->Get(i);
    absl::StatusOr<ProgramRunner::Op> op = prepareOp(program, step, buffers);
    if (!op.ok())
      return annotate(op.status(),
                      str("program '", program.name()->str(), "', step ", i, " '", text(step.name()), "'"));
    op->isAsync = step.queue() == 1 && op->communication;
    op->waits = toVector(step.waits());
    runner->isDecided |= op->control && op->control->rounds == 0;
    runner->ops.push_back(*std::move(op));
    if (runner->ops.back().isAsync)
      runner->atEnd.push_back(i);
    for (uint32_t awaited : runner->ops.back().waits)
      std::erase(runner->atEnd, awaited);
  }
  runners.push_back(std::move(runner));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::create(const Artifact &artifact, Transport &transport,
                                                           const ExecutorOptions &options,
                                                           const std::vector<std::string> &only) {
  const artifact::Plan &plan = artifact.plan();
  if (static_cast<uint32_t>(transport.worldSize()) != plan.world_size())
    return absl::InvalidArgumentError(
        str("the plan is for ", plan.world_size(), " workers, there are ", transport.worldSize()));
  if (transport.sharedArena().size() < plan.shared_bytes())
    return absl::InternalError("the shared arena is too small");
  std::unique_ptr<Executor> executor(new Executor(artifact, transport));
  executor->options = options;
  if (!executor->options.clock)
    executor->options.clock = &realClock();
  const int32_t group = groupOf(plan, static_cast<uint32_t>(transport.rank()));
  DGC_ASSIGN_OR_RETURN(executor->device, options.makeDevice
                                             ? options.makeDevice(artifact, options.threads, transport.rank())
                                             : createDevice(artifact, options.threads, transport.rank()));
  if (executor->device->memory()) // it sets none; those that write initial values
    setThreads(std::max(options.threads, 1));
  const PlannedMemory planned = plannedMemory(plan, group);
  const bool stages = (transport.name() == "tcp" || transport.name() == "ucx") && !executor->device->memory();
  DGC_RETURN_IF_ERROR(executor->checkMemoryLimit(planned.total() + (stages ? planned.staging : 0)));
  DGC_ASSIGN_OR_RETURN(executor->arena, Arena::allocate(privateBytesOf(plan, group)));
  DGC_RETURN_IF_ERROR(executor->prepareMemory());
  for (uint32_t i = 0; i < count(plan.variables()); ++i) {
    const artifact::Variable &variable = *plan.variables()->Get(i);
    if (!belongs(variable.group(), group))
      continue;
    auto view = executor->viewOf<VariableView>(variable, *plan.variable_buffers()->Get(variable.buffer()));
    view.variable = &variable;
    view.rngId = variable.rng_id();
    view.beginsAs = text(variable.begins_as());
    executor->variableViews.push_back(std::move(view));
  }
  uint32_t firstOp = 0;
  for (uint32_t i = 0; i < count(plan.programs()); ++i) {
    const artifact::Program &program = *plan.programs()->Get(i);
    bool wanted = only.empty() || std::count(only.begin(), only.end(), program.name()->str());
    if (wanted && belongs(program.group(), group))
      DGC_RETURN_IF_ERROR(executor->prepareProgram(program, firstOp));
    firstOp += count(program.steps());
  }
  DGC_RETURN_IF_ERROR(executor->device->finish());
  for (const std::unique_ptr<ProgramRunner> &runner : executor->runners)
    DGC_RETURN_IF_ERROR(executor->recordProgram(*runner));
  if (executor->device->memory()) // with what came that was not planned
    DGC_RETURN_IF_ERROR(executor->checkMemoryLimit(0));
  return executor;
}

absl::Status Executor::initializeVariables(const FileInitializer &fromFile) {
  for (const VariableView &part : partsOf(variableViews)) {
    if (part.variable->init() != artifact::InitKind::File) {
      DGC_RETURN_IF_ERROR(initialize(part));
      continue;
    }
    absl::Status s = fromFile ? fromFile(part) : absl::FailedPreconditionError("there is no folder to read it from");
    if (!s.ok())
      return annotate(s, str("variable '", part.name, "' from file '", text(part.variable->file()), "'"));
    DGC_RETURN_IF_ERROR(upload(part));
  }
  return absl::OkStatus();
}

absl::Status Executor::resetTotals() {
  for (const VariableView &view : variableViews)
    if (view.variable->role() == artifact::VariableRole::Total)
      for (const VariableView &part : partsOf(view))
        DGC_RETURN_IF_ERROR(initialize(part));
  return absl::OkStatus();
}

ProgramRunner *Executor::program(std::string_view name) {
  for (const std::unique_ptr<ProgramRunner> &runner : runners)
    if (runner->name() == name)
      return runner.get();
  return nullptr;
}

std::string dgc::rt::describeOp(const artifact::Plan &plan, uint32_t op) {
  for (uint32_t i = 0; i < count(plan.programs()); ++i) {
    const artifact::Program &program = *plan.programs()->Get(i);
    if (op >= count(program.steps())) {
      op -= count(program.steps());
      continue;
    }
    const artifact::Step &step = *program.steps()->Get(op);
    std::string name =
        step.name() && step.name()->size() ? step.name()->str() : std::string(nameOf(step.action_type()));
    std::string location = text(step.location());
    return str("'", name, "' of ", program.name()->str(), location.empty() ? "" : str(" (", location, ")"));
  }
  return "";
}

//===-- Running ---------------------------------------------------------===//

std::string_view ProgramRunner::name() const {
  auto view = program->name()->string_view();
  return {view.data(), view.size()};
}

void ProgramRunner::setValidCount(int32_t count) {
  for (const InputView &input : inputViews)
    if (input.role == artifact::InputRole::ValidCount)
      std::memcpy(input.memory.data(), &count, sizeof count);
}

absl::Status ProgramRunner::runOp(Op &op, const dgc_step &step) {
  if (op.local)
    return op.local->run(step);
  return executor->exposed([&] { return op.isAsync ? op.communication->start() : op.communication->run(); });
}

absl::Status Executor::exposed(absl::FunctionRef<absl::Status()> communicate) const {
  if (!options.figures)
    return communicate();
  const TimeNs begin = options.clock->now();
  absl::Status status = communicate();
  options.figures->expose(options.clock->now() - begin);
  return status;
}

absl::Status ProgramRunner::finishOp(uint32_t index, uint64_t step) {
  Op &op = ops[index];
  executor->transport.progress().set(step, firstOp + index);
  if (absl::Status s = executor->exposed([&] { return op.communication->finish(); }); !s.ok())
    return describe(s, index, step);
  if (executor->trace)
    executor->trace->add({op.step, step, op.begin, executor->options.clock->now()});
  return absl::OkStatus();
}

absl::Status ProgramRunner::describe(const absl::Status &status, size_t op, uint64_t step) const {
  std::string where = describeOp(executor->artifact.plan(), firstOp + static_cast<uint32_t>(op));
  return annotate(status, str("step ", step, ", op ", where));
}

size_t ProgramRunner::depth() const { return recorded && !isDecided && !executor->trace ? 2 : 1; }

absl::Status ProgramRunner::run(uint64_t step) {
  DGC_RETURN_IF_ERROR(submit(step));
  return collect();
}

absl::Status ProgramRunner::collect() { return recorded ? collectParts() : absl::OkStatus(); }

/// Checks those that are data, and writes those that are not.
absl::Status ProgramRunner::setInputs(const dgc_step &context) const {
  for (const InputView &input : inputViews)
    if (absl::Status s = checkIndices(input); !s.ok())
      return annotate(s, str("step ", context.step));
  for (const InputView &input : inputViews)
    if (input.role == artifact::InputRole::Step)
      std::memcpy(input.memory.data(), &context.step, sizeof context.step);
    else if (input.role == artifact::InputRole::Seed)
      std::memcpy(input.memory.data(), &context.seed, sizeof context.seed);
    else if (input.role == artifact::InputRole::AxisIndex)
      std::memcpy(input.memory.data(), &input.axisIndex, sizeof input.axisIndex);
  return absl::OkStatus();
}

absl::Status ProgramRunner::runSteps(std::span<const uint32_t> steps, uint64_t step) {
  const dgc_step context{executor->options.seed, step};
  DGC_RETURN_IF_ERROR(setInputs(context));
  TimeNs time = executor->trace ? executor->options.clock->now() : 0;
  for (uint32_t each : steps)
    DGC_RETURN_IF_ERROR(runOps(each, each + 1, context, time));
  executor->transport.progress().set(step, Position::kNoOp);
  return absl::OkStatus();
}

absl::Status ProgramRunner::submit(uint64_t step) {
  const dgc_step context{executor->options.seed, step};
  DGC_RETURN_IF_ERROR(setInputs(context));
  if (recorded)
    return submitParts(context);
  TimeNs time = executor->trace ? executor->options.clock->now() : 0;
  DGC_RETURN_IF_ERROR(runOps(0, ops.size(), context, time));
  for (uint32_t awaited : atEnd)
    DGC_RETURN_IF_ERROR(finishOp(awaited, step));
  executor->transport.progress().set(step, Position::kNoOp);
  return absl::OkStatus();
}

/// `time`: when the op before ended, for traces.
absl::Status ProgramRunner::runOps(size_t begin, size_t end, const dgc_step &context, TimeNs &time) {
  ProgressWord &progress = executor->transport.progress();
  OpTrace *trace = executor->trace;
  Clock &clock = *executor->options.clock;
  for (size_t i = begin; i < end; ++i) {
    if (const Control *control = ops[i].control.get()) {
      DGC_RETURN_IF_ERROR(runControl(i, context, time));
      i += size_t{control->first} + control->second;
      continue;
    }
    for (uint32_t awaited : ops[i].waits)
      DGC_RETURN_IF_ERROR(finishOp(awaited, context.step));
    if (trace && !ops[i].waits.empty())
      time = clock.now();
    progress.set(context.step, firstOp + static_cast<uint32_t>(i));
    if (executor->recorder)
      executor->recorder->begin(context.step, firstOp + static_cast<uint32_t>(i), clock.now());
    OpProbe *probe = executor->probe;
    if (probe && !probe->isOf(context.step, firstOp + static_cast<uint32_t>(i)))
      probe = nullptr;
    if (probe)
      executor->take(*probe, *program, *ops[i].step, "before");
    if (absl::Status s = runOp(ops[i], context); !s.ok())
      return describe(s, i, context.step);
    if (probe) {
      executor->take(*probe, *program, *ops[i].step, "after");
      ++probe->times;
    }
    if (trace) {
      TimeNs now = clock.now();
      if (ops[i].isAsync)
        ops[i].begin = time;
      else
        trace->add({ops[i].step, context.step, time, now});
      time = now;
    }
  }
  return absl::OkStatus();
}

/// The loop or branch that is op `at`.
absl::Status ProgramRunner::runControl(size_t at, const dgc_step &context, TimeNs &time) {
  const Control &control = *ops[at].control;
  for (uint32_t awaited : ops[at].waits)
    DGC_RETURN_IF_ERROR(finishOp(awaited, context.step));
  const size_t first = at + 1, second = first + control.first, end = second + control.second;
  return decide(
      control, [] { return absl::OkStatus(); },
      [&](bool isFirst) {
        return isFirst ? runOps(first, second, context, time) : runOps(second, end, context, time);
      });
}

/// Runs what the predicate decides on. `fetch` brings that to the host, where it is computed elsewhere.
absl::Status ProgramRunner::decide(const Control &control, absl::FunctionRef<absl::Status()> fetch,
                                   absl::FunctionRef<absl::Status(bool isFirst)> run) {
  auto holds = [&] { return control.predicate.host[0] != std::byte{0}; };
  if (!control.repeats) {
    DGC_RETURN_IF_ERROR(fetch());
    return run(holds());
  }
  Abort &abort = executor->transport.interruption();
  // Others may communicate as often as a counted loop has rounds: what its test gives decides nothing.
  for (uint64_t round = 0; control.rounds == 0 || round < control.rounds; ++round) {
    if (abort.raised()) // it may be that the loop has no end
      return abort.status();
    DGC_RETURN_IF_ERROR(run(/*isFirst=*/true));
    DGC_RETURN_IF_ERROR(fetch());
    if (control.rounds == 0 && !holds())
      return absl::OkStatus();
    DGC_RETURN_IF_ERROR(run(/*isFirst=*/false));
  }
  return absl::OkStatus();
}
