// Saves and opens checkpoints.
#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
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
/// Gathers names from files for a message, which has the first few of them.
class NameList {
public:
  void add(const std::string &name) { names.push_back(printable(name, 256)); }
  void add(const NameList &more) { names.insert(names.end(), more.names.begin(), more.names.end()); }
  bool empty() const { return names.empty(); }
  std::string text(std::string_view title) const {
    constexpr size_t shown = 8;
    std::string list;
    for (size_t i = 0; i < std::min(names.size(), shown); ++i)
      list += str(i ? ", " : "", names[i]);
    if (empty())
      return "";
    return str("; ", title, list, names.size() > shown ? str(" and ", names.size() - shown, " more") : std::string());
  }

private:
  std::vector<std::string> names;
};

/// How the variables of a plan and the tensors of a file belong together.
struct Comparison {
  Comparison(const SafetensorsFile &file, std::span<const VariableSpec> plan, Restore restore) {
    std::set<std::string_view> known;
    for (const VariableSpec &variable : plan) {
      bool isWeight = !variable.slot && !variable.optional;
      auto it = file.entries().find(variable.name);
      if (!variable.beginsAs.empty() && (it == file.entries().end() || restore == Restore::Weights)) {
        taken.emplace(variable.name, variable.beginsAs); // which is compared itself
        continue;
      }
      if (restore == Restore::Weights && !isWeight) {
        fresh.add(variable.name);
        continue;
      }
      known.insert(variable.name);
      if (it == file.entries().end()) {
        (variable.optional ? fresh : variable.slot ? missingSlots : missing).add(variable.name);
        continue;
      }
      taken.emplace(variable.name, variable.name);
      anySlot |= variable.slot;
      const SafetensorsFile::Entry &entry = it->second;
      if (entry.dtype != variable.dtype || entry.shape != variable.globalShape)
        (isWeight ? differentWeights : differentSlots)
            .add(str(variable.name, " (", describe(entry.dtype, entry.shape), " for ",
                     describe(variable.dtype, variable.globalShape), ")"));
    }
    for (auto &[name, entry] : file.entries())
      if (!known.contains(name))
        (restore == Restore::Weights ? ignored : extra).add(name);
  }

  bool slotsFit() const { return missingSlots.empty() || !anySlot; }
  bool weightsFit() const { return missing.empty() && differentWeights.empty(); }
  bool fits() const { return weightsFit() && extra.empty() && differentSlots.empty() && slotsFit(); }

  NameList missing, missingSlots, extra, differentWeights, differentSlots; // errors
  NameList fresh, ignored; // variables that keep their initial value; tensors that are not taken
  std::map<std::string, std::string> taken;
  bool anySlot = false;
};
} // namespace

/// One error that lists every difference between the file and the plan.
static absl::Status misfit(const SafetensorsFile &file, const Comparison &found) {
  NameList different = found.differentWeights;
  different.add(found.differentSlots);
  return badData(str(file.path(), " does not fit the plan", found.missing.text("it lacks "),
                     found.slotsFit() ? "" : found.missingSlots.text("it lacks of the optimizer's state "),
                     found.extra.text("the plan has no "), different.text("these differ: "),
                     found.weightsFit() ? "; its weights fit: --load-weights takes these alone" : ""));
}

/// What is left out, for people.
static std::string describeLeftOut(const SafetensorsFile &file, const Comparison &found) {
  NameList fresh = found.fresh;
  fresh.add(found.missingSlots);
  std::string ignored = found.ignored.text("left out of the file: "), begins = fresh.text("at their initial values: ");
  if (ignored.empty() && begins.empty())
    return "";
  return str("loaded ", file.path(), ignored, begins);
}

static absl::StatusOr<std::optional<RunState>> stateIn(const SafetensorsFile &file) {
  auto state = readState(file.metadata());
  return state.ok() ? state : annotate(state.status(), file.path());
}

absl::StatusOr<std::optional<RunState>> dgc::rt::readRunState(Disk &disk, const std::string &path) {
  DGC_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(disk, path));
  return stateIn(file);
}

absl::StatusOr<Checkpoint> Checkpoint::open(Disk &disk, const std::string &path, std::span<const VariableSpec> plan,
                                            Restore restore) {
  DGC_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(disk, path));
  DGC_RETURN_IF_ERROR(file.verify());
  Comparison found(file, plan, restore);
  if (!found.fits())
    return misfit(file, found);
  std::optional<RunState> state;
  if (restore == Restore::All) {
    DGC_ASSIGN_OR_RETURN(state, stateIn(file));
  }
  std::string leftOut = describeLeftOut(file, found);
  Checkpoint checkpoint(std::move(file));
  checkpoint.taken = std::move(found.taken);
  checkpoint.leftOut_ = std::move(leftOut);
  checkpoint.state_ = std::move(state);
  return checkpoint;
}

absl::Status Checkpoint::read(const std::string &variable, std::span<const int64_t> start,
                              std::span<const int64_t> size, std::span<std::byte> out) const {
  auto name = taken.find(variable);
  auto it = name == taken.end() ? file.entries().end() : file.entries().find(name->second);
  if (it == file.entries().end())
    return absl::NotFoundError(str(file.path(), " has no ", variable));
  return file.readBlock(it->second, start, size, out);
}
