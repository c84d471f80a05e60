// A GPU that tests watch: memory of this machine, kernels in the emulator, and a record of all that is wrong.
//
// Found are: accesses outside of allocations, and writes past their ends; work on two streams that touches the same
// memory without an event between them; memory and handles that are not given back; calls after an error; calls that
// must not be while work is captured. Queued work is done when the host waits for it, or for what comes after it, and
// not before, so that a host that does not wait sees old values; pinned memory of the host is watched as that of the
// device is, and found is what the host writes to while a copy from it is queued. Addresses are no addresses of the host.
#pragma once

#include "runtime/device/cuda/Blas.h"
#include "runtime/device/cuda/Dnn.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/ScatterKernels.h"
#include "runtime/device/cuda/SliceKernels.h"
#include "test/unit/support/GpuEmulator.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dgc::testing {

using rt::cuda::Address;

/// What is left of a fake driver when it is gone.
struct FakeLog {
  std::vector<std::string> violations; // what went wrong, in words
  std::vector<std::string> calls; // names of queued work in the order in which it was queued; "graph" when replayed,
                                  // "await" when the host waited for an event
  int graphs = 0, replays = 0, launches = 0;
  uint64_t allocatedBytes = 0, mostAllocatedBytes = 0; // of the device
  uint64_t pinnedBytes = 0, mostPinnedBytes = 0;       // of the host
  int64_t time = 0; // what all that was queued takes, with "graph" or "graph with nccl" for each launch of one
};

class FakeDriver;

/// GPUs that can work on each other's memory, of threads that may model processes. Work on memory that another
/// GPU's unfinished work touches is found, as only their hosts can wait for each other.
struct FakePeers {
  struct Foreign {
    Address begin;
    uint64_t bytes;
    bool writes;
    const FakeDriver *by;
    void *stream;
    uint64_t number;
    std::string name;
  };
  std::mutex mutex;
  std::set<FakeDriver *> drivers;
  std::vector<Foreign> foreign;                 // unfinished work on memory of others
  std::vector<std::vector<std::byte>> released; // kept, as queued work may still use it
  bool refusesToShare = false, refusesToOpen = false, areProcesses = false;
  int opened = 0;
};

class FakeDriver final : public rt::cuda::Driver {
public:
  explicit FakeDriver(std::shared_ptr<FakeLog> log, rt::cuda::GpuInfo info = {"Fake GPU", 9, 0, uint64_t{1} << 30});
  ~FakeDriver() override;

  /// The call number `call` from now on (0: the next one) that can fail does.
  void failAt(int call) { untilFailure = call; }
  /// How long each queued work takes, by its name, for timed events and the log; 0: it takes no time.
  std::function<int64_t(const std::string &)> duration;
  /// From now on waits for events say that they succeed, and do nothing.
  void ignoreWaits() { ignoresWaits = true; }
  /// The threads that meet in the plug-in's kernels run in the opposite order.
  bool runsBackwards = false;
  /// The wait number `wait` of the host from now on (0: the next one), for a stream or an event, does nothing.
  void forgetWait(int wait) { untilForgotten = wait; }

  /// Whether work of this name is in a graph that was not given back.
  bool isInGraphs(const std::string &name) const;

  /// Before anything is allocated.
  void join(std::shared_ptr<FakePeers> all);
  uint64_t process() const override {
    return peers && peers->areProcesses ? reinterpret_cast<uint64_t>(this) : Driver::process();
  }

  /// A range of memory that queued work reads or writes; of the host by its address.
  struct Access {
    Address begin = 0;
    uint64_t bytes = 0;
    bool writes = false;
  };
  /// Queues work of the name: `run` is called when it is done, which it cannot be before `isReady`, that waits for
  /// nothing. The host must not wait for such work but by asking whether it is done.
  absl::Status enqueue(const std::string &name, Stream stream, std::vector<Access> accesses, std::function<void()> run,
                       std::function<bool()> isReady = {});
  /// The bytes at an address.
  std::byte *host(Address address) const;
  /// The address of bytes of the device.
  Address device(const std::byte *host) const;

  const rt::cuda::GpuInfo &gpu() const override { return info; }
  absl::StatusOr<uint64_t> bytesInUse() override {
    return std::exchange(contextBytes, contextBytes + growth) + log->allocatedBytes;
  }
  /// Bytes that the context takes, and by how much they grow at each query.
  uint64_t contextBytes = 100'000'000, growth = 0;
  absl::StatusOr<Address> allocate(uint64_t bytes) override;
  void release(Address memory) override;
  absl::StatusOr<std::byte *> allocateHost(uint64_t bytes) override;
  void releaseHost(std::byte *memory) override;
  absl::Status pin(std::span<std::byte> memory) override;
  void unpin(std::span<std::byte> memory) override;
  absl::StatusOr<Stream> createStream() override;
  void destroyStream(Stream stream) override;
  absl::Status synchronize(Stream stream) override;
  absl::StatusOr<bool> isDone(Stream stream) override;
  absl::StatusOr<bool> reaches(const rt::cuda::GpuId &other, bool inThisProcess) override;
  absl::StatusOr<rt::cuda::SharedMemoryHandle> share(Address memory) override;
  absl::StatusOr<Address> openShared(const rt::cuda::SharedMemoryHandle &handle) override;
  void closeShared(Address memory) override;
  absl::StatusOr<Event> createEvent(bool timed = false) override;
  void destroyEvent(Event event) override;
  absl::Status record(Event event, Stream stream) override;
  absl::Status wait(Stream stream, Event event) override;
  absl::Status await(Event event) override;
  absl::StatusOr<bool> isReached(Event event) override;
  absl::StatusOr<int64_t> elapsed(Event from, Event to) override;
  absl::StatusOr<Module> loadModule(std::span<const std::byte> image) override;
  void unloadModule(Module module) override;
  absl::StatusOr<Function> findFunction(Module module, const std::string &name) override;
  absl::Status launch(Function function, uint32_t grid, uint32_t block, std::span<const rt::cuda::Argument> args,
                      Stream stream) override;
  absl::Status copyToDevice(Address to, const std::byte *from, uint64_t bytes, Stream stream) override;
  absl::Status copyToHost(std::byte *to, Address from, uint64_t bytes, Stream stream) override;
  absl::Status copy(Address to, Address from, uint64_t bytes, Stream stream) override;
  absl::Status fill(Address to, uint32_t value, uint32_t width, uint64_t count, Stream stream) override;
  absl::Status beginCapture(Stream stream) override;
  absl::StatusOr<Graph> endCapture(Stream stream) override;
  absl::Status launchGraph(Graph graph, Stream stream) override;
  void destroyGraph(Graph graph) override;

private:
  using Clock = std::map<void *, uint64_t>; // per stream, how much of its work comes before
  static void merge(Clock &clock, const Clock &other) {
    for (const auto &[stream, number] : other)
      clock[stream] = std::max(clock[stream], number);
  }
  struct Work {
    std::string name;
    std::vector<Access> accesses;
    std::function<void()> run;
    std::function<bool()> isReady;
    void *stream = nullptr;
    uint64_t number = 0; // of the work of that stream
    Clock before;        // what must be done first
  };
  struct StreamState {
    Clock clock;
    bool capturing = false;
    int64_t time = 0; // of what is queued
  };
  /// What was captured: work, or an event that is recorded or waited for.
  struct Node {
    enum Kind : uint8_t { Do, Record, Wait } kind;
    void *stream, *event;
    Work work;
  };
  struct CapturedGraph {
    void *origin;
    std::vector<Node> nodes;
    std::map<void *, std::unique_ptr<StreamState>> branches; // what other streams are in it
  };
  struct PastAccess {
    Access access;
    void *stream;
    uint64_t number;
    std::string name;
  };

  absl::Status enter(const char *what, bool allowedInCapture = false);
  void wrong(const std::string &what) { log->violations.push_back(what); }
  void checkRaces(Work &work, void *stream, StreamState &state);
  void checkForeign(const Work &work, const Access &access);
  bool isOfPeer(const Access &access) const;
  std::unique_lock<std::mutex> lockPeers() const {
    return peers ? std::unique_lock(peers->mutex) : std::unique_lock<std::mutex>();
  }
  absl::Status launchSlice(const rt::cuda::SliceKernel &kernel, std::span<const rt::cuda::Argument> args,
                           Stream stream);
  absl::Status launchScatter(const rt::cuda::ScatterKernel &kernel, uint32_t grid, uint32_t block,
                             std::span<const rt::cuda::Argument> args, Stream stream);
  absl::Status launchNative(const std::string &name, uint32_t grid, uint32_t block,
                            std::span<const rt::cuda::Argument> args, Stream stream);
  void checkJoined(const CapturedGraph &graph);
  bool isPending(const Clock &until) const;
  bool forgets() { return untilForgotten >= 0 && untilForgotten-- == 0; }
  void waited(const Clock &clock);
  void countPinned(int64_t bytes);
  void checkUnused(const std::byte *data, uint64_t bytes);
  bool isPinned(const std::byte *memory, uint64_t bytes) const;
  void finish(const Clock &until);
  absl::Status waitFor(const Clock &clock);
  absl::StatusOr<bool> isOver(const Clock &clock, const char *what);
  void checkGuards(Address begin);

  std::shared_ptr<FakeLog> log;
  rt::cuda::GpuInfo info;
  int untilFailure = -1, untilForgotten = -1;
  bool failed = false, ignoresWaits = false;
  struct Memory {
    std::vector<std::byte> bytes; // with guards around
    uint64_t size;
  };
  std::map<Address, Memory> memory;
  std::map<std::byte *, std::vector<std::byte>> pinned;
  std::map<std::byte *, uint64_t> registered; // memory of others that is pinned
  std::map<void *, std::unique_ptr<StreamState>> streams;
  struct EventState {
    Clock clock;
    bool timed = false;
    int64_t time = -1; // of its stream when it was come to; -1: it was not
  };
  std::map<void *, std::unique_ptr<EventState>> events;
  std::map<void *, std::unique_ptr<GpuEmulator>> modules; // null: the kernels of the plug-in, compiled for this CPU
  std::shared_ptr<FakePeers> peers;
  std::multiset<Address> openedMemory;
  std::map<std::string, std::pair<std::string, GpuEmulator *>> functions;
  std::map<void *, std::unique_ptr<CapturedGraph>> graphs;
  std::vector<Work> queue;
  CapturedGraph captured;
  std::set<void *> capturedEvents;
  std::vector<PastAccess> past;
  Clock hostClock;
  bool capturing = false;
};

/// Products on the memory of a fake driver, added up in f64.
class FakeBlas final : public rt::cuda::Blas {
public:
  explicit FakeBlas(FakeDriver &driver) : driver(driver) {}
  absl::StatusOr<std::unique_ptr<rt::cuda::PreparedGemm>> prepare(const rt::cuda::Gemm &gemm) override;
  uint64_t workspaceBytes() const override { return 4096; }
  std::string version() const override { return "fake products 1"; }

private:
  FakeDriver &driver;
};

/// Convolutions and attention, likewise.
class FakeDnn final : public rt::cuda::Dnn {
public:
  explicit FakeDnn(FakeDriver &driver) : driver(driver) {}
  absl::StatusOr<std::unique_ptr<rt::cuda::PreparedDnn>> prepare(const rt::cuda::DnnConvolution &convolution) override;
  absl::StatusOr<std::unique_ptr<rt::cuda::PreparedDnn>> prepare(const rt::cuda::DnnAttention &attention) override;

private:
  FakeDriver &driver;
};

} // namespace dgc::testing
