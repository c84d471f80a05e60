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
} // namespace

static std::string_view withoutSuffix(std::string_view name,
                                      std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size())
                                : name;
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

std::string Dataset::fileOf(std::string_view split,
                            std::string_view input) const {
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
  return !fileOf(split, input).empty();
}

absl::StatusOr<const Array *> Dataset::find(std::string_view split,
                                            std::string_view input) {
  std::string name = fileOf(split, input);
  if (name.empty())
    return badData(str("data folder ", folder_, " has nothing for input '",
                       input, "' of the ", split, " split; it has ", contents(),
                       "; accepted names are ", split, "-", input, ".npy and ",
                       input, ".npy (or .idx, and .gz of these)"));
  return load(name);
}

absl::StatusOr<const Array *> Dataset::load(const std::string &name) {
  std::unique_ptr<Array> &slot = arrays[name];
  if (slot)
    return slot.get();
  std::string path = folder_ + "/" + name;
  DGC_ASSIGN_OR_RETURN(Bytes bytes, readWhole(*disk, path));
  bool npy = withoutSuffix(name, ".gz").ends_with(".npy");
  DGC_ASSIGN_OR_RETURN(Array array, npy ? parseNpy(std::move(bytes), path)
                                        : parseIdx(std::move(bytes), path));
  slot = std::make_unique<Array>(std::move(array));
  return slot.get();
}

std::string Dataset::contents() {
  std::string text;
  for (const std::string &name : names) {
    std::string label = labelOf(name);
    if (label.empty())
      continue;
    auto array = load(name);
    text += str(text.empty() ? "" : "; ", label, " ",
                array.ok() ? describe((*array)->dtype, (*array)->shape)
                           : "(unreadable)",
                " in ", name);
  }
  return text.empty() ? "no .npy and no IDX file" : text;
}
