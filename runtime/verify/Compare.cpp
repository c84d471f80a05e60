#include "runtime/verify/Compare.h"

#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/verify/Explain.h"

#include <algorithm>
#include <cmath>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

static bool areEqual(const Tensor &a, size_t i, const Tensor &b, size_t j) {
  return a.isFloat() ? a.number(i).same(b.number(j)) : a.i[i] == b.i[j];
}

static std::vector<int64_t> indexOf(size_t element, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= static_cast<size_t>(shape[d]))
    index[d] = static_cast<int64_t>(element % static_cast<size_t>(shape[d]));
  return index;
}

std::string dgc::verify::boxOf(std::span<const ElementPair> pairs, const std::vector<int64_t> &shape) {
  if (shape.empty())
    return "";
  std::vector<int64_t> low = indexOf(pairs[0].global, shape), high = low;
  for (const ElementPair &pair : pairs) {
    const std::vector<int64_t> index = indexOf(pair.global, shape);
    for (size_t d = 0; d < shape.size(); ++d) {
      low[d] = std::min(low[d], index[d]);
      high[d] = std::max(high[d], index[d]);
    }
  }
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d)
    text += str(d ? ", " : "", low[d], low[d] == high[d] ? "" : str("..", high[d]));
  return text + "]";
}

bool dgc::verify::isUndefined(const Tensor &tensor) {
  return std::any_of(tensor.f.begin(), tensor.f.end(), [](double f) { return !std::isfinite(f); });
}

/// The elements of a part that differ.
static std::vector<ElementPair> differences(const Comparison &comparison, const Part &part, uint64_t &compared) {
  std::vector<ElementPair> pairs;
  const rt::Slice &slice = part.slice;
  int64_t row = 1; // elements of an example, where the batch is the first dimension
  for (size_t d = 1; d < comparison.shape.size(); ++d)
    row *= comparison.shape[d];
  for (const rt::BlockPiece &piece : rt::blockPieces(comparison.shape, slice.offsets, slice.sizes, slice.extents()))
    for (size_t i = 0; i < piece.count; ++i) {
      const ElementPair pair{piece.to + i, piece.from + i};
      if (comparison.batchDim == 0 && static_cast<int64_t>(pair.global) / row >= comparison.validCount)
        continue; // of padding nobody asks
      ++compared;
      if (!areEqual(*part.value, pair.local, *comparison.expected, pair.global))
        pairs.push_back(pair);
    }
  return pairs;
}

std::string Difference::text() const {
  std::string text = what + where;
  for (auto [separator, part] : {std::pair(": ", &reason), {"; ", &origin}})
    if (!part->empty())
      text += (text.empty() ? "" : separator) + *part;
  return text;
}

/// Where a part differs: "[0..3] differs on worker 0 (4 of 12 elements), as on 2 others".
static std::string describe(const Comparison &comparison, std::span<const Part> parts, size_t number,
                            std::span<const ElementPair> pairs) {
  size_t others = 0;
  uint64_t ignored = 0;
  for (size_t i = number + 1; i < parts.size(); ++i)
    others += parts[i].value && parts[i].value->type == comparison.expected->type &&
              !differences(comparison, parts[i], ignored).empty();
  return str(boxOf(pairs, comparison.shape), " differs on worker ", parts[number].rank, " (", pairs.size(), " of ",
             rt::counted(static_cast<int64_t>(parts[number].value->count), "element"), ")",
             others ? str(", as on ", rt::counted(static_cast<int64_t>(others), "other")) : "");
}

/// The elements that no part has.
static std::vector<ElementPair> missing(const Comparison &comparison, std::span<const Part> parts) {
  if (std::any_of(parts.begin(), parts.end(), [&](const Part &part) { return part.slice.covers(comparison.shape); }))
    return {};
  std::vector<bool> isThere(comparison.expected->count);
  for (const Part &part : parts)
    for (const rt::BlockPiece &piece :
         rt::blockPieces(comparison.shape, part.slice.offsets, part.slice.sizes, part.slice.extents()))
      std::fill_n(isThere.begin() + static_cast<ptrdiff_t>(piece.from), piece.count, true);
  std::vector<ElementPair> pairs;
  for (size_t i = 0; i < isThere.size(); ++i)
    if (!isThere[i])
      pairs.push_back({0, i});
  return pairs;
}

Difference dgc::verify::compare(const Comparison &comparison, const std::vector<Part> &parts,
                                const artifact::Plan &plan, uint64_t &compared) {
  if (parts.empty())
    return {comparison.what, "", "no worker has it", ""};
  if (const std::vector<ElementPair> pairs = missing(comparison, parts); !pairs.empty())
    return {comparison.what, boxOf(pairs, comparison.shape), "no worker has it", ""};
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part &part = parts[i];
    if (!part.value)
      return {comparison.what, "", std::string(part.unreadable.message()), ""};
    if (part.value->type != comparison.expected->type)
      return {comparison.what, "",
              str("the plan has it as ", EnumNameType(part.value->type), ", the model as ",
                  EnumNameType(comparison.expected->type)),
              ""};
    const std::vector<ElementPair> pairs = differences(comparison, part, compared);
    if (pairs.empty())
      continue;
    const std::string writer = part.writerOf(pairs[0].local);
    const bool isNamed = comparison.location.empty() || writer.find(comparison.location) != std::string::npos;
    return {comparison.what, describe(comparison, parts, i, pairs), explain(comparison, parts, i, pairs, plan),
            str("written by ", writer, isNamed ? "" : "; the model computes it at " + comparison.location)};
  }
  return {};
}
