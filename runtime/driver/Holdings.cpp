#include "runtime/driver/Holdings.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace dgc;
using namespace dgc::rt;

namespace {

/// Numbers and texts one after the other.
class TextReader {
public:
  explicit TextReader(std::string_view text) : rest(text) {}
  bool atEnd() const { return rest.empty(); }

  template <typename T> bool number(T &value) {
    if (rest.size() < sizeof value)
      return false;
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return true;
  }
  bool text(std::string &value) {
    uint64_t bytes = 0;
    if (!number(bytes) || bytes > rest.size())
      return false;
    value = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return true;
  }

private:
  std::string_view rest;
};

} // namespace

std::optional<size_t> HeldCopies::slotOf(uint32_t of, int64_t step) const {
  for (const auto &[owner, steps] : {std::pair(rank, &own), std::pair(before(), &other)})
    if (owner == of)
      if (const auto found = std::find(steps->begin(), steps->end(), step); found != steps->end())
        return found - steps->begin();
  return std::nullopt;
}

bool HeldCopies::any() const {
  for (const std::array<int64_t, 2> *steps : {&own, &other})
    for (const int64_t step : *steps)
      if (step >= 0)
        return true;
  return false;
}

std::string dgc::rt::toText(const std::vector<HeldCopies> &held) {
  std::string text;
  auto add = [&](const auto &value) { text.append(reinterpret_cast<const char *>(&value), sizeof value); };
  for (const HeldCopies &each : held) {
    add(each.generation);
    add(each.world);
    add(each.rank);
    for (const std::array<int64_t, 2> *steps : {&each.own, &each.other})
      for (const int64_t step : *steps)
        add(step);
    for (const std::string &of : each.texts) {
      add(uint64_t{of.size()});
      text += of;
    }
  }
  return text;
}

std::optional<std::vector<HeldCopies>> dgc::rt::heldCopiesOf(std::string_view text) {
  std::vector<HeldCopies> held;
  for (TextReader reader(text); !reader.atEnd();) {
    HeldCopies &each = held.emplace_back();
    if (!reader.number(each.generation) || !reader.number(each.world) || !reader.number(each.rank) ||
        each.rank >= each.world)
      return std::nullopt;
    for (std::array<int64_t, 2> *steps : {&each.own, &each.other})
      for (int64_t &step : *steps)
        if (!reader.number(step))
          return std::nullopt;
    for (std::string &of : each.texts)
      if (!reader.text(of))
        return std::nullopt;
  }
  return held;
}

absl::StatusOr<std::optional<WholeCopy>> dgc::rt::newestWhole(const std::vector<std::string> &said) {
  std::vector<std::vector<HeldCopies>> held;                                    // by rank
  std::set<std::tuple<int64_t, uint32_t, uint32_t>, std::greater<>> candidates; // step, generation, world
  for (const std::string &each : said) {
    std::optional<std::vector<HeldCopies>> read = heldCopiesOf(each);
    if (!read)
      return absl::InternalError("a worker says of its copies what is no such text");
    for (const HeldCopies &of : *read)
      for (const std::array<int64_t, 2> *steps : {&of.own, &of.other})
        for (const int64_t step : *steps)
          if (step >= 0)
            candidates.insert({step, of.generation, of.world});
    held.push_back(*std::move(read));
  }
  for (const auto &[step, generation, world] : candidates) {
    WholeCopy whole{generation, world, step, {}, {}};
    // Of those that have a share, the first one that made it itself, so that copies travel little.
    for (uint32_t of = 0; of < world && whole.holders.size() == of; ++of)
      for (const bool isOwn : {true, false}) {
        for (uint32_t rank = 0; rank < held.size() && whole.holders.size() == of; ++rank)
          for (const HeldCopies &copies : held[rank])
            if (copies.generation == generation && copies.world == world && (copies.rank == of) == isOwn)
              if (const std::optional<size_t> slot = copies.slotOf(of, step)) {
                whole.holders.push_back(rank);
                if (of == 0)
                  whole.text = copies.texts[*slot];
                break;
              }
      }
    if (whole.holders.size() == world)
      return whole;
  }
  return std::optional<WholeCopy>();
}
