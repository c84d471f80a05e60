// Cuts a program into what a device with memory of its own does one after the other. Runs of local ops are segments, which
// the device records as a whole and launches as often as they run. Between them the host communicates, and decides which
// region of a loop or a branch comes next: a segment ends where one begins or ends.
#include "runtime/artifact/Describe.h"
#include "runtime/base/Status.h"
#include "runtime/executor/Executor.h"

using namespace dgc;
using namespace dgc::rt;

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

/// What an op of communication reads and writes of the shared arena, or what a loop or a branch is decided by.
HostExchange Executor::exchangeOf(const artifact::Program &program, const ProgramRunner::Op &op) const {
  HostExchange exchange;
  if (op.control)
    exchange.toHost.push_back(op.control->predicate);
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

/// Makes the parts of a program, and the segments that are to be recorded.
class ProgramRunner::Cutter {
public:
  Cutter(ProgramRunner &runner, ProgramParts &recorded) : runner(runner), recorded(recorded) {}

  void run() {
    const auto numOps = static_cast<uint32_t>(runner.ops.size());
    openSegment(0); // the inputs, if nothing else
    cut(0, numOps);
    for (uint32_t awaited : runner.atEnd)
      addCommunication(Part::Finish, awaited);
    if (!isOpen)
      openSegment(numOps - 1); // the outputs
  }

private:
  void openSegment(uint32_t firstOp) {
    runner.parts.push_back({Part::Segment, firstOp, static_cast<uint32_t>(recorded.segments.size())});
    recorded.segments.emplace_back();
    runner.segmentOps.emplace_back();
    isOpen = true;
  }

  void addOp(uint32_t i, PreparedOp *op, bool communicates) {
    if (!isOpen)
      openSegment(i);
    recorded.segments.back().push_back({op, communicates});
    runner.segmentOps.back().push_back(i);
  }

  void addCommunication(Part::Kind kind, uint32_t i) {
    const Op &op = runner.ops[i];
    if (op.by != Op::Segments) {
      runner.parts.push_back({kind, i, op.exchange});
      isOpen = false;
      return;
    }
    auto function = kind == Part::Run     ? &PreparedCollective::run
                    : kind == Part::Start ? &PreparedCollective::start
                                          : &PreparedCollective::finish;
    runner.communicationParts.push_back(std::make_unique<CommunicationPart>(*op.communication, function));
    addOp(i, runner.communicationParts.back().get(), !op.isEmpty);
  }

  /// The ops from `begin` to `end`.
  void cut(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      const Op &op = runner.ops[i];
      for (uint32_t awaited : op.waits)
        addCommunication(Part::Finish, awaited);
      if (op.control) {
        addControl(i);
        i += op.control->first + op.control->second;
      } else if (op.local) {
        addOp(i, op.local.get(), false);
      } else {
        addCommunication(op.isAsync ? Part::Start : Part::Run, i);
      }
    }
  }

  void addControl(uint32_t at) {
    const Op &op = runner.ops[at];
    const uint32_t first = at + 1, second = first + op.control->first, end = second + op.control->second;
    const size_t part = runner.parts.size();
    runner.parts.push_back({Part::Decide, at, op.exchange});
    runner.parts[part].first = cutRegion(first, second);
    runner.parts[part].second = cutRegion(second, end);
  }

  /// The number of parts that the ops become. No segment goes on into the region or out of it.
  uint32_t cutRegion(uint32_t begin, uint32_t end) {
    const size_t before = runner.parts.size();
    isOpen = false;
    cut(begin, end);
    isOpen = false;
    return static_cast<uint32_t>(runner.parts.size() - before);
  }

  ProgramRunner &runner;
  ProgramParts &recorded;
  bool isOpen = false; // the last part is a segment that takes further ops
};

/// Cuts a program into parts, and has its segments recorded.
absl::Status Executor::recordProgram(ProgramRunner &runner) {
  DeviceMemory *memory = device->memory();
  if (!memory)
    return absl::OkStatus();
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
  for (ProgramRunner::Op &op : runner.ops)
    if (op.control || (op.communication && op.by == ProgramRunner::Op::Host)) {
      op.exchange = static_cast<uint32_t>(parts.exchanges.size());
      parts.exchanges.push_back(exchangeOf(program, op));
    }
  ProgramRunner::Cutter(runner, parts).run();
  runner.untimed.reserve(parts.segments.size());
  runner.underWay.reserve(2);
  DGC_ASSIGN_OR_RETURN(runner.recorded, memory->record(parts));
  return absl::OkStatus();
}
