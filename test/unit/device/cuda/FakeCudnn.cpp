#include "test/unit/device/cuda/FakeCudnn.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace dgc::rt::cuda;

namespace dgc::testing {

static FakeCudnn *current = nullptr;

constexpr int kBadParameter = 2000, kNotFinalized = 2004, kNotSupported = 3000;

/// What a kind of descriptor takes: attributes, the type of each, and whether it must be set.
struct Attribute {
  int type;
  bool isNeeded = true;
};
static const std::map<int, std::map<int, Attribute>> &known() {
  auto convolution = [](int alpha, int beta, int descriptor, int a, int b, int c) {
    return std::map<int, Attribute>{{alpha, {kDnnTypeFloat}},           {beta, {kDnnTypeFloat}},
                                    {descriptor, {kDnnTypeDescriptor}}, {a, {kDnnTypeDescriptor}},
                                    {b, {kDnnTypeDescriptor}},          {c, {kDnnTypeDescriptor}}};
  };
  static const std::map<int, std::map<int, Attribute>> all{
      {kDnnTensor,
       {{kDnnTensorType, {kDnnTypeDataType}},
        {kDnnTensorDimensions, {kDnnTypeInt64}},
        {kDnnTensorStrides, {kDnnTypeInt64}},
        {kDnnTensorId, {kDnnTypeInt64}},
        {kDnnTensorAlignment, {kDnnTypeInt64}},
        {kDnnTensorIsVirtual, {kDnnTypeBool, false}},
        {kDnnTensorIsByValue, {kDnnTypeBool, false}}}},
      {kDnnConvolution,
       {{kDnnConvolutionComputeType, {kDnnTypeDataType}},
        {kDnnConvolutionMode, {kDnnTypeConvolutionMode}},
        {kDnnConvolutionDilations, {kDnnTypeInt64}},
        {kDnnConvolutionStrides, {kDnnTypeInt64}},
        {kDnnConvolutionPadHigh, {kDnnTypeInt64}},
        {kDnnConvolutionPadLow, {kDnnTypeInt64}},
        {kDnnConvolutionSpatialDims, {kDnnTypeInt64}}}},
      {kDnnConvolutionForward, convolution(kDnnForwardAlpha, kDnnForwardBeta, kDnnForwardConvolution, kDnnForwardW,
                                           kDnnForwardX, kDnnForwardY)},
      {kDnnConvolutionBackwardData,
       convolution(kDnnBackwardDataAlpha, kDnnBackwardDataBeta, kDnnBackwardDataConvolution, kDnnBackwardDataW,
                   kDnnBackwardDataDx, kDnnBackwardDataDy)},
      {kDnnConvolutionBackwardFilter,
       convolution(kDnnBackwardFilterAlpha, kDnnBackwardFilterBeta, kDnnBackwardFilterConvolution, kDnnBackwardFilterDw,
                   kDnnBackwardFilterX, kDnnBackwardFilterDy)},
      {kDnnPointwise, {{kDnnPointwiseMode, {kDnnTypePointwise}}, {kDnnPointwiseComputeType, {kDnnTypeDataType}}}},
      {kDnnPointwiseOperation,
       {{kDnnPointwiseDescriptor, {kDnnTypeDescriptor}},
        {kDnnPointwiseX, {kDnnTypeDescriptor}},
        {kDnnPointwiseB, {kDnnTypeDescriptor, false}},
        {kDnnPointwiseY, {kDnnTypeDescriptor}}}},
      {kDnnGraph, {{kDnnGraphHandle, {kDnnTypeHandle}}, {kDnnGraphOperations, {kDnnTypeDescriptor}}}},
      {kDnnHeuristic, {{kDnnHeuristicMode, {kDnnTypeHeuristic}}, {kDnnHeuristicGraph, {kDnnTypeDescriptor}}}},
      {kDnnEngine, {}},
      {kDnnEngineConfig, {}},
      {kDnnPlan, {{kDnnPlanHandle, {kDnnTypeHandle}}, {kDnnPlanConfig, {kDnnTypeDescriptor}}}},
      {kDnnVariantPack,
       {{kDnnPackIds, {kDnnTypeInt64}},
        {kDnnPackPointers, {kDnnTypePointer}},
        {kDnnPackWorkspace, {kDnnTypePointer}}}}};
  return all;
}

static size_t sizeOfType(int type) {
  switch (type) {
  case kDnnTypeBool:
    return 1;
  case kDnnTypeInt64:
  case kDnnTypeDouble:
  case kDnnTypeHandle:
  case kDnnTypePointer:
  case kDnnTypeDescriptor:
    return 8;
  default:
    return 4;
  }
}

template <typename T> std::vector<T> FakeCudnn::Descriptor::get(int attribute) const {
  auto it = values.find(attribute);
  if (it == values.end())
    return {};
  std::vector<T> result(it->second.size() / sizeof(T));
  std::memcpy(result.data(), it->second.data(), it->second.size());
  return result;
}

FakeCudnn::FakeCudnn() { current = this; }
FakeCudnn::~FakeCudnn() { current = nullptr; }

int FakeCudnn::refuse(int status, const std::string &why) {
  last = why;
  return status;
}

FakeCudnn::Descriptor *FakeCudnn::find(void *handle) {
  auto it = descriptors.find(handle);
  return it == descriptors.end() ? nullptr : it->second.get();
}

int FakeCudnn::create(int kind, void **out) {
  if (!known().contains(kind))
    return refuse(kBadParameter, "unknown kind of descriptor");
  auto made = std::make_unique<Descriptor>();
  made->kind = kind;
  *out = made.get();
  descriptors.emplace(made.get(), std::move(made));
  return 0;
}

int FakeCudnn::set(void *handle, int attribute, int type, int64_t count, const void *values) {
  Descriptor *descriptor = find(handle);
  if (!descriptor || descriptor->isFinal)
    return refuse(kBadParameter, "no descriptor that can be set");
  const auto &attributes = known().at(descriptor->kind);
  auto it = attributes.find(attribute);
  if (it == attributes.end() || it->second.type != type || count < 1 || !values)
    return refuse(kBadParameter, "no such attribute, or of another type");
  if (type == kDnnTypeDescriptor)
    for (int64_t i = 0; i < count; ++i) {
      Descriptor *other = find(static_cast<void *const *>(values)[i]);
      if (!other)
        return refuse(kBadParameter, "no descriptor");
      if (!other->isFinal)
        return refuse(kNotFinalized, "a descriptor that is not finalized");
    }
  const char *begin = static_cast<const char *>(values);
  descriptor->values[attribute].assign(begin, begin + static_cast<size_t>(count) * sizeOfType(type));
  return 0;
}

int FakeCudnn::finalize(void *handle) {
  Descriptor *d = find(handle);
  if (!d || d->isFinal)
    return refuse(kBadParameter, "no descriptor that can be finalized");
  for (const auto &[attribute, what] : known().at(d->kind))
    if (what.isNeeded && !d->values.contains(attribute))
      return refuse(kBadParameter, "attribute " + std::to_string(attribute) + " is not set");
  auto sizes = [&](int attribute) { return d->get<int64_t>(attribute).size(); };
  if (d->kind == kDnnTensor && (sizes(kDnnTensorDimensions) < 3 || sizes(kDnnTensorDimensions) > 8 ||
                                sizes(kDnnTensorDimensions) != sizes(kDnnTensorStrides)))
    return refuse(kBadParameter, "dimensions of a tensor");
  if (d->kind == kDnnConvolution)
    for (int attribute :
         {kDnnConvolutionDilations, kDnnConvolutionStrides, kDnnConvolutionPadHigh, kDnnConvolutionPadLow})
      if (static_cast<int64_t>(sizes(attribute)) != d->get<int64_t>(kDnnConvolutionSpatialDims)[0] ||
          sizes(attribute) < 2)
        return refuse(kBadParameter, "spatial dimensions");
  if (d->kind == kDnnVariantPack && sizes(kDnnPackIds) != sizes(kDnnPackPointers))
    return refuse(kBadParameter, "addresses");
  if (d->kind == kDnnPlan) {
    Descriptor *config = find(d->get<void *>(kDnnPlanConfig)[0]);
    if (!engines[config->mode][config->engine].supports)
      return refuse(kNotSupported, "this engine cannot");
  }
  graphs += d->kind == kDnnGraph;
  d->isFinal = true;
  return 0;
}

int FakeCudnn::get(void *handle, int attribute, int type, int64_t room, int64_t *count, void *values) {
  Descriptor *d = find(handle);
  if (!d || !count)
    return refuse(kBadParameter, "no descriptor");
  if (d->kind == kDnnHeuristic && attribute == kDnnHeuristicResults && type == kDnnTypeDescriptor && d->isFinal) {
    int mode = d->get<int32_t>(kDnnHeuristicMode)[0];
    auto found = static_cast<int64_t>(engines[mode].size());
    if (!values) {
      asked.push_back(mode);
      *count = found;
      return 0;
    }
    *count = std::min(found, room);
    for (int64_t i = 0; i < *count; ++i) {
      Descriptor *config = find(static_cast<void **>(values)[i]);
      if (!config || config->kind != kDnnEngineConfig)
        return refuse(kBadParameter, "room for engines");
      config->mode = mode;
      config->engine = static_cast<size_t>(i);
      config->isFinal = true;
    }
    return 0;
  }
  if (d->kind == kDnnEngineConfig && attribute == kDnnConfigEngine && type == kDnnTypeDescriptor && d->isFinal) {
    Descriptor *engine = room == 1 ? find(*static_cast<void **>(values)) : nullptr;
    if (!engine || engine->kind != kDnnEngine)
      return refuse(kBadParameter, "room for an engine");
    engine->mode = d->mode;
    engine->engine = d->engine;
    engine->isFinal = true;
    *count = 1;
    return 0;
  }
  if (d->kind == kDnnEngine && attribute == kDnnEngineNotes && type == kDnnTypeNote && d->isFinal) {
    const std::vector<int32_t> &notes = engines[d->mode][d->engine].notes;
    *count = std::min<int64_t>(room, static_cast<int64_t>(notes.size()));
    std::copy_n(notes.begin(), *count, static_cast<int32_t *>(values));
    return 0;
  }
  if (d->kind == kDnnPlan && attribute == kDnnPlanWorkspace && type == kDnnTypeInt64 && d->isFinal && room == 1) {
    Descriptor *config = find(d->get<void *>(kDnnPlanConfig)[0]);
    if (!config)
      return refuse(kBadParameter, "an engine that is gone");
    *static_cast<int64_t *>(values) = engines[config->mode][config->engine].workspaceBytes;
    *count = 1;
    d->mode = config->mode;
    d->engine = config->engine;
    return 0;
  }
  return refuse(kBadParameter, "nothing that can be asked for");
}

int FakeCudnn::execute(void *planHandle, void *packHandle) {
  Descriptor *plan = find(planHandle), *pack = find(packHandle);
  if (!plan || !pack || plan->kind != kDnnPlan || pack->kind != kDnnVariantPack || !plan->isFinal || !pack->isFinal)
    return refuse(kNotFinalized, "a plan or addresses");
  if (!find(plan->get<void *>(kDnnPlanConfig)[0]))
    return refuse(kBadParameter, "an engine that is gone");
  std::vector<int64_t> ids = pack->get<int64_t>(kDnnPackIds);
  std::vector<void *> pointers = pack->get<void *>(kDnnPackPointers);
  if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size() ||
      std::count(pointers.begin(), pointers.end(), nullptr))
    return refuse(kBadParameter, "addresses");
  runs.push_back({plan->engine, stream, pack->get<void *>(kDnnPackWorkspace)[0], pointers});
  return 0;
}

//===-- The functions ---------------------------------------------------===//

struct FakeCudnnFunctions {
  static size_t version() { return 91900; }
  static const char *statusText(DnnStatus status) {
    return status >= kNotSupported ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_BAD_PARAM";
  }
  static void lastError(char *text, size_t size) {
    std::strncpy(text, current->last.c_str(), size - 1);
    text[size - 1] = 0;
  }
  static DnnStatus create(DnnHandle *handle) {
    *handle = current;
    current->hasHandle = true;
    return 0;
  }
  static DnnStatus destroy(DnnHandle) {
    current->hasHandle = false;
    return 0;
  }
  static DnnStatus setStream(DnnHandle, DnnHandle stream) {
    current->stream = stream;
    return 0;
  }
  static DnnStatus createDescriptor(int kind, DnnHandle *out) { return current->create(kind, out); }
  static DnnStatus destroyDescriptor(DnnHandle handle) {
    return current->descriptors.erase(handle) ? 0 : kBadParameter;
  }
  static DnnStatus finalize(DnnHandle handle) { return current->finalize(handle); }
  static DnnStatus setAttribute(DnnHandle handle, int attribute, int type, int64_t count, const void *values) {
    return current->set(handle, attribute, type, count, values);
  }
  static DnnStatus getAttribute(DnnHandle handle, int attribute, int type, int64_t room, int64_t *count, void *values) {
    return current->get(handle, attribute, type, room, count, values);
  }
  static DnnStatus execute(DnnHandle, DnnHandle plan, DnnHandle pack) { return current->execute(plan, pack); }
};

DnnApi FakeCudnn::api() {
  DnnApi result;
#define DGC_FAKE(name, ...) result.name = FakeCudnnFunctions::name;
  DGC_CUDNN_FUNCTIONS(DGC_FAKE)
#undef DGC_FAKE
  return result;
}

} // namespace dgc::testing
