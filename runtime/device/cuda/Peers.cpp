#include "runtime/device/cuda/Peers.h"

#include "runtime/base/Status.h"
#include "runtime/collective/Copies.h"

#include <algorithm>
#include <cstring>

#ifdef DGC_HAS_KERNEL_PTX
extern const char *const dgcPeerReducePtx;
#endif

namespace dgc::rt::cuda {

static constexpr uint64_t kStagingBytes = 4096, kBlock = 256, kMostBlocks = 1024;

const char *peerReducePtx() {
#ifdef DGC_HAS_KERNEL_PTX
  return dgcPeerReducePtx;
#else
  return nullptr;
#endif
}

Peers::~Peers() {
  for (Address table : tables)
    driver.release(table);
  if (staging)
    driver.releaseHost(staging);
  if (module)
    driver.unloadModule(module);
}

/// Addresses as kernels read them.
absl::StatusOr<Address> Peers::placeTable(const std::vector<Address> &table) {
  if (!staging) {
    DGC_ASSIGN_OR_RETURN(staging, driver.allocateHost(kStagingBytes));
  }
  const uint64_t bytes = table.size() * sizeof(Address);
  DGC_ASSIGN_OR_RETURN(Address memory, driver.allocate(bytes));
  tables.push_back(memory);
  for (uint64_t done = 0; done < bytes; done += kStagingBytes) {
    const uint64_t piece = std::min(kStagingBytes, bytes - done);
    std::memcpy(staging, reinterpret_cast<const std::byte *>(table.data()) + done, piece);
    DGC_RETURN_IF_ERROR(driver.copyToDevice(memory + done, staging, piece, stream));
    DGC_RETURN_IF_ERROR(await(stream));
  }
  return memory;
}

/// The unsigned integers of the same size, of integers; else the type itself.
static DType unsignedOf(DType type) {
  return visit(type, [&](auto element) {
    if constexpr (!decltype(element)::isInteger)
      return type;
    else
      return sizeof(typename decltype(element)::Stored) == 1   ? DType::U8
             : sizeof(typename decltype(element)::Stored) == 2 ? DType::U16
             : sizeof(typename decltype(element)::Stored) == 4 ? DType::U32
                                                               : DType::U64;
  });
}

/// Of i1, a sum is "or" and a product "and"; sums and products of signed integers are those of unsigned ones.
absl::StatusOr<Driver::Function> Peers::kernelFor(DType dtype, Reduction reduction) {
  if (dtype == DType::I1) {
    dtype = DType::U8;
    reduction = reduction == Reduction::Sum       ? Reduction::Max
                : reduction == Reduction::Product ? Reduction::Min
                                                  : reduction;
  }
  if (reduction == Reduction::Sum || reduction == Reduction::Product)
    dtype = unsignedOf(dtype);
  if (!module) {
    absl::StatusOr<Driver::Module> loaded = driver.loadText(peerReducePtx());
    if (!loaded.ok())
      return annotate(loaded.status(), "for the memory of other workers (DGC_CUDA_COMMUNICATION=host does without)");
    module = *loaded;
  }
  std::string name = str("dgc_reduce_", nameOf(dtype), "_", nameOf(reduction));
  auto found = kernels.find(name);
  if (found == kernels.end()) {
    DGC_ASSIGN_OR_RETURN(Driver::Function function, driver.findFunction(module, name));
    found = kernels.emplace(name, function).first;
  }
  return found->second;
}

absl::StatusOr<std::function<absl::Status()>>
Peers::prepareReduce(const CollectiveDesc &desc, const CheckedCollective &c, const std::vector<Address> &arenas) {
  DGC_ASSIGN_OR_RETURN(Driver::Function kernel, kernelFor(desc.dtype, desc.reduction));
  struct Launch {
    uint32_t blocks;
    std::vector<Argument> args;
  };
  std::vector<Launch> launches;
  for (const CollectiveDesc::Range &range : c.ranges) {
    const ReducedPart part = reducedPart(desc.kind, c.elementSize, range, c.self, c.members);
    const uint64_t count = part.count(), first = part.elements.begin * c.elementSize;
    if (count == 0)
      continue;
    std::vector<Address> table;
    for (Address arena : arenas)
      table.push_back(arena + range.src + first);
    for (uint32_t member = 0; member < c.members; ++member)
      if (part.isFor(member))
        table.push_back(arenas[member] + part.dst);
    const bool aligned = std::all_of(table.begin(), table.end(), [](Address at) { return at % 16 == 0; });
    const uint64_t packets = aligned ? count * c.elementSize / 16 : 0, steps = std::max(packets, uint64_t{1});
    const uint64_t srcs = arenas.size(), dsts = table.size() - srcs;
    DGC_ASSIGN_OR_RETURN(Address placed, placeTable(table));
    const uint64_t threads = packets ? steps : count;
    launches.push_back({static_cast<uint32_t>(std::min(kMostBlocks, (threads + kBlock - 1) / kBlock)),
                        {{placed, table.size() * sizeof(Address)}, {srcs, 0}, {dsts, 0}, {count, 0}, {packets, 0}}});
  }
  return [this, kernel, launches]() -> absl::Status {
    for (const Launch &launch : launches)
      DGC_RETURN_IF_ERROR(driver.launch(kernel, launch.blocks, kBlock, launch.args, stream));
    return absl::OkStatus();
  };
}

absl::StatusOr<std::function<absl::Status()>> Peers::prepare(const CollectiveDesc &desc, const CheckedCollective &c,
                                                             const std::vector<Address> &arenas) {
  struct Copy {
    Address to, from; // from 0: zeros
    uint64_t bytes;
  };
  if (infoOf(desc.kind).reduces)
    return prepareReduce(desc, c, arenas);
  std::vector<Copy> copies;
  for (const MemberCopy &copy : receivedCopies(desc, c))
    copies.push_back({arenas[c.self] + copy.dst, copy.isZero ? 0 : arenas[copy.from] + copy.src, copy.bytes});
  return [this, copies]() -> absl::Status {
    for (const Copy &copy : copies)
      DGC_RETURN_IF_ERROR(copy.from ? driver.copy(copy.to, copy.from, copy.bytes, stream)
                                    : driver.fill(copy.to, 0, 1, copy.bytes, stream));
    return absl::OkStatus();
  };
}

} // namespace dgc::rt::cuda
