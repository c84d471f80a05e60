// What one op reads and writes in one step, taken while it runs: to look at where numbers went wrong.
#pragma once

#include "runtime/base/DType.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dgc::rt {

/// Filled by an Executor that has it (Executor::setProbe).
struct OpProbe {
  /// An operand before or behind the op.
  struct Value {
    std::string name; // "before/x", "after/y"; in a loop, from the second time on, "before.1/x"
    DType dtype = DType::F32;
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
  };
  static constexpr int kMostTimes = 64; // that an op of a loop is taken

  uint64_t step = 0;
  uint32_t op = 0; // Position::op
  int times = 0;   // that it has run in the step
  std::vector<Value> values;

  bool isOf(uint64_t step, uint32_t op) const { return op == this->op && step == this->step && times < kMostTimes; }
};

} // namespace dgc::rt
