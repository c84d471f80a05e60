#include "runtime/verify/Compare.h"

#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <cmath>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

namespace {
/// An element of a part and the element of the whole that it should be.
struct Place {
  size_t local, global;
};
} // namespace

static bool areEqual(const Tensor &a, size_t i, const Tensor &b, size_t j) {
  return a.isFloat() ? a.number(i).same(b.number(j)) : a.i[i] == b.i[j];
}

static std::vector<int64_t> indexOf(size_t element, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= static_cast<size_t>(shape[d]))
    index[d] = static_cast<int64_t>(element % static_cast<size_t>(shape[d]));
  return index;
}

/// The box around elements: "[50..63, 0..9]"; of a scalar "".
static std::string boxOf(const std::vector<Place> &places, const std::vector<int64_t> &shape) {
  if (shape.empty())
    return "";
  std::vector<int64_t> low = indexOf(places[0].global, shape), high = low;
  for (const Place &place : places) {
    const std::vector<int64_t> index = indexOf(place.global, shape);
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

/// What multiple of another a value is, of those that are due to something counted so often; 0: none.
static int64_t multipleOf(const Number &x, const Number &of) {
  for (int64_t n = 2; n <= 64; ++n)
    if (multiply(of, fromInteger(n)).same(x))
      return n;
  return 0;
}

/// The axes of the mesh that have `size` workers: ", as many as `data` has workers"; empty without one.
static std::string axesOf(const artifact::Plan &plan, int64_t size) {
  std::string text;
  for (uint32_t i = 0; plan.mesh() && i < plan.mesh()->size(); ++i)
    if (plan.mesh()->Get(i)->size() == size)
      text += str(text.empty() ? " (as many workers as axis '" : "', '", plan.mesh()->Get(i)->name()->str());
  return text.empty() ? "" : text + "' has)";
}

namespace {
/// Looks for a reason that explains every element that differs.
class Explanation {
public:
  Explanation(const Comparison &comparison, const Part &part, const std::vector<Place> &places,
              const artifact::Plan &plan)
      : comparison(comparison), part(part), places(places), plan(plan) {}

  std::string find() const {
    if (!part.value->isFloat())
      return "";
    const Number zero;
    if (all([&](const Number &, const Number &has, size_t) { return has.same(zero); }))
      return "it is 0: nothing was added, or it was masked";
    if (all([&](const Number &expected, const Number &, size_t) { return expected.same(zero); }))
      return "0 is expected: padding that is not masked";
    if (comparison.before &&
        all([&](const Number &, const Number &has, size_t at) { return has.same(comparison.before->number(at)); }))
      return "it has the value from before the run: it was not updated";
    if (all([](const Number &expected, const Number &has, size_t) { return negate(expected).same(has); }))
      return "it has the opposite sign";
    if (std::string text = multiple(); !text.empty())
      return text;
    return elsewhere();
  }

private:
  /// Whether `holds` does for the expected value, the one that is there and the place of each.
  template <typename F> bool all(F &&holds) const {
    return std::all_of(places.begin(), places.end(), [&](const Place &place) {
      return holds(comparison.expected->number(place.global), part.value->number(place.local), place.global);
    });
  }

  std::string multiple() const {
    const Number expected = comparison.expected->number(places[0].global), has = part.value->number(places[0].local);
    if (const int64_t n = multipleOf(has, expected);
        n && all([&](const Number &e, const Number &h, size_t) { return multiply(e, fromInteger(n)).same(h); }))
      return str("it is ", n, " times what is expected: counted ", n, " times", axesOf(plan, n));
    if (const int64_t n = multipleOf(expected, has);
        n && all([&](const Number &e, const Number &h, size_t) { return multiply(h, fromInteger(n)).same(e); }))
      return str("it is 1/", n, " of what is expected: divided once too often", axesOf(plan, n));
    return "";
  }

  /// Whether the part is that of another place: the whole part is found at another offset.
  std::string elsewhere() const {
    const Number first = part.value->number(places[0].local);
    for (size_t at = 0; at < comparison.expected->count; ++at)
      if (at != places[0].global && comparison.expected->number(at).same(first)) {
        std::vector<Place> there{{0, at}};
        return str("element ", boxOf(there, comparison.shape), " is what is expected there: it is in the wrong place");
      }
    return "";
  }

  const Comparison &comparison;
  const Part &part;
  const std::vector<Place> &places;
  const artifact::Plan &plan;
};
} // namespace

/// Whether an element is infinite or no number.
static bool isUndefined(const Tensor &tensor) {
  return std::any_of(tensor.f.begin(), tensor.f.end(), [](double f) { return !std::isfinite(f); });
}

/// The elements of a part that differ.
static std::vector<Place> differences(const Comparison &comparison, const Part &part, uint64_t &compared) {
  std::vector<Place> places;
  const rt::Slice &slice = part.slice;
  int64_t rowBytes = 1; // elements of an example, where the batch is the first dimension
  for (size_t d = 1; d < comparison.shape.size(); ++d)
    rowBytes *= comparison.shape[d];
  for (const rt::BlockPiece &piece : rt::blockPieces(comparison.shape, slice.offsets, slice.sizes, slice.extents()))
    for (size_t i = 0; i < piece.count; ++i) {
      const Place place{piece.to + i, piece.from + i};
      if (comparison.batchDim == 0 && static_cast<int64_t>(place.global) / rowBytes >= comparison.validCount)
        continue; // of padding nobody asks
      ++compared;
      if (!areEqual(*part.value, place.local, *comparison.expected, place.global))
        places.push_back(place);
    }
  return places;
}

std::string dgc::verify::compare(const Comparison &comparison, const std::vector<Part> &parts,
                                 const artifact::Plan &plan, uint64_t &compared) {
  if (isUndefined(*comparison.expected))
    return comparison.what + ": the model itself gives something that is no finite number, which proves nothing";
  if (parts.empty())
    return comparison.what + ": no worker has it";
  for (const Part &part : parts) {
    if (!part.value)
      return str(comparison.what, ": ", absl::string_view(part.unreadable.message()));
    if (part.value->type != comparison.expected->type)
      return str(comparison.what, ": the plan has it as ", EnumNameType(part.value->type), ", the model as ",
                 EnumNameType(comparison.expected->type));
    const std::vector<Place> places = differences(comparison, part, compared);
    if (places.empty())
      continue;
    const std::string reason = Explanation(comparison, part, places, plan).find();
    return str(comparison.what, boxOf(places, comparison.shape), " differs on worker ", part.rank, " (", places.size(),
               " of ", static_cast<int64_t>(part.value->count), " elements)", reason.empty() ? "" : ": " + reason,
               "; written by ", part.writer);
  }
  return "";
}
