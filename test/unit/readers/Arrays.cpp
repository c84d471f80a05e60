// What data sets are made of: arrays of NumPy, IDX and zip archives of them, sequences of tokens, folders.
#include "runtime/data/Dataset.h"
#include "runtime/data/Idx.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Npz.h"
#include "test/unit/readers/Reader.h"

namespace dgc::rt::test {
namespace {

void checkArray(const Array &array) {
  uint64_t bytes = sizeOf(array.dtype);
  for (int64_t size : array.shape)
    bytes *= static_cast<uint64_t>(size);
  require(bytes == array.bytes().size(), "the elements of an array fill it");
}

/// What begins as gzip does is read as such.
bool readFormat(const ArrayFormat &format, std::span<const uint8_t> bytes) {
  FakeDisk disk;
  const std::string_view text = textOf(bytes);
  const std::string path = text.starts_with("\x1f\x8b") ? "a.gz" : "a";
  disk.put(path, std::string(text));
  const auto header = readArrayHeader(disk, path, format);
  const auto array = readArray(disk, path, format);
  if (!array.ok())
    return false;
  require(header.ok() && header->shape == array->shape && header->dtype == array->dtype,
          "an array is as its header says");
  checkArray(*array);
  return true;
}

bool readNpy(std::span<const uint8_t> bytes) { return readFormat(npyFormat, bytes); }
bool readIdx(std::span<const uint8_t> bytes) { return readFormat(idxFormat, bytes); }

bool readNpz(std::span<const uint8_t> bytes) {
  FakeDisk disk;
  disk.put("a.npz", std::string(textOf(bytes)));
  const auto file = NpzFile::open(disk, "a.npz");
  if (!file.ok())
    return false;
  bool isRead = true;
  for (const NpzFile::Entry &entry : file->entries()) {
    const auto header = file->header(entry);
    const auto array = file->read(entry);
    isRead &= array.ok();
    if (!array.ok())
      continue;
    require(header.ok() && header->shape == array->shape, "an array is as its header says");
    checkArray(*array);
  }
  return isRead;
}

bool readTokens(std::span<const uint8_t> bytes) {
  const std::string_view text = textOf(bytes);
  bool isRead = false;
  for (DType dtype : {DType::U16, DType::I32}) {
    Bytes numbers(bytes.size());
    std::copy_n(text.begin(), text.size(), reinterpret_cast<char *>(numbers.data()));
    const auto tokens = tokensOfNumbers(std::move(numbers), dtype, "t");
    isRead |= tokens.ok() && tokens->size() > 0;
  }
  if (auto vocabulary = vocabularyOf(text, "t.txt"); vocabulary.ok()) {
    const auto tokens = tokensOfText(text, *vocabulary, "t.txt");
    require(tokens.ok(), "a text has the symbols of its vocabulary");
    const auto again = parseVocabulary(formatVocabulary(*vocabulary), "vocabulary.txt");
    require(vocabulary->empty() || (again.ok() && *again == *vocabulary), "a vocabulary is read as it was written");
  }
  parseVocabulary(text, "vocabulary.txt").status().IgnoreError();
  return isRead;
}

bool readDataset(std::span<const uint8_t> bytes) {
  FakeDisk disk;
  for (const auto &[name, data] : filesOf(textOf(bytes)))
    if (!name.empty() && name.find_first_of(std::string_view("/\0", 2)) == std::string::npos)
      disk.put("d/" + name, data);
  auto data = Dataset::open(disk, "d");
  if (!data.ok())
    return false;
  data->contents();
  bool isRead = false;
  for (const char *split : {"train", "test"})
    for (const char *input : {"x", "image", "label", "tokens"}) {
      data->has(split, input);
      data->tokenShift(split, input);
      data->filesOf(input);
      if (const auto array = data->find(split, input); array.ok()) {
        checkArray(**array);
        isRead = true;
      }
    }
  isRead |= data->tokens().ok();
  return isRead;
}

const RegisteredReader npy("npy", readNpy), idx("idx", readIdx), npz("npz", readNpz), tokens("tokens", readTokens),
    dataset("dataset", readDataset);

} // namespace
} // namespace dgc::rt::test
