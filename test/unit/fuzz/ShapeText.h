// Shapes, and how programs write them.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace dgc::testing {

using Shape = std::vector<int64_t>;

inline int64_t sizeOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// "[2, 3]"
inline std::string listOf(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// "tensor<2x3xf32>"
inline std::string tensorOf(const Shape &shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

} // namespace dgc::testing
