#include "ExpectedResults.h"

#include "absl/strings/str_cat.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace dgc::rt::test {

namespace {

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Bytes of element `i` of `rank`. Small values, no symmetry between ranks or
// positions; floats whose sums round, so that another order of additions shows.
void element(DType type, int rank, uint64_t i, std::byte *out) {
  uint64_t bits = mix(i * 64 + rank + 1);
  static constexpr double kScales[16] = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1,
                                         1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7};
  double real = (static_cast<double>(bits % 20001) - 10000) / 7.0 * kScales[bits >> 60];
  auto put = [&](auto v) { std::memcpy(out, &v, sizeof(v)); };
  switch (type) {
  case DType::I1:
    return put(static_cast<uint8_t>(bits & 1));
  case DType::I8:
  case DType::U8:
    return put(static_cast<uint8_t>(bits));
  case DType::I16:
  case DType::U16:
    return put(static_cast<uint16_t>(bits));
  case DType::I32:
  case DType::U32:
    return put(static_cast<uint32_t>(bits));
  case DType::I64:
  case DType::U64:
    return put(bits);
  case DType::F16:
    return put(toF16(static_cast<float>(std::fmod(real, 16.0))));
  case DType::BF16:
    return put(toBF16(static_cast<float>(real)));
  case DType::F32:
    return put(static_cast<float>(real));
  case DType::F64:
    return put(real);
  }
}

template <class T> T combine(Reduction r, T a, T b) {
  // Small integers are computed as int, in which their product could overflow.
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  switch (r) {
  case Reduction::Sum:
    return static_cast<T>(Wide(a) + Wide(b));
  case Reduction::Product:
    return static_cast<T>(Wide(a) * Wide(b));
  case Reduction::Max:
    return a > b ? a : b;
  default:
    return a < b ? a : b;
  }
}

/// Neighbours, then what neighbours gave; the last one waits where their number is odd.
template <class T> T inPairs(Reduction r, std::vector<T> values) {
  while (values.size() > 1) {
    std::vector<T> next;
    for (size_t k = 0; k + 1 < values.size(); k += 2)
      next.push_back(static_cast<T>(combine<T>(r, values[k], values[k + 1])));
    if (values.size() % 2)
      next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

template <class T> void reduceAs(Reduction r, const std::vector<const std::byte *> &in, std::byte *out) {
  std::vector<T> values(in.size());
  for (size_t k = 0; k < in.size(); ++k)
    std::memcpy(&values[k], in[k], sizeof(T));
  const T all = inPairs(r, values);
  std::memcpy(out, &all, sizeof(T));
}

template <class From, class To>
void reduceHalf(Reduction r, const std::vector<const std::byte *> &in, std::byte *out, From from, To to) {
  std::vector<float> values;
  uint16_t bits;
  for (const std::byte *each : in) {
    std::memcpy(&bits, each, 2);
    values.push_back(from(bits));
  }
  bits = to(inPairs(r, values));
  std::memcpy(out, &bits, 2);
}

void reduceElement(DType type, Reduction r, const std::vector<const std::byte *> &in, std::byte *out) {
  switch (type) {
  case DType::I1: {
    bool any = false, all = true;
    for (const std::byte *b : in) {
      any |= *b != std::byte{0};
      all &= *b != std::byte{0};
    }
    *out = std::byte(r == Reduction::Sum || r == Reduction::Max ? any : all);
    return;
  }
  case DType::I8:
    return reduceAs<int8_t>(r, in, out);
  case DType::I16:
    return reduceAs<int16_t>(r, in, out);
  // Signed overflow wraps by definition; unsigned arithmetic gives the same
  // bits for sum and product.
  case DType::I32:
    return r <= Reduction::Product ? reduceAs<uint32_t>(r, in, out) : reduceAs<int32_t>(r, in, out);
  case DType::I64:
    return r <= Reduction::Product ? reduceAs<uint64_t>(r, in, out) : reduceAs<int64_t>(r, in, out);
  case DType::U8:
    return reduceAs<uint8_t>(r, in, out);
  case DType::U16:
    return reduceAs<uint16_t>(r, in, out);
  case DType::U32:
    return reduceAs<uint32_t>(r, in, out);
  case DType::U64:
    return reduceAs<uint64_t>(r, in, out);
  case DType::F16:
    return reduceHalf(r, in, out, fromF16, toF16);
  case DType::BF16:
    return reduceHalf(r, in, out, fromBF16, toBF16);
  case DType::F32:
    return reduceAs<float>(r, in, out);
  case DType::F64:
    return reduceAs<double>(r, in, out);
  }
}

} // namespace

std::string sourceOf(const CollectiveDesc &d, int rank) {
  size_t size = sizeOf(d.dtype);
  std::string bytes(d.srcCount * size, '\0');
  for (uint64_t i = 0; i < d.srcCount; ++i)
    element(d.dtype, rank, i, reinterpret_cast<std::byte *>(bytes.data()) + i * size);
  return bytes;
}

std::string expected(const CollectiveDesc &d, int rank) {
  size_t size = sizeOf(d.dtype), n = d.group.size(), m = 0;
  std::vector<std::string> src;
  for (size_t j = 0; j < n; ++j) {
    src.push_back(sourceOf(d, d.group[j]));
    if (d.group[j] == static_cast<uint32_t>(rank))
      m = j;
  }
  std::string out(d.dstCount * size, '\0');
  switch (d.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::ReduceScatter: {
    uint64_t first = d.kind == CollectiveKind::ReduceScatter ? m * d.dstCount : 0;
    std::vector<const std::byte *> in(n);
    for (uint64_t i = 0; i < d.dstCount; ++i) {
      for (size_t j = 0; j < n; ++j)
        in[j] = reinterpret_cast<std::byte *>(src[j].data()) + (first + i) * size;
      reduceElement(d.dtype, d.reduction, in, reinterpret_cast<std::byte *>(out.data()) + i * size);
    }
    return out;
  }
  case CollectiveKind::AllGather:
    out.clear();
    for (size_t j = 0; j < n; ++j)
      out += src[j];
    return out;
  case CollectiveKind::AllToAll: {
    size_t part = src[0].size() / n;
    out.clear();
    for (size_t j = 0; j < n; ++j)
      out += src[j].substr(m * part, part);
    return out;
  }
  case CollectiveKind::Broadcast:
    return src[d.root];
  case CollectiveKind::Permute:
    for (size_t j = 0; j < n; ++j)
      if (d.permutation[j] == m)
        return src[j];
    return out;
  }
  return out;
}

std::string perform(Transport &t, const CollectiveDesc &d, int repeat) {
  auto op = t.prepare(d);
  if (!op.ok())
    return absl::StrCat("error: ", op.status().ToString());
  const std::string src = sourceOf(d, t.rank());
  std::string result;
  for (int i = 0; i < repeat; ++i) {
    std::byte *arena = t.sharedArena().data();
    // Only this member's own buffers: others may still be reading theirs.
    std::memset(arena + d.dst, 0xA5, d.dstCount * sizeOf(d.dtype));
    std::memcpy(arena + d.src, src.data(), src.size());
    if (absl::Status s = (*op)->run(); !s.ok())
      return absl::StrCat("error: ", s.ToString());
    std::string now(reinterpret_cast<char *>(arena + d.dst), d.dstCount * sizeOf(d.dtype));
    if (i && now != result)
      return absl::StrCat("error: repetition ", i, " gave other bits");
    result = now;
  }
  return result;
}

std::vector<uint32_t> everyone(int worldSize) {
  std::vector<uint32_t> group(worldSize);
  std::iota(group.begin(), group.end(), 0);
  return group;
}

CollectiveDesc describe(CollectiveKind kind, DType type, std::vector<uint32_t> group, uint64_t k) {
  CollectiveDesc d;
  d.kind = kind;
  d.dtype = type;
  d.group = std::move(group);
  uint64_t n = d.group.size();
  bool srcWhole = kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll;
  bool dstWhole = kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll;
  d.srcCount = srcWhole ? n * k : k;
  d.dstCount = dstWhole ? n * k : k;
  d.src = 64;
  d.dst = (64 + d.srcCount * sizeOf(type) + 63) / 64 * 64;
  if (kind == CollectiveKind::Permute) // a rotation of which the last member
                                       // takes no part
    for (uint64_t m = 0; m < n; ++m)
      d.permutation.push_back(m + 1 < n ? (m + 1) : CollectiveDesc::kNoRank);
  if (kind == CollectiveKind::Broadcast)
    d.root = n - 1;
  return d;
}

TransportOptions options(uint64_t bytes) {
  TransportOptions o;
  o.sharedBytes = bytes;
  o.timeoutSeconds = 20;
  return o;
}

std::string brief(const std::string &bytes) {
  return bytes.starts_with("error") ? bytes : absl::StrCat(bytes.size(), " bytes");
}

} // namespace dgc::rt::test
