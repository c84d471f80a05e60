#include "compiler/import/onnx/Window.h"

using namespace mlir;

namespace dgc::import {

Value channelsLast(Node &n, Value x) {
  SmallVector<int64_t> order = firstNumbers(tensorOf(x).getRank());
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return n.b.transpose(x, order);
}
Value channelsSecond(Node &n, Value x) {
  SmallVector<int64_t> order = firstNumbers(tensorOf(x).getRank());
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return n.b.transpose(x, order);
}

FailureOr<Window> windowOf(Node &n, SmallVector<int64_t> sizes, bool hasPadding) {
  Window w;
  w.sizes = std::move(sizes);
  const size_t rank = w.sizes.size();
  auto list = [&](StringRef name) {
    SmallVector<int64_t> given = n.integers(name);
    return given.empty() ? SmallVector<int64_t>(rank, 1) : given;
  };
  w.strides = list("strides");
  w.dilations = list("dilations");
  SmallVector<int64_t> pads = n.integers("pads");
  if (pads.empty())
    pads.assign(2 * rank, 0);
  auto isPositive = [](int64_t x) { return x > 0; };
  if (static_cast<size_t>(n.rank(0)) != rank + 2 || w.strides.size() != rank || w.dilations.size() != rank ||
      pads.size() != 2 * rank || !llvm::all_of(w.sizes, isPositive) || !llvm::all_of(w.strides, isPositive) ||
      !llvm::all_of(w.dilations, isPositive))
    return n.refuse("its window is not one of " + Twine(n.rank(0) - 2) + " dimensions");
  StringRef automatic = n.text("auto_pad", "NOTSET");
  for (size_t i = 0; i < rank && hasPadding; ++i) {
    int64_t low = pads[i], high = pads[i + rank];
    if (automatic == "VALID")
      low = high = 0;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const int64_t size = n.shape(0)[i + 2], results = llvm::divideCeil(size, w.strides[i]);
      const int64_t all = std::max<int64_t>(0, (results - 1) * w.strides[i] + w.extent(i) - size);
      low = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      high = all - low;
    }
    if (low < 0 || high < 0)
      return n.refuse("negative padding");
    w.padding.append({low, high});
  }
  return w;
}

} // namespace dgc::import
