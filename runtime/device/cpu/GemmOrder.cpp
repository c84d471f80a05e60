#include "runtime/device/cpu/GemmOrder.h"

#include "dnnl.hpp"

#include <algorithm>

using namespace dgc::rt;

bool dgc::rt::usesGemmForAvx2() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx2 || isa == dnnl::cpu_isa::avx2_vnni;
}

int64_t dgc::rt::threadsThatCopy(const GemmSizes &sizes) {
  const auto &[m, n, k, transposesA, transposesB] = sizes;
  if (1.0 / static_cast<double>(m) + 1.0 / static_cast<double>(n) >= 0.0038)
    return 0;
  const int64_t most = transposesA ? std::min(m, k) - 1 : std::min((m - 1) / 16, (k - 1) / 2);
  return std::max(most, std::min(n, k) / 378);
}

namespace {
/// One dimension of a result: a call computes it in blocks, and these in groups.
struct Dimension {
  int64_t extent, block, group;
};
} // namespace

/// The parts of a dimension that have a smaller group at their end alone. Up to half as much again as a block is one
/// block, and more, if it is less than two, is cut in halves.
static std::vector<IndexRange> runsOf(const Dimension &d) {
  const int64_t rest = d.extent < 2 * d.block ? d.extent : d.block + d.extent % d.block;
  const int64_t last = rest / 2;
  if (rest <= d.block + d.block / 2 || (rest - last) % d.group == 0)
    return {{0, d.extent}};
  return {{0, d.extent - last}, {d.extent - last, last}};
}

/// Where a part may begin, about at `position`. A row or a column alone would be a product by GEMV.
static int64_t cutNear(int64_t position, const std::vector<IndexRange> &runs, int64_t group) {
  const IndexRange &run = position < runs.back().begin ? runs.front() : runs.back();
  const int64_t offset = (position - run.begin + group / 2) / group * group;
  return run.begin + (offset + 2 > run.size ? run.size : offset);
}

/// Appends ranges that together are `range` of a run. A call has a run of its own for each.
static void append(GemmPart &part, IndexRange range, const Dimension &d) {
  if (runsOf({range.size, d.block, d.group}).size() > 1) {
    const int64_t whole = (range.size - d.block / 2 - 1) / d.block * d.block;
    part.push_back({range.begin, whole});
    range = {range.begin + whole, range.size - whole};
  }
  part.push_back(range);
}

/// The ranges from `begin` to `end`, where parts may begin.
static GemmPart partOf(int64_t begin, int64_t end, const std::vector<IndexRange> &runs, const Dimension &d) {
  // After whole blocks, the rest is cut as in the call for the whole dimension.
  if (end == d.extent && begin % d.block == 0 && begin <= runs.back().begin)
    return {{begin, end - begin}};
  GemmPart part;
  for (const IndexRange &run : runs) {
    const int64_t from = std::max(begin, run.begin), to = std::min(end, run.begin + run.size);
    if (from < to)
      append(part, {from, to - from}, d);
  }
  return part;
}

static std::vector<GemmPart> cut(const Dimension &d, int64_t count) {
  const std::vector<IndexRange> runs = runsOf(d);
  std::vector<GemmPart> parts;
  for (int64_t i = 1, begin = 0; i <= count; ++i) {
    const int64_t end = i == count ? d.extent : cutNear(d.extent * i / count, runs, d.group);
    if (begin < end)
      parts.push_back(partOf(begin, end, runs, d));
    begin = end;
  }
  return parts;
}

std::vector<GemmPart> dgc::rt::cutRows(const GemmSizes &sizes, int64_t count) {
  return cut({sizes.m, sizes.transposesB ? 96 : 48, 6}, count);
}

std::vector<GemmPart> dgc::rt::cutColumns(const GemmSizes &sizes, int64_t count) {
  return cut({sizes.n, 4032, 16}, count);
}
