// cuDNN, opened when a plan needs it, and graphs of its operations: descriptors in, a prepared plan out.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/device/cuda/CudnnApi.h"
#include "runtime/device/cuda/Driver.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dgc::rt::cuda {

struct DnnApi {
#define DGC_MEMBER(name, symbol, result, ...) result (*name)(__VA_ARGS__) = nullptr;
  DGC_CUDNN_FUNCTIONS(DGC_MEMBER)
#undef DGC_MEMBER

  /// The error of a call, with what cuDNN says about it.
  absl::Status check(DnnStatus status, std::string_view what) const;
};

/// A descriptor that is given back.
class DnnDescriptor {
public:
  DnnDescriptor() = default;
  DnnDescriptor(DnnDescriptor &&other) noexcept
      : api(other.api), handle(std::exchange(other.handle, nullptr)), what(std::move(other.what)) {}
  DnnDescriptor &operator=(DnnDescriptor &&other) noexcept {
    std::swap(api, other.api);
    std::swap(handle, other.handle);
    std::swap(what, other.what);
    return *this;
  }
  ~DnnDescriptor() {
    if (handle)
      api->destroyDescriptor(handle);
  }
  /// `what` is for errors: "a tensor of a convolution".
  static absl::StatusOr<DnnDescriptor> create(const DnnApi &api, int kind, std::string what);

  absl::Status set(int attribute, int type, const void *values, int64_t count = 1) {
    return api->check(api->setAttribute(handle, attribute, type, count, values), what);
  }
  absl::Status finalize() { return api->check(api->finalize(handle), what); }
  DnnHandle get() const { return handle; }

private:
  const DnnApi *api = nullptr;
  DnnHandle handle = nullptr;
  std::string what;
};

/// An attribute of a descriptor: a number of `type`, several, or other descriptors.
class DnnAttribute {
public:
  static DnnAttribute integers(int name, const std::vector<int64_t> &values) {
    return {name, kDnnTypeInt64, values.data(), values.size()};
  }
  static DnnAttribute integer(int name, int64_t value) { return {name, kDnnTypeInt64, &value, 1}; }
  /// A value of one of cuDNN's enumerations, which `type` names.
  static DnnAttribute choice(int name, int type, int32_t value) { return {name, type, &value, 1}; }
  static DnnAttribute number(int name, float value) { return {name, kDnnTypeFloat, &value, 1}; }
  static DnnAttribute number(int name, double value) { return {name, kDnnTypeDouble, &value, 1}; }
  static DnnAttribute flag(int name, bool value) { return {name, kDnnTypeBool, &value, 1}; }
  static DnnAttribute descriptor(int name, DnnHandle value) { return {name, kDnnTypeDescriptor, &value, 1}; }
  static DnnAttribute descriptors(int name, const std::vector<DnnHandle> &values) {
    return {name, kDnnTypeDescriptor, values.data(), values.size()};
  }

private:
  friend class DnnGraph;
  template <typename T>
  DnnAttribute(int name, int type, const T *values, size_t count)
      : name(name), type(type), count(static_cast<int64_t>(count)),
        bytes(reinterpret_cast<const char *>(values), count * sizeof(T)) {}

  int name, type;
  int64_t count;
  std::string bytes;
};

/// What cuDNN works in or with. Strides are in elements.
struct DnnTensor {
  DType type = DType::F32;
  std::vector<int64_t> dims, strides;
  Address data = 0;              // its address
  bool isVirtual = false;        // it has no memory: one operation hands it to another
  bool isScratch = false;        // it is in the workspace
  std::optional<float> constant; // it is one number, known now; of F32
};

/// Which engines may be taken.
struct DnnChoice {
  bool tensorCores = true;           // of f32 that is TF32
  bool roundsInputs = false;         // to a type with fewer bits: f32 to TF32
  bool anyOrder = false;             // also where results depend on timing, as sums in any order do
  uint64_t workspaceLimit = 0;       // bytes, including tensors in the workspace
  std::string what = "an operation"; // for errors
};

/// Operations whose engine has been chosen.
class PreparedDnn {
public:
  virtual ~PreparedDnn() = default;
  /// Queues them. The workspace has workspaceBytes() bytes.
  virtual absl::Status run(Driver::Stream stream, Address workspace) = 0;
  virtual uint64_t workspaceBytes() const = 0;
};

struct DnnPlan;

/// The library. Lives longer than all that is made with it.
class Cudnn {
public:
  /// cuDNN, from where findCudnn() finds it, for the GPU of the context that is current.
  static absl::StatusOr<std::unique_ptr<Cudnn>> open();
  /// The same without a GPU, for one that `json` describes as cuDNN 9.8 and newer write it. Plans can be made, and
  /// cannot be run.
  static absl::StatusOr<std::unique_ptr<Cudnn>> openForDevice(std::string_view json);
  /// With functions of tests.
  static absl::StatusOr<std::unique_ptr<Cudnn>> open(const DnnApi &api);
  ~Cudnn();

  const DnnApi &api() const { return functions; }

private:
  friend class DnnGraph;
  friend class CudnnOperations;
  Cudnn() = default;
  absl::Status load();

  DnnApi functions;
  DnnHandle handle = nullptr;                            // null without a GPU
  DnnDescriptor device;                                  // of that which is described
  std::map<std::string, std::shared_ptr<DnnPlan>> plans; // of graphs that were prepared, by all that was set in them
};

/// Operations that cuDNN is to do at once. Errors are kept until prepare(): what is made after one is null.
class DnnGraph {
public:
  explicit DnnGraph(Cudnn &library) : library(library) {}

  DnnHandle tensor(const DnnTensor &tensor);
  /// A descriptor that operations refer to.
  DnnHandle make(int kind, const std::vector<DnnAttribute> &attributes);
  /// Adds an operation, after those that compute its operands.
  void add(int kind, const std::vector<DnnAttribute> &attributes) { operations.push_back(make(kind, attributes)); }
  /// y = mode(x) or mode(x, b), in f32.
  void addPointwise(int mode, DnnHandle x, DnnHandle b, DnnHandle y);

  /// Takes the first engine that cuDNN recommends and `choice` allows. An error of code Unimplemented when there is
  /// none.
  absl::StatusOr<std::unique_ptr<PreparedDnn>> prepare(const DnnChoice &choice);

private:
  absl::StatusOr<DnnDescriptor> describe(int kind, const std::vector<DnnAttribute> &attributes);
  absl::StatusOr<std::shared_ptr<DnnPlan>> plan(const DnnChoice &choice);
  absl::StatusOr<std::vector<DnnDescriptor>> recommended(int mode, const DnnDescriptor &graph, const DnnChoice &choice);
  absl::StatusOr<bool> allows(const DnnChoice &choice, const DnnDescriptor &config);

  Cudnn &library;
  absl::Status status;
  std::vector<DnnDescriptor> descriptors;
  std::vector<DnnHandle> operations;
  std::vector<int64_t> ids;
  std::vector<Address> addresses;                   // of each id
  std::vector<std::pair<size_t, float>> values;     // indices of ids, and what they are
  std::vector<std::pair<size_t, uint64_t>> scratch; // indices of ids, and the bytes that they take of the workspace
  std::string key;                                  // all that was set
};

/// The number that cuDNN has for a type; nothing when it has none.
std::optional<int> dnnType(DType type);

} // namespace dgc::rt::cuda
