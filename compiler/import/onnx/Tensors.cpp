// Tensors of ONNX files.

#include "compiler/import/onnx/Node.h"

#include <onnx/onnx_pb.h>

#include <cstring>

using namespace mlir;

namespace dgc::import {

using Proto = onnx::TensorProto;

Type elementTypeOf(int64_t number, MLIRContext *context) {
  Builder b(context);
  auto unsignedOf = [&](unsigned width) { return IntegerType::get(context, width, IntegerType::Unsigned); };
  switch (number) {
  case Proto::FLOAT:
    return b.getF32Type();
  case Proto::UINT8:
    return unsignedOf(8);
  case Proto::INT8:
    return b.getI8Type();
  case Proto::UINT16:
    return unsignedOf(16);
  case Proto::INT16:
    return b.getI16Type();
  case Proto::INT32:
    return b.getI32Type();
  case Proto::INT64:
    return b.getI64Type();
  case Proto::BOOL:
    return b.getI1Type();
  case Proto::FLOAT16:
    return b.getF16Type();
  case Proto::DOUBLE:
    return b.getF64Type();
  case Proto::UINT32:
    return unsignedOf(32);
  case Proto::UINT64:
    return unsignedOf(64);
  case Proto::BFLOAT16:
    return b.getBF16Type();
  default:
    return {};
  }
}

/// The elements one after the other, as raw_data has them.
template <typename Stored> static std::string packed(const auto &list) {
  std::string bytes(static_cast<size_t>(list.size()) * sizeof(Stored), '\0');
  char *to = bytes.data();
  for (auto each : list) {
    const auto value = static_cast<Stored>(each);
    std::memcpy(to, &value, sizeof(Stored));
    to += sizeof(Stored);
  }
  return bytes;
}

static std::string bytesOf(const Proto &tensor) {
  if (tensor.has_raw_data())
    return tensor.raw_data();
  switch (tensor.data_type()) {
  case Proto::FLOAT:
    return packed<float>(tensor.float_data());
  case Proto::DOUBLE:
    return packed<double>(tensor.double_data());
  case Proto::INT64:
    return packed<int64_t>(tensor.int64_data());
  case Proto::UINT32:
    return packed<uint32_t>(tensor.uint64_data());
  case Proto::UINT64:
    return packed<uint64_t>(tensor.uint64_data());
  case Proto::INT32:
    return packed<int32_t>(tensor.int32_data());
  case Proto::INT16:
  case Proto::UINT16:
  case Proto::FLOAT16:
  case Proto::BFLOAT16:
    return packed<uint16_t>(tensor.int32_data());
  default:
    return packed<uint8_t>(tensor.int32_data());
  }
}

DenseElementsAttr readTensor(const Proto &tensor, Builder &builder, std::string &error) {
  Type element = elementTypeOf(tensor.data_type(), builder.getContext());
  if (!element) {
    error = "has elements of type " + std::to_string(tensor.data_type()) + " of ONNX, which dgc has not";
    return {};
  }
  if (tensor.data_location() == Proto::EXTERNAL || tensor.external_data_size() > 0) {
    error = "has its elements in another file; put them into the model: onnx.save(onnx.load(FILE), OUT)";
    return {};
  }
  size_t count = 1;
  for (int64_t size : tensor.dims()) {
    if (size < 0 || (size > 0 && count > (size_t{1} << 40) / static_cast<size_t>(size))) {
      error = "has a dimension of " + std::to_string(size);
      return {};
    }
    count *= static_cast<size_t>(size);
  }
  auto type = RankedTensorType::get(SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()), element);
  const std::string bytes = bytesOf(tensor);
  const size_t size = element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8;
  if (bytes.size() != count * size) {
    error = "has " + std::to_string(bytes.size()) + " bytes, and its shape needs " + std::to_string(count * size);
    return {};
  }
  if (element.isInteger(1)) {
    SmallVector<bool> values(llvm::map_range(bytes, [](char byte) { return byte != 0; }));
    return DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef(bytes.data(), bytes.size()));
}

} // namespace dgc::import
