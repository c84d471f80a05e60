// Programs on a device with memory of its own. It has a mirror of both arenas; the host has its own, of which the
// shared one is what the transport works on. Runs of local ops are segments, which the device records as a whole. The
// host communicates between them: what an op sends comes from the mirror before it begins, what it brings goes there
// behind it. Where devices communicate
// themselves, that is done between segments too, or is a part of them.
#include "runtime/artifact/Check.h"
#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Groups.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/executor/CollectiveOf.h"
#include "runtime/executor/Executor.h"

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
  DeviceCommunication made;
  auto sends = std::make_unique<SequentialTransfers>();
  for (uint32_t peer : receiversOf(artifact.plan(), send, static_cast<uint32_t>(transport.rank()))) {
    DGC_ASSIGN_OR_RETURN(
        DeviceCommunication each,
        device->memory()->prepareSend(send.channel(), peer, deviceAddress(buffer), memoryOf(buffer).size()));
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

namespace {
/// A part of an op of communication as one of the ops of a segment.
class CommunicationPart final : public PreparedOp {
public:
  using Function = absl::Status (PreparedCollective::*)();
  CommunicationPart(PreparedCollective &op, Function part) : op(op), part(part) {}
  absl::Status run(const dgc_step &) override { return (op.*part)(); }

private:
  PreparedCollective &op;
  Function part;
};
} // namespace

/// What an op of communication reads and writes of the shared arena.
HostExchange Executor::exchangeOf(const artifact::Program &program, const ProgramRunner::Op &op) const {
  HostExchange exchange;
  visitCommunication(*op.step,
                     Overloaded{[&](const artifact::Collective &c) {
                                  const size_t size = sizeOf(toDType(c.dtype()));
                                  std::span<std::byte> host = transport.sharedArena();
                                  forEachRange(c, [&](const auto &range) {
                                    exchange.toHost.push_back({deviceShared + range.src(),
                                                               host.subspan(range.src(), range.src_count() * size)});
                                    exchange.toDevice.push_back({deviceShared + range.dst(),
                                                                 host.subspan(range.dst(), range.dst_count() * size)});
                                  });
                                },
                                [&](const artifact::Send &send) {
                                  const artifact::Buffer &buffer = *program.buffers()->Get(send.buffer());
                                  exchange.toHost.push_back({deviceAddress(buffer), memoryOf(buffer)});
                                },
                                [&](const artifact::Receive &receive) {
                                  const artifact::Buffer &buffer = *program.buffers()->Get(receive.buffer());
                                  exchange.toDevice.push_back({deviceAddress(buffer), op.received});
                                }});
  return exchange;
}

/// Cuts a program at its communication, and has it recorded.
absl::Status Executor::recordProgram(ProgramRunner &runner) {
  DeviceMemory *memory = device->memory();
  if (!memory)
    return absl::OkStatus();
  using Part = ProgramRunner::Part;
  const artifact::Program &program = *runner.program;
  ProgramParts parts;
  parts.name = runner.name();
  parts.trains = parts.name == "train";
  for (uint32_t i = 0; i < runner.inputViews.size(); ++i)
    parts.inputs.push_back(
        {deviceAddress(*program.buffers()->Get(program.inputs()->Get(i)->buffer())), runner.inputViews[i].memory});
  for (uint32_t i = 0; i < runner.outputViews.size(); ++i) {
    const artifact::Buffer &buffer = *program.buffers()->Get(program.outputs()->Get(i)->buffer());
    if (buffer.space() != artifact::Space::Constant) // the host has those
      parts.outputs.push_back({deviceAddress(buffer), runner.outputViews[i].memory});
  }
  auto newSegment = [&](uint32_t firstOp) {
    runner.parts.push_back({Part::Segment, firstOp, static_cast<uint32_t>(parts.segments.size())});
    parts.segments.emplace_back();
    runner.segmentOps.emplace_back();
  };
  std::vector<uint32_t> exchanges(runner.ops.size(), ProgramRunner::kNoExchange);
  auto addOp = [&](uint32_t i, PreparedOp *op, bool communicates) {
    if (runner.parts.back().kind != Part::Segment)
      newSegment(i);
    parts.segments.back().push_back({op, communicates});
    runner.segmentOps.back().push_back(i);
  };
  auto addCommunication = [&](Part::Kind kind, uint32_t i) {
    const ProgramRunner::Op &op = runner.ops[i];
    if (op.by != ProgramRunner::Op::Segments) {
      runner.parts.push_back({kind, i, exchanges[i]});
      return;
    }
    auto function = kind == Part::Run     ? &PreparedCollective::run
                    : kind == Part::Start ? &PreparedCollective::start
                                          : &PreparedCollective::finish;
    runner.communicationParts.push_back(std::make_unique<CommunicationPart>(*op.communication, function));
    addOp(i, runner.communicationParts.back().get(), !op.isEmpty);
  };
  newSegment(0); // the inputs, if nothing else
  for (uint32_t i = 0; i < runner.ops.size(); ++i) {
    const ProgramRunner::Op &op = runner.ops[i];
    for (uint32_t awaited : op.waits)
      addCommunication(Part::Finish, awaited);
    if (op.local) {
      addOp(i, op.local.get(), false);
      continue;
    }
    if (op.by == ProgramRunner::Op::Host) {
      exchanges[i] = static_cast<uint32_t>(parts.exchanges.size());
      parts.exchanges.push_back(exchangeOf(program, op));
    }
    addCommunication(op.isAsync ? Part::Start : Part::Run, i);
  }
  for (uint32_t awaited : runner.atEnd)
    addCommunication(Part::Finish, awaited);
  if (runner.parts.back().kind != Part::Segment)
    newSegment(static_cast<uint32_t>(runner.ops.size()) - 1); // the outputs
  runner.underWay.reserve(2);
  DGC_ASSIGN_OR_RETURN(runner.recorded, memory->record(parts));
  return absl::OkStatus();
}

absl::Status Executor::upload(const VariableView &view) {
  DeviceMemory *memory = device->memory();
  return memory ? memory->upload(deviceAddress(*artifact.plan().variable_buffers()->Get(view.variable->buffer())),
                                 view.memory)
                : absl::OkStatus();
}

absl::Status Executor::uploadVariables() {
  for (const VariableView &view : variableViews)
    DGC_RETURN_IF_ERROR(upload(view));
  return absl::OkStatus();
}

absl::Status Executor::downloadVariables() {
  for (const VariableView &view : variableViews)
    if (DeviceMemory *memory = device->memory())
      DGC_RETURN_IF_ERROR(memory->download(
          view.memory, deviceAddress(*artifact.plan().variable_buffers()->Get(view.variable->buffer()))));
  return absl::OkStatus();
}

//===-- Running ---------------------------------------------------------===//

absl::Status ProgramRunner::runPart(const Part &part) {
  if (part.kind == Part::Segment)
    return recorded->launch(part.index);
  PreparedCollective &communication = *ops[part.op].communication;
  if (part.index == kNoExchange) {
    DGC_RETURN_IF_ERROR(recorded->settle());
    return part.kind == Part::Run     ? communication.run()
           : part.kind == Part::Start ? communication.start()
                                      : communication.finish();
  }
  if (part.kind != Part::Finish)
    DGC_RETURN_IF_ERROR(recorded->toHost(part.index));
  if (part.kind == Part::Start)
    return communication.start();
  DGC_RETURN_IF_ERROR(part.kind == Part::Run ? communication.run() : communication.finish());
  return recorded->toDevice(part.index);
}

/// An error of the device may be one of any run that is under way.
absl::Status ProgramRunner::named(const absl::Status &status, uint64_t step) const {
  std::string steps = str("step ", underWay.empty() ? step : underWay.front());
  if (!underWay.empty() && underWay.front() != step)
    steps += str(", or step ", step, ", which was begun before that ended,");
  return annotate(status, str(steps, " of ", name()));
}

/// Queues a run. With a trace it is timed, and nothing else is under way.
absl::Status ProgramRunner::submitParts(const dgc_step &context) {
  ProgressWord &progress = executor->transport.progress();
  OpTrace *trace = executor->trace;
  Clock &clock = *executor->options.clock;
  begin = clock.now();
  if (absl::Status s = recorded->begin(/*timed=*/trace != nullptr); !s.ok())
    return named(s, context.step);
  for (const Part &part : parts) {
    progress.set(context.step, firstOp + part.op);
    TimeNs partBegin = trace ? clock.now() : 0;
    if (absl::Status s = runPart(part); !s.ok())
      return part.kind == Part::Segment ? named(s, context.step) : describe(s, part.op, context.step);
    if (!trace || part.kind == Part::Segment)
      continue;
    Op &op = ops[part.op];
    if (part.kind != Part::Finish)
      op.begin = partBegin;
    if (part.kind != Part::Start)
      trace->add({op.step, context.step, op.begin, clock.now()});
  }
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

/// The times of ops, as the device measured them; those of communication by the host, with the copies that it waits
/// for, are there. What runs during others is in segments twice: where it begins and where it is waited for.
absl::Status ProgramRunner::addTimes(uint64_t step) {
  std::vector<bool> isUnderWay(ops.size());
  for (const Part &part : parts) {
    if (part.kind != Part::Segment)
      continue;
    absl::StatusOr<std::vector<int64_t>> times = recorded->times(part.index);
    if (!times.ok())
      return named(times.status(), step);
    for (size_t i = 0; i + 1 < times->size(); ++i) {
      const uint32_t index = segmentOps[part.index][i];
      Op &op = ops[index];
      if (!isUnderWay[index])
        op.begin = begin + (*times)[i];
      isUnderWay[index] = op.isAsync && !isUnderWay[index];
      if (!isUnderWay[index])
        executor->trace->add({op.step, step, op.begin, begin + (*times)[i + 1]});
    }
  }
  return absl::OkStatus();
}
