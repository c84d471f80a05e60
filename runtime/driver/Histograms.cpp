// Counts the variables of all workers.
#include "runtime/driver/Histograms.h"

#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"
#include "runtime/driver/Gather.h"

using namespace dgc;
using namespace dgc::rt;

/// A line for each variable: what is counted, a tab, its name.
static std::string countShare(const artifact::Plan &plan, const Executor &executor, uint32_t rank) {
  std::string lines;
  std::vector<std::byte> copy;
  for (const VariableView &part : shareOf(plan, executor, rank)) {
    ValueHistogram histogram;
    const std::span<const std::byte> elements = elementsOf(part, copy);
    for (int64_t i = 0; i < part.slice.numElements(); ++i)
      histogram.add(loadElement(part.dtype, elements.data(), i));
    lines += str(histogram.text(), "\t", part.name, "\n");
  }
  return lines;
}

absl::StatusOr<std::map<std::string, ValueHistogram>>
dgc::rt::variableHistograms(const Artifact &artifact, Executor &executor, const WorkerContext &context) {
  DGC_RETURN_IF_ERROR(executor.downloadVariables());
  const int rank = context.transport.rank();
  DGC_ASSIGN_OR_RETURN(
      const std::vector<std::string> counted,
      gatherLong(context.gather, rank, countShare(artifact.plan(), executor, static_cast<uint32_t>(rank))));
  std::map<std::string, ValueHistogram> all;
  for (const std::string &lines : counted)
    for (size_t at = 0; at < lines.size();) {
      const size_t end = lines.find('\n', at), tab = lines.find('\t', at);
      ValueHistogram part;
      if (end == std::string::npos || tab >= end || !part.restore(std::string_view(lines).substr(at, tab - at)))
        return absl::DataLossError("--tensorboard-histograms: what a worker has counted is not whole");
      all[lines.substr(tab + 1, end - tab - 1)].merge(part);
      at = end + 1;
    }
  return all;
}
