#include "runtime/verify/Explain.h"

#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

namespace {
/// Axes of the mesh, as bits of their numbers, and how many workers they span.
struct AxisSet {
  uint32_t bits = 0;
  int64_t size = 1;
};

class Explanation {
public:
  Explanation(const Comparison &comparison, std::span<const Part> parts, size_t number,
              std::span<const ElementPair> pairs, const artifact::Plan &plan)
      : comparison(comparison), parts(parts), part(parts[number]), pairs(pairs), plan(plan) {}

  std::string find() const {
    if (part.value->isFloat())
      for (auto reason :
           {&Explanation::undefined, &Explanation::zero, &Explanation::unchanged, &Explanation::negated,
            &Explanation::multiple, &Explanation::ofWholeBatch, &Explanation::contribution, &Explanation::partOfAnother,
            &Explanation::otherValue, &Explanation::shifted, &Explanation::scaled})
        if (std::string text = (this->*reason)(); !text.empty())
          return text;
    return replicas();
  }

private:
  /// The elements of a value, or how far those of a variable moved in the run.
  struct View {
    bool isUpdate = false;
    const char *subject() const { return isUpdate ? "its update is " : "it is "; }
    const char *expected() const { return isUpdate ? " the expected one" : " the expected value"; }
  };
  std::vector<View> views() const {
    return comparison.before ? std::vector<View>{{false}, {true}} : std::vector<View>{{false}};
  }
  Number expectedAt(View view, size_t global) const { return of(view, comparison.expected->number(global), global); }
  Number has(View view, const ElementPair &at) const { return of(view, part.value->number(at.local), at.global); }
  Number of(View view, const Number &x, size_t global) const {
    return view.isUpdate ? subtract(x, comparison.before->number(global)) : x;
  }

  /// Whether `holds` does for the expected number and the one that is there, of each element.
  template <typename F> bool all(View view, F &&holds) const {
    return std::all_of(pairs.begin(), pairs.end(),
                       [&](const ElementPair &pair) { return holds(expectedAt(view, pair.global), has(view, pair)); });
  }
  bool allHave(const Tensor &tensor) const {
    return std::all_of(pairs.begin(), pairs.end(), [&](const ElementPair &pair) {
      return part.value->number(pair.local).same(tensor.number(pair.global));
    });
  }

  std::string undefined() const {
    const bool isNone = all({}, [](const Number &, const Number &x) { return !std::isfinite(x.f); });
    return isNone ? "it is no finite number: memory that nobody wrote, as padding, went into it" : "";
  }

  std::string zero() const {
    const Number zero;
    if (all({}, [&](const Number &, const Number &x) { return x.same(zero); }))
      return "it is 0: nothing was added, or it was masked";
    if (all({}, [&](const Number &expected, const Number &) { return expected.same(zero); }))
      return str("expected 0 at ", boxOf(pairs, comparison.shape), ": padding is not masked");
    return "";
  }

  std::string unchanged() const {
    return comparison.before && allHave(*comparison.before) ? "it has the value from before the run: it was not updated"
                                                            : "";
  }

  std::string negated() const {
    for (View view : views())
      if (all(view, [](const Number &expected, const Number &x) { return negate(expected).same(x); }))
        return str(view.subject(), "minus", view.expected());
    return "";
  }

  /// Sets of axes by size: single ones first.
  std::vector<AxisSet> axisSets() const {
    const uint32_t n = plan.mesh() ? std::min<uint32_t>(plan.mesh()->size(), 8) : 0;
    std::vector<AxisSet> sets;
    for (uint32_t bits = 1; bits < 1U << n; ++bits) {
      AxisSet set{bits, 1};
      for (uint32_t axis = 0; axis < n; ++axis)
        if (bits >> axis & 1)
          set.size *= plan.mesh()->Get(axis)->size();
      if (set.size > 1)
        sets.push_back(set);
    }
    std::stable_sort(sets.begin(), sets.end(),
                     [](const AxisSet &a, const AxisSet &b) { return std::popcount(a.bits) < std::popcount(b.bits); });
    return sets;
  }

  /// "the 3 ranks of `data`".
  std::string nameOf(const AxisSet &set) const {
    std::vector<std::string> names;
    for (uint32_t axis = 0; set.bits >> axis; ++axis)
      if (set.bits >> axis & 1)
        names.push_back(str("`", plan.mesh()->Get(axis)->name()->str(), "`"));
    return str("the ", set.size, " ranks of ", absl::StrJoin(names, " and "));
  }

  /// "the 3 ranks of `data`" for the axes that have so many; "" where none has.
  std::string ranksOf(int64_t size) const {
    for (const AxisSet &set : axisSets())
      if (set.size == size)
        return nameOf(set);
    return "";
  }

  std::string multiple() const {
    for (View view : views())
      for (int64_t n = 2; n <= 64; ++n) {
        const Number times = fromInteger(n);
        const std::string ranks = ranksOf(n);
        if (all(view, [&](const Number &e, const Number &x) { return multiply(e, times).same(x); }))
          return str(view.subject(), n == 2 ? "twice" : str(n, " times"), view.expected(), ": ",
                     ranks.empty() ? str("added up ", n, " times") : "counted by " + ranks);
        if (all(view, [&](const Number &e, const Number &x) { return multiply(x, times).same(e); }))
          return str(view.subject(), n == 2 ? "half" : str("1/", n, " of"), view.expected(), ": ",
                     ranks.empty()
                         ? str("divided by ", n, " once too often, or 1 of ", n, " parts is there")
                         : str("divided once too often by the number of ranks, or not added up over ", ranks));
      }
    return "";
  }

  /// A mean over all examples of a batch of which some are no examples.
  std::string ofWholeBatch() const {
    const auto batch = static_cast<int64_t>(plan.global_batch());
    if (comparison.validCount == batch)
      return "";
    const Number whole = fromInteger(batch), valid = fromInteger(comparison.validCount);
    for (View view : views())
      if (all(view, [&](const Number &e, const Number &x) { return multiply(x, whole).same(multiply(e, valid)); }))
        return str(view.subject(), "divided by the ", batch, " examples of the batch, of which ", comparison.validCount,
                   " are real");
    return "";
  }

  /// The parts of the ranks that differ from this one in their position along the axes alone; none where one of them has
  /// another slice.
  std::vector<const Part *> along(const AxisSet &set) const {
    const std::vector<uint32_t> mine = rt::meshPosition(plan, part.rank);
    std::vector<const Part *> found;
    for (const Part &other : parts) {
      const std::vector<uint32_t> its = rt::meshPosition(plan, other.rank);
      bool isAlong = other.value && other.slice == part.slice;
      for (uint32_t axis = 0; axis < mine.size(); ++axis)
        isAlong &= (set.bits >> axis & 1) || mine[axis] == its[axis];
      if (isAlong)
        found.push_back(&other);
    }
    return static_cast<int64_t>(found.size()) == set.size ? found : std::vector<const Part *>();
  }

  /// What ranks have adds up to what is expected: each has its own contribution.
  std::string contribution() const {
    for (View view : views())
      for (const AxisSet &set : axisSets()) {
        const std::vector<const Part *> group = along(set);
        if (group.empty())
          continue;
        auto isSum = [&](int64_t times) {
          return std::all_of(pairs.begin(), pairs.end(), [&](const ElementPair &pair) {
            Number sum;
            for (const Part *each : group)
              sum = add(sum, of(view, each->value->number(pair.local), pair.global));
            return sum.same(multiply(expectedAt(view, pair.global), fromInteger(times)));
          });
        };
        for (int64_t times : {int64_t{1}, set.size})
          if (isSum(times))
            return str(view.subject(), "the contribution of this rank alone: the ", times == 1 ? "sum" : "mean",
                       " over ", nameOf(set), " is what is expected, and is not taken");
      }
    return "";
  }

  /// Where the elements of another part are in the whole.
  std::vector<size_t> globalsOf(const rt::Slice &slice, size_t count) const {
    std::vector<size_t> globals(count, SIZE_MAX);
    for (const rt::BlockPiece &piece : rt::blockPieces(comparison.shape, slice.offsets, slice.sizes, slice.extents()))
      for (size_t i = 0; i < piece.count; ++i)
        globals[piece.to + i] = piece.from + i;
    return globals;
  }

  std::string partOfAnother() const {
    for (const Part &other : parts) {
      if (other.slice == part.slice || other.slice.extents() != part.slice.extents())
        continue;
      const std::vector<size_t> globals = globalsOf(other.slice, part.value->count);
      const bool isThat = std::all_of(pairs.begin(), pairs.end(), [&](const ElementPair &pair) {
        const size_t global = globals[pair.local];
        return global != SIZE_MAX && comparison.expected->number(global).same(part.value->number(pair.local));
      });
      if (isThat)
        return str("it is the part that worker ", other.rank, " should have");
    }
    return "";
  }

  std::string otherValue() const {
    for (const auto &[name, tensor] : comparison.others)
      if (tensor != comparison.expected && tensor->isFloat() && tensor->count == comparison.expected->count &&
          allHave(*tensor))
        return str("it is what ", name, " should be");
    return "";
  }

  /// Whether the elements are there, at other indices.
  std::string shifted() const {
    const Number first = part.value->number(pairs[0].local);
    const Tensor &expected = *comparison.expected;
    std::string one;
    for (size_t at = 0; at < expected.count; ++at) {
      if (at == pairs[0].global || !expected.number(at).same(first))
        continue;
      const std::vector<ElementPair> there{{0, at}};
      if (one.empty())
        one = str("element ", boxOf(pairs.first(1), comparison.shape), " has what is expected at ",
                  boxOf(there, comparison.shape), ": it is in the wrong place");
      const size_t shift = at - pairs[0].global; // modulo 2^64
      const bool isShift = pairs.size() > 1 && std::all_of(pairs.begin(), pairs.end(), [&](const ElementPair &pair) {
                             const size_t from = pair.global + shift;
                             return from < expected.count && expected.number(from).same(part.value->number(pair.local));
                           });
      if (isShift)
        return str("each element has what is expected ", std::abs(static_cast<int64_t>(shift)), " elements ",
                   static_cast<int64_t>(shift) > 0 ? "further" : "before", ": it is in the wrong place");
    }
    return one;
  }

  /// One factor for several elements.
  std::string scaled() const {
    if (pairs.size() < 2)
      return "";
    for (View view : views()) {
      const Number e0 = expectedAt(view, pairs[0].global), x0 = has(view, pairs[0]);
      if (all(view, [&](const Number &e, const Number &x) { return multiply(e, x0).same(multiply(x, e0)); }))
        return str(view.subject(), "a constant times", view.expected(), ", about ", x0.f / e0.f);
    }
    return "";
  }

  /// Whether workers that should have the same do not.
  std::string replicas() const {
    for (const Part &other : parts) {
      if (!other.value || other.slice != part.slice || other.value->type != part.value->type)
        continue;
      const bool differs = std::any_of(pairs.begin(), pairs.end(), [&](const ElementPair &pair) {
        return part.value->isFloat() ? !part.value->number(pair.local).same(other.value->number(pair.local))
                                     : part.value->i[pair.local] != other.value->i[pair.local];
      });
      if (!differs)
        continue;
      const std::vector<uint32_t> mine = rt::meshPosition(plan, part.rank), its = rt::meshPosition(plan, other.rank);
      std::string axes;
      for (uint32_t axis = 0; axis < mine.size(); ++axis)
        if (mine[axis] != its[axis])
          axes += str(axes.empty() ? " over `" : " and `", plan.mesh()->Get(axis)->name()->str(), "`");
      return str("worker ", other.rank,
                 ", which should have the same, has something else: what they computed was not "
                 "combined",
                 axes);
    }
    return "";
  }

  const Comparison &comparison;
  std::span<const Part> parts;
  const Part &part;
  std::span<const ElementPair> pairs;
  const artifact::Plan &plan;
};
} // namespace

std::string dgc::verify::explain(const Comparison &comparison, std::span<const Part> parts, size_t number,
                                 std::span<const ElementPair> pairs, const artifact::Plan &plan) {
  return Explanation(comparison, parts, number, pairs, plan).find();
}
