#include "runtime/checkpoint/OnnxWeights.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/checkpoint/onnx_weights.pb.h"

#include <climits>
#include <map>

using namespace dgc::rt;

struct OnnxWeights::Model {
  onnx::Model proto;
  std::map<std::string, onnx::Tensor *, std::less<>> replaced; // in `proto`, by name
};

OnnxWeights::OnnxWeights(std::unique_ptr<Model> model) : model(std::move(model)) {}
OnnxWeights::OnnxWeights(OnnxWeights &&) noexcept = default;
OnnxWeights &OnnxWeights::operator=(OnnxWeights &&) noexcept = default;
OnnxWeights::~OnnxWeights() = default;

bool dgc::rt::isOnnxPath(std::string_view path) { return path.ends_with(".onnx"); }

/// TensorProto.DataType of onnx.proto.
static int onnxTypeOf(DType type) {
  switch (type) {
  case DType::F32:
    return 1;
  case DType::U8:
    return 2;
  case DType::I8:
    return 3;
  case DType::U16:
    return 4;
  case DType::I16:
    return 5;
  case DType::I32:
    return 6;
  case DType::I64:
    return 7;
  case DType::I1:
    return 9;
  case DType::F16:
    return 10;
  case DType::F64:
    return 11;
  case DType::U32:
    return 12;
  case DType::U64:
    return 13;
  case DType::BF16:
    return 16;
  }
  return 0;
}

/// "f32 [4x3]", as describe says it of a variable.
static std::string describe(const onnx::Tensor &tensor) {
  const std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  for (int i = 0; i < numDTypes; ++i)
    if (const auto type = static_cast<DType>(i); onnxTypeOf(type) == tensor.data_type())
      return dgc::rt::describe(type, shape);
  return str("elements of type ", tensor.data_type(), " of ONNX");
}

static void clearData(onnx::Tensor &tensor) {
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.clear_raw_data();
}

absl::StatusOr<OnnxWeights> OnnxWeights::open(Disk &disk, const std::string &path, std::span<const VariableSpec> plan) {
  if (!disk.exists(path))
    return badData(
        str(path, " is not there: copy the ONNX model that the plan was compiled from to it. Its graph is kept, and "
                  "its initializers are replaced"));
  DGC_ASSIGN_OR_RETURN(std::string bytes, readFile(disk, path));
  auto model = std::make_unique<Model>();
  if (bytes.size() > INT_MAX || !model->proto.ParseFromString(bytes) || !model->proto.has_graph())
    return badData(str(path, " is no ONNX model, or damaged: copy the model that the plan was compiled from to it"));
  std::map<std::string_view, onnx::Tensor *> initializers;
  for (onnx::Tensor &tensor : *model->proto.mutable_graph()->mutable_initializer())
    initializers[tensor.name()] = &tensor;
  std::string wrong;
  uint64_t weights = 0;
  for (const VariableSpec &variable : plan) {
    if (variable.slot || variable.optional)
      continue;
    auto initializer = initializers.find(variable.name);
    const std::string needed = dgc::rt::describe(variable.dtype, variable.globalShape);
    if (initializer == initializers.end()) {
      wrong += str("\n  it has no initializer '", printable(variable.name), "' (", needed, ")");
      continue;
    }
    onnx::Tensor &tensor = *initializer->second;
    if (std::string found = ::describe(tensor); found != needed)
      wrong += str("\n  '", printable(variable.name), "' is ", found, " there, and ", needed, " in the plan");
    clearData(tensor);
    weights += byteSize(variable.dtype, variable.globalShape).value_or(INT_MAX);
    model->replaced.emplace(variable.name, &tensor);
  }
  if (wrong.empty() && model->replaced.empty())
    wrong = "\n  the plan has no variables";
  if (!wrong.empty())
    return badData(str(path, " is not the model that the plan was compiled from:", wrong,
                       "\nSave to a file of another name (safetensors), or copy that model to this one"));
  if (weights + model->proto.ByteSizeLong() + model->replaced.size() * 16 > INT_MAX)
    return badData(
        str(path, " would have more than 2 GiB with its weights, which this format cannot: save to a file of another "
                  "name (safetensors)"));
  return OnnxWeights(std::move(model));
}

size_t OnnxWeights::size() const { return model->replaced.size(); }

absl::Status OnnxWeights::save(OutputFile &file, std::span<const Tensor> variables) {
  for (const Tensor &variable : variables)
    if (auto entry = model->replaced.find(variable.name); entry != model->replaced.end())
      entry->second->set_raw_data(variable.bytes.data(), variable.bytes.size());
  std::string bytes;
  if (!model->proto.SerializeToString(&bytes))
    return absl::InternalError(str(file.path(), " cannot be written as an ONNX model"));
  return file.replace([&](WritableFile &to) { return to.write(std::as_bytes(std::span(bytes))); });
}
