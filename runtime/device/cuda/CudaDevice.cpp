// The CUDA device: its code, memory and communication, and what is chosen when all ops are known.
#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/artifact/GpuSizes.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/Fill.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

namespace dgc::rt::cuda {

//===-- Making ----------------------------------------------------------===//

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::create(const Artifact &artifact, std::unique_ptr<Driver> driver,
                                                               MakeLibraries make) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(artifact, std::move(driver), std::move(make)));
  DGC_ASSIGN_OR_RETURN(device->stream, device->driver->createStream());
  DGC_ASSIGN_OR_RETURN(device->transfers, device->driver->createStream());
  DGC_ASSIGN_OR_RETURN(device->uploads, device->driver->createStream());
  DGC_ASSIGN_OR_RETURN(device->computed, device->driver->createEvent());
  DGC_ASSIGN_OR_RETURN(device->arrived, device->driver->createEvent());
  for (Driver::Event &event : device->copied) {
    DGC_ASSIGN_OR_RETURN(event, device->driver->createEvent());
  }
  DGC_RETURN_IF_ERROR(device->loadCode());
  DGC_ASSIGN_OR_RETURN(device->transfer, device->allocateStaging(gpu::transferBytes));
  return device;
}

CudaDevice::~CudaDevice() {
  // Nothing may run any more; an error has been told before. Work that waits for other workers ends with its
  // communicators, and these when no graph has parts of theirs.
  auto waitForAll = [&] {
    for (Driver::Stream each : {stream, transfers, uploads})
      if (each)
        (void)driver->synchronize(each);
  };
  if (!communication)
    waitForAll();
  for (const std::vector<Driver::Graph> &list : {graphs, graphsOf[0], graphsOf[1]})
    for (Driver::Graph graph : list)
      driver->destroyGraph(graph);
  if (communication && !communication->close()) {
    // NOLINTBEGIN(bugprone-unused-return-value): what is left ends with the process
    (void)communication.release();
    (void)blas.release();
    (void)dnn.release();
    (void)driver.release();
    // NOLINTEND(bugprone-unused-return-value)
    return;
  }
  if (communication)
    waitForAll();
  communication.reset();
  firstRuns.clear();
  products.clear();
  dnn.reset();
  blas.reset();
  for (Address memory : allocations)
    driver->release(memory);
  for (std::byte *memory : hostAllocations)
    driver->releaseHost(memory);
  for (std::span<std::byte> memory : pinned)
    driver->unpin(memory);
  if (module)
    driver->unloadModule(module);
  updateKernels.unload(*driver);
  additionKernels.unload(*driver);
  for (Driver::Event event : {computed, arrived, copied[0], copied[1]})
    if (event)
      driver->destroyEvent(event);
  for (Driver::Event event : events)
    driver->destroyEvent(event);
  for (Driver::Stream each : {stream, transfers, uploads})
    if (each)
      driver->destroyStream(each);
}

/// The best code for a GPU: a cubin of its major number, or PTX; of the newest architecture that it runs.
static const artifact::DeviceCode *chooseCode(const artifact::Plan &plan, const GpuInfo &gpu) {
  const artifact::DeviceCode *best = nullptr;
  auto own = static_cast<uint32_t>(gpu.major * 10 + gpu.minor);
  for (const artifact::DeviceCode *code : *plan.device_code()) {
    bool runs = code->architecture() <= own &&
                (!code->binary() || code->architecture() / 10 == static_cast<uint32_t>(gpu.major));
    auto rank = [](const artifact::DeviceCode &c) { return std::pair(c.binary(), c.architecture()); };
    if (runs && (!best || rank(*code) > rank(*best)))
      best = code;
  }
  return best;
}

absl::Status CudaDevice::loadCode() {
  const artifact::Plan &plan = artifact.plan();
  if (!plan.device_code() || plan.device_code()->size() == 0)
    return absl::OkStatus();
  const GpuInfo &gpu = driver->gpu();
  const artifact::DeviceCode *code = chooseCode(plan, gpu);
  if (!code) {
    std::string all;
    for (const flatbuffers::String *name : *plan.target()->features())
      all += str(all.empty() ? "" : ", ", name->str());
    return withExitCode(absl::FailedPreconditionError(str(
                            "the GPU, ", gpu.name, ", is of sm_", gpu.major, gpu.minor, ", and the plan has code for ",
                            all, ": compile the model with --target=cuda:sm_", gpu.major, gpu.minor)),
                        ExitCode::Machine);
  }
  const auto *data = plan.sections()->Get(code->section())->data();
  std::vector<std::byte> image(data->size() + 1); // with a zero at its end
  std::memcpy(image.data(), data->data(), data->size());
  DGC_ASSIGN_OR_RETURN(module, driver->loadModule(image));
  return absl::OkStatus();
}

absl::StatusOr<Address> CudaDevice::allocate(uint64_t bytes) {
  absl::StatusOr<Address> memory = driver->allocate(std::max<uint64_t>(bytes, 1));
  if (!memory.ok())
    return annotate(memory.status(), str("no room for ", bytes, " bytes on ", driver->gpu().name));
  allocations.push_back(*memory);
  return memory;
}

absl::StatusOr<std::byte *> CudaDevice::allocateStaging(uint64_t bytes) {
  DGC_ASSIGN_OR_RETURN(std::byte * memory, driver->allocateHost(std::max<uint64_t>(bytes, 1)));
  hostAllocations.push_back(memory);
  return memory;
}

absl::StatusOr<Driver::Event> CudaDevice::newEvent(bool timed) {
  DGC_ASSIGN_OR_RETURN(Driver::Event event, driver->createEvent(timed));
  events.push_back(event);
  return event;
}

absl::Status CudaDevice::pin(std::span<std::byte> memory) {
  if (absl::Status s = driver->pin(memory); !s.ok())
    return annotate(s, str("pinning ", memory.size(), " bytes of the memory that workers exchange values in"));
  pinned.push_back(memory);
  return absl::OkStatus();
}

absl::StatusOr<std::span<std::byte>> CudaDevice::allocatePinned(uint64_t bytes) {
  DGC_ASSIGN_OR_RETURN(std::byte * memory, allocateStaging(bytes));
  return std::span(memory, bytes);
}

absl::StatusOr<void *> CudaDevice::allocateArena(uint64_t bytes) {
  DGC_ASSIGN_OR_RETURN(Address arena, allocate(bytes));
  DGC_RETURN_IF_ERROR(driver->fill(arena, 0, 1, std::max<uint64_t>(bytes, 1), stream));
  return reinterpret_cast<void *>(arena);
}

absl::StatusOr<void *> CudaDevice::placeConstants(std::span<const std::byte> bytes) {
  DGC_ASSIGN_OR_RETURN(Address memory, allocate(bytes.size()));
  DGC_RETURN_IF_ERROR(upload(reinterpret_cast<void *>(memory), bytes));
  return reinterpret_cast<void *>(memory);
}

/// While one half of the pinned memory is copied the host works on the other one.
static constexpr uint64_t kHalf = gpu::transferBytes / 2;

absl::Status CudaDevice::upload(void *to, uint64_t bytes, WritePiece write) {
  size_t half = 0;
  for (uint64_t done = 0; done < bytes; half ^= 1) {
    const std::span<std::byte> piece(transfer + half * kHalf, std::min(kHalf, bytes - done));
    if (done >= 2 * kHalf) // what was there before is being copied
      DGC_RETURN_IF_ERROR(awaitEvent(copied[half]));
    write(done, piece);
    DGC_RETURN_IF_ERROR(driver->copyToDevice(addressOf(to) + done, piece.data(), piece.size(), stream));
    done += piece.size();
    if (done + kHalf < bytes) // this half is needed again
      DGC_RETURN_IF_ERROR(driver->record(copied[half], stream));
  }
  return await(stream);
}

absl::Status CudaDevice::download(std::span<std::byte> to, const void *from) {
  auto take = [&](uint64_t begin, size_t half) {
    std::memcpy(to.data() + begin, transfer + half * kHalf, std::min(kHalf, to.size() - begin));
  };
  size_t half = 0;
  for (uint64_t begin = 0; begin < to.size(); begin += kHalf, half ^= 1) {
    const uint64_t piece = std::min(kHalf, to.size() - begin);
    const bool isLast = begin + piece == to.size();
    DGC_RETURN_IF_ERROR(driver->copyToHost(transfer + half * kHalf, addressOf(from) + begin, piece, stream));
    if (!isLast)
      DGC_RETURN_IF_ERROR(driver->record(copied[half], stream));
    if (begin > 0) {
      DGC_RETURN_IF_ERROR(awaitEvent(copied[half ^ 1]));
      take(begin - kHalf, half ^ 1);
    }
    if (isLast) {
      DGC_RETURN_IF_ERROR(await(stream));
      take(begin, half);
    }
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::fill(void *to, DType dtype, double value, uint64_t count) {
  if (count == 0)
    return absl::OkStatus();
  if (absl::StatusOr<FillPattern> pattern = fillPattern(dtype, value); pattern.ok()) {
    DGC_RETURN_IF_ERROR(
        driver->fill(addressOf(to), pattern->value, pattern->width, count * pattern->perElement, stream));
    return await(stream);
  }
  // The driver has no pattern of 8 bytes.
  return upload(to, count * sizeOf(dtype), [&](uint64_t, std::span<std::byte> piece) {
    for (size_t i = 0; i < piece.size() / sizeOf(dtype); ++i)
      storeElement(dtype, piece.data(), static_cast<int64_t>(i), value);
  });
}

//===-- Communication ---------------------------------------------------===//

absl::Status CudaDevice::connect(Transport &transport, void *shared) {
  auto makeNccl = [this]() -> absl::StatusOr<NcclFunctions> {
    if (!make.nccl)
      return absl::NotFoundError("no NCCL");
    return make.nccl();
  };
  const TuningOptions &tuning = make.tuning;
  LaunchPreferences preferences;
  std::string warning;
  preferences.measures = tuning.measures;
  if (tuning.keeps) // the one that all follow
    if (auto kept = readMeasuredLaunch(realDisk(), tuning.file, driver->gpu().name, artifact.digestHex(), warning)) {
      preferences.isKept = 1;
      preferences.kept = *kept;
    }
  DGC_ASSIGN_OR_RETURN(communication, Communication::create(groupsOf(artifact.plan()), *driver, stream, transport,
                                                            addressOf(shared), makeNccl, preferences));
  const LaunchChoice &choice = communication->launch();
  mode = choice.mode;
  if (choice.measures)
    measurement = std::make_unique<LaunchMeasurement>();
  if (warning.empty())
    warning = choice.warning;
  if (tuning.keeps && !warning.empty())
    std::fprintf(stderr,
                 "dgc-run: warning: what %s says of collectives is ignored: %s; dgc-run --tune measures again\n",
                 tuning.file.c_str(), warning.c_str());
  return absl::OkStatus();
}

absl::Status CudaDevice::decideLaunchMode() {
  DGC_ASSIGN_OR_RETURN(LaunchTimes times, communication->slowest(measurement->times()));
  measurement.reset();
  mode = times.faster();
  for (Driver::Graph graph : std::exchange(graphsOf[static_cast<size_t>(otherMode(mode))], {}))
    driver->destroyGraph(graph);
  if (!times.areKnown()) {
    notice_ = "collectives: outside, as steps that are traced are not measured";
    return absl::OkStatus();
  }
  notice_ = str("collectives: ", describe(times));
  if (!make.tuning.keeps || make.tuning.file.empty())
    return absl::OkStatus();
  MeasuredLaunch kept = communication->here();
  kept.times = times;
  if (absl::Status s =
          writeMeasuredLaunch(realDisk(), make.tuning.file, driver->gpu().name, artifact.digestHex(), kept);
      !s.ok())
    notice_ += str("; it is not kept: ", s.message());
  return absl::OkStatus();
}

std::string CudaDevice::notice(bool atEnd) {
  if (atEnd && measurement)
    return str("collectives: outside, as --tune needs ", LaunchMeasurement::kSteps + 1, " steps to measure both");
  return std::exchange(notice_, {});
}

absl::StatusOr<DeviceCommunication> CudaDevice::prepareCollective(const CollectiveDesc &desc) {
  return communication ? communication->prepare(desc) : DeviceCommunication();
}

absl::StatusOr<DeviceCommunication> CudaDevice::prepareSend(uint32_t channel, uint32_t to, void *data, uint64_t bytes) {
  return communication ? communication->prepareSend(channel, to, addressOf(data), bytes) : DeviceCommunication();
}

absl::StatusOr<DeviceCommunication> CudaDevice::prepareReceive(uint32_t channel, uint32_t from, void *data,
                                                               uint64_t bytes) {
  return communication ? communication->prepareReceive(channel, from, addressOf(data), bytes) : DeviceCommunication();
}

//===-- The end of preparing ---------------------------------------------===//

/// The fastest algorithm, each measured over some runs after one that loads its code.
static absl::StatusOr<size_t> fastest(Driver &driver, PreparedGemm &product, Driver::Stream stream, Address workspace) {
  constexpr int kRuns = 10;
  size_t best = 0;
  auto least = std::chrono::steady_clock::duration::max();
  for (size_t algorithm = 0; algorithm < product.algorithms(); ++algorithm) {
    product.choose(algorithm);
    DGC_RETURN_IF_ERROR(product.run(stream, workspace));
    DGC_RETURN_IF_ERROR(driver.synchronize(stream));
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRuns; ++i)
      DGC_RETURN_IF_ERROR(product.run(stream, workspace));
    DGC_RETURN_IF_ERROR(driver.synchronize(stream));
    auto taken = std::chrono::steady_clock::now() - begin;
    if (taken < least) {
      least = taken;
      best = algorithm;
    }
  }
  return best;
}

absl::Status CudaDevice::finish() {
  DGC_ASSIGN_OR_RETURN(workspace, allocate(workspaceBytes));
  scratchBytes_ = workspaceBytes;
  // Libraries load code and take memory when something runs for the first time, which must not be while work is
  // captured. The arena holds nothing yet.
  for (const std::shared_ptr<PreparedDnn> &each : firstRuns)
    DGC_RETURN_IF_ERROR(each->run(stream, workspace));
  firstRuns.clear();
  DGC_RETURN_IF_ERROR(driver->synchronize(stream));
  return chooseAlgorithms();
}

/// Chooses the algorithm of each product: what was measured before, or is now, or else what the library expects to be
/// the fastest. One product of each kind runs once in any case, for the same reason as firstRuns.
absl::Status CudaDevice::chooseAlgorithms() {
  if (products.empty())
    return absl::OkStatus();
  Tuning tuning(realDisk(), make.tuning, driver->gpu().name, blas->version());
  if (!tuning.warning().empty())
    std::fprintf(stderr, "dgc-run: warning: %s\n", tuning.warning().c_str());
  std::map<std::string, size_t> chosen;
  for (auto &[name, product] : products) {
    auto [it, isNew] = chosen.try_emplace(name, 0);
    if (isNew) {
      std::optional<size_t> kept = tuning.find(name);
      if (kept && *kept < product->algorithms()) {
        it->second = *kept;
      } else if (tuning.measures()) {
        DGC_ASSIGN_OR_RETURN(it->second, fastest(*driver, *product, stream, workspace));
        tuning.keep(name, it->second);
      }
    }
    product->choose(it->second);
    if (isNew)
      DGC_RETURN_IF_ERROR(product->run(stream, workspace));
  }
  products.clear();
  DGC_RETURN_IF_ERROR(driver->synchronize(stream));
  // A folder that cannot be written to is no reason not to train.
  if (absl::Status saved = tuning.save(); !saved.ok())
    std::fprintf(stderr, "dgc-run: warning: --tune: %s\n", std::string(saved.message()).c_str());
  return absl::OkStatus();
}

} // namespace dgc::rt::cuda
