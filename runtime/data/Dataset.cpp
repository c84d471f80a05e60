// Finds and reads the arrays of a folder.
#include "runtime/data/Dataset.h"

#include "runtime/base/ExitCode.h"
#include "runtime/data/Idx.h"
#include "runtime/data/Npy.h"

#include <algorithm>

using namespace dgc::rt;

namespace {
/// The standard name of an MNIST file, without .gz.
struct MnistFile {
  std::string_view split, input, name;
};
constexpr MnistFile mnist[] = {{"train", "image", "train-images-idx3-ubyte"},
                               {"train", "label", "train-labels-idx1-ubyte"},
                               {"test", "image", "t10k-images-idx3-ubyte"},
                               {"test", "label", "t10k-labels-idx1-ubyte"}};
constexpr std::string_view vocabularyName = "vocabulary.txt";
} // namespace

static std::string_view withoutSuffix(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

/// What a file is called in messages: "train image", or the stem where the name
/// is not one of MNIST. Empty where it is no array that we read.
static std::string labelOf(std::string_view name) {
  std::string_view plain = withoutSuffix(name, ".gz");
  for (const MnistFile &file : mnist)
    if (plain == file.name)
      return str(file.split, " ", file.input);
  for (std::string_view suffix : {".npy", ".idx"})
    if (plain.ends_with(suffix))
      return std::string(withoutSuffix(plain, suffix));
  return "";
}

absl::StatusOr<Dataset> Dataset::open(Disk &disk, std::string folder) {
  auto names = disk.list(folder);
  if (!names.ok())
    return withExitCode(annotate(names.status(), "--data"), ExitCode::BadData);
  return Dataset(disk, std::move(folder), *std::move(names));
}

std::string Dataset::fileOf(std::string_view split, std::string_view input) const {
  std::vector<std::string> candidates;
  for (const std::string &stem : {str(split, "-", input), std::string(input)})
    for (std::string_view suffix : {".npy", ".idx"})
      candidates.push_back(str(stem, suffix));
  for (const MnistFile &file : mnist)
    if (file.split == split && file.input == input)
      candidates.emplace_back(file.name);
  for (const std::string &candidate : candidates)
    for (const std::string &name : {candidate, candidate + ".gz"})
      if (std::binary_search(names.begin(), names.end(), name))
        return name;
  return "";
}

bool Dataset::has(std::string_view split, std::string_view input) const {
  return !fileOf(split, input).empty() || tokenShift(split, input);
}

/// The files that hold sequences of tokens.
std::vector<std::string> Dataset::tokenFiles() const {
  std::vector<std::string> files;
  for (const std::string &name : names) {
    std::string_view plain = withoutSuffix(name, ".gz");
    if (name != vocabularyName && (plain.ends_with(".txt") || plain.ends_with(".u16") || plain.ends_with(".i32")))
      files.push_back(name);
  }
  return files;
}

std::optional<int64_t> Dataset::tokenShift(std::string_view split, std::string_view input) const {
  if (!fileOf(split, input).empty() || tokenFiles().empty())
    return std::nullopt;
  if (input == "tokens")
    return 0;
  return input == "next_tokens" ? std::optional<int64_t>(1) : std::nullopt;
}

std::set<std::string> Dataset::filesOf(std::string_view input) const {
  std::set<std::string> files;
  for (std::string_view split : {"train", "test"}) {
    if (std::string file = fileOf(split, input); !file.empty())
      files.insert(file);
    if (tokenShift(split, input)) {
      std::vector<std::string> sequences = tokenFiles();
      files.insert(sequences.begin(), sequences.end());
      files.insert(std::string(vocabularyName));
    }
  }
  return files;
}

absl::StatusOr<Tokens> Dataset::loadTokens(const std::string &name) {
  std::string path = folder_ + "/" + name;
  DGC_ASSIGN_OR_RETURN(Bytes bytes, readWhole(*disk, path));
  std::string_view plain = withoutSuffix(name, ".gz");
  if (!plain.ends_with(".txt"))
    return tokensOfNumbers(std::move(bytes), plain.ends_with(".u16") ? DType::U16 : DType::I32, path);
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!std::binary_search(names.begin(), names.end(), vocabularyName)) {
    DGC_ASSIGN_OR_RETURN(Vocabulary vocabulary, vocabularyOf(text, path));
    return tokensOfText(text, std::move(vocabulary), path);
  }
  std::string file = str(folder_, "/", vocabularyName);
  DGC_ASSIGN_OR_RETURN(std::string lines, readFile(*disk, file));
  DGC_ASSIGN_OR_RETURN(Vocabulary vocabulary, parseVocabulary(lines, file));
  return tokensOfText(text, std::move(vocabulary), path);
}

absl::StatusOr<const Tokens *> Dataset::tokens() {
  if (sequence)
    return sequence.get();
  std::vector<std::string> files = tokenFiles();
  if (files.size() != 1) {
    std::string list;
    for (const std::string &file : files)
      list += (list.empty() ? "" : ", ") + file;
    return badData(
        files.empty()
            ? str("data folder ", folder_, " has no sequence of tokens: no .txt, .u16 or .i32 file")
            : str("data folder ", folder_, " has several sequences of tokens: ", list, "; keep one of them in it"));
  }
  DGC_ASSIGN_OR_RETURN(Tokens loaded, loadTokens(files[0]));
  sequence = std::make_unique<Tokens>(std::move(loaded));
  return sequence.get();
}

absl::StatusOr<const Array *> Dataset::find(std::string_view split, std::string_view input, const Accept &accept) {
  std::string name = fileOf(split, input);
  if (name.empty())
    return badData(str("data folder ", folder_, " has nothing for input '", input, "' of the ", split,
                       " split; it has ", contents(), "; accepted names are ", split, "-", input, ".npy and ", input,
                       ".npy (or .idx, and .gz of these)"));
  if (accept) {
    DGC_ASSIGN_OR_RETURN(ArrayHeader header, headerOf(name));
    DGC_RETURN_IF_ERROR(accept(header));
  }
  return load(name);
}

static const ArrayFormat &formatOf(std::string_view name) {
  return withoutSuffix(name, ".gz").ends_with(".npy") ? npyFormat : idxFormat;
}

absl::StatusOr<ArrayHeader> Dataset::headerOf(const std::string &name) const {
  if (auto known = arrays.find(name); known != arrays.end() && known->second)
    return static_cast<const ArrayHeader &>(*known->second);
  return readArrayHeader(*disk, folder_ + "/" + name, formatOf(name));
}

absl::StatusOr<const Array *> Dataset::load(const std::string &name) {
  std::unique_ptr<Array> &slot = arrays[name];
  if (slot)
    return slot.get();
  DGC_ASSIGN_OR_RETURN(Array array, readArray(*disk, folder_ + "/" + name, formatOf(name)));
  slot = std::make_unique<Array>(std::move(array));
  return slot.get();
}

std::string Dataset::contents() const {
  std::string text;
  for (const std::string &name : names) {
    std::string label = labelOf(name);
    if (label.empty())
      continue;
    auto header = headerOf(name);
    text += str(text.empty() ? "" : "; ", label, " ",
                header.ok() ? describe(header->dtype, header->shape) : "(unreadable)", " in ", name);
  }
  for (const std::string &name : tokenFiles())
    text += str(text.empty() ? "" : "; ", "tokens in ", name);
  return text.empty() ? "no .npy, no IDX and no text file" : text;
}
