// Programs as graphs. One stream computes, another copies what the host exchanges in between, a third one brings
// inputs:
//
//   uploads    [inputs of run 0] staged  [inputs of run 1] staged
//   stream     staged [segment 0] computed          arrived [segment 1] done   staged [segment 0] ..
//   transfers                     computed [to host]  ..  [to device] arrived
//   host                                   waits, communicates                 waits for done, takes outputs
//
// `staged` orders a run after its inputs, `computed` a copy after the segments that compute its value, and `arrived` a
// segment after the copies to the device. Segments that are launched between the two copies of an exchange overlap with
// it. Inputs wait in memory of their own, as values of the run before may be where they belong; the first segment puts
// them there. That memory is there twice, as is that of outputs on the host, and so are the graphs that know it: runs
// take turns. The host has collected the run before the last one when a run begins, so nothing has to wait for its
// turn.
//
// The segments of a loop are launched again each round: their graphs are the same, as no inputs or outputs are in them.
//
// What NCCL does is in a segment, as it needs nothing of the host. It is a part of the segment's graph, or queued
// between graphs of its pieces: device.mode says which, and while that is measured both are there and runs alternate.
#include "runtime/artifact/GpuSizes.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaDevice.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace dgc::rt::cuda {

class GraphProgram final : public DeviceProgram {
public:
  explicit GraphProgram(CudaDevice &device)
      : device(device), driver(*device.driver),
        clock(device.make.tuning.clock ? *device.make.tuning.clock : realClock()) {}

  absl::Status record(const ProgramParts &parts);

  absl::Status begin(bool isTimed) override {
    if (begun - collected >= (isTimed ? 1 : gpu::stagedRuns))
      return absl::InternalError("a run is begun before those before it are collected");
    timed = isTimed;
    DGC_RETURN_IF_ERROR(chooseLaunchMode());
    const Turn &turn = turns[begun % gpu::stagedRuns];
    for (const Copy &copy : inputs)
      std::memcpy(turn.inputs + copy.offset, copy.mirror.host.data(), copy.mirror.host.size());
    ++begun;
    if (timed)
      DGC_RETURN_IF_ERROR(recordTime(beginning));
    if (inputs.empty())
      return absl::OkStatus();
    DGC_RETURN_IF_ERROR(driver.copyToDevice(turn.staging, turn.inputs, inputBytes, device.uploads));
    DGC_RETURN_IF_ERROR(driver.record(turn.staged, device.uploads));
    return driver.wait(device.stream, turn.staged);
  }

  absl::Status launch(size_t segment) override {
    DGC_RETURN_IF_ERROR(awaitArrivals());
    const size_t turn = (begun - 1) % gpu::stagedRuns;
    if (timed)
      return launchTimed(segment, turns[turn]);
    for (const Piece &piece : segments[segment].pieces[static_cast<size_t>(mode)]) {
      if (piece.communication)
        DGC_RETURN_IF_ERROR(piece.communication->run({}));
      else if (Driver::Graph graph = piece.graphs[turn])
        DGC_RETURN_IF_ERROR(driver.launchGraph(graph, device.stream));
    }
    return absl::OkStatus();
  }

  absl::Status toHost(size_t exchange) override {
    // Also without copies to the host: later copies to the device may write where segments still work.
    DGC_RETURN_IF_ERROR(driver.record(device.computed, device.stream));
    DGC_RETURN_IF_ERROR(driver.wait(device.transfers, device.computed));
    for (const HostMirror &each : exchanges[exchange].toHost)
      DGC_RETURN_IF_ERROR(
          driver.copyToHost(each.host.data(), addressOf(each.device), each.host.size(), device.transfers));
    return device.await(device.transfers);
  }

  absl::Status toDevice(size_t exchange) override {
    for (const HostMirror &each : exchanges[exchange].toDevice)
      DGC_RETURN_IF_ERROR(
          driver.copyToDevice(addressOf(each.device), each.host.data(), each.host.size(), device.transfers));
    isArriving |= !exchanges[exchange].toDevice.empty();
    return absl::OkStatus();
  }

  absl::Status settle() override { return awaitArrivals(); }

  absl::Status submit() override {
    DGC_RETURN_IF_ERROR(awaitArrivals());
    return driver.record(turns[(begun - 1) % gpu::stagedRuns].done, device.stream);
  }

  absl::Status collect() override {
    const Turn &turn = turns[collected % gpu::stagedRuns];
    DGC_RETURN_IF_ERROR(device.awaitEvent(turn.done));
    if (measures()) {
      const TimeNs now = clock.now();
      if (!timed)
        device.measurement->add(collected, now - std::max(turn.began, lastEnd));
      lastEnd = now;
    }
    ++collected;
    for (const Copy &copy : outputs)
      std::memcpy(copy.mirror.host.data(), turn.outputs + copy.offset, copy.mirror.host.size());
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int64_t>> times(size_t segment) override {
    std::vector<int64_t> result;
    for (Driver::Event event : segments[segment].times) {
      DGC_ASSIGN_OR_RETURN(int64_t time, driver.elapsed(beginning, event));
      result.push_back(time);
    }
    return result;
  }

private:
  struct Copy {
    HostMirror mirror;
    uint64_t offset; // where it waits
  };
  /// Where the inputs and outputs of a run wait.
  struct Turn {
    std::byte *inputs = nullptr, *outputs = nullptr; // pinned
    Address staging = 0;                             // of inputs, on the device
    Driver::Event staged = nullptr, done = nullptr;
    TimeNs began = 0; // while it is measured where collectives belong
  };
  /// A part of a segment: ops as a graph, or communication that is not a part of one.
  struct Piece {
    std::vector<PreparedOp *> ops;
    PreparedOp *communication = nullptr;
    std::array<Driver::Graph, gpu::stagedRuns> graphs = {}; // for each turn; null: it does nothing
  };
  struct Segment {
    std::vector<SegmentOp> ops;
    std::array<std::vector<Piece>, 2> pieces; // by LaunchMode; those that are needed
    std::vector<Driver::Event> times;         // before each op, and after the last one
  };

  bool measures() const { return trains && device.measurement; }
  /// Before each run: which form it has. Where that changes nothing may run, so that NCCL need not bear work in a graph
  /// and outside at a time.
  absl::Status chooseLaunchMode() {
    if (!measures()) {
      mode = device.mode;
      return absl::OkStatus();
    }
    const bool isOver = begun >= LaunchMeasurement::kSteps;
    const LaunchMode next = isOver ? LaunchMode::Outside : LaunchMeasurement::modeOf(begun);
    if ((isOver || next != mode) && begun > collected)
      DGC_RETURN_IF_ERROR(device.awaitEvent(turns[(begun - 1) % gpu::stagedRuns].done));
    if (isOver)
      DGC_RETURN_IF_ERROR(device.decideLaunchMode());
    mode = isOver ? device.mode : next;
    turns[begun % gpu::stagedRuns].began = clock.now();
    return absl::OkStatus();
  }

  absl::Status awaitArrivals() {
    if (!isArriving)
      return absl::OkStatus();
    isArriving = false;
    DGC_RETURN_IF_ERROR(driver.record(device.arrived, device.transfers));
    return driver.wait(device.stream, device.arrived);
  }
  /// At the end of a segment: communication does not extend from one graph to the next.
  absl::Status joinCommunication() { return device.communication ? device.communication->join() : absl::OkStatus(); }
  /// Records a timed event, which is made when it is needed first.
  absl::Status recordTime(Driver::Event &event) {
    if (!event) {
      DGC_ASSIGN_OR_RETURN(event, device.newEvent(/*timed=*/true));
    }
    return driver.record(event, device.stream);
  }
  absl::Status stage(const ProgramParts &parts);
  absl::Status copyInputs(const Turn &turn);
  absl::Status copyOutputs(const Turn &turn);
  absl::Status launchTimed(size_t segment, const Turn &turn);
  absl::Status cut(size_t segment, LaunchMode form, bool isOnly);
  absl::Status capture(const std::vector<PreparedOp *> &ops, bool isFirst, bool isLast, const Turn &turn,
                       Driver::Graph &graph);

  CudaDevice &device;
  Driver &driver;
  Clock &clock;
  std::vector<Segment> segments;
  std::vector<HostExchange> exchanges;
  std::vector<Copy> inputs, outputs;
  uint64_t inputBytes = 0, outputBytes = 0;
  std::array<Turn, gpu::stagedRuns> turns;
  uint64_t begun = 0, collected = 0;
  bool timed = false; // the run that began last
  bool trains = false;
  LaunchMode mode = LaunchMode::Outside; // of the run that began last
  TimeNs lastEnd = 0;                    // when a run was collected last, while that is measured
  Driver::Event beginning = nullptr;     // of a timed run
  bool isArriving = false;               // copies to the device are queued that nothing waits for
};

/// Makes the places where inputs and outputs wait.
absl::Status GraphProgram::stage(const ProgramParts &parts) {
  auto reserve = [](const std::vector<HostMirror> &all, std::vector<Copy> &copies, uint64_t &bytes) {
    for (const HostMirror &mirror : all) {
      if (mirror.host.empty())
        continue;
      copies.push_back({mirror, bytes});
      bytes += gpu::stagedBytes(mirror.host.size());
    }
  };
  reserve(parts.inputs, inputs, inputBytes);
  reserve(parts.outputs, outputs, outputBytes);
  for (Turn &turn : turns) {
    DGC_ASSIGN_OR_RETURN(turn.done, device.newEvent());
    if (inputBytes) {
      DGC_ASSIGN_OR_RETURN(turn.inputs, device.allocateStaging(inputBytes));
      DGC_ASSIGN_OR_RETURN(turn.staging, device.allocate(inputBytes));
      DGC_ASSIGN_OR_RETURN(turn.staged, device.newEvent());
    }
    if (outputBytes) {
      DGC_ASSIGN_OR_RETURN(turn.outputs, device.allocateStaging(outputBytes));
    }
  }
  return absl::OkStatus();
}

/// Copies the inputs to their buffers, before all ops.
absl::Status GraphProgram::copyInputs(const Turn &turn) {
  for (const Copy &copy : inputs)
    DGC_RETURN_IF_ERROR(
        driver.copy(addressOf(copy.mirror.device), turn.staging + copy.offset, copy.mirror.host.size(), device.stream));
  return absl::OkStatus();
}

/// Copies the outputs to the host, after all ops.
absl::Status GraphProgram::copyOutputs(const Turn &turn) {
  for (const Copy &copy : outputs)
    DGC_RETURN_IF_ERROR(driver.copyToHost(turn.outputs + copy.offset, addressOf(copy.mirror.device),
                                          copy.mirror.host.size(), device.stream));
  return absl::OkStatus();
}

/// The ops of a segment one by one, with events between them.
absl::Status GraphProgram::launchTimed(size_t segment, const Turn &turn) {
  if (segment == 0)
    DGC_RETURN_IF_ERROR(copyInputs(turn));
  Segment &each = segments[segment];
  each.times.resize(each.ops.size() + 1);
  for (size_t i = 0; i < each.ops.size(); ++i) {
    DGC_RETURN_IF_ERROR(recordTime(each.times[i]));
    DGC_RETURN_IF_ERROR(each.ops[i].op->run({}));
  }
  DGC_RETURN_IF_ERROR(joinCommunication());
  DGC_RETURN_IF_ERROR(recordTime(each.times.back()));
  return segment + 1 == segments.size() ? copyOutputs(turn) : absl::OkStatus();
}

absl::Status GraphProgram::capture(const std::vector<PreparedOp *> &ops, bool isFirst, bool isLast, const Turn &turn,
                                   Driver::Graph &graph) {
  DGC_RETURN_IF_ERROR(driver.beginCapture(device.stream));
  auto queue = [&]() -> absl::Status {
    if (isFirst)
      DGC_RETURN_IF_ERROR(copyInputs(turn));
    for (PreparedOp *op : ops)
      DGC_RETURN_IF_ERROR(op->run({}));
    DGC_RETURN_IF_ERROR(joinCommunication());
    return isLast ? copyOutputs(turn) : absl::OkStatus();
  };
  absl::Status queued = queue();
  absl::StatusOr<Driver::Graph> captured = driver.endCapture(device.stream); // also after an error
  if (captured.ok())
    graph = *captured;
  return queued.ok() ? captured.status() : queued;
}

/// Records the pieces of a segment in one form; `isOnly`: the segment is the same in both.
absl::Status GraphProgram::cut(size_t segment, LaunchMode form, bool isOnly) {
  std::vector<Piece> pieces(1);
  for (const SegmentOp &op : segments[segment].ops) {
    if (!op.communicates || form == LaunchMode::Graph) {
      pieces.back().ops.push_back(op.op);
      continue;
    }
    pieces.emplace_back().communication = op.op;
    pieces.emplace_back();
  }
  std::vector<Driver::Graph> &graphs =
      isOnly || !device.measurement ? device.graphs : device.graphsOf[static_cast<size_t>(form)];
  for (Piece &piece : pieces) {
    const bool isFirst = segment == 0 && &piece == &pieces.front() && !inputs.empty();
    const bool isLast = segment + 1 == segments.size() && &piece == &pieces.back() && !outputs.empty();
    if (piece.communication || (piece.ops.empty() && !isFirst && !isLast))
      continue;
    for (size_t turn = 0; turn < turns.size(); ++turn) {
      if (turn > 0 && !isFirst && !isLast) {
        piece.graphs[turn] = piece.graphs[0]; // it is the same for all turns
        continue;
      }
      absl::Status captured = capture(piece.ops, isFirst, isLast, turns[turn], piece.graphs[turn]);
      if (piece.graphs[turn])
        graphs.push_back(piece.graphs[turn]);
      DGC_RETURN_IF_ERROR(captured);
    }
  }
  segments[segment].pieces[static_cast<size_t>(form)] = std::move(pieces);
  return absl::OkStatus();
}

absl::Status GraphProgram::record(const ProgramParts &parts) {
  DGC_RETURN_IF_ERROR(stage(parts));
  exchanges = parts.exchanges;
  for (HostExchange &exchange : exchanges)
    for (std::vector<HostMirror> *copies : {&exchange.toHost, &exchange.toDevice})
      std::erase_if(*copies, [](const HostMirror &each) { return each.host.empty(); });
  trains = parts.trains;
  for (const std::vector<SegmentOp> &ops : parts.segments)
    segments.push_back({ops, {}, {}});
  for (size_t i = 0; i < segments.size(); ++i) {
    const std::vector<SegmentOp> &ops = segments[i].ops;
    const bool isOnly = std::none_of(ops.begin(), ops.end(), [](const SegmentOp &op) { return op.communicates; });
    for (LaunchMode form : {LaunchMode::Outside, LaunchMode::Graph})
      if (form == device.mode || (device.measurement && !isOnly))
        if (absl::Status s = cut(i, form, isOnly); !s.ok())
          return annotate(s, str("recording ", parts.name));
    if (device.measurement && isOnly)
      segments[i].pieces[static_cast<size_t>(LaunchMode::Graph)] =
          segments[i].pieces[static_cast<size_t>(LaunchMode::Outside)];
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DeviceProgram>> CudaDevice::record(const ProgramParts &parts) {
  auto program = std::make_unique<GraphProgram>(*this);
  DGC_RETURN_IF_ERROR(program->record(parts));
  return program;
}

} // namespace dgc::rt::cuda
