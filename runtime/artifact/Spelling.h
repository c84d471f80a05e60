// How the enums of the schema are written for people: AllReduce is all_reduce.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <string>

namespace dgc::rt {

inline std::string snakeCase(const char *name) {
  std::string text;
  for (; *name; ++name) {
    const bool isUpper = *name >= 'A' && *name <= 'Z';
    if (isUpper && !text.empty() && text.back() >= 'a' && text.back() <= 'z')
      text += '_';
    text += isUpper ? static_cast<char>(*name - 'A' + 'a') : *name;
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
DGC_SPELLED(PostOpKind)
DGC_SPELLED(MatmulValue)
DGC_SPELLED(ConvKind)
DGC_SPELLED(PoolKind)
DGC_SPELLED(CollectiveKind)
DGC_SPELLED(Reduction)
#undef DGC_SPELLED

} // namespace dgc::rt
