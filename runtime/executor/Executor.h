// Runs the programs of one worker, those of its group. Everything is decided when it is made:
// addresses, primitives, collectives. A step allocates nothing, hashes nothing
// and takes no lock.
#pragma once

#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/Clock.h"
#include "runtime/base/FlightRecorder.h"
#include "runtime/collective/Transport.h"
#include "runtime/device/Device.h"
#include "runtime/executor/Arena.h"
#include "runtime/executor/OpProbe.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// A tensor of a program or a variable, as one worker holds it.
struct TensorView {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> globalShape;
  Slice slice;                 // the part that is here
  int batchDim = -1;           // which dimension is the batch; -1: none
  std::span<std::byte> memory; // row-major, slice.extents()

  bool split = false; // whether the workers hold different parts
};

struct VariableView : TensorView {
  const artifact::Variable *variable = nullptr;
  uint64_t rngId = 0;
  std::string beginsAs; // as in VariablePart
};
struct InputView : TensorView {
  artifact::InputRole role = artifact::InputRole::Data;
  int64_t axisIndex = 0;   // of role AxisIndex: its value
  uint64_t indexLimit = 0; // each element is below it; 0: any
};
struct OutputView : TensorView {
  artifact::OutputRole role = artifact::OutputRole::Metric;
  std::string over; // of a quotient: the name of its divisor
  artifact::MetricFunction function = artifact::MetricFunction::Identity;
};

/// When the ops of a program ran; the memory is there before the run begins.
struct OpTiming {
  const artifact::Step *op;
  uint64_t step;
  TimeNs begin, end;
};
class OpTrace {
public:
  /// Room for `capacity` ops; what comes later is counted and dropped.
  explicit OpTrace(size_t capacity) { timings.reserve(capacity); }
  void add(const OpTiming &timing) {
    if (timings.size() < timings.capacity())
      timings.push_back(timing);
    else
      ++dropped;
  }
  std::vector<OpTiming> timings;
  uint64_t dropped = 0;
};

/// The parts of a stacked variable, each with its own memory, row-major; of another variable itself. Of several views, one
/// after the other.
std::vector<VariableView> partsOf(const VariableView &view);
std::vector<VariableView> partsOf(std::span<const VariableView> views);

class Executor;

/// A value that goes to one receiver after the other (to none where the partners have fewer workers), or whose parts come
/// from one sender after the other.
struct SequentialTransfers : PreparedCollective {
  absl::Status run() override {
    for (const std::unique_ptr<PreparedCollective> &each : all)
      if (absl::Status s = each->run(); !s.ok())
        return s;
    return absl::OkStatus();
  }
  std::vector<std::unique_ptr<PreparedCollective>> all;
};

/// Position::op counts the steps of all programs of a plan, one program after
/// the other. The text for people: "'matmul dense_1' of train
/// (mnist_mlp.mlir:12:8)"; empty for a number that there is not.
std::string describeOp(const artifact::Plan &plan, uint32_t op);

/// One entry point, ready to run.
class ProgramRunner {
public:
  std::string_view name() const;
  /// Write the inputs of role Data and ValidCount before run(); Step and Seed
  /// are written by run() itself.
  std::span<const InputView> inputs() const { return inputViews; }
  /// Valid after run(), until the next run of any program.
  std::span<const OutputView> outputs() const { return outputViews; }

  /// Sets every ValidCount input: how many examples of the global batch are
  /// real. Stays until set again; at first all are.
  void setValidCount(int32_t count);

  /// Runs the whole program. `step` numbers the training step, for Step inputs,
  /// draws of random numbers and messages. An error names the op.
  absl::Status run(uint64_t step);

  /// Runs some of its steps alone, in this order; none of them is a loop, a branch or a collective that goes on while others
  /// run. On a device without memory of its own.
  absl::Status runSteps(std::span<const uint32_t> steps, uint64_t step);

  /// run() in two parts. submit() has taken the inputs when it returns. Up to depth() runs may be submitted that are not
  /// collected; all must be before another program runs, and before variables are looked at. outputs() are those of the
  /// run that was collected last.
  absl::Status submit(uint64_t step);
  absl::Status collect();
  /// More than 1 on a device that computes a run while the host prepares the next one. 1 for a program with loops or
  /// branches that are decided by what it computes, as the host waits for that.
  size_t depth() const;

private:
  friend class Executor;
  static constexpr uint32_t kNoExchange = UINT32_MAX;
  /// What decides which of the ops behind this one run: the next `first` ones and the `second` ones behind these.
  struct Control {
    bool repeats; // a loop: the first ones write the predicate
    uint32_t first, second;
    uint64_t rounds;      // of a loop that does so many whatever the device computes; 0: the predicate decides
    HostMirror predicate; // a byte; `device` is null where the host computes it
  };
  struct Op {
    std::unique_ptr<PreparedOp> local;
    std::unique_ptr<PreparedCollective> communication;
    const artifact::Step *step;
    enum By : uint8_t {
      Host,
      Device,
      Segments
    } by = Host;                      // what communicates: the device between segments, or in them
    std::unique_ptr<Control> control; // of a loop or a branch
    bool isEmpty = false;             // nobody receives what is sent
    bool isAsync = false;          // a collective that begins here and ends where another op, or the end, waits for it
    std::vector<uint32_t> waits;   // indices of such ops
    std::span<std::byte> received; // of a receive: where
    TimeNs begin = 0;              // of an asynchronous one, for traces
    bool isUnderWay = false;       // the same: it has begun in a segment whose times are known
    uint32_t exchange = kNoExchange; // in the recorded program, of a predicate or of what the host communicates
  };
  absl::Status setInputs(const dgc_step &step) const;
  absl::Status runOps(size_t begin, size_t end, const dgc_step &step, TimeNs &time);
  absl::Status runControl(size_t at, const dgc_step &step, TimeNs &time);
  absl::Status decide(const Control &control, absl::FunctionRef<absl::Status()> fetch,
                      absl::FunctionRef<absl::Status(bool isFirst)> run);
  absl::Status runOp(Op &op, const dgc_step &step);
  absl::Status finishOp(uint32_t index, uint64_t step);
  absl::Status describe(const absl::Status &status, size_t op, uint64_t step) const;

  const artifact::Program *program = nullptr;
  Executor *executor = nullptr;
  uint32_t firstOp = 0; // Position::op of its first step
  std::vector<InputView> inputViews;
  std::vector<OutputView> outputViews;
  std::vector<Op> ops;
  std::vector<uint32_t> atEnd; // those that go on until the end
  bool isDecided = false;      // by predicates of loops or branches, that is

  // On a device with memory of its own (RecordProgram.cpp, DeviceRun.cpp): what is done one after the other. A loop or a
  // branch decides on the parts behind it as it does on ops; a segment is inside of one region of it.
  struct Part {
    enum Kind : uint8_t { Segment, Run, Start, Finish, Decide } kind;
    uint32_t op;    // of a segment: the first one
    uint32_t index; // of the segment or the exchange in the recorded program; kNoExchange: the device communicates
    uint32_t first = 0, second = 0; // of a loop or a branch: how many parts its two regions are
  };
  class Cutter;
  absl::Status submitParts(const dgc_step &context);
  absl::Status collectParts();
  absl::Status runParts(size_t begin, size_t end, const dgc_step &context);
  absl::Status runDecision(size_t at, const dgc_step &context);
  absl::Status runCommunication(const Part &part, uint64_t step);
  absl::Status communicate(const Part &part);
  absl::Status addTimes(uint64_t step);
  absl::Status named(const absl::Status &status, uint64_t step) const;
  std::vector<Part> parts;
  std::vector<std::unique_ptr<PreparedOp>> communicationParts; // that are in segments
  std::vector<std::vector<uint32_t>> segmentOps;               // by segment: what its ops are, by number
  std::vector<uint32_t> untimed;  // of a traced run: segments that were launched and have no times yet
  std::vector<uint64_t> underWay; // steps that are submitted and not collected, at most depth()
  TimeNs begin = 0;               // of a traced run
  std::unique_ptr<DeviceProgram> recorded;
};

struct ExecutorOptions {
  int threads = 1;
  uint64_t seed = 0;
  uint64_t memoryLimit = 0; // bytes that the worker may take of its device; 0: any
  Clock *clock = nullptr;   // null: that of the machine; for traces
  /// Gets how long the worker does nothing but communicate, as far as the host communicates; null: nobody asks.
  WorkerFigures *figures = nullptr;
  /// Makes the device; null: createDevice.
  MakeDevice makeDevice;
};

/// Memory of a variable, or of a part of a stacked one, whose initializer is a file: fills part.memory.
using FileInitializer = std::function<absl::Status(const VariableView &part)>;

/// One per worker; create it and run it on one thread.
class Executor {
public:
  /// `artifact` and `transport` must outlive it. The transport's shared arena
  /// has Plan.shared_bytes. `only` names the programs to prepare; empty: all.
  static absl::StatusOr<std::unique_ptr<Executor>> create(const Artifact &artifact, Transport &transport,
                                                          const ExecutorOptions &options,
                                                          const std::vector<std::string> &only = {});

  /// Gives every variable its initial value, where programs have it: a device with memory of its own, alone.
  absl::Status initializeVariables(const FileInitializer &fromFile = {});

  /// Gives the variables of role Total, on the device, too, their initial value: an evaluation begins. No run is submitted
  /// that is not collected.
  absl::Status resetTotals();

  /// A device with memory of its own has the variables there: these bring what
  /// was written into variables() to it, and what it computed back. On a CPU
  /// they do nothing. What was not written since the last download stays old:
  /// upload() brings one variable, or part, alone.
  absl::Status uploadVariables();
  absl::Status upload(const VariableView &part);
  absl::Status downloadVariables();

  /// Those that this worker holds; a stacked one is one of them.
  std::span<const VariableView> variables() const { return variableViews; }
  /// Null if there is none of this name (or it was not prepared).
  ProgramRunner *program(std::string_view name);
  std::span<const std::unique_ptr<ProgramRunner>> programs() const { return runners; }

  /// What one op works on goes there when it runs; null: of none. An error where the device has memory of its own.
  absl::Status setProbe(OpProbe *probe);

  /// From now on every op that begins is recorded there; null ends it.
  void setRecorder(FlightRecorder *recorder) { this->recorder = recorder; }

  /// From now on every op is timed into `trace`; null ends it.
  void setTrace(OpTrace *trace) { this->trace = trace; }

  /// What the device has to tell people; asked after each run, and at the end.
  std::string notice(bool atEnd) { return device->memory() ? device->memory()->notice(atEnd) : std::string(); }

  /// Bytes of a device with memory of its own that this process takes; 0: none, or it cannot be told.
  uint64_t deviceBytes() { return device->memory() ? device->memory()->bytesInUse().value_or(0) : 0; }

  /// Bytes that this worker holds beside the arenas: scratch of the libraries.
  size_t scratchBytes() const { return device->scratchBytes(); }

private:
  friend class ProgramRunner;
  Executor(const Artifact &artifact, Transport &transport) : artifact(artifact), transport(transport) {}

  /// Runs a part of what the host communicates, which nothing is computed beside.
  absl::Status exposed(absl::FunctionRef<absl::Status()> communicate) const;
  std::byte *address(const artifact::Buffer &buffer) const;
  void *deviceAddress(const artifact::Buffer &buffer) const;
  absl::Status checkMemoryLimit(uint64_t planned) const;
  absl::Status prepareMemory();
  absl::Status recordProgram(ProgramRunner &runner);
  HostExchange exchangeOf(const artifact::Program &program, const ProgramRunner::Op &op) const;
  std::span<std::byte> memoryOf(const artifact::Buffer &buffer) const;
  void take(OpProbe &probe, const artifact::Program &program, const artifact::Step &step, std::string_view when) const;
  void *deviceAddress(const VariableView &part) const;
  absl::Status initialize(const VariableView &part);
  template <typename View, typename Table> View viewOf(const Table &table, const artifact::Buffer &buffer) const;
  absl::Status prepareProgram(const artifact::Program &program, uint32_t firstOp);
  absl::StatusOr<ProgramRunner::Op> prepareOp(const artifact::Program &program, const artifact::Step &step,
                                              std::span<const Operand> buffers);
  static ProgramRunner::Control controlOf(const artifact::While &loop);
  static ProgramRunner::Control controlOf(const artifact::If &branch);
  absl::StatusOr<HostMirror> predicateOf(const artifact::Buffer &buffer);
  // Communication by the host.
  absl::Status prepareOnHost(const artifact::Program &program, const artifact::Collective &c, ProgramRunner::Op &op);
  absl::Status prepareOnHost(const artifact::Program &program, const artifact::Send &send, ProgramRunner::Op &op);
  absl::Status prepareOnHost(const artifact::Program &program, const artifact::Receive &receive, ProgramRunner::Op &op);
  // The same by the device; without an op where it does not do that.
  absl::StatusOr<DeviceCommunication> prepareOnDevice(const artifact::Program &program, const artifact::Collective &c,
                                                      ProgramRunner::Op &op);
  absl::StatusOr<DeviceCommunication> prepareOnDevice(const artifact::Program &program, const artifact::Send &send,
                                                      ProgramRunner::Op &op);
  absl::StatusOr<DeviceCommunication> prepareOnDevice(const artifact::Program &program,
                                                      const artifact::Receive &receive, ProgramRunner::Op &op);

  const Artifact &artifact;
  Transport &transport;
  ExecutorOptions options;
  Arena arena; // where the device has memory of its own, what the host has seen of that
  std::unique_ptr<Device> device;
  std::byte *deviceArena = nullptr, *deviceShared = nullptr, *deviceConstants = nullptr;
  std::vector<VariableView> variableViews;
  std::vector<std::unique_ptr<ProgramRunner>> runners;
  OpTrace *trace = nullptr;
  FlightRecorder *recorder = nullptr;
  OpProbe *probe = nullptr;
};

} // namespace dgc::rt
