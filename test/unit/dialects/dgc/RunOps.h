//===- RunOps.h - many ops on the same operands, in one kernel ------------===//

#ifndef DGC_TEST_UNIT_DIALECTS_DGC_RUNOPS_H
#define DGC_TEST_UNIT_DIALECTS_DGC_RUNOPS_H

#include "test/unit/compiler/target/cpu/LoadedKernels.h"
#include <cstdint>
#include <type_traits>

namespace dgc::test {

/// The name of a C++ type as an element type; bool is i1, of one byte.
template <typename T> std::string elementName() {
  if constexpr (std::is_same_v<T, bool>)
    return "i1";
  else if constexpr (std::is_floating_point_v<T>)
    return "f" + std::to_string(8 * sizeof(T));
  else
    return (std::is_unsigned_v<T> ? "ui" : "i") + std::to_string(8 * sizeof(T));
}

template <typename T> std::string tensorName(size_t count) {
  return "tensor<" + std::to_string(count) + "x" + elementName<T>() + ">";
}

/// Applies each of `ops` (as "add" or "compare lt") to `operands` and gives one list of results for each op.
template <typename Result, typename T>
std::vector<std::vector<Result>> runOps(const std::vector<std::string> &ops, std::vector<std::vector<T>> operands) {
  size_t count = operands[0].size();
  std::string type = tensorName<T>(count), resultType = tensorName<Result>(count);
  std::string arguments, uses, body, values, types;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string name = "%x" + std::to_string(i), separator = i ? ", " : "";
    arguments += separator + name + ": " + type;
    uses += separator + name;
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    std::string name = "%r" + std::to_string(i), separator = i ? ", " : "";
    body += "  " + name + " = dgc." + ops[i] + " " + uses + " : " + type + "\n";
    values += separator + name;
    types += separator + resultType;
  }
  LoadedKernels kernels("func.func @k(" + arguments + ") -> (" + types + ") {\n" + body + "  return " + values + " : " +
                        types + "\n}");
  std::vector<std::vector<Result>> results(ops.size());
  if (!kernels.ok())
    return results;
  using Stored = std::conditional_t<std::is_same_v<Result, bool>, uint8_t, Result>;
  std::vector<Buffer<Stored>> outputs(ops.size(), Buffer<Stored>(count));
  std::vector<void *> pointers;
  for (auto &operand : operands)
    pointers.push_back(operand.data());
  for (auto &output : outputs)
    pointers.push_back(output.data());
  kernels.call(pointers, 2);
  for (size_t i = 0; i < ops.size(); ++i)
    results[i].assign(outputs[i].data(), outputs[i].data() + count);
  return results;
}

} // namespace dgc::test

#endif // DGC_TEST_UNIT_DIALECTS_DGC_RUNOPS_H
