// The driver of NVIDIA, opened when it is needed.
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaApi.h"
#include "runtime/device/cuda/DeviceUse.h"
#include "runtime/device/cuda/Driver.h"

#include <algorithm>
#include <dlfcn.h>
#include <vector>

namespace dgc::rt::cuda {
namespace {

constexpr int kNeededVersion = 12000; // CUDA 12.0
constexpr char kNeeded[] = "install the driver of NVIDIA, version 525 or newer, or compile the model with --target=cpu";

absl::Status missing(const std::string &message) {
  return withExitCode(absl::FailedPreconditionError(message), ExitCode::Machine);
}

class RealDriver final : public Driver {
public:
  ~RealDriver() override {
    for (CuDevice peer : peers)
      releaseContext(peer);
    if (context)
      releaseContext(device);
  }

  absl::Status open(int rank);
  const GpuInfo &gpu() const override { return info; }
  absl::StatusOr<uint64_t> bytesInUse() override { return use.ok() ? (*use)->ofThisProcess() : use.status(); }

  absl::StatusOr<Address> allocate(uint64_t bytes) override {
    CuAddress memory = 0;
    DGC_RETURN_IF_ERROR(check(api.allocate(&memory, bytes), "cuMemAlloc"));
    return memory;
  }
  void release(Address memory) override { api.release(memory); }
  absl::StatusOr<bool> reaches(const GpuId &other, bool inThisProcess) override;
  absl::StatusOr<SharedMemoryHandle> share(Address memory) override {
    CuIpcHandle handle{};
    if (absl::Status s = check(api.shareMemory(&handle, memory), "cuIpcGetMemHandle"); !s.ok())
      return absl::UnimplementedError(s.message());
    return std::to_array(handle.bytes);
  }
  absl::StatusOr<Address> openShared(const SharedMemoryHandle &handle) override {
    CuIpcHandle given{};
    std::copy(handle.begin(), handle.end(), given.bytes);
    CuAddress memory = 0;
    if (absl::Status s = check(api.openShared(&memory, given, kCuIpcLazyPeerAccess), "cuIpcOpenMemHandle"); !s.ok())
      return absl::UnimplementedError(s.message());
    return memory;
  }
  void closeShared(Address memory) override { api.closeShared(memory); }
  absl::StatusOr<std::byte *> allocateHost(uint64_t bytes) override {
    void *memory = nullptr;
    DGC_RETURN_IF_ERROR(check(api.allocateHost(&memory, bytes, 0), "cuMemHostAlloc"));
    return static_cast<std::byte *>(memory);
  }
  void releaseHost(std::byte *memory) override { api.releaseHost(memory); }
  absl::Status pin(std::span<std::byte> memory) override {
    return check(api.pinHost(memory.data(), memory.size(), 0), "cuMemHostRegister");
  }
  void unpin(std::span<std::byte> memory) override { api.unpinHost(memory.data()); }

  absl::StatusOr<Stream> createStream() override {
    CuHandle stream = nullptr;
    DGC_RETURN_IF_ERROR(check(api.createStream(&stream, kCuNonBlocking), "cuStreamCreate"));
    return stream;
  }
  void destroyStream(Stream stream) override { api.destroyStream(stream); }
  absl::Status synchronize(Stream stream) override { return check(api.synchronize(stream), "cuStreamSynchronize"); }
  absl::StatusOr<bool> isDone(Stream stream) override {
    CuResult result = api.queryStream(stream);
    if (result == kCuNotReady)
      return false;
    DGC_RETURN_IF_ERROR(check(result, "cuStreamQuery"));
    return true;
  }
  absl::StatusOr<Event> createEvent(bool timed) override {
    CuHandle event = nullptr;
    DGC_RETURN_IF_ERROR(check(api.createEvent(&event, timed ? 0 : kCuNoTiming), "cuEventCreate"));
    return event;
  }
  void destroyEvent(Event event) override { api.destroyEvent(event); }
  absl::Status record(Event event, Stream stream) override {
    return check(api.recordEvent(event, stream), "cuEventRecord");
  }
  absl::Status wait(Stream stream, Event event) override {
    return check(api.waitEvent(stream, event, 0), "cuStreamWaitEvent");
  }
  absl::StatusOr<bool> isReached(Event event) override {
    CuResult result = api.queryEvent(event);
    if (result == kCuNotReady)
      return false;
    DGC_RETURN_IF_ERROR(check(result, "cuEventQuery"));
    return true;
  }
  absl::Status await(Event event) override { return check(api.awaitEvent(event), "cuEventSynchronize"); }
  absl::StatusOr<int64_t> elapsed(Event from, Event to) override {
    float milliseconds = 0;
    DGC_RETURN_IF_ERROR(check(api.elapsedTime(&milliseconds, from, to), "cuEventElapsedTime"));
    return static_cast<int64_t>(double{milliseconds} * 1e6);
  }

  absl::StatusOr<Module> loadModule(std::span<const std::byte> image) override {
    CuHandle module = nullptr;
    char log[1024] = {};
    int options[] = {kCuErrorLog, kCuErrorLogBytes};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    absl::Status status = check(api.loadModule(&module, image.data(), 2, options, values), "cuModuleLoadData");
    if (!status.ok())
      return annotate(status, str("the kernels cannot be loaded", log[0] ? ": " : "", log));
    return module;
  }
  void unloadModule(Module module) override { api.unloadModule(module); }
  absl::StatusOr<Function> findFunction(Module module, const std::string &name) override {
    CuHandle function = nullptr;
    DGC_RETURN_IF_ERROR(check(api.findFunction(&function, module, name.c_str()), str("kernel '", name, "'")));
    return function;
  }

  absl::Status launch(Function function, uint32_t grid, uint32_t block, std::span<const Argument> args,
                      Stream stream) override {
    // The driver copies the arguments before it returns.
    void *pointers[kMaxArguments];
    if (args.size() > kMaxArguments)
      return absl::ResourceExhaustedError(
          str("a kernel with ", args.size(), " arguments; ", kMaxArguments, " is most"));
    for (size_t i = 0; i < args.size(); ++i)
      pointers[i] = const_cast<Address *>(&args[i].address);
    return check(api.launch(function, grid, 1, 1, block, 1, 1, 0, stream, pointers, nullptr), "cuLaunchKernel");
  }
  absl::Status copyToDevice(Address to, const std::byte *from, uint64_t bytes, Stream stream) override {
    return check(api.copyToDevice(to, from, bytes, stream), "cuMemcpyHtoDAsync");
  }
  absl::Status copyToHost(std::byte *to, Address from, uint64_t bytes, Stream stream) override {
    return check(api.copyToHost(to, from, bytes, stream), "cuMemcpyDtoHAsync");
  }
  absl::Status copy(Address to, Address from, uint64_t bytes, Stream stream) override {
    return check(api.copy(to, from, bytes, stream), "cuMemcpyDtoDAsync");
  }
  absl::Status fill(Address to, uint32_t value, uint32_t width, uint64_t count, Stream stream) override {
    CuResult result = width == 1   ? api.fill8(to, static_cast<unsigned char>(value), count, stream)
                      : width == 2 ? api.fill16(to, static_cast<unsigned short>(value), count, stream)
                                   : api.fill32(to, value, count, stream);
    return check(result, "cuMemsetAsync");
  }

  absl::Status beginCapture(Stream stream) override {
    return check(api.beginCapture(stream, kCuThreadLocal), "cuStreamBeginCapture");
  }
  absl::StatusOr<Graph> endCapture(Stream stream) override {
    CuHandle graph = nullptr, executable = nullptr;
    DGC_RETURN_IF_ERROR(check(api.endCapture(stream, &graph), "cuStreamEndCapture"));
    absl::Status status = check(api.instantiate(&executable, graph, 0), "cuGraphInstantiate");
    api.destroyGraph(graph);
    if (!status.ok())
      return status;
    return executable;
  }
  absl::Status launchGraph(Graph graph, Stream stream) override {
    return check(api.launchGraph(graph, stream), "cuGraphLaunch");
  }
  void destroyGraph(Graph graph) override { api.destroyExecutable(graph); }

private:
  static constexpr size_t kMaxArguments = 4095; // 32764 bytes of parameters

  absl::Status check(CuResult result, std::string_view what) const {
    if (result == 0)
      return absl::OkStatus();
    const char *name = "?", *text = "?";
    api.errorName(result, &name);
    api.errorText(result, &text);
    return withExitCode(absl::InternalError(str(what, ": ", text, " (", name, ")")), ExitCode::Machine);
  }
  void releaseContext(CuDevice which) const { api.releaseContext(which); }

  struct Api {
#define DGC_MEMBER(name, symbol, ...) CuResult (*name)(__VA_ARGS__) = nullptr;
    DGC_CUDA_DRIVER_FUNCTIONS(DGC_MEMBER)
#undef DGC_MEMBER
  } api;
  GpuInfo info;
  CuDevice device = 0;
  std::vector<CuDevice> peers; // whose contexts are held
  CuHandle context = nullptr;
  absl::StatusOr<std::unique_ptr<DeviceUse>> use = absl::UnknownError("not opened");
};

absl::StatusOr<bool> RealDriver::reaches(const GpuId &other, bool inThisProcess) {
  int count = 0;
  DGC_RETURN_IF_ERROR(check(api.deviceCount(&count), "cuDeviceGetCount"));
  for (int i = 0; i < count && other != info.id; ++i) {
    CuDevice peer = 0;
    CuUuid id{};
    int can = 0;
    DGC_RETURN_IF_ERROR(check(api.device(&peer, i), "cuDeviceGet"));
    DGC_RETURN_IF_ERROR(check(api.deviceUuid(&id, peer), "cuDeviceGetUuid"));
    if (std::to_array(id.bytes) != other)
      continue;
    DGC_RETURN_IF_ERROR(check(api.canAccessPeer(&can, device, peer), "cuDeviceCanAccessPeer"));
    if (!can || !inThisProcess)
      return can != 0;
    CuHandle itsContext = nullptr;
    DGC_RETURN_IF_ERROR(check(api.retainContext(&itsContext, peer), "cuDevicePrimaryCtxRetain"));
    peers.push_back(peer);
    CuResult enabled = api.enablePeerAccess(itsContext, 0);
    if (enabled != kCuPeerAlreadyEnabled)
      DGC_RETURN_IF_ERROR(check(enabled, "cuCtxEnablePeerAccess"));
    return true;
  }
  return other == info.id;
}

absl::Status RealDriver::open(int rank) {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return missing(str("the plan is for NVIDIA GPUs, and this machine has no driver for them: libcuda.so.1 was not "
                       "found; ",
                       kNeeded));
  const char *lacking = nullptr;
#define DGC_FIND(name, symbol, ...)                                                                                    \
  api.name = reinterpret_cast<CuResult (*)(__VA_ARGS__)>(::dlsym(library, #symbol));                                   \
  if (!api.name)                                                                                                       \
    lacking = #symbol;
  DGC_CUDA_DRIVER_FUNCTIONS(DGC_FIND)
#undef DGC_FIND
  int version = 0;
  if (api.driverVersion)
    api.driverVersion(&version);
  if (lacking || version < kNeededVersion)
    return missing(str("the driver of NVIDIA on this machine is for CUDA ", version / 1000, ".", version % 1000 / 10,
                       lacking ? str(" and has no ", lacking) : "", "; CUDA 12.0 is needed: ", kNeeded));
  int count = 0;
  CuResult started = api.init(0);
  if (started != kCuNoDevice)
    DGC_RETURN_IF_ERROR(check(started, "the driver of NVIDIA cannot start: cuInit"));
  if (started == kCuNoDevice || api.deviceCount(&count) != 0 || count == 0)
    return missing("the plan is for NVIDIA GPUs, and the driver finds none: look at nvidia-smi and at "
                   "CUDA_VISIBLE_DEVICES, or compile the model with --target=cpu");
  DGC_RETURN_IF_ERROR(check(api.device(&device, gpuOf(rank, count)), "cuDeviceGet"));
  char name[256] = {};
  DGC_RETURN_IF_ERROR(check(api.deviceName(name, sizeof name, device), "cuDeviceGetName"));
  info.name = name;
  info.driverVersion = version;
  DGC_RETURN_IF_ERROR(check(api.deviceAttribute(&info.major, kCuMajor, device), "cuDeviceGetAttribute"));
  DGC_RETURN_IF_ERROR(check(api.deviceAttribute(&info.minor, kCuMinor, device), "cuDeviceGetAttribute"));
  size_t bytes = 0;
  DGC_RETURN_IF_ERROR(check(api.deviceBytes(&bytes, device), "cuDeviceTotalMem"));
  info.totalBytes = bytes;
  CuUuid id{};
  DGC_RETURN_IF_ERROR(check(api.deviceUuid(&id, device), "cuDeviceGetUuid"));
  info.id = std::to_array(id.bytes);
  char busId[64] = {};
  DGC_RETURN_IF_ERROR(check(api.deviceBusId(busId, sizeof busId, device), "cuDeviceGetPCIBusId"));
  info.busId = busId;
  use = DeviceUse::open(busId); // an error is returned by bytesInUse()
  DGC_RETURN_IF_ERROR(check(api.retainContext(&context, device), "cuDevicePrimaryCtxRetain"));
  return check(api.setContext(context), "cuCtxSetCurrent");
}

} // namespace

int countGpus() {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return 0;
  auto init = reinterpret_cast<CuResult (*)(unsigned)>(::dlsym(library, "cuInit"));
  auto deviceCount = reinterpret_cast<CuResult (*)(int *)>(::dlsym(library, "cuDeviceGetCount"));
  int count = 0;
  return init && deviceCount && init(0) == 0 && deviceCount(&count) == 0 ? count : 0;
}

absl::StatusOr<std::unique_ptr<Driver>> openDriver(int rank) {
  auto driver = std::make_unique<RealDriver>();
  DGC_RETURN_IF_ERROR(driver->open(rank));
  return std::unique_ptr<Driver>(std::move(driver));
}

} // namespace dgc::rt::cuda
