#include "compiler/driver/MeshRange.h"
#include "runtime/artifact/PlanRange.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace dgc {

static bool isSizeRange(StringRef axis) { return axis.split('=').second.find_first_of(":+*") != StringRef::npos; }

/// The sizes of "2:4", "1+2+4:8" or "*", which ascend; none, with what is wrong with them, where they are no such text.
static std::vector<int64_t> readSizes(StringRef text, std::string &error) {
  std::vector<int64_t> sizes;
  if (text == "*") {
    append_range(sizes, seq_inclusive<int64_t>(1, MeshRange::kDefaultMax));
    return sizes;
  }
  for (StringRef part : split(text, '+')) {
    auto [first, last] = part.split(':');
    int64_t from, to;
    if (first.trim().getAsInteger(10, from) || (part.contains(':') ? last : first).trim().getAsInteger(10, to)) {
      error = "expected MIN:MAX, a list as in 1+2+4, or * for 1:8";
      return {};
    }
    if (from < 1 || to < from || (!sizes.empty() && from <= sizes.back())) {
      error = "sizes are from 1 on and ascend, as in 2:4 or 1+2+4";
      return {};
    }
    if (to - from >= rt::PlanRange::kMaxPlans - static_cast<int64_t>(sizes.size())) {
      error = "at most " + std::to_string(rt::PlanRange::kMaxPlans) + " sizes go into one artifact";
      return {};
    }
    append_range(sizes, seq_inclusive(from, to));
  }
  return sizes;
}

std::optional<MeshRange> MeshRange::parse(StringRef text, std::string &error) {
  MeshRange result;
  result.given = text.str();
  SmallVector<StringRef> axes;
  text.split(axes, ',');
  auto axis = find_if(axes, isSizeRange);
  result.isRange = axis != axes.end();
  if (!result.isRange) {
    std::optional<MeshShape> mesh = MeshShape::parse(text, error);
    if (!mesh)
      return std::nullopt;
    result.meshes = {*std::move(mesh)};
    return result;
  }
  const std::string wrong = "mesh '" + text.str() + "': ";
  if (count_if(axes, isSizeRange) > 1) {
    error = wrong + "only one axis may have several sizes; give the others one, as in data=2:4,model=2";
    return std::nullopt;
  }
  auto [name, numbers] = axis->split('=');
  result.axis = axis - axes.begin();
  const std::vector<int64_t> sizes = readSizes(numbers.trim(), error);
  if (sizes.empty()) {
    error = wrong + "axis '" + name.trim().str() + "': " + error;
    return std::nullopt;
  }
  for (int64_t size : sizes) {
    const std::string one = name.str() + "=" + std::to_string(size);
    *axis = one;
    std::optional<MeshShape> mesh = MeshShape::parse(join(axes, ","), error);
    if (!mesh)
      return std::nullopt;
    result.meshes.push_back(*std::move(mesh));
  }
  return result;
}

std::string MeshRange::without(size_t index) const {
  std::string sizes;
  auto sizeOf = [&](size_t i) { return meshes[i].axes[axis].size; };
  for (size_t first = 0, last; first < meshes.size(); first = last + 1) {
    last = first;
    if (first == index)
      continue;
    while (last + 1 < meshes.size() && last + 1 != index && sizeOf(last + 1) == sizeOf(last) + 1)
      ++last;
    sizes += (sizes.empty() ? "" : "+") + std::to_string(sizeOf(first)) +
             (last == first ? "" : ":" + std::to_string(sizeOf(last)));
  }
  std::string result;
  for (auto [i, each] : enumerate(meshes.front().axes))
    result += (i ? "," : "") + each.name + "=" + (i == axis ? sizes : std::to_string(each.size));
  return result;
}

} // namespace dgc
