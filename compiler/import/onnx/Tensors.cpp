// Tensors of ONNX files.

#include "compiler/import/onnx/Node.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <sys/resource.h>

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

/// Lets the process that tries a file take the memory and the time for so many bytes more.
static void raiseLimits(size_t bytes) {
  for (auto [resource, more] : {std::pair(RLIMIT_DATA, 4 * bytes), std::pair(RLIMIT_CPU, 1 + (bytes >> 24))}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
      continue;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, limit.rlim_cur + more);
    setrlimit(resource, &limit);
  }
}

/// Where a tensor has its elements, beside the file of the model.
struct ExternalData {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

/// False, with `error`, where it says no part of a file in the folder of the model.
static bool parseExternal(const Proto &tensor, ExternalData &data, std::string &error) {
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    uint64_t number = 0;
    if (entry.key() == "location") {
      data.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (StringRef(entry.value()).getAsInteger(10, number)) {
        error = "has its elements in another file, at the " + entry.key() + " '" + entry.value() + "'";
        return false;
      }
      entry.key() == "offset" ? void(data.offset = number) : void(data.length = number);
    }
  }
  namespace path = llvm::sys::path;
  const bool isInside =
      !data.location.empty() && path::is_relative(data.location) && !StringRef(data.location).contains('\0') &&
      std::none_of(path::begin(data.location), path::end(data.location), [](StringRef part) { return part == ".."; });
  if (!isInside)
    error = "has its elements in '" + data.location +
            "', which is no file in the folder of the model: a relative path " + "without '..' is one";
  return isInside;
}

/// So many bytes of the file that the tensor names; null, with `error`, where they are not there.
static std::unique_ptr<llvm::MemoryBuffer> readExternal(const Proto &tensor, StringRef folder, size_t bytes,
                                                        std::string &error) {
  ExternalData data;
  if (!parseExternal(tensor, data, error))
    return nullptr;
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, data.location);
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status) || status.type() != llvm::sys::fs::file_type::regular_file) {
    error = "has its elements in '" + path.str().str() +
            "', which is no file that can be read: it belongs to the model; " + "copy it to the same folder";
    return nullptr;
  }
  if (data.length.value_or(bytes) != bytes) {
    error = "has " + std::to_string(*data.length) + " bytes in '" + path.str().str() + "', and its shape needs " +
            std::to_string(bytes);
    return nullptr;
  }
  if (data.offset > status.getSize() || bytes > status.getSize() - data.offset) {
    error = "has its elements in '" + path.str().str() + "' from byte " + std::to_string(data.offset) + " to " +
            std::to_string(data.offset + bytes) + ", which has " + std::to_string(status.getSize()) +
            ": copy it again, or export it again";
    return nullptr;
  }
  raiseLimits(bytes);
  auto buffer = llvm::MemoryBuffer::getFileSlice(path, bytes, data.offset);
  if (!buffer) {
    error = "has its elements in '" + path.str().str() + "', which cannot be read: " + buffer.getError().message();
    return nullptr;
  }
  return std::move(*buffer);
}

DenseElementsAttr readTensor(const Proto &tensor, Builder &builder, std::string &error, StringRef folder) {
  Type element = elementTypeOf(tensor.data_type(), builder.getContext());
  if (!element) {
    error = "has elements of type " + std::to_string(tensor.data_type()) + " of ONNX, which dgc has not";
    return {};
  }
  const bool isExternal = tensor.data_location() == Proto::EXTERNAL;
  if (isExternal && folder.empty()) {
    error = "has its elements in another file, which only initializers may have";
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
  const size_t size = element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8;
  const std::unique_ptr<llvm::MemoryBuffer> file =
      isExternal ? readExternal(tensor, folder, count * size, error) : nullptr;
  if (isExternal && !file)
    return {};
  const std::string inside = file ? "" : bytesOf(tensor);
  const StringRef bytes = file ? file->getBuffer() : StringRef(inside);
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
