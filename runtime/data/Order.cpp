// Permutations and step counts.
#include "runtime/data/Order.h"

#include "runtime/base/Philox.h"

#include <numeric>
#include <utility>

using namespace dgc::rt;

void dgc::rt::permute(std::vector<uint32_t> &order, uint32_t count, uint64_t seed, uint64_t epoch) {
  order.resize(count);
  std::iota(order.begin(), order.end(), 0u);
  Philox stream(seed, kOrderStream + epoch);
  for (uint32_t i = count; i-- > 1;) {
    auto scaled = static_cast<unsigned __int128>(stream.bits64(i)) * (i + 1);
    std::swap(order[i], order[static_cast<uint32_t>(scaled >> 64)]);
  }
}

int64_t dgc::rt::stepsPerEpoch(int64_t samples, int64_t globalBatch, LastBatch last) {
  int64_t extra = last == LastBatch::Weight ? globalBatch - 1 : 0;
  return (samples + extra) / globalBatch;
}
