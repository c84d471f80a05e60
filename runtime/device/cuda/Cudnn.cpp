// cuDNN: opening it, descriptors, and the choice of engines.
#include "runtime/device/cuda/Cudnn.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/Library.h"

#include <array>
#include <cstring>

namespace dgc::rt::cuda {

/// The engine that was chosen, for all graphs that are alike.
struct DnnPlan {
  DnnDescriptor graph, config, plan;
  std::vector<DnnDescriptor> parts; // what the graph is made of
  uint64_t workspaceBytes = 0;
};

absl::Status DnnApi::check(DnnStatus status, std::string_view what) const {
  if (status == 0)
    return absl::OkStatus();
  char last[512] = {};
  lastError(last, sizeof last);
  std::string message = str("cuDNN: ", what, ": ", statusText(status), last[0] ? ", " : "", last);
  bool unsupported = status >= kDnnNotSupported && status < kDnnNotSupported + 1000;
  return withExitCode(unsupported ? absl::UnimplementedError(message) : absl::InternalError(message),
                      ExitCode::Machine);
}

std::optional<int> dnnType(DType type) {
  switch (type) {
  case DType::F16:
    return kDnnF16;
  case DType::BF16:
    return kDnnBF16;
  case DType::F32:
    return kDnnF32;
  case DType::F64:
    return kDnnF64;
  case DType::I1:
    return kDnnBoolean;
  case DType::I32:
    return kDnnI32;
  case DType::I64:
    return kDnnI64;
  case DType::I8:
  case DType::I16:
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    break;
  }
  return std::nullopt;
}

//===-- The library -----------------------------------------------------===//

absl::StatusOr<DnnDescriptor> DnnDescriptor::create(const DnnApi &api, int kind, std::string what) {
  DnnDescriptor descriptor;
  descriptor.api = &api;
  descriptor.what = std::move(what);
  DGC_RETURN_IF_ERROR(api.check(api.createDescriptor(kind, &descriptor.handle), descriptor.what));
  return descriptor;
}

Cudnn::~Cudnn() {
  plans.clear();
  device = {};
  if (handle)
    functions.destroy(handle);
}

absl::Status Cudnn::load() {
  DGC_ASSIGN_OR_RETURN(Library found, findCudnn());
#define DGC_FIND(name, symbol, result, ...)                                                                            \
  functions.name = reinterpret_cast<result (*)(__VA_ARGS__)>(found.find(#symbol));                                     \
  if (!functions.name)                                                                                                 \
    return withExitCode(absl::NotFoundError(str(found.path, " has no " #symbol)), ExitCode::Machine);
  DGC_CUDNN_FUNCTIONS(DGC_FIND)
#undef DGC_FIND
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Cudnn>> Cudnn::open() {
  std::unique_ptr<Cudnn> library(new Cudnn);
  DGC_RETURN_IF_ERROR(library->load());
  DGC_RETURN_IF_ERROR(library->functions.check(library->functions.create(&library->handle), "cudnnCreate"));
  return library;
}

absl::StatusOr<std::unique_ptr<Cudnn>> Cudnn::open(const DnnApi &api) {
  std::unique_ptr<Cudnn> library(new Cudnn);
  library->functions = api;
  DGC_RETURN_IF_ERROR(library->functions.check(library->functions.create(&library->handle), "cudnnCreate"));
  return library;
}

absl::StatusOr<std::unique_ptr<Cudnn>> Cudnn::openForDevice(std::string_view json) {
  std::unique_ptr<Cudnn> library(new Cudnn);
  DGC_RETURN_IF_ERROR(library->load());
  DGC_ASSIGN_OR_RETURN(library->device,
                       DnnDescriptor::create(library->functions, kDnnDeviceProperties, "properties of a GPU"));
  DGC_RETURN_IF_ERROR(
      library->device.set(kDnnDeviceJson, kDnnTypeChar, json.data(), static_cast<int64_t>(json.size())));
  DGC_RETURN_IF_ERROR(library->device.finalize());
  return library;
}

//===-- Graphs ----------------------------------------------------------===//

absl::StatusOr<DnnDescriptor> DnnGraph::describe(int kind, const std::vector<DnnAttribute> &attributes) {
  DGC_ASSIGN_OR_RETURN(DnnDescriptor descriptor,
                       DnnDescriptor::create(library.functions, kind, str("descriptor ", kind)));
  key += str("/", kind);
  for (const DnnAttribute &attribute : attributes) {
    DGC_RETURN_IF_ERROR(
        annotate(descriptor.set(attribute.name, attribute.type, attribute.bytes.data(), attribute.count),
                 str("attribute ", attribute.name)));
    key += str(";", attribute.name, "=");
    if (attribute.type != kDnnTypeDescriptor) {
      key += attribute.bytes;
      continue;
    }
    // Other descriptors by their places.
    for (size_t i = 0; i < static_cast<size_t>(attribute.count); ++i) {
      DnnHandle handle = nullptr;
      std::memcpy(&handle, attribute.bytes.data() + i * sizeof handle, sizeof handle);
      for (size_t at = 0; at < descriptors.size(); ++at)
        if (descriptors[at].get() == handle)
          key += str(at, ",");
    }
  }
  DGC_RETURN_IF_ERROR(descriptor.finalize());
  return descriptor;
}

DnnHandle DnnGraph::make(int kind, const std::vector<DnnAttribute> &attributes) {
  if (!status.ok())
    return nullptr;
  absl::StatusOr<DnnDescriptor> descriptor = describe(kind, attributes);
  if (!descriptor.ok()) {
    status = descriptor.status();
    return nullptr;
  }
  descriptors.push_back(*std::move(descriptor));
  return descriptors.back().get();
}

/// Bytes of a dense tensor, aligned so that another one may follow it.
static uint64_t bytesOf(const DnnTensor &tensor) {
  uint64_t bytes = sizeOf(tensor.type);
  for (int64_t dim : tensor.dims)
    bytes *= static_cast<uint64_t>(dim);
  return (bytes + 255) / 256 * 256;
}

DnnHandle DnnGraph::tensor(const DnnTensor &tensor) {
  std::optional<int> type = dnnType(tensor.type);
  if (!type && status.ok())
    status = withExitCode(absl::UnimplementedError(str("cuDNN has no ", nameOf(tensor.type))), ExitCode::Machine);
  if (!status.ok())
    return nullptr;
  auto id = static_cast<int64_t>(descriptors.size()) + 1;
  std::vector<DnnAttribute> attributes{DnnAttribute::choice(kDnnTensorType, kDnnTypeDataType, *type),
                                       DnnAttribute::integers(kDnnTensorDimensions, tensor.dims),
                                       DnnAttribute::integers(kDnnTensorStrides, tensor.strides),
                                       DnnAttribute::integer(kDnnTensorId, id),
                                       DnnAttribute::integer(kDnnTensorAlignment, 16)};
  if (tensor.isVirtual) {
    attributes.push_back(DnnAttribute::flag(kDnnTensorIsVirtual, true));
  } else {
    if (tensor.constant) {
      attributes.push_back(DnnAttribute::flag(kDnnTensorIsByValue, true));
      values.emplace_back(ids.size(), *tensor.constant);
    }
    if (tensor.isScratch)
      scratch.emplace_back(ids.size(), bytesOf(tensor));
    ids.push_back(id);
    addresses.push_back(tensor.data);
  }
  return make(kDnnTensor, attributes);
}

void DnnGraph::addPointwise(int mode, DnnHandle x, DnnHandle b, DnnHandle y) {
  DnnHandle pointwise =
      make(kDnnPointwise, {DnnAttribute::choice(kDnnPointwiseMode, kDnnTypePointwise, mode),
                           DnnAttribute::choice(kDnnPointwiseComputeType, kDnnTypeDataType, kDnnF32)});
  std::vector<DnnAttribute> attributes{DnnAttribute::descriptor(kDnnPointwiseDescriptor, pointwise),
                                       DnnAttribute::descriptor(kDnnPointwiseX, x),
                                       DnnAttribute::descriptor(kDnnPointwiseY, y)};
  if (b)
    attributes.push_back(DnnAttribute::descriptor(kDnnPointwiseB, b));
  add(kDnnPointwiseOperation, attributes);
}

//===-- Engines ---------------------------------------------------------===//

/// Does an engine do no more rounding than is allowed, and the same each time?
absl::StatusOr<bool> DnnGraph::allows(const DnnChoice &choice, const DnnDescriptor &config) {
  const DnnApi &api = library.functions;
  DGC_ASSIGN_OR_RETURN(DnnDescriptor engine, DnnDescriptor::create(api, kDnnEngine, "an engine"));
  DnnHandle handle = engine.get();
  int64_t count = 0;
  DGC_RETURN_IF_ERROR(
      api.check(api.getAttribute(config.get(), kDnnConfigEngine, kDnnTypeDescriptor, 1, &count, &handle), "an engine"));
  std::array<int32_t, 64> notes;
  DGC_RETURN_IF_ERROR(
      api.check(api.getAttribute(engine.get(), kDnnEngineNotes, kDnnTypeNote, notes.size(), &count, notes.data()),
                "the notes of an engine"));
  for (int64_t i = 0; i < count && i < static_cast<int64_t>(notes.size()); ++i)
    switch (notes[static_cast<size_t>(i)]) {
    case kDnnNondeterministic:
      if (!choice.anyOrder)
        return false;
      break;
    case kDnnReducedReduction:
      return false;
    case kDnnTensorCore:
      if (!choice.tensorCores)
        return false;
      break;
    case kDnnDownConvert:
      if (!choice.roundsInputs)
        return false;
      break;
    default:
      break;
    }
  return true;
}

/// Engines in the order in which cuDNN recommends them.
absl::StatusOr<std::vector<DnnDescriptor>> DnnGraph::recommended(int mode, const DnnDescriptor &graph,
                                                                 const DnnChoice &choice) {
  const DnnApi &api = library.functions;
  DGC_ASSIGN_OR_RETURN(DnnDescriptor heuristic,
                       DnnDescriptor::create(api, kDnnHeuristic, str("recommendations for ", choice.what)));
  DnnHandle handle = graph.get(), device = library.device.get();
  DGC_RETURN_IF_ERROR(heuristic.set(kDnnHeuristicGraph, kDnnTypeDescriptor, &handle));
  int32_t mode32 = mode;
  DGC_RETURN_IF_ERROR(heuristic.set(kDnnHeuristicMode, kDnnTypeHeuristic, &mode32));
  if (device)
    DGC_RETURN_IF_ERROR(heuristic.set(kDnnHeuristicDevice, kDnnTypeDescriptor, &device));
  DGC_RETURN_IF_ERROR(heuristic.finalize());
  int64_t count = 0;
  DGC_RETURN_IF_ERROR(
      api.check(api.getAttribute(heuristic.get(), kDnnHeuristicResults, kDnnTypeDescriptor, 0, &count, nullptr),
                "the number of engines"));
  std::vector<DnnDescriptor> configs;
  std::vector<DnnHandle> handles;
  for (int64_t i = 0; i < count; ++i) {
    DGC_ASSIGN_OR_RETURN(DnnDescriptor config, DnnDescriptor::create(api, kDnnEngineConfig, "an engine"));
    handles.push_back(config.get());
    configs.push_back(std::move(config));
  }
  if (count)
    DGC_RETURN_IF_ERROR(api.check(
        api.getAttribute(heuristic.get(), kDnnHeuristicResults, kDnnTypeDescriptor, count, &count, handles.data()),
        "engines"));
  configs.resize(static_cast<size_t>(count));
  return configs;
}

absl::StatusOr<std::shared_ptr<DnnPlan>> DnnGraph::plan(const DnnChoice &choice) {
  const DnnApi &api = library.functions;
  auto result = std::make_shared<DnnPlan>();
  DGC_ASSIGN_OR_RETURN(result->graph, DnnDescriptor::create(api, kDnnGraph, choice.what));
  DGC_RETURN_IF_ERROR(result->graph.set(kDnnGraphOperations, kDnnTypeDescriptor, operations.data(),
                                        static_cast<int64_t>(operations.size())));
  DnnHandle device = library.device.get();
  if (library.handle)
    DGC_RETURN_IF_ERROR(result->graph.set(kDnnGraphHandle, kDnnTypeHandle, &library.handle));
  DGC_RETURN_IF_ERROR(result->graph.finalize());
  std::string reasons;
  for (int mode : {kDnnHeuristicA, kDnnHeuristicB, kDnnHeuristicFallback}) {
    absl::StatusOr<std::vector<DnnDescriptor>> configs = recommended(mode, result->graph, choice);
    if (!configs.ok()) {
      reasons = std::string(configs.status().message());
      continue;
    }
    for (DnnDescriptor &config : *configs) {
      DGC_ASSIGN_OR_RETURN(bool allowed, allows(choice, config));
      if (!allowed)
        continue;
      DGC_ASSIGN_OR_RETURN(result->plan, DnnDescriptor::create(api, kDnnPlan, choice.what));
      DnnHandle handle = config.get();
      DGC_RETURN_IF_ERROR(result->plan.set(kDnnPlanConfig, kDnnTypeDescriptor, &handle));
      if (library.handle)
        DGC_RETURN_IF_ERROR(result->plan.set(kDnnPlanHandle, kDnnTypeHandle, &library.handle));
      if (device)
        DGC_RETURN_IF_ERROR(result->plan.set(kDnnPlanDevice, kDnnTypeDescriptor, &device));
      if (absl::Status finalized = result->plan.finalize(); !finalized.ok()) {
        reasons = std::string(finalized.message());
        continue;
      }
      int64_t bytes = 0, count = 0;
      DGC_RETURN_IF_ERROR(
          api.check(api.getAttribute(result->plan.get(), kDnnPlanWorkspace, kDnnTypeInt64, 1, &count, &bytes),
                    "the workspace of an engine"));
      auto total = static_cast<uint64_t>(bytes);
      for (auto [index, size] : scratch)
        total += size;
      if (total > choice.workspaceLimit) {
        reasons = str("it would take ", total, " bytes to work in, more than ", choice.workspaceLimit);
        continue;
      }
      result->workspaceBytes = static_cast<uint64_t>(bytes);
      result->config = std::move(config);
      result->parts = std::move(descriptors);
      return result;
    }
  }
  return withExitCode(
      absl::UnimplementedError(str("cuDNN has no engine for ", choice.what, reasons.empty() ? "" : ": ", reasons)),
      ExitCode::Machine);
}

//===-- Running ---------------------------------------------------------===//

class CudnnOperations final : public PreparedDnn {
public:
  CudnnOperations(Cudnn &library, std::shared_ptr<DnnPlan> plan, std::vector<int64_t> ids,
                  const std::vector<Address> &addresses, const std::vector<std::pair<size_t, float>> &values,
                  const std::vector<std::pair<size_t, uint64_t>> &scratch, std::string what)
      : library(library), plan(std::move(plan)), ids(std::move(ids)),
        constants(std::make_unique<float[]>(values.size())), what(std::move(what)) {
    for (Address address : addresses)
      pointers.push_back(reinterpret_cast<void *>(address));
    bytes = (this->plan->workspaceBytes + 255) / 256 * 256;
    for (auto [index, size] : scratch) {
      offsets.emplace_back(index, bytes);
      bytes += size;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      constants[i] = values[i].second;
      pointers[values[i].first] = &constants[i];
    }
  }

  absl::Status run(Driver::Stream stream, Address workspace) override {
    const DnnApi &api = library.functions;
    if (!library.handle)
      return absl::FailedPreconditionError("cuDNN was opened without a GPU");
    if (!pack.get() || workspace != packed)
      DGC_RETURN_IF_ERROR(makePack(workspace));
    DGC_RETURN_IF_ERROR(api.check(api.setStream(library.handle, stream), "cudnnSetStream"));
    return api.check(api.execute(library.handle, plan->plan.get(), pack.get()), what);
  }
  uint64_t workspaceBytes() const override { return bytes; }

private:
  absl::Status makePack(Address workspace) {
    for (auto [index, offset] : offsets)
      pointers[index] = reinterpret_cast<void *>(workspace + offset);
    DGC_ASSIGN_OR_RETURN(pack, DnnDescriptor::create(library.functions, kDnnVariantPack, "addresses"));
    auto count = static_cast<int64_t>(ids.size());
    void *room = reinterpret_cast<void *>(workspace);
    DGC_RETURN_IF_ERROR(pack.set(kDnnPackPointers, kDnnTypePointer, pointers.data(), count));
    DGC_RETURN_IF_ERROR(pack.set(kDnnPackIds, kDnnTypeInt64, ids.data(), count));
    DGC_RETURN_IF_ERROR(pack.set(kDnnPackWorkspace, kDnnTypePointer, &room));
    packed = workspace;
    return pack.finalize();
  }

  Cudnn &library;
  std::shared_ptr<DnnPlan> plan;
  std::vector<int64_t> ids;
  std::vector<void *> pointers; // of each id: of the GPU, or of `constants`
  std::unique_ptr<float[]> constants;
  std::vector<std::pair<size_t, uint64_t>> offsets; // of tensors after the workspace of the plan
  uint64_t bytes = 0;
  std::string what;
  DnnDescriptor pack;
  Address packed = 0; // the workspace in it
};

absl::StatusOr<std::unique_ptr<PreparedDnn>> DnnGraph::prepare(const DnnChoice &choice) {
  DGC_RETURN_IF_ERROR(status);
  key += str("/", choice.tensorCores, choice.roundsInputs, choice.anyOrder, "/", choice.workspaceLimit);
  std::shared_ptr<DnnPlan> &known = library.plans[key];
  if (!known) {
    DGC_ASSIGN_OR_RETURN(known, plan(choice));
  }
  return std::make_unique<CudnnOperations>(library, known, ids, addresses, values, scratch, choice.what);
}

} // namespace dgc::rt::cuda
