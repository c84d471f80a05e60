// Brings long bytes to rank 0.
#include "runtime/driver/Gather.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstdlib>

using namespace dgc::rt;

absl::StatusOr<std::vector<std::string>> dgc::rt::gatherLong(const GatherBytes &gather, int rank,
                                                             const std::string &mine) {
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> sizes, gather(std::to_string(mine.size())));
  size_t longest = 0;
  for (const std::string &size : sizes)
    longest = std::max<size_t>(longest, std::strtoull(size.c_str(), nullptr, 10));
  std::vector<std::string> streams(rank == 0 ? sizes.size() : 0);
  const size_t piece = std::max<size_t>((size_t{2} << 20) / sizes.size(), 1);
  for (size_t at = 0; at < longest; at += piece) {
    DGC_ASSIGN_OR_RETURN(auto pieces, gather(at < mine.size() ? mine.substr(at, piece) : std::string()));
    for (size_t r = 0; r < streams.size(); ++r)
      streams[r] += pieces[r];
  }
  return streams;
}
