// The state of a run in metadata, and back.
#include "runtime/checkpoint/RunState.h"

#include "runtime/base/ExitCode.h"

#include "absl/strings/numbers.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

using namespace dgc::rt;

Metadata dgc::rt::toMetadata(const RunState &state) {
  return {
      {"dgc.step", str(state.step)}, {"dgc.epoch", str(state.cursor.epoch)}, {"dgc.epoch_step", str(state.cursor.step)},
      {"dgc.seed", str(state.seed)}, {"dgc.plan", state.planDigest},         {"dgc.producer", state.producer}};
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

absl::StatusOr<std::optional<RunState>> dgc::rt::stateIn(const Metadata &metadata) {
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
