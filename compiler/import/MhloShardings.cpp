// Reads the text of shardings of XLA.

#include "compiler/import/MhloShardings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace llvm;

namespace dgc::import {

/// Tuples in tuples.
static constexpr int kMostDepth = 8;

namespace {

/// Reads from left to right. On failure `error` says what is wrong.
class ShardingParser {
public:
  ShardingParser(StringRef text, std::string &error) : rest(text.trim()), error(error) {}
  bool parse(std::vector<MhloSharding> &all);

private:
  bool fail(const Twine &what) { return error = what.str(), false; }
  bool take(StringRef word) {
    rest = rest.ltrim();
    return rest.consume_front(word);
  }
  bool expect(StringRef word) {
    return take(word) || fail("'" + word + "' is expected before '" + rest.take_front(20) + "'");
  }
  bool parseOne(std::vector<MhloSharding> &all, int depth);
  bool parseBody(MhloSharding &sharding);
  bool parseTile(MhloSharding &sharding);
  bool parseLastDims(MhloSharding &sharding);
  bool parseDevices(MhloSharding &sharding);
  bool parseEnd(MhloSharding &sharding);
  bool parseNumbers(std::vector<int64_t> &numbers, StringRef end);
  bool skipBraces();

  StringRef rest;
  std::string &error;
};

} // namespace

/// `1,2,3` and the end.
bool ShardingParser::parseNumbers(std::vector<int64_t> &numbers, StringRef end) {
  do {
    int64_t number = 0;
    rest = rest.ltrim();
    if (rest.consumeInteger(10, number) || number < 0 || number > kMostDevices)
      return fail("a number is expected before '" + rest.take_front(20) + "'");
    numbers.push_back(number);
  } while (take(","));
  return end.empty() || expect(end);
}

/// The product of numbers from 1 on; 0 where it is too large.
static int64_t productOf(ArrayRef<int64_t> numbers) {
  int64_t product = 1;
  for (const int64_t number : numbers)
    if (number < 1 || MulOverflow(product, number, product) || product > kMostDevices)
      return 0;
  return product;
}

/// Adds the devices `iota.reshape(dims).transpose(order)`.
static void addDevices(ArrayRef<int64_t> dims, ArrayRef<int64_t> order, std::vector<int64_t> &devices) {
  SmallVector<int64_t> strides(dims.size(), 1), index(dims.size(), 0);
  for (size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = strides[d] * dims[d];
  const int64_t count = productOf(dims);
  for (int64_t i = 0; i < count; ++i) {
    int64_t device = 0;
    for (auto [position, dim] : llvm::enumerate(order))
      device += index[position] * strides[dim];
    devices.push_back(device);
    for (size_t position = order.size(); position-- > 0 && ++index[position] == dims[order[position]];)
      index[position] = 0;
  }
}

/// What follows `devices=[..]`: `<=[2,2]T(1,0)` or a list.
bool ShardingParser::parseDevices(MhloSharding &sharding) {
  const int64_t count = productOf(sharding.tile);
  if (count == 0)
    return fail("its parts are none, or more than " + Twine(kMostDevices));
  if (!take("<=")) {
    if (!parseNumbers(sharding.devices, ""))
      return false;
  } else {
    std::vector<int64_t> dims, order;
    if (!expect("[") || !parseNumbers(dims, "]") || (take("T") && (!expect("(") || !parseNumbers(order, ")"))))
      return false;
    if (order.empty())
      for (size_t d = 0; d < dims.size(); ++d)
        order.push_back(static_cast<int64_t>(d));
    std::vector<int64_t> sorted = order;
    llvm::sort(sorted);
    for (auto [position, dim] : llvm::enumerate(sorted))
      if (sorted.size() != dims.size() || dim != static_cast<int64_t>(position))
        return fail("T(..) is no order of the dimensions before it");
    if (productOf(dims) != count)
      return fail("it has " + Twine(count) + " parts, and " + Twine(productOf(dims)) + " devices");
    addDevices(dims, order, sharding.devices);
  }
  return static_cast<int64_t>(sharding.devices.size()) == count ||
         fail("it has " + Twine(count) + " parts, and " + Twine(sharding.devices.size()) + " devices");
}

/// Skips `{..}` with what is in it, behind the first brace.
bool ShardingParser::skipBraces() {
  for (int depth = 1; depth > 0; rest = rest.drop_front()) {
    if (rest.empty())
      return fail("a '}' is expected at the end");
    depth += rest.front() == '{' ? 1 : rest.front() == '}' ? -1 : 0;
  }
  return true;
}

/// What the last parts are that no dimension has: `{manual, replicated}`, behind the brace.
bool ShardingParser::parseLastDims(MhloSharding &sharding) {
  std::vector<bool> areManual;
  do {
    areManual.push_back(take("manual"));
    if (!areManual.back() && !take("replicated"))
      return fail("'" + rest.take_until([](char c) { return c == ',' || c == '}'; }) +
                  "' in last_tile_dims: values that are on some devices alone are not supported");
  } while (take(","));
  if (areManual.size() > sharding.rank)
    return fail("it has fewer dimensions than last_tile_dims");
  if (llvm::count(areManual, true) > 1)
    return fail("last_tile_dims has manual twice");
  sharding.rank -= areManual.size();
  if (auto found = llvm::find(areManual, true); found != areManual.end())
    sharding.manual = sharding.rank + (found - areManual.begin());
  return expect("}");
}

/// `devices=[2,1,2]<=[4] last_tile_dim_replicate` or `.. last_tile_dims={replicated}`, behind the first bracket.
bool ShardingParser::parseTile(MhloSharding &sharding) {
  sharding.kind = MhloSharding::Kind::Tiled;
  if (!parseNumbers(sharding.tile, "]") || !parseDevices(sharding))
    return false;
  sharding.rank = sharding.tile.size();
  if (take("last_tile_dims={"))
    return parseLastDims(sharding);
  if (take("last_tile_dim_replicate"))
    --sharding.rank;
  return true;
}

bool ShardingParser::parseBody(MhloSharding &sharding) {
  if (take("devices=["))
    return parseTile(sharding);
  if (take("replicated"))
    return true;
  if (take("unknown")) {
    sharding.kind = MhloSharding::Kind::Unknown;
    return true;
  }
  if (take("maximal"))
    return fail("the value is on one device, and the others do not have it: a mesh has no such sharding");
  if (take("manual")) {
    sharding.kind = MhloSharding::Kind::Manual;
    return true;
  }
  return fail("'" + rest.take_front(20) + "' is not known; replicated or devices=[..] is expected");
}

/// The end of a sharding, with what says nothing of the devices.
bool ShardingParser::parseEnd(MhloSharding &) {
  if (take("metadata={") && !skipBraces())
    return false;
  if (rest.ltrim().starts_with("shard_"))
    return fail("'" + rest.ltrim().take_front(10) + "', a sharding as that of another value, is not supported");
  return expect("}");
}

bool ShardingParser::parseOne(std::vector<MhloSharding> &all, int depth) {
  if (depth > kMostDepth)
    return fail("tuples are too deep");
  if (!expect("{"))
    return false;
  if (!rest.ltrim().starts_with("{") && !rest.ltrim().starts_with("/*"))
    return parseBody(all.emplace_back()) && parseEnd(all.back());
  do {
    if (take("/*")) // `/*index=5*/`
      rest = rest.split("*/").second;
    if (!parseOne(all, depth + 1))
      return false;
  } while (take(","));
  return expect("}");
}

bool ShardingParser::parse(std::vector<MhloSharding> &all) {
  return parseOne(all, 0) && (rest.trim().empty() || fail("'" + rest.take_front(20) + "' is behind the end"));
}

bool MhloSharding::isCut() const {
  return llvm::any_of(ArrayRef(tile).take_front(rank), [](int64_t parts) { return parts > 1; });
}

std::optional<std::vector<MhloSharding>> parseMhloShardings(StringRef text, std::string &error) {
  std::vector<MhloSharding> all;
  return ShardingParser(text, error).parse(all) ? std::optional(std::move(all)) : std::nullopt;
}

/// Splits the devices of the parts of one dimension, relative to the first, into digits. False where they have no such order.
static bool split(ArrayRef<int64_t> devices, std::vector<MhloDigit> &digits) {
  if (devices.size() == 1)
    return devices[0] == 0;
  const auto count = static_cast<int64_t>(devices.size());
  const int64_t stride = devices[1];
  for (int64_t size = count; stride > 0 && size > 1; --size) {
    bool fits = count % size == 0;
    for (int64_t i = 0; fits && i < count; ++i)
      fits = devices[i] == devices[i / size * size] + i % size * stride;
    if (!fits)
      continue;
    SmallVector<int64_t> major;
    for (int64_t i = 0; i < count; i += size)
      major.push_back(devices[i]);
    const bool isSplit = split(major, digits);
    digits.push_back({stride, size});
    return isSplit;
  }
  return false;
}

/// Whether each device is there once, and where it is the sum of what each dimension adds.
static bool areSums(const MhloSharding &sharding, ArrayRef<SmallVector<int64_t>> added) {
  std::vector<bool> seen(sharding.devices.size());
  for (auto [i, device] : llvm::enumerate(sharding.devices)) {
    int64_t sum = 0, rest = static_cast<int64_t>(i);
    for (size_t d = sharding.tile.size(); d-- > 0; rest /= sharding.tile[d])
      sum += added[d][rest % sharding.tile[d]];
    if (sum != device || device >= static_cast<int64_t>(seen.size()) || seen[device])
      return false;
    seen[device] = true;
  }
  return true;
}

std::optional<std::vector<std::vector<MhloDigit>>> digitsOf(const MhloSharding &sharding, std::string &error) {
  SmallVector<SmallVector<int64_t>> added; // by each part of each dimension
  auto stride = static_cast<int64_t>(sharding.devices.size());
  for (const int64_t size : sharding.tile) {
    stride /= size;
    for (int64_t i = added.emplace_back().size(); i < size; ++i)
      added.back().push_back(sharding.devices[i * stride]);
  }
  std::vector<std::vector<MhloDigit>> digits(sharding.rank);
  bool isOrder = areSums(sharding, added);
  for (size_t d = 0; isOrder && d < sharding.rank; ++d)
    isOrder = split(added[d], digits[d]);
  if (isOrder && sharding.manual)
    isOrder = split(added[*sharding.manual], digits.emplace_back());
  if (isOrder)
    return digits;
  error = "its devices are in an order that no mesh has";
  return std::nullopt;
}

std::optional<std::vector<MhloDigit>> digitsOf(ArrayRef<int64_t> group, int64_t count) {
  if (group.empty() || llvm::any_of(group, [&](int64_t device) { return device < 0 || device >= count; }))
    return std::nullopt;
  SmallVector<int64_t> devices;
  for (const int64_t device : group)
    devices.push_back(device - group[0]);
  std::vector<MhloDigit> digits;
  return split(devices, digits) ? std::optional(std::move(digits)) : std::nullopt;
}

} // namespace dgc::import
