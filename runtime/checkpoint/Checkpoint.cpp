// Saves and opens checkpoints.
#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Shape.h"

#include <algorithm>
#include <set>

using namespace dgc::rt;

absl::Status dgc::rt::saveCheckpoint(OutputFile &file, std::span<const Tensor> variables, const RunState &state) {
  Metadata metadata = toMetadata(state);
  metadata.emplace(digestKey, "");
  return writeSafetensors(file, variables, metadata);
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
  Comparison(const TensorSource &source, std::span<const VariableSpec> plan, Restore restore) {
    std::set<std::string_view> known;
    for (const VariableSpec &variable : plan) {
      bool isWeight = !variable.slot && !variable.optional;
      auto it = source.tensors().find(variable.name);
      if (!variable.beginsAs.empty() && (it == source.tensors().end() || restore == Restore::Weights)) {
        taken.emplace(variable.name, variable.beginsAs); // which is compared itself
        continue;
      }
      if (restore == Restore::Weights && !isWeight) {
        fresh.add(variable.name);
        continue;
      }
      known.insert(variable.name);
      if (it == source.tensors().end()) {
        (variable.optional ? fresh : variable.slot ? missingSlots : missing).add(variable.name);
        continue;
      }
      taken.emplace(variable.name, variable.name);
      anySlot |= variable.slot;
      const TensorSource::Info &entry = it->second;
      if (entry.dtype != variable.dtype || entry.shape != variable.globalShape)
        (isWeight ? differentWeights : differentSlots)
            .add(str(variable.name, " (", describe(entry.dtype, entry.shape), " for ",
                     describe(variable.dtype, variable.globalShape), ")"));
    }
    for (auto &[name, entry] : source.tensors())
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
static absl::Status misfit(const TensorSource &source, const Comparison &found) {
  NameList different = found.differentWeights;
  different.add(found.differentSlots);
  return badData(str(source.path(), " does not fit the plan", found.missing.text("it lacks "),
                     found.slotsFit() ? "" : found.missingSlots.text("it lacks of the optimizer's state "),
                     found.extra.text("the plan has no "), different.text("these differ: "),
                     found.weightsFit() ? "; its weights fit: --load-weights takes these alone" : ""));
}

/// What is left out, for people.
static std::string describeLeftOut(const TensorSource &source, const Comparison &found) {
  NameList fresh = found.fresh;
  fresh.add(found.missingSlots);
  std::string ignored = found.ignored.text("left out of the file: "), begins = fresh.text("at their initial values: ");
  if (ignored.empty() && begins.empty())
    return "";
  return str("loaded ", source.path(), ignored, begins);
}

static absl::StatusOr<std::optional<RunState>> namedStateIn(const Metadata &metadata, const std::string &path) {
  auto state = stateIn(metadata);
  return state.ok() ? state : annotate(state.status(), path);
}

absl::StatusOr<std::optional<RunState>> dgc::rt::readRunState(Disk &disk, const std::string &path) {
  DGC_ASSIGN_OR_RETURN(Metadata metadata, readCheckpointMetadata(disk, path));
  return namedStateIn(metadata, path);
}

absl::StatusOr<Checkpoint> Checkpoint::open(Disk &disk, const std::string &path, std::span<const VariableSpec> plan,
                                            Restore restore, Verify verify) {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<TensorSource> source, TensorSource::open(disk, path));
  for (size_t i = 0; verify == Verify::All && i < source->numShards(); ++i)
    DGC_RETURN_IF_ERROR(source->verifyShard(i));
  Comparison found(*source, plan, restore);
  if (!found.fits())
    return misfit(*source, found);
  std::optional<RunState> state;
  if (restore == Restore::All) {
    DGC_ASSIGN_OR_RETURN(state, namedStateIn(source->metadata(), path));
  }
  std::string leftOut = describeLeftOut(*source, found);
  Checkpoint checkpoint(std::move(source));
  checkpoint.taken = std::move(found.taken);
  checkpoint.leftOut_ = std::move(leftOut);
  checkpoint.state_ = std::move(state);
  return checkpoint;
}

absl::Status Checkpoint::read(const std::string &variable, std::span<const int64_t> start,
                              std::span<const int64_t> size, std::span<std::byte> out) const {
  auto name = taken.find(variable);
  if (name == taken.end() || !source->tensors().contains(name->second))
    return absl::NotFoundError(str(source->path(), " has no ", variable));
  return source->read(name->second, start, size, out);
}
