// Reads initial values from .npz and .safetensors files.

#include "compiler/import/InitialValues.h"
#include "compiler/import/ProgramSummary.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/data/Npz.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace dgc::import {

/// Whether an array is of the type; else `error` says what both are.
static bool isOfType(rt::DType dtype, ArrayRef<int64_t> shape, RankedTensorType type, std::string &error) {
  const std::string element = elementText(type.getElementType());
  if (element == rt::nameOf(dtype) && shape == type.getShape())
    return true;
  error = std::string("it is ") + std::string(rt::nameOf(dtype)) + " [" +
          llvm::join(llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }), "x") +
          "], and the argument is " + typeText(type);
  return false;
}

static DenseElementsAttr elementsOf(RankedTensorType type, std::span<const std::byte> bytes) {
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  SmallVector<bool> values;
  for (std::byte value : bytes)
    values.push_back(value != std::byte{0});
  return DenseElementsAttr::get(type, values);
}

namespace {

class Npz : public ArrayFile {
public:
  explicit Npz(rt::NpzFile file) : file(std::move(file)) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const rt::NpzFile::Entry &entry : file.entries())
      all.push_back(entry.name);
    return all;
  }

  DenseElementsAttr read(const std::string &name, RankedTensorType type, std::string &error) const override {
    auto entry = llvm::find_if(file.entries(), [&](const auto &each) { return each.name == name; });
    absl::StatusOr<rt::Array> array = file.read(*entry);
    if (!array.ok())
      return error = std::string(array.status().message()), DenseElementsAttr();
    return isOfType(array->dtype, array->shape, type, error) ? elementsOf(type, array->bytes()) : DenseElementsAttr();
  }

private:
  rt::NpzFile file;
};

class Safetensors : public ArrayFile {
public:
  explicit Safetensors(rt::SafetensorsFile file) : file(std::move(file)) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto &[name, entry] : file.entries())
      all.push_back(name);
    return all;
  }

  DenseElementsAttr read(const std::string &name, RankedTensorType type, std::string &error) const override {
    const rt::SafetensorsFile::Entry &entry = file.entries().at(name);
    if (!isOfType(entry.dtype, entry.shape, type, error))
      return {};
    rt::Bytes bytes(entry.bytes);
    absl::Status status = file.read(entry, bytes);
    return status.ok() ? elementsOf(type, bytes) : (error = std::string(status.message()), DenseElementsAttr());
  }

private:
  rt::SafetensorsFile file;
};

} // namespace

const ArrayFile *ArrayFiles::open(const std::string &path, std::string &error) {
  std::unique_ptr<ArrayFile> &file = files[path];
  if (file)
    return file.get();
  llvm::SmallString<256> full(path);
  if (!llvm::sys::path::is_absolute(path)) {
    full = folder;
    llvm::sys::path::append(full, path);
  }
  auto take = [&]<class Own>(auto opened, std::type_identity<Own>) {
    if (opened.ok())
      file = std::make_unique<Own>(*std::move(opened));
    else
      error = std::string(opened.status().message());
  };
  if (StringRef(path).ends_with(".npz"))
    take(rt::NpzFile::open(rt::realDisk(), full.str().str()), std::type_identity<Npz>());
  else if (StringRef(path).ends_with(".safetensors"))
    take(rt::SafetensorsFile::open(rt::realDisk(), full.str().str()), std::type_identity<Safetensors>());
  else
    error = "'" + path + "' is no .npz and no .safetensors file";
  return file.get();
}

} // namespace dgc::import
