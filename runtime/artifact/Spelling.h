// How the names of enums are written for people: AllReduce is all_reduce.
#pragma once

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

} // namespace dgc::rt
