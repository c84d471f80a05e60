#include "runtime/driver/NumericsWatch.h"

#include "runtime/base/Status.h"

#include <cstring>
#include <sstream>

using namespace dgc;
using namespace dgc::rt;

bool NumericsWatch::isNeeded(const artifact::Plan &plan) {
  for (const artifact::Program *program : *plan.programs())
    if (program->outputs())
      for (const artifact::Output *output : *program->outputs())
        if (isNumericsOutput(*output))
          return true;
  return false;
}

NumericsWatch::NumericsWatch(const artifact::Plan &plan, int rank, GatherBytes gather)
    : rank(rank), isWhole(plan.world_size() <= 1), gather(std::move(gather)) {
  if (plan.options())
    for (const artifact::CompilerOption *option : *plan.options())
      if (option->name()->string_view() == "check-numerics" && option->value() &&
          option->value()->string_view() == "results")
        remedy = "; --check-numerics=every-op of dgc-compile finds the op where it begins";
}

const std::vector<CheckedValue> &NumericsWatch::checksOf(const OutputView &view) {
  auto [it, isNew] = checks.try_emplace(&view);
  if (isNew)
    it->second = readChecks(view.over).value_or(std::vector<CheckedValue>());
  return it->second;
}

bool NumericsWatch::look(const ProgramRunner &runner, int64_t number, const std::string &run) {
  if (hasFound())
    return false;
  for (const OutputView &view : runner.outputs()) {
    if (view.name != kNumericsOutput || view.over.empty())
      continue;
    const std::vector<CheckedValue> &values = checksOf(view);
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t row[kNumericsColumns];
      std::memcpy(row, view.memory.data() + i * sizeof row, sizeof row);
      if (row[kCountColumn] <= 0)
        continue;
      std::vector<int64_t> key{number, values[i].scope, row[kRoundColumn], values[i].order};
      if (!hasFound() || key < mine.key)
        mine = {std::move(key), describe(values[i], row, run)};
    }
  }
  return hasFound();
}

/// "[2, 0]", of a row-major index.
static std::string placeText(std::span<const int64_t> shape, int64_t index) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t size = std::max<int64_t>(shape[d], 1);
    text = str(index % size, text.empty() ? "" : ", ", text);
    index /= size;
  }
  return str("[", text, "]");
}

/// ", round 3 of 8", of the loops around it; empty outside of loops.
static std::string roundText(std::span<const int64_t> loops, int64_t round) {
  std::string text;
  for (size_t i = loops.size(); i-- > 0;) {
    const bool isLast = i == 0; // what is left belongs to the outermost one
    const int64_t here = isLast || loops[i] == 0 ? round : round % loops[i];
    round = loops[i] ? round / loops[i] : 0;
    text = str("round ", here, loops[i] ? str(" of ", loops[i]) : "", text.empty() ? "" : " and ", text);
  }
  return text.empty() ? "" : str(", ", text);
}

std::string NumericsWatch::describe(const CheckedValue &value, const int64_t *row, const std::string &run) const {
  static constexpr std::string_view kinds[] = {"NaN", "inf", "-inf"};
  uint64_t elements = 1; // unsigned: what a plan says of it may overflow
  for (int64_t extent : value.shape)
    elements *= static_cast<uint64_t>(extent);
  const int64_t first = row[kFirstColumn];
  const std::string_view kind = kinds[std::min<int64_t>(first & 3, 2)];
  std::string shape;
  for (int64_t extent : value.shape)
    shape += str(shape.empty() ? "" : "x", extent);
  const std::string found = value.shape.empty()
                                ? str("it is ", kind)
                                : str(value.isLeast ? "at least " : "", row[kCountColumn], " of ", elements,
                                      row[kCountColumn] == 1 ? " elements is" : " elements are",
                                      " not finite, the first is ", kind, " at ", placeText(value.shape, first >> 2));
  return str(run, isWhole ? "" : str(", rank ", rank), roundText(value.loops, row[kRoundColumn]), ": ", value.name,
             value.what.empty() ? "" : str(" (", value.what, ")"),
             " is the first value that is not finite: ", value.dtype, " [", shape, "], ", found);
}

absl::StatusOr<std::optional<NumericsWatch::First>> NumericsWatch::compare() {
  std::string text;
  for (int64_t number : mine.key)
    text += str(number, " ");
  const Finding given = std::exchange(mine, {});
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> all, gather(given.key.empty() ? "" : text + given.message));
  std::optional<First> first;
  std::vector<int64_t> least;
  for (size_t from = 0; from < all.size(); ++from) {
    std::istringstream fields(all[from]);
    std::vector<int64_t> key(4);
    for (int64_t &number : key)
      fields >> number;
    std::string message;
    if (!fields || !std::getline(fields >> std::ws, message) || (first && !(key < least)))
      continue;
    least = key;
    first = First{static_cast<int>(from), message + remedy};
  }
  return first;
}
