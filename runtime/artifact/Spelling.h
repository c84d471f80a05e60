// How parts of the schema are written for people: AllReduce is all_reduce.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <string>
#include <string_view>

namespace dgc::rt {

inline std::string snakeCase(std::string_view name) {
  auto isUpper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && isUpper(name[i]) && !isUpper(name[i - 1]))
      text += '_';
    text += isUpper(name[i]) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return text;
}

#define DGC_SPELLED(Enum)                                                                                              \
  inline std::string spelled(artifact::Enum value) { return snakeCase(artifact::EnumName##Enum(value)); }
DGC_SPELLED(DType)
DGC_SPELLED(Space)
DGC_SPELLED(InitKind)
DGC_SPELLED(VariableRole)
DGC_SPELLED(InputRole)
DGC_SPELLED(OutputRole)
DGC_SPELLED(MetricFunction)
DGC_SPELLED(PostOpKind)
DGC_SPELLED(MatmulValue)
DGC_SPELLED(ConvKind)
DGC_SPELLED(PoolKind)
DGC_SPELLED(CollectiveKind)
DGC_SPELLED(Reduction)
DGC_SPELLED(OptionOrigin)
#undef DGC_SPELLED

/// 64 hexadecimal digits.
inline std::string spelled(const artifact::Digest &digest) {
  std::string hex;
  for (uint8_t byte : *digest.bytes())
    hex += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return hex;
}

/// A probability of at most 2^-bits, rounded up: "2^-48.7".
std::string spelledProbability(double bits);

/// What the exact check found, on one line: "equal to SHA-256 3f.. of the model, a difference is missed ..".
std::string spelled(const artifact::Verified &record);

/// "mesh = data=2 (given)".
inline std::string optionText(std::string_view name, std::string_view value, artifact::OptionOrigin origin) {
  return std::string(name) + " = " + std::string(value.empty() ? "none" : value) + " (" + spelled(origin) + ")";
}

} // namespace dgc::rt
