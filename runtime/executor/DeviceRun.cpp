// Programs on a device with memory of its own. It has a mirror of both arenas; the host has its own, of which the
// shared one is what the transport works on. The host launches the segments of a program (RecordProgram.cpp) and
// communicates between them: what an op sends comes from the mirror before it begins, what it brings goes there
// behind it. Where devices communicate themselves, that is done between segments too, or is a part of them. What a loop
// or a branch is decided by comes to the host as soon as it is computed.
#include "runtime/artifact/Check.h"
#include "runtime/artifact/Groups.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/executor/CollectiveOf.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/Initialize.h"

using namespace dgc;
using namespace dgc::rt;

void *Executor::deviceAddress(const artifact::Buffer &buffer) const {
  if (!device->memory())
    return address(buffer);
  switch (buffer.space()) {
  case artifact::Space::Shared:
    return deviceShared + buffer.offset();
  case artifact::Space::Constant:
    return deviceConstants + buffer.offset();
  case artifact::Space::Private:
    break;
  }
  return deviceArena + buffer.offset();
}

/// Refuses to go on when what is taken of the device already and what is `planned` in addition are more than is allowed.
absl::Status Executor::checkMemoryLimit(uint64_t planned) const {
  if (options.memoryLimit == 0)
    return absl::OkStatus();
  uint64_t taken = 0;
  if (DeviceMemory *memory = device->memory()) {
    DGC_ASSIGN_OR_RETURN(taken, memory->bytesInUse());
  }
  if (taken + planned <= options.memoryLimit)
    return absl::OkStatus();
  std::string parts;
  if (planned && device->memory())
    parts = str(" (", taken, " for its context and code, ", planned, " for the plan)");
  return withExitCode(
      absl::ResourceExhaustedError(
          str("the worker ", planned ? "needs " : "takes ", taken + planned, " bytes",
              device->memory() ? " of the GPU" : "", parts, ", and --memory-limit allows ", options.memoryLimit,
              "; use a larger limit, more workers, or compile the model with --memory-limit to see "
              "what would fit")),
      ExitCode::Machine);
}

/// The arenas of a device with memory of its own.
absl::Status Executor::prepareMemory() {
  DeviceMemory *memory = device->memory();
  if (!memory)
    return absl::OkStatus();
  DGC_ASSIGN_OR_RETURN(void *base, memory->allocateArena(arena.bytes().size()));
  deviceArena = static_cast<std::byte *>(base);
  const int32_t group = groupOf(artifact.plan(), static_cast<uint32_t>(transport.rank()));
  if (uint64_t bytes = sharedBytesOf(artifact.plan(), group)) {
    DGC_RETURN_IF_ERROR(memory->pin(transport.sharedArena()));
    DGC_ASSIGN_OR_RETURN(void *shared, memory->allocateArena(bytes));
    deviceShared = static_cast<std::byte *>(shared);
  }
  if (artifact.plan().world_size() > 1 && artifact.plan().shared_bytes() > 0) // so for all workers
    DGC_RETURN_IF_ERROR(memory->connect(transport, deviceShared));
  if (!artifact.constants().empty()) {
    DGC_ASSIGN_OR_RETURN(void *constants, memory->placeConstants(artifact.constants()));
    deviceConstants = static_cast<std::byte *>(constants);
  }
  return absl::OkStatus();
}

//===-- Communication by the device -------------------------------------===//

absl::StatusOr<DeviceCommunication> Executor::prepareOnDevice(const artifact::Program &, const artifact::Collective &c,
                                                              ProgramRunner::Op &) {
  return device->memory()->prepareCollective(
      describeCollective(artifact.plan(), c, static_cast<uint32_t>(transport.rank())));
}

absl::StatusOr<DeviceCommunication> Executor::prepareOnDevice(const artifact::Program &program,
                                                              const artifact::Send &send, ProgramRunner::Op &op) {
  const artifact::Buffer &buffer = *program.buffers()->Get(send.buffer());
  const uint32_t parts = partsOf(artifact.plan(), send);
  const size_t part = memoryOf(buffer).size() / parts;
  std::byte *data = static_cast<std::byte *>(deviceAddress(buffer));
  DeviceCommunication made;
  auto sends = std::make_unique<SequentialTransfers>();
  for (uint32_t peer : receiversOf(artifact.plan(), send, static_cast<uint32_t>(transport.rank()))) {
    DGC_ASSIGN_OR_RETURN(DeviceCommunication each, device->memory()->prepareSend(send.channel(), peer, data, part));
    data += parts > 1 ? part : 0;
    if (!each.op)
      return each;
    made.isRecorded = each.isRecorded;
    sends->all.push_back(std::move(each.op));
  }
  op.isEmpty = sends->all.empty();
  made.isRecorded |= op.isEmpty;
  made.op = std::move(sends);
  return made;
}

absl::StatusOr<DeviceCommunication> Executor::prepareOnDevice(const artifact::Program &program,
                                                              const artifact::Receive &receive, ProgramRunner::Op &) {
  const artifact::Buffer &buffer = *program.buffers()->Get(receive.buffer());
  const std::vector<uint32_t> peers = sendersOf(artifact.plan(), receive, static_cast<uint32_t>(transport.rank()));
  const size_t part = memoryOf(buffer).size() / peers.size();
  DeviceCommunication made;
  auto receives = std::make_unique<SequentialTransfers>();
  for (size_t i = 0; i < peers.size(); ++i) {
    std::byte *data = static_cast<std::byte *>(deviceAddress(buffer)) + i * part;
    DGC_ASSIGN_OR_RETURN(DeviceCommunication each,
                         device->memory()->prepareReceive(receive.channel(), peers[i], data, part));
    if (!each.op)
      return each;
    made.isRecorded = each.isRecorded;
    receives->all.push_back(std::move(each.op));
  }
  made.op = std::move(receives);
  return made;
}

//===-- Variables -------------------------------------------------------===//

/// Of a variable or a part.
void *Executor::deviceAddress(const VariableView &part) const {
  const artifact::Buffer &buffer = *artifact.plan().variable_buffers()->Get(part.variable->buffer());
  return static_cast<std::byte *>(deviceAddress(buffer)) + (part.memory.data() - address(buffer));
}

/// Values go where programs have them; a device with memory of its own gets them piece by piece, and fills itself where all
/// are the same.
absl::Status Executor::initialize(const VariableView &part) {
  DGC_ASSIGN_OR_RETURN(const InitialValues values, InitialValues::of(part, options.seed, artifact.initialValues()));
  DeviceMemory *memory = device->memory();
  if (!memory) {
    values.write(0, part.memory);
    return absl::OkStatus();
  }
  if (std::optional<double> value = values.constant())
    return memory->fill(deviceAddress(part), part.dtype, *value, part.memory.size() / sizeOf(part.dtype));
  return memory->upload(deviceAddress(part), part.memory.size(),
                        [&](uint64_t offset, std::span<std::byte> piece) { values.write(offset, piece); });
}

absl::Status Executor::upload(const VariableView &part) {
  DeviceMemory *memory = device->memory();
  return memory ? memory->upload(deviceAddress(part), part.memory) : absl::OkStatus();
}

absl::Status Executor::uploadVariables() {
  for (const VariableView &view : variableViews)
    DGC_RETURN_IF_ERROR(upload(view));
  return absl::OkStatus();
}

absl::Status Executor::downloadVariables() {
  for (const VariableView &view : variableViews)
    if (DeviceMemory *memory = device->memory())
      DGC_RETURN_IF_ERROR(memory->download(view.memory, deviceAddress(view)));
  return absl::OkStatus();
}

//===-- Running ---------------------------------------------------------===//

absl::Status ProgramRunner::communicate(const Part &part) {
  PreparedCollective &communication = *ops[part.op].communication;
  auto run = [&] {
    return part.kind == Part::Run     ? communication.run()
           : part.kind == Part::Start ? communication.start()
                                      : communication.finish();
  };
  if (part.index == kNoExchange) {
    DGC_RETURN_IF_ERROR(recorded->settle());
    return executor->exposed(run);
  }
  if (part.kind != Part::Finish)
    DGC_RETURN_IF_ERROR(recorded->toHost(part.index));
  DGC_RETURN_IF_ERROR(executor->exposed(run));
  return part.kind == Part::Start ? absl::OkStatus() : recorded->toDevice(part.index);
}

absl::Status ProgramRunner::runCommunication(const Part &part, uint64_t step) {
  OpTrace *trace = executor->trace;
  Clock &clock = *executor->options.clock;
  TimeNs partBegin = trace ? clock.now() : 0;
  if (absl::Status s = communicate(part); !s.ok())
    return describe(s, part.op, step);
  if (!trace)
    return absl::OkStatus();
  Op &op = ops[part.op];
  if (part.kind != Part::Finish)
    op.begin = partBegin;
  if (part.kind != Part::Start)
    trace->add({op.step, step, op.begin, clock.now()});
  return absl::OkStatus();
}

/// The loop or branch that is part `at`: the host waits for each of its decisions. For a loop of so many rounds it waits for
/// the times of each round only, if they are wanted.
absl::Status ProgramRunner::runDecision(size_t at, const dgc_step &context) {
  const Part &part = parts[at];
  const Control &control = *ops[part.op].control;
  const size_t first = at + 1, second = first + part.first, end = second + part.second;
  if (control.rounds && !executor->trace) {
    const Abort &abort = executor->transport.interruption();
    for (uint64_t round = 0; round < control.rounds; ++round) {
      if (abort.raised())
        return abort.status();
      DGC_RETURN_IF_ERROR(runParts(second, end, context));
    }
    return absl::OkStatus();
  }
  auto fetch = [&]() -> absl::Status {
    executor->transport.progress().set(context.step, firstOp + part.op);
    if (absl::Status s = recorded->toHost(part.index); !s.ok())
      return describe(s, part.op, context.step);
    // A segment that was launched in this round may be launched again, which its times would not survive.
    return executor->trace ? addTimes(context.step) : absl::OkStatus();
  };
  return decide(control, fetch, [&](bool isFirst) {
    return isFirst ? runParts(first, second, context) : runParts(second, end, context);
  });
}

/// An error of the device may be one of any run that is under way.
absl::Status ProgramRunner::named(const absl::Status &status, uint64_t step) const {
  std::string steps = str("step ", underWay.empty() ? step : underWay.front());
  if (!underWay.empty() && underWay.front() != step)
    steps += str(", or step ", step, ", which was begun before that ended,");
  return annotate(status, str(steps, " of ", name()));
}

absl::Status ProgramRunner::runParts(size_t begin, size_t end, const dgc_step &context) {
  for (size_t i = begin; i < end; ++i) {
    const Part &part = parts[i];
    executor->transport.progress().set(context.step, firstOp + part.op);
    if (part.kind == Part::Decide) {
      DGC_RETURN_IF_ERROR(runDecision(i, context));
      i += size_t{part.first} + part.second;
    } else if (part.kind != Part::Segment) {
      DGC_RETURN_IF_ERROR(runCommunication(part, context.step));
    } else {
      if (absl::Status s = recorded->launch(part.index); !s.ok())
        return named(s, context.step);
      if (executor->trace)
        untimed.push_back(part.index);
    }
  }
  return absl::OkStatus();
}

/// Queues a run. With a trace it is timed, and nothing else is under way.
absl::Status ProgramRunner::submitParts(const dgc_step &context) {
  untimed.clear();
  begin = executor->options.clock->now();
  if (absl::Status s = recorded->begin(/*timed=*/executor->trace != nullptr); !s.ok())
    return named(s, context.step);
  DGC_RETURN_IF_ERROR(runParts(0, parts.size(), context));
  if (absl::Status s = recorded->submit(); !s.ok())
    return named(s, context.step);
  underWay.push_back(context.step);
  return absl::OkStatus();
}

absl::Status ProgramRunner::collectParts() {
  if (underWay.empty())
    return absl::InternalError(str("no run of ", name(), " is under way"));
  const uint64_t step = underWay.front();
  if (absl::Status s = recorded->collect(); !s.ok())
    return named(s, underWay.back());
  underWay.erase(underWay.begin());
  if (underWay.empty())
    executor->transport.progress().set(step, Position::kNoOp);
  return executor->trace ? addTimes(step) : absl::OkStatus();
}

/// The times of ops since the last call, as the device measured them; those of communication by the host, with the
/// copies that it waits for, are there. What runs during others is in segments twice: where it begins and where it is
/// waited for.
absl::Status ProgramRunner::addTimes(uint64_t step) {
  for (uint32_t segment : untimed) {
    absl::StatusOr<std::vector<int64_t>> times = recorded->times(segment);
    if (!times.ok())
      return named(times.status(), step);
    for (size_t i = 0; i + 1 < times->size(); ++i) {
      Op &op = ops[segmentOps[segment][i]];
      if (!op.isUnderWay)
        op.begin = begin + (*times)[i];
      op.isUnderWay = op.isAsync && !op.isUnderWay;
      if (!op.isUnderWay)
        executor->trace->add({op.step, step, op.begin, begin + (*times)[i + 1]});
    }
  }
  untimed.clear();
  return absl::OkStatus();
}
