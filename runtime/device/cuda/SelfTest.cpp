#include "runtime/device/cuda/SelfTest.h"

#include "runtime/artifact/GpuSizes.h"
#include "runtime/base/Status.h"
#include "runtime/collective/Wait.h"
#include "runtime/device/cuda/ScatterKernels.h"
#include "runtime/device/cuda/SliceKernels.h"

#include <array>
#include <cstring>
#include <tuple>

namespace dgc::rt::cuda {
namespace {

constexpr uint64_t kElements = 1000, kRoom = kElements * 8, kTimeoutSeconds = 30;

/// A stream, and as much memory of the GPU as of the host.
class Bench {
protected:
  explicit Bench(Driver &driver) : driver(driver) {}
  ~Bench() {
    if (isLeft)
      return;
    if (stream)
      (void)driver.synchronize(stream);
    if (module)
      driver.unloadModule(module);
    if (memory)
      driver.release(memory);
    if (host)
      driver.releaseHost(host);
    if (stream)
      driver.destroyStream(stream);
  }
  absl::Status take(uint64_t bytes) {
    DGC_ASSIGN_OR_RETURN(stream, driver.createStream());
    DGC_ASSIGN_OR_RETURN(memory, driver.allocate(bytes));
    DGC_ASSIGN_OR_RETURN(host, driver.allocateHost(bytes));
    return absl::OkStatus();
  }

  Driver &driver;
  Driver::Stream stream = nullptr;
  Address memory = 0;
  std::byte *host = nullptr;
  Driver::Module module = nullptr; // of kernels, if there are any
  bool isLeft = false;             // something still works on it: it goes with the process
};

/// A communicator of one rank, with memory for what it sends and what comes.
class OneRank : Bench {
public:
  OneRank(Driver &driver, NcclFunctions nccl) : Bench(driver), nccl(std::move(nccl)) {}
  ~OneRank() {
    if (graph)
      driver.destroyGraph(graph);
    isLeft = !NcclLink::abort({&link, 1});
  }

  absl::Status open() {
    DGC_RETURN_IF_ERROR(take(2 * kRoom));
    NcclUniqueId id;
    if (int error = nccl->uniqueId(&id))
      return absl::InternalError(str("ncclGetUniqueId: ", nccl->errorText(error)));
    DGC_ASSIGN_OR_RETURN(link, NcclLink::create(nccl, {0}, 0, id, abort, kTimeoutSeconds));
    return absl::OkStatus();
  }

  /// The result of a collective of one rank is what it sends; of a permutation that sends nothing, zeros.
  absl::Status check(CollectiveKind kind, Reduction reduction, DType dtype, bool asGraph, bool alone = false) {
    CollectiveDesc desc;
    desc.kind = kind;
    desc.reduction = reduction;
    desc.dtype = dtype;
    desc.group = {0};
    desc.srcCount = desc.dstCount = kElements;
    desc.dst = kRoom;
    desc.permutation = {alone ? CollectiveDesc::kNoRank : 0};
    if (kind != CollectiveKind::Permute)
      desc.permutation.clear();
    DGC_ASSIGN_OR_RETURN(CheckedCollective checked, checkCollective(desc, 0, 1, 2 * kRoom));
    const uint64_t bytes = kElements * sizeOf(dtype);
    for (uint64_t i = 0; i < bytes; ++i) // numbers of all types: small ones, and no NaN
      host[i] = static_cast<std::byte>(dtype == DType::I1 ? i % 3 == 0 : i * 37 % 61);
    std::memset(host + kRoom, 0x5a, bytes);
    DGC_RETURN_IF_ERROR(driver.copyToDevice(memory, host, 2 * kRoom, stream));
    DGC_RETURN_IF_ERROR(wait());
    if (asGraph)
      DGC_RETURN_IF_ERROR(driver.beginCapture(stream));
    absl::Status queued = link->queue(desc, checked, memory, driver, stream);
    if (asGraph) {
      absl::StatusOr<Driver::Graph> made = driver.endCapture(stream);
      if (made.ok())
        graph = *made;
      DGC_RETURN_IF_ERROR(queued);
      DGC_RETURN_IF_ERROR(made.status());
      DGC_RETURN_IF_ERROR(driver.launchGraph(graph, stream));
    }
    DGC_RETURN_IF_ERROR(queued);
    DGC_RETURN_IF_ERROR(driver.copyToHost(host + kRoom, memory + kRoom, bytes, stream));
    DGC_RETURN_IF_ERROR(wait());
    for (uint64_t i = 0; i < bytes; ++i)
      if (host[kRoom + i] != (alone ? std::byte{0} : host[i]))
        return absl::InternalError(str(std::string(nameOf(kind)), " of ", nameOf(dtype), asGraph ? " in a graph" : "",
                                       ": element ", i / sizeOf(dtype), " is not what was sent"));
    if (graph)
      driver.destroyGraph(std::exchange(graph, nullptr));
    return absl::OkStatus();
  }

  absl::Status close() { return NcclLink::close({&link, 1}); }

private:
  absl::Status wait() {
    absl::Status failed = absl::OkStatus();
    Waiter waiter(abort, kTimeoutSeconds);
    DGC_RETURN_IF_ERROR(waiter.until(
        [&] {
          absl::StatusOr<bool> done = driver.isDone(stream);
          failed = done.ok() ? link->error() : done.status();
          return !failed.ok() || *done;
        },
        [] { return std::string("the GPU has not done it in time"); }));
    return failed;
  }

  NcclFunctions nccl;
  Abort abort;
  Driver::Graph graph = nullptr;
  std::unique_ptr<NcclLink> link;
};

/// All types and reductions of one kind; the first error.
absl::Status checkKind(OneRank &one, CollectiveKind kind, bool asGraph) {
  for (int type = 0; type < numDTypes; ++type)
    for (Reduction reduction : {Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::Min}) {
      CollectiveDesc desc;
      desc.kind = kind;
      desc.dtype = static_cast<DType>(type);
      if (!NcclLink::does(desc) || (!infoOf(kind).reduces && reduction != Reduction::Sum))
        continue;
      DGC_RETURN_IF_ERROR(one.check(kind, reduction, desc.dtype, asGraph));
    }
  return kind == CollectiveKind::Permute ? one.check(kind, Reduction::Sum, DType::F32, asGraph, /*alone=*/true)
                                         : absl::OkStatus();
}

} // namespace

std::vector<SelfTestLine> testNccl(Driver &driver, const NcclFunctions &nccl) {
  std::vector<SelfTestLine> lines;
  auto add = [&](std::string name, const absl::Status &status) {
    lines.push_back({std::move(name), status.ok() ? SelfTestLine::Passed : SelfTestLine::Failed,
                     status.ok() ? "" : std::string(status.message())});
    return status.ok();
  };
  OneRank one(driver, nccl);
  if (!add(str("NCCL ", versionOfNccl(nccl->number), " communicator of one rank"), one.open()))
    return lines;
  for (bool asGraph : {false, true})
    for (int number = 0; number < numCollectiveKinds; ++number) {
      const auto kind = static_cast<CollectiveKind>(number);
      if (!add(str("NCCL ", nameOf(kind), asGraph ? " in a graph" : ""), checkKind(one, kind, asGraph)))
        return lines; // nothing works after an error
    }
  add("NCCL close", one.close());
  return lines;
}

//===-- Kernels over memory of several workers --------------------------===//

namespace {
/// Three vectors and two results, in one allocation.
class PeerCheck : Bench {
public:
  explicit PeerCheck(Driver &driver) : Bench(driver) {}

  absl::Status run() {
    if (!peerReducePtx())
      return absl::NotFoundError("this dgc was built without");
    DGC_RETURN_IF_ERROR(take(kTable + kRoom));
    DGC_ASSIGN_OR_RETURN(module, driver.loadText(peerReducePtx()));
    for (const PeerKernel *kernel = peerKernels; kernel->name; ++kernel)
      for (bool packed : {true, false})
        DGC_RETURN_IF_ERROR(annotate(check(*kernel, packed), kernel->name));
    return absl::OkStatus();
  }

private:
  static constexpr uint64_t kSources = 3, kResults = 2, kCount = kElements - 5, kTable = 5 * kRoom;

  absl::Status check(const PeerKernel &kernel, bool packed) {
    DGC_ASSIGN_OR_RETURN(Driver::Function function, driver.findFunction(module, kernel.name));
    std::vector<std::byte> expected(kTable);
    uint64_t onHost[kSources + kResults], onDevice[kSources + kResults];
    for (uint64_t i = 0; i < kTable; ++i) // finite numbers of all types
      host[i] = expected[i] = static_cast<std::byte>(i < kSources * kRoom ? (i * 37 + i / 251) % 61 : 0x5a);
    for (uint64_t k = 0; k < kSources + kResults; ++k) {
      onHost[k] = reinterpret_cast<uint64_t>(expected.data()) + k * kRoom;
      onDevice[k] = memory + k * kRoom;
    }
    std::memcpy(host + kTable, onDevice, sizeof onDevice);
    const uint64_t packets = packed ? kCount * kernel.elementSize / 16 : 0;
    kernel.run(onHost, kSources, kResults, kCount, 0);
    DGC_RETURN_IF_ERROR(driver.copyToDevice(memory, host, kTable + kRoom, stream));
    DGC_RETURN_IF_ERROR(driver.synchronize(stream));
    const Argument args[] = {
        {memory + kTable, sizeof onDevice}, {kSources, 0}, {kResults, 0}, {kCount, 0}, {packets, 0}};
    DGC_RETURN_IF_ERROR(driver.launch(function, 3, 64, args, stream));
    DGC_RETURN_IF_ERROR(driver.copyToHost(host, memory, kTable, stream));
    DGC_RETURN_IF_ERROR(driver.synchronize(stream));
    for (uint64_t i = 0; i < kTable; ++i)
      if (host[i] != expected[i])
        return absl::InternalError(str("byte ", i % kRoom, " of vector ", i / kRoom, " is ", static_cast<int>(host[i]),
                                       ", expected is ", static_cast<int>(expected[i])));
    return absl::OkStatus();
  }
};
} // namespace

static SelfTestLine lineOf(std::string name, const absl::Status &status) {
  return {std::move(name),
          status.ok()                ? SelfTestLine::Passed
          : absl::IsNotFound(status) ? SelfTestLine::LeftOut
                                     : SelfTestLine::Failed,
          std::string(status.message())};
}

SelfTestLine testPeerKernels(Driver &driver) {
  return lineOf("reductions over memory of several workers", PeerCheck(driver).run());
}

//===-- Kernels that put slices in place --------------------------------===//

namespace {
/// A tensor of 3 rows with 7 slices of 5 units, two of which are replaced.
class SliceCheck : Bench {
public:
  explicit SliceCheck(Driver &driver) : Bench(driver) {}

  absl::Status run() {
    if (!sliceKernelsPtx())
      return absl::NotFoundError("this dgc was built without");
    DGC_RETURN_IF_ERROR(take(3 * kPart));
    DGC_ASSIGN_OR_RETURN(module, driver.loadText(sliceKernelsPtx()));
    for (const SliceKernel *kernel = sliceKernels; kernel->name; ++kernel)
      for (int64_t start : {-3, 0, 4, 200}) // 200 as a byte has a sign
        for (uint64_t width : {1, 4, 8})
          for (uint64_t isSigned : {0, 1})
            DGC_RETURN_IF_ERROR(annotate(check(*kernel, start, width, isSigned), kernel->name));
    return absl::OkStatus();
  }

private:
  static constexpr uint64_t kPart = 2048, kUpdate = kPart, kStart = 2 * kPart;

  absl::Status check(const SliceKernel &kernel, int64_t start, uint64_t width, uint64_t isSigned) {
    DGC_ASSIGN_OR_RETURN(Driver::Function function, driver.findFunction(module, kernel.name));
    std::vector<std::byte> expected(3 * kPart);
    for (uint64_t i = 0; i < expected.size(); ++i)
      host[i] = expected[i] = static_cast<std::byte>((i * 37 + i / 251) % 253);
    std::memcpy(host + kStart, &start, sizeof start);
    std::memcpy(expected.data() + kStart, &start, sizeof start);
    auto argumentsAt = [&](uint64_t base) {
      return std::array<uint64_t, 10>{base, base + kUpdate, base + kStart, width, isSigned, 5, 3, 10, 35, 5};
    };
    std::apply(kernel.run, argumentsAt(reinterpret_cast<uint64_t>(expected.data())));
    DGC_RETURN_IF_ERROR(driver.copyToDevice(memory, host, expected.size(), stream));
    DGC_RETURN_IF_ERROR(driver.synchronize(stream));
    std::vector<Argument> args;
    for (uint64_t argument : argumentsAt(memory))
      args.push_back({argument, 0});
    DGC_RETURN_IF_ERROR(driver.launch(function, 2, 32, args, stream));
    DGC_RETURN_IF_ERROR(driver.copyToHost(host, memory, expected.size(), stream));
    DGC_RETURN_IF_ERROR(driver.synchronize(stream));
    for (uint64_t i = 0; i < expected.size(); ++i)
      if (host[i] != expected[i])
        return absl::InternalError(str("byte ", i, " is ", static_cast<int>(host[i]), ", expected is ",
                                       static_cast<int>(expected[i]), ", of a slice at ", start));
    return absl::OkStatus();
  }
};
} // namespace

SelfTestLine testSliceKernels(Driver &driver) { return lineOf("slices put in place", SliceCheck(driver).run()); }

//===-- Kernels that add up slices --------------------------------------===//

namespace {
/// 5000 updates to 300 slices. One of two goes to slice 7; some are left out.
class ScatterCheck : Bench {
public:
  explicit ScatterCheck(Driver &driver) : Bench(driver) {}

  absl::Status run() {
    if (!scatterKernelsPtx())
      return absl::NotFoundError("this dgc was built without");
    DGC_RETURN_IF_ERROR(take(kBytes));
    DGC_ASSIGN_OR_RETURN(module, driver.loadText(scatterKernelsPtx()));
    for (uint64_t elementBytes : {4, 8})
      for (uint64_t inner : {3, 8, 136})
        DGC_RETURN_IF_ERROR(annotate(check(elementBytes, inner), str("rows of ", inner, " f", 8 * elementBytes)));
    return absl::OkStatus();
  }

private:
  static constexpr uint64_t kCount = 5000, kSize = 300, kMostInner = 136, kOuter = 2;
  // Where things are.
  static constexpr uint64_t kUpdates = kOuter * kSize * kMostInner * 8,
                            kOffset = kUpdates + kOuter * kCount * kMostInner * 8, kIndices = kOffset + 256,
                            kWorkspace = kIndices + (kCount * 4 + 255) / 256 * 256,
                            kBytes = kWorkspace + gpu::scatterWorkspaceBytes(kCount, kOuter * kMostInner * 8);

  static Scatter scatterAt(Address base, uint64_t elementBytes, uint64_t inner) {
    Scatter scatter;
    scatter.dst = base;
    scatter.updates = base + kUpdates;
    scatter.indices = base + kIndices;
    scatter.offset = base + kOffset;
    scatter.indexBytes = 4;
    scatter.isSigned = true;
    scatter.elementBytes = elementBytes;
    scatter.outer = kOuter;
    scatter.count = kCount;
    scatter.inner = inner;
    scatter.size = kSize;
    return scatter;
  }

  /// Zeros, and numbers whose sums depend on the order.
  static void store(std::byte *to, uint64_t elementBytes, uint64_t inner) {
    std::memset(to, 0, kUpdates);
    for (uint64_t i = 0; i < kOuter * kCount * inner; ++i) {
      const double value = static_cast<double>(i * 2654435761 % 10007) / 7 - 700;
      storeElement(elementBytes == 8 ? DType::F64 : DType::F32, to + kUpdates, static_cast<int64_t>(i), value);
    }
    const int64_t offset = -20;
    std::memcpy(to + kOffset, &offset, sizeof offset);
    for (uint64_t j = 0; j < kCount; ++j) {
      const auto index = static_cast<int32_t>(offset + static_cast<int64_t>(j % 2 ? 7 : j * 7919 % 311) - 5);
      std::memcpy(to + kIndices + j * sizeof index, &index, sizeof index);
    }
    std::memset(to + kWorkspace, 0x5a, kBytes - kWorkspace);
  }

  absl::Status check(uint64_t elementBytes, uint64_t inner) {
    std::vector<uint64_t> memoryOfHost((kBytes + 256) / 8);
    auto *expected = reinterpret_cast<std::byte *>((reinterpret_cast<uint64_t>(memoryOfHost.data()) + 255) / 256 * 256);
    store(expected, elementBytes, inner);
    store(host, elementBytes, inner);
    const auto base = reinterpret_cast<Address>(expected);
    for (const ScatterLaunch &launch : scatterLaunches(scatterAt(base, elementBytes, inner), base + kWorkspace)) {
      std::vector<uint64_t> args;
      for (const Argument &argument : launch.args)
        args.push_back(argument.address);
      launch.kernel->run(args.data(), false);
    }
    DGC_RETURN_IF_ERROR(driver.copyToDevice(memory, host, kBytes, stream));
    for (const ScatterLaunch &launch : scatterLaunches(scatterAt(memory, elementBytes, inner), memory + kWorkspace)) {
      DGC_ASSIGN_OR_RETURN(Driver::Function function, driver.findFunction(module, launch.kernel->name));
      DGC_RETURN_IF_ERROR(driver.launch(function, launch.grid, launch.kernel->block, launch.args, stream));
    }
    DGC_RETURN_IF_ERROR(driver.copyToHost(host, memory, kUpdates, stream));
    DGC_RETURN_IF_ERROR(driver.synchronize(stream));
    for (uint64_t i = 0; i < kUpdates; ++i)
      if (host[i] != expected[i])
        return absl::InternalError(
            str("byte ", i, " is ", static_cast<int>(host[i]), ", expected is ", static_cast<int>(expected[i])));
    return absl::OkStatus();
  }
};
} // namespace

SelfTestLine testScatterKernels(Driver &driver) { return lineOf("slices added up", ScatterCheck(driver).run()); }
} // namespace dgc::rt::cuda
