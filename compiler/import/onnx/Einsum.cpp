// Einsum and determinants of ONNX.

#include "compiler/import/onnx/Node.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dgc::import {
namespace {

/// A tensor whose dimensions have labels: letters, and what an ellipsis stands for, counted from its end.
struct Labeled {
  Value value;
  SmallVector<int> labels;
};
constexpr int kEllipsis = 1000; // the last dimension of it; that before it is one more

/// The labels of a term for a tensor of so many dimensions; false where they do not fit.
bool labelsOf(StringRef term, int64_t rank, SmallVectorImpl<int> &labels) {
  const int64_t letters = llvm::count_if(term, [](char c) { return llvm::isAlpha(c); });
  const size_t dots = term.find("...");
  if (dots == StringRef::npos ? letters != rank : letters > rank)
    return false;
  for (size_t i = 0; i < term.size();) {
    if (i == dots) {
      for (int64_t left = rank - letters; left > 0; --left)
        labels.push_back(kEllipsis + static_cast<int>(left) - 1);
      i += 3;
    } else if (llvm::isAlpha(term[i])) {
      labels.push_back(static_cast<unsigned char>(term[i++]));
    } else {
      return false;
    }
  }
  return true;
}

/// Sums dimensions away.
Labeled sumOut(Node &n, Labeled x, llvm::function_ref<bool(int)> isKept) {
  SmallVector<int64_t> dims;
  SmallVector<int> labels;
  for (auto [i, label] : llvm::enumerate(x.labels)) {
    if (isKept(label))
      labels.push_back(label);
    else
      dims.push_back(static_cast<int64_t>(i));
  }
  return {n.b.reduce(ReductionKind::Sum, x.value, dims), labels};
}

/// Dimensions of the same label become one: what is not on their diagonal counts nothing.
Labeled takeDiagonals(Node &n, Labeled x) {
  for (size_t i = 0; i < x.labels.size(); ++i)
    for (size_t j = x.labels.size() - 1; j > i; --j) {
      if (x.labels[i] != x.labels[j])
        continue;
      auto type = RankedTensorType::get(tensorOf(x.value).getShape(), n.b.builder.getI64Type());
      auto numbers = [&](size_t dim) -> Value {
        return IotaOp::create(n.b.builder, n.b.location, type, static_cast<int64_t>(dim), Value());
      };
      Value is = n.b.equal(numbers(i), numbers(j)), zero = n.splat(0, x.value);
      x.value = n.b.reduce(ReductionKind::Sum, n.b.select(is, x.value, zero), {static_cast<int64_t>(j)});
      x.labels.erase(x.labels.begin() + static_cast<ptrdiff_t>(j));
    }
  return x;
}

/// The product of two: labels that only they have are summed over.
Labeled multiply(Node &n, Labeled x, Labeled y, llvm::function_ref<bool(int)> isNeeded) {
  x = sumOut(n, x, [&](int label) { return isNeeded(label) || llvm::is_contained(y.labels, label); });
  y = sumOut(n, y, [&](int label) { return isNeeded(label) || llvm::is_contained(x.labels, label); });
  SmallVector<int64_t> xBatch, yBatch, xContract, yContract;
  Labeled result;
  auto placeIn = [](const Labeled &of, int label) { return llvm::find(of.labels, label) - of.labels.begin(); };
  for (auto [i, label] : llvm::enumerate(x.labels)) {
    if (!llvm::is_contained(y.labels, label))
      continue;
    const bool isBatch = isNeeded(label);
    (isBatch ? xBatch : xContract).push_back(static_cast<int64_t>(i));
    (isBatch ? yBatch : yContract).push_back(placeIn(y, label));
    if (isBatch)
      result.labels.push_back(label);
  }
  for (const Labeled *each : {&x, &y})
    for (int label : each->labels)
      if (!llvm::is_contained(each == &x ? y.labels : x.labels, label))
        result.labels.push_back(label);
  result.value = n.b.dot(x.value, y.value, xBatch, yBatch, xContract, yContract);
  return result;
}

/// The operands with their labels. A dimension of size 1 that has another size elsewhere is broadcast: it goes.
FailureOr<SmallVector<Labeled>> operandsOf(Node &n, ArrayRef<StringRef> terms) {
  llvm::SmallDenseMap<int, int64_t> sizes;
  SmallVector<Labeled> operands;
  for (auto [i, term] : llvm::enumerate(terms)) {
    Labeled x{n.in(static_cast<unsigned>(i)), {}};
    if (!labelsOf(term, tensorOf(x.value).getRank(), x.labels))
      return n.refuse("'" + term + "' does not fit operand " + Twine(i));
    for (auto [label, size] : llvm::zip_equal(x.labels, tensorOf(x.value).getShape())) {
      int64_t &together = sizes.try_emplace(label, 1).first->second;
      if (size != together && size != 1 && together != 1)
        return n.refuse("a label has the sizes " + Twine(together) + " and " + Twine(size));
      together = std::max(together, size);
    }
    operands.push_back(x);
  }
  for (Labeled &x : operands) {
    SmallVector<int64_t> shape;
    SmallVector<int> labels;
    for (auto [label, size] : llvm::zip_equal(x.labels, tensorOf(x.value).getShape()))
      if (size == sizes.lookup(label)) {
        shape.push_back(size);
        labels.push_back(label);
      }
    x = takeDiagonals(n, {n.b.reshape(x.value, shape), labels});
  }
  return operands;
}

LogicalResult einsum(Node &n) {
  std::string equation = n.text("equation", "").str();
  llvm::erase(equation, ' ');
  auto [left, right] = StringRef(equation).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != n.numInputs())
    return n.refuse("its equation has " + Twine(terms.size()) + " terms");
  FailureOr<SmallVector<Labeled>> operands = operandsOf(n, terms);
  if (failed(operands))
    return failure();
  // Without a result: what an ellipsis stands for, then letters that are there once, in their order.
  int64_t ellipsis = 0;
  SmallVector<int> result;
  for (auto [i, term] : llvm::enumerate(terms)) {
    const int64_t letters = llvm::count_if(term, [](char c) { return llvm::isAlpha(c); });
    ellipsis = term.contains("...") ? std::max(ellipsis, n.rank(static_cast<unsigned>(i)) - letters) : ellipsis;
  }
  std::string implied = left.contains("...") ? "..." : "";
  for (char c = 'A'; c <= 'z'; ++c)
    if (llvm::isAlpha(c) && left.count(c) == 1)
      implied += c;
  StringRef term = StringRef(equation).contains("->") ? right : StringRef(implied);
  const int64_t letters = llvm::count_if(term, [](char c) { return llvm::isAlpha(c); });
  if (!labelsOf(term, letters + (term.contains("...") ? ellipsis : 0), result))
    return n.refuse("its result '" + term + "' is none");
  for (size_t i = 0; i < result.size(); ++i)
    if (llvm::is_contained(ArrayRef(result).drop_front(i + 1), result[i]) ||
        llvm::none_of(*operands, [&](const Labeled &x) { return llvm::is_contained(x.labels, result[i]); }))
      return n.refuse("its result '" + term + "' has a label twice, or one of no operand");
  Labeled all = operands->front();
  for (size_t i = 1; i < operands->size(); ++i)
    all = multiply(n, all, (*operands)[i], [&](int label) {
      return llvm::is_contained(result, label) ||
             llvm::any_of(ArrayRef(*operands).drop_front(i + 1),
                          [&](const Labeled &x) { return llvm::is_contained(x.labels, label); });
    });
  all = sumOut(n, all, [&](int label) { return llvm::is_contained(result, label); });
  SmallVector<int64_t> order;
  for (int label : result)
    order.push_back(llvm::find(all.labels, label) - all.labels.begin());
  return n.give(n.b.transpose(all.value, order));
}

/// Of matrices of at most six rows, along their rows: the determinant of each choice of columns for the last rows comes from
/// those of one column less.
LogicalResult determinant(Node &n) {
  constexpr int64_t most = 6;
  const int64_t rank = n.rank(0), size = rank < 2 ? 0 : n.shape(0).back();
  if (size < 1 || n.shape(0)[rank - 2] != size || size > most)
    return n.refuse("is of square matrices of at most " + Twine(most) + " rows");
  SmallVector<int64_t> shape(n.shape(0).drop_back(2));
  auto element = [&](int64_t row, int64_t column) {
    SmallVector<int64_t> starts(rank, 0), limits(n.shape(0));
    starts[rank - 2] = row;
    starts[rank - 1] = column;
    limits[rank - 2] = row + 1;
    limits[rank - 1] = column + 1;
    return n.b.reshape(n.b.slice(n.in(0), starts, limits), shape);
  };
  std::vector<Value> minors(size_t{1} << size); // by the set of columns
  for (unsigned columns = 1; columns < minors.size(); ++columns) {
    const int64_t row = size - llvm::popcount(columns);
    bool isNegative = false;
    for (int64_t column = 0; column < size; ++column) {
      const unsigned bit = 1U << column;
      if ((columns & bit) == 0)
        continue;
      Value each = element(row, column);
      if (columns != bit)
        each = n.b.multiply(each, minors[columns & ~bit]);
      Value &sum = minors[columns];
      sum = !sum ? each : isNegative ? n.b.subtract(sum, each) : n.b.add(sum, each);
      isNegative = !isNegative;
    }
  }
  return n.give(minors.back());
}

constexpr OnnxRule rules[] = {{"Det", determinant}, {"Einsum", einsum}};

} // namespace

ArrayRef<OnnxRule> onnxEinsumRules() { return rules; }

} // namespace dgc::import
