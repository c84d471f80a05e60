// Saves and opens checkpoints.
#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Shape.h"

#include "absl/strings/numbers.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace dgc::rt;

absl::Status dgc::rt::saveCheckpoint(OutputFile &file, std::span<const Tensor> variables, const RunState &state) {
  return writeSafetensors(file, variables,
                          {{"dgc.step", str(state.step)},
                           {"dgc.epoch", str(state.cursor.epoch)},
                           {"dgc.epoch_step", str(state.cursor.step)},
                           {"dgc.seed", str(state.seed)},
                           {"dgc.plan", state.planDigest},
                           {"dgc.producer", state.producer},
                           {std::string(digestKey), ""}});
}

/// The largest epoch that the order of samples is defined for, and a number of steps that no run reaches.
static constexpr int64_t mostEpochs = int64_t{1} << 40, mostSteps = int64_t{1} << 53;

/// Metadata of other programs is theirs; of dgc all is known, so that nothing that counts is passed over.
static absl::Status checkKeys(const Metadata &metadata) {
  constexpr std::string_view known[] = {"dgc.step", "dgc.epoch",    "dgc.epoch_step", "dgc.seed",
                                        "dgc.plan", "dgc.producer", digestKey};
  for (const auto &[key, value] : metadata)
    if (key.starts_with("dgc.") && std::find(std::begin(known), std::end(known), key) == std::end(known))
      return badData(str("the metadata has '", key,
                         "', which this version of dgc does not know: load it with the version "
                         "that wrote it"));
  return absl::OkStatus();
}

/// A number from 0 to `most`.
template <typename T>
static absl::Status readNumber(const Metadata &metadata, const std::string &key, T most, T &value) {
  auto it = metadata.find(key);
  if (it == metadata.end())
    return badData(str("the metadata has no '", key, "', which goes with the other dgc.* in it"));
  if (it->second.empty() || it->second.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(it->second, &value) || value > most)
    return badData(str("the metadata '", key, "' is '", it->second, "', not a number from 0 to ", most));
  return absl::OkStatus();
}

/// The state in `metadata`; nothing where there is none.
static absl::StatusOr<std::optional<RunState>> readState(const Metadata &metadata) {
  DGC_RETURN_IF_ERROR(checkKeys(metadata));
  bool isOurs = std::any_of(metadata.begin(), metadata.end(), [](const auto &entry) {
    return entry.first.starts_with("dgc.") && entry.first != digestKey;
  });
  if (!isOurs)
    return std::nullopt;
  RunState state;
  DGC_RETURN_IF_ERROR(readNumber(metadata, "dgc.step", mostSteps, state.step));
  DGC_RETURN_IF_ERROR(readNumber(metadata, "dgc.epoch", mostEpochs, state.cursor.epoch));
  DGC_RETURN_IF_ERROR(readNumber(metadata, "dgc.epoch_step", mostSteps, state.cursor.step));
  DGC_RETURN_IF_ERROR(readNumber(metadata, "dgc.seed", std::numeric_limits<uint64_t>::max(), state.seed));
  if (state.step < state.cursor.epoch + state.cursor.step)
    return badData(str("the metadata says step ", state.step, ", but epoch ", state.cursor.epoch, " and ",
                       state.cursor.step, " steps in it, which takes at least ",
                       state.cursor.epoch + state.cursor.step));
  auto text = [&](const char *key) {
    auto it = metadata.find(key);
    return it == metadata.end() ? "" : it->second;
  };
  state.planDigest = text("dgc.plan");
  state.producer = text("dgc.producer");
  return state;
}

namespace {
/// Gathers names for a message, the first few of them.
class NameList {
public:
  void add(const std::string &name) {
    if (count++ < 8)
      names += str(names.empty() ? "" : ", ", name);
  }
  bool empty() const { return count == 0; }
  std::string text(std::string_view title) const {
    if (empty())
      return "";
    return str("; ", title, names, count > 8 ? str(" and ", count - 8, " more") : std::string());
  }

private:
  int count = 0;
  std::string names;
};
} // namespace

/// One error that lists every difference between the file and the plan.
static absl::Status compare(const SafetensorsFile &file, std::span<const VariableSpec> plan) {
  NameList missing, missingSlots, extra, different;
  std::set<std::string_view> known;
  bool anySlot = false;
  for (const VariableSpec &variable : plan) {
    known.insert(variable.name);
    auto it = file.entries().find(variable.name);
    if (it == file.entries().end()) {
      (variable.slot ? missingSlots : missing).add(variable.name);
      continue;
    }
    anySlot |= variable.slot;
    const SafetensorsFile::Entry &entry = it->second;
    if (entry.dtype != variable.dtype || entry.shape != variable.globalShape)
      different.add(str(variable.name, " (", describe(entry.dtype, entry.shape), " for ",
                        describe(variable.dtype, variable.globalShape), ")"));
  }
  for (auto &[name, entry] : file.entries())
    if (!known.count(name))
      extra.add(name);
  bool slotsFit = missingSlots.empty() || !anySlot;
  if (missing.empty() && extra.empty() && different.empty() && slotsFit)
    return absl::OkStatus();
  return badData(str(file.path(), " does not fit the plan", missing.text("it lacks "),
                     slotsFit ? "" : missingSlots.text("it lacks of the optimizer's state "),
                     extra.text("the plan has no "), different.text("these differ: ")));
}

static absl::StatusOr<std::optional<RunState>> stateIn(const SafetensorsFile &file) {
  auto state = readState(file.metadata());
  return state.ok() ? state : annotate(state.status(), file.path());
}

absl::StatusOr<std::optional<RunState>> dgc::rt::readRunState(Disk &disk, const std::string &path) {
  DGC_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(disk, path));
  return stateIn(file);
}

absl::StatusOr<Checkpoint> Checkpoint::open(Disk &disk, const std::string &path, std::span<const VariableSpec> plan) {
  DGC_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(disk, path));
  DGC_RETURN_IF_ERROR(file.verify());
  DGC_RETURN_IF_ERROR(compare(file, plan));
  DGC_ASSIGN_OR_RETURN(std::optional<RunState> state, stateIn(file));
  Checkpoint checkpoint(std::move(file));
  checkpoint.state_ = std::move(state);
  return checkpoint;
}

absl::Status Checkpoint::read(const std::string &variable, std::span<const int64_t> start,
                              std::span<const int64_t> size, std::span<std::byte> out) const {
  auto it = file.entries().find(variable);
  if (it == file.entries().end())
    return absl::NotFoundError(str(file.path(), " has no ", variable));
  return file.readBlock(it->second, start, size, out);
}
