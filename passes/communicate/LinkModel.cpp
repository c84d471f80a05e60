// How fast devices reach each other along the axes of a mesh.

#include "passes/communicate/LinkModel.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;

namespace dgc {

/// Reads a number and its unit; false when the unit is none of `units`.
static bool parseQuantity(StringRef text, ArrayRef<std::pair<StringRef, double>> units, double &value) {
  for (auto [unit, factor] : units) {
    StringRef number = text;
    if (!number.consume_back(unit) || number.trim().getAsDouble(value))
      continue;
    value *= factor;
    return std::isfinite(value) && value >= 0;
  }
  return false;
}

std::optional<LinkModel> LinkModel::parse(StringRef text, std::string &error) {
  LinkModel model;
  model.source = text.str();
  SmallVector<StringRef> items;
  text.split(items, ',', -1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [axis, link] = item.split('=');
    auto [latency, bandwidth] = link.split(':');
    Link parsed;
    // Longer units first: "s" ends all of them.
    bool ok = parseQuantity(latency, {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}}, parsed.latency) &&
              parseQuantity(bandwidth, {{"GB/s", 1e9}, {"MB/s", 1e6}}, parsed.bandwidth) && parsed.bandwidth > 0;
    if (!ok || axis.trim().empty()) {
      error = "'" + item.str() +
              "' is not a link: expected AXIS=LATENCY:BANDWIDTH in ns, us or ms and MB/s or GB/s, as in "
              "data=5us:10GB/s";
      return std::nullopt;
    }
    if (!model.links.try_emplace(axis.trim(), parsed).second) {
      error = "the link of axis '" + axis.trim().str() + "' is given twice";
      return std::nullopt;
    }
  }
  return model;
}

LogicalResult LinkModel::checkAxes(dist::MeshAttr mesh, llvm::function_ref<InFlightDiagnostic()> emitError) const {
  for (StringRef axis : links.keys())
    if (mesh.getAxisIndex(axis) < 0) {
      auto names = llvm::map_range(mesh.getAxes(), [](dist::MeshAxisAttr a) { return a.getName().getValue(); });
      return emitError() << "there is no axis '" << axis << "' in the mesh to have a link; it has "
                         << llvm::join(names, ", ");
    }
  return success();
}

std::optional<Link> LinkModel::slowest(ArrayAttr axes) const {
  std::optional<Link> result;
  for (auto axis : axes.getAsRange<StringAttr>()) {
    auto it = links.find(axis.getValue());
    if (it == links.end())
      return std::nullopt;
    if (!result)
      result = it->second;
    result->latency = std::max(result->latency, it->second.latency);
    result->bandwidth = std::min(result->bandwidth, it->second.bandwidth);
  }
  return result;
}

int64_t LinkModel::combineLimit(ArrayAttr axes) const {
  std::optional<Link> link = slowest(axes);
  return link ? combineLimit(*link) : 0;
}

int64_t LinkModel::combineLimit(Link link) {
  return std::max<int64_t>(1, std::llround(32 * link.latency * link.bandwidth));
}

double LinkModel::scatterTime(Link link, int64_t members, double bytes) {
  return members == 1 ? 0 : link.latency + bytes * (members - 1) / members / link.bandwidth;
}

double LinkModel::allReduceTime(Link link, int64_t members, double bytes) {
  return 2 * scatterTime(link, members, bytes);
}

} // namespace dgc
