// Makes and recognizes the names of a folder of checkpoints.
#include "runtime/checkpoint/ShardNames.h"

#include "runtime/base/OutputFile.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

using namespace dgc::rt;

static constexpr size_t stepDigits = 9, shardDigits = 5;
static constexpr std::string_view stepPrefix = "step-", replacedSuffix = ".dgc-old", shardPrefix = "model-",
                                  shardSuffix = ".safetensors", markerPrefix = ".shard-", markerSuffix = ".json";

/// With zeros in front; a number that takes more digits has them.
static std::string padded(uint64_t number, size_t digits) {
  std::string text = str(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

namespace {
/// Takes a name apart from its beginning.
struct Scanner {
  std::string_view rest;

  bool take(std::string_view text) {
    if (!rest.starts_with(text))
      return false;
    rest.remove_prefix(text.size());
    return true;
  }
  /// A number as padded() writes it.
  bool take(uint64_t &number, size_t digits) {
    auto [parsed, failed] = std::from_chars(rest.begin(), rest.end(), number);
    if (failed != std::errc() || number > INT64_MAX)
      return false;
    return take(padded(number, digits));
  }
  bool takeToken() {
    if (!isToken(rest.substr(0, 16)))
      return false;
    rest.remove_prefix(16);
    return true;
  }
};
} // namespace

std::string dgc::rt::inFolder(const std::string &folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

std::string dgc::rt::stepName(int64_t step) { return str(stepPrefix, padded(static_cast<uint64_t>(step), stepDigits)); }
std::string dgc::rt::temporaryName(int64_t step, std::string_view nonce) {
  return str(".", stepName(step), ".", nonce, temporarySuffix);
}
std::string dgc::rt::replacedName(int64_t step, std::string_view nonce) {
  return str(".", stepName(step), ".", nonce, replacedSuffix);
}
std::string dgc::rt::shardName(uint32_t rank, uint32_t world) {
  return str(shardPrefix, padded(uint64_t{rank} + 1, shardDigits), "-of-", padded(world, shardDigits), shardSuffix);
}
std::string dgc::rt::markerName(uint32_t rank) {
  return str(markerPrefix, padded(uint64_t{rank} + 1, shardDigits), markerSuffix);
}

std::optional<int64_t> dgc::rt::stepOf(std::string_view name) {
  Scanner scanner{name};
  uint64_t step;
  if (!scanner.take(stepPrefix) || !scanner.take(step, stepDigits) || !scanner.rest.empty())
    return std::nullopt;
  return static_cast<int64_t>(step);
}

/// The step of `.step-000000500.<token>SUFFIX`.
static std::optional<int64_t> stepOfHidden(std::string_view name, std::string_view suffix) {
  Scanner scanner{name};
  uint64_t step;
  if (!scanner.take(".") || !scanner.take(stepPrefix) || !scanner.take(step, stepDigits) || !scanner.take(".") ||
      !scanner.takeToken() || scanner.rest != suffix)
    return std::nullopt;
  return static_cast<int64_t>(step);
}
std::optional<int64_t> dgc::rt::stepOfTemporary(std::string_view name) { return stepOfHidden(name, temporarySuffix); }
std::optional<int64_t> dgc::rt::stepOfReplaced(std::string_view name) { return stepOfHidden(name, replacedSuffix); }

bool dgc::rt::isOfCheckpoint(std::string_view name) {
  if (name == manifestName || name == indexName || name == prunedName)
    return true;
  uint64_t number;
  Scanner shard{name}, marker{name};
  if (shard.take(shardPrefix) && shard.take(number, shardDigits) && shard.take("-of-") &&
      shard.take(number, shardDigits) && shard.rest == shardSuffix)
    return true;
  return marker.take(markerPrefix) && marker.take(number, shardDigits) && marker.take(markerSuffix) &&
         (marker.rest.empty() || marker.rest == temporarySuffix);
}

bool dgc::rt::isPlainName(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}
