// How fast devices reach each other along the axes of a mesh.
//
// Text: AXIS=LATENCY:BANDWIDTH, separated by commas, as in
// "host=20us:1.2GB/s,data=1us:20GB/s".

#ifndef DGC_PASSES_COMMUNICATE_LINKMODEL_H
#define DGC_PASSES_COMMUNICATE_LINKMODEL_H

#include "dialects/dist/Dist.h"
#include "passes/analysis/OptionTypes.h"
#include "llvm/ADT/StringMap.h"

namespace dgc {

struct Link {
  double latency;   // seconds that an operation takes at least
  double bandwidth; // bytes that a device receives per second
};

class LinkModel {
public:
  /// Nothing, with what is expected in `error`, where the text is not well formed. Empty text: nothing is known.
  static std::optional<LinkModel> parse(llvm::StringRef text, std::string &error);
  std::string text() const { return source; }
  bool empty() const { return links.empty(); }

  /// Refuses links along axes that `mesh` does not have.
  llvm::LogicalResult checkAxes(dist::MeshAttr mesh, llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  /// The slowest link along `axes`; nothing when one of them is not known.
  std::optional<Link> slowest(mlir::ArrayAttr axes) const;

  /// The bytes of an operation over `axes` beyond which to make it larger saves
  /// less than a thirty-second of its time; 0 when nothing is known.
  int64_t combineLimit(mlir::ArrayAttr axes) const;
  static int64_t combineLimit(Link link);

  /// Between processes of one host that share memory, as measured: 1 us to meet, 6.6 to 9.1 GB/s.
  static constexpr Link sameHost{1e-6, 8e9};

  /// The seconds of an all-reduce of `bytes` over `axes`, of which a ring over
  /// `members` devices is limited by the slowest link.
  static double allReduceTime(Link link, int64_t members, double bytes);
  /// Half of that: a reduce-scatter of `bytes`, or a gather to as many.
  static double scatterTime(Link link, int64_t members, double bytes);

private:
  std::string source;
  llvm::StringMap<Link> links;
};

} // namespace dgc

#endif // DGC_PASSES_COMMUNICATE_LINKMODEL_H
