// Windows of convolutions and pools: what their clauses mean for a shape.

#include "dialects/dgc/SpatialWindow.h"

using namespace mlir;
using namespace dgc;

SmallVector<int64_t> SpatialWindow::padding() const {
  SmallVector<int64_t> result;
  for (auto [before, after] : llvm::zip_equal(low, high))
    result.append({before, after});
  return result;
}

StringRef dgc::activationsOf(int64_t spatialDims) {
  switch (spatialDims) {
  case 1:
    return "[n, length, channels]";
  case 2:
    return "[n, height, width, channels]";
  default:
    return "[n, depth, height, width, channels]";
  }
}

std::string dgc::countOf(int64_t number, StringRef noun) {
  static constexpr llvm::StringLiteral kWords[] = {"no", "one", "two", "three"};
  return (kWords[number] + " " + noun + (number == 1 ? "" : "s")).str();
}

/// No size that is computed with such numbers overflows.
static constexpr int64_t kMostOfWindow = 1 << 20;

/// Reports an input of another rank, and lists of numbers that are too short or out of range.
static LogicalResult checkClauses(std::optional<Location> location, StringRef name, RankedTensorType input,
                                  int64_t spatialDims, const WindowClauses &clauses) {
  if (input.getRank() != spatialDims + 2)
    return emitOptionalError(location, "'", name, "' has an input of type ", input, ", which must be ",
                             activationsOf(spatialDims), "; dgc.expand_dims %x at ", spatialDims + 1,
                             " adds a channel");
  auto areFrom = [](int64_t least, ArrayRef<int64_t> values) {
    return llvm::all_of(values, [&](int64_t v) { return v >= least && v <= kMostOfWindow; });
  };
  auto check = [&](StringRef clause, ArrayRef<int64_t> values) -> LogicalResult {
    if (int64_t(values.size()) == spatialDims && areFrom(1, values))
      return success();
    return emitOptionalError(location, "'", name, "' needs ", countOf(spatialDims, "number"), " from 1 to ",
                             kMostOfWindow, " in '", clause, "', one for each spatial dimension");
  };
  if (failed(check("window", clauses.size)) || (clauses.strides && failed(check("strides", *clauses.strides))) ||
      (clauses.dilation && failed(check("dilation", *clauses.dilation))))
    return failure();
  PaddingAttr padding = clauses.padding.value_or(PaddingAttr());
  if (!padding || padding.getKind() != PaddingKind::Explicit)
    return success();
  ArrayRef<int64_t> amounts = padding.getAmounts();
  if (int64_t(amounts.size()) == 2 * spatialDims && areFrom(0, amounts))
    return success();
  std::string example = "[LOW, HIGH]";
  for (int64_t dim = 1; dim < spatialDims; ++dim)
    example += ", [LOW, HIGH]";
  return emitOptionalError(location, "'", name, "' needs ", countOf(spatialDims, "pair"), " of numbers from 0 to ",
                           kMostOfWindow, " in 'padding', one for each spatial dimension: [", example, "]");
}

/// The window with its strides and dilation, and the padding that is given.
static SpatialWindow fillIn(int64_t spatialDims, const WindowClauses &clauses) {
  PaddingAttr padding = clauses.padding.value_or(PaddingAttr());
  bool isGiven = padding && padding.getKind() == PaddingKind::Explicit;
  SpatialWindow w;
  for (int64_t i = 0; i < spatialDims; ++i) {
    w.size.push_back(clauses.size[i]);
    w.strides.push_back(clauses.strides ? (*clauses.strides)[i] : clauses.stridesAreWindow ? clauses.size[i] : 1);
    w.dilation.push_back(clauses.dilation ? (*clauses.dilation)[i] : 1);
    w.low.push_back(isGiven ? padding.getAmounts()[2 * i] : 0);
    w.high.push_back(isGiven ? padding.getAmounts()[2 * i + 1] : 0);
  }
  return w;
}

static bool isSame(const WindowClauses &clauses) {
  return clauses.padding && *clauses.padding && clauses.padding->getKind() == PaddingKind::Same;
}

/// Cuts padding in two, an odd element at the end.
static void setPadding(SpatialWindow &w, int64_t dim, int64_t total) {
  w.low[dim] = std::max<int64_t>(total, 0) / 2;
  w.high[dim] = std::max<int64_t>(total, 0) - w.low[dim];
}

FailureOr<SpatialWindow> dgc::computeWindow(std::optional<Location> location, StringRef name, RankedTensorType input,
                                            int64_t spatialDims, const WindowClauses &clauses) {
  if (failed(checkClauses(location, name, input, spatialDims, clauses)))
    return failure();
  SpatialWindow w = fillIn(spatialDims, clauses);
  for (int64_t i = 0; i < spatialDims; ++i) {
    const int64_t length = input.getDimSize(i + 1), extent = w.extent(i);
    if (isSame(clauses))
      setPadding(w, i, ((length + w.strides[i] - 1) / w.strides[i] - 1) * w.strides[i] + extent - length);
    const int64_t padded = length + w.low[i] + w.high[i];
    if (padded < extent) {
      (void)emitOptionalError(location, "'", name, "' has a window of ", extent, " along dimension ", i + 1,
                              ", where the padded input is only ", padded, " long");
      return failure();
    }
    w.result.push_back((padded - extent) / w.strides[i] + 1);
  }
  return w;
}

FailureOr<SpatialWindow> dgc::computeTransposedWindow(std::optional<Location> location, StringRef name,
                                                      RankedTensorType input, int64_t spatialDims,
                                                      const WindowClauses &clauses,
                                                      std::optional<ArrayRef<int64_t>> more) {
  if (failed(checkClauses(location, name, input, spatialDims, clauses)))
    return failure();
  SpatialWindow w = fillIn(spatialDims, clauses);
  if (more && (isSame(clauses) || int64_t(more->size()) != spatialDims ||
               llvm::any_of(llvm::zip(*more, w.strides), [](auto pair) {
                 auto [added, stride] = pair;
                 return added < 0 || added >= stride;
               }))) {
    (void)emitOptionalError(
        location, "'", name, "' needs ", countOf(spatialDims, "number"),
        " of 0 or more in 'output_padding', each less than the stride of its dimension, and none with "
        "padding 'same'");
    return failure();
  }
  for (int64_t i = 0; i < spatialDims; ++i) {
    const int64_t length = input.getDimSize(i + 1), extent = w.extent(i);
    if (isSame(clauses))
      setPadding(w, i, extent - w.strides[i]);
    const int64_t whole = (length - 1) * w.strides[i] + extent - w.low[i] - w.high[i] + (more ? (*more)[i] : 0);
    w.result.push_back(isSame(clauses) ? length * w.strides[i] : whole);
    if (w.result[i] < 1) {
      (void)emitOptionalError(location, "'", name, "' pads dimension ", i + 1, " by ", w.low[i] + w.high[i],
                              ", which leaves nothing of the ", whole + w.low[i] + w.high[i],
                              " elements that the windows cover");
      return failure();
    }
  }
  return w;
}
