// Ops of random programs that choose elements by numbers: slices, gathers, scatters.
#include "test/unit/fuzz/PrimitiveOps.h"

#include <algorithm>

namespace dgc::testing {

namespace {

struct Choices : PrimitiveMaker {
  void dynamicSlice() {
    Value x;
    if (!w.pick(x, hasDims))
      return;
    Value start = w.scalar();
    w.cast(start, w.choose({"i32", "i64", "i8", "ui8", "ui32"}));
    const Value number = w.constant({}, start.element, w.draw(4));
    std::string starts, types;
    Shape sizes;
    for (int64_t size : x.shape) {
      starts += ", " + (w.draw(2) ? start : number).name;
      types += ", " + start.type();
      sizes.push_back(1 + w.draw(size));
    }
    if (w.draw(2)) {
      w.use(x);
      return w.give(w.define(join("stablehlo.dynamic_slice ", x.name, starts, ", sizes = ", listOf(sizes), " : (",
                                  x.type(), types, ") -> ", tensorOf(sizes, x.element)),
                             x, sizes));
    }
    const Value update = w.partner(x, sizes);
    w.use(x);
    w.give(w.define(join("stablehlo.dynamic_update_slice ", x.name, ", ", update.name, starts, " : (", x.type(), ", ",
                         update.type(), types, ") -> ", x.type()),
                    worst(x, update)));
  }

  void gather() {
    Shape many = {2 + w.draw(4)};
    if (w.draw(2))
      many.push_back(3);
    const int64_t kind = w.draw(4);
    Value x;
    if (!w.pick(x, [&](const Value &value) { return kind ? value.rank() == 2 : hasDims(value) && isNumber(value); }))
      return;
    const int64_t rows = x.shape[0], columns = x.rank() > 1 ? x.shape[1] : 1;
    if (kind == 0) { // slices along one dimension
      const int64_t dim = w.draw(x.rank());
      Shape shape = without(x.shape, dim);
      shape.insert(shape.begin() + dim, many.begin(), many.end());
      if (sizeOf(shape) > largestSize)
        return;
      const Value i = w.indices(many, -1, x.shape[dim]);
      w.use(x);
      return w.give(
          w.define(join("dgc.gather ", x.name, ", ", i.name, " dim ", dim, " : ", x.type(), ", ", i.type()), x, shape));
    }
    Shape shape, sizes, ofIndices;
    std::string dims;
    if (kind == 1) { // windows
      sizes = {1 + w.draw(std::min<int64_t>(rows, 3)), 1 + w.draw(std::min<int64_t>(columns, 3))};
      ofIndices = {many[0], 2};
      shape = {sizes[0], many[0], sizes[1]};
      dims = "offset_dims = [0, 2], start_index_map = [1, 0], index_vector_dim = 1";
    } else if (kind == 2) { // columns, whose dimension remains
      sizes = {rows, 1};
      ofIndices = many;
      ofIndices.insert(ofIndices.begin(), 1);
      shape = many;
      shape.insert(shape.begin() + 1, {rows, 1});
      dims = "offset_dims = [1, 2], start_index_map = [1], index_vector_dim = 0";
    } else { // each row chooses for itself
      sizes = {1, 1};
      ofIndices = {rows, 4, 1};
      shape = {rows, 4};
      dims = "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
             "start_index_map = [1], index_vector_dim = 2";
    }
    const Value i = w.indices(ofIndices, -1, std::max(rows, columns));
    w.use(x);
    w.give(w.define(join("\"stablehlo.gather\"(", x.name, ", ", i.name, ") <{dimension_numbers = #stablehlo.gather<",
                         dims, ">, slice_sizes = ", arrayOf(sizes), "}> : (", x.type(), ", ", i.type(), ") -> ",
                         tensorOf(shape, x.element)),
                    x, shape));
  }

  /// Where the updates of a scatter go.
  struct Places {
    Value indices;
    Shape ofUpdates;
    std::string attributes;
  };
  enum PlacesKind { Slices, EachOnce, Windows };
  Places places(const Value &x, PlacesKind kind) {
    int64_t count = 2 + w.draw(4);
    if (kind == Windows) // some of which overlap
      return {w.indices({count, 2}, -1, 3),
              {count, 1 + w.draw(x.shape[0]), 1 + w.draw(x.shape[1])},
              "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], "
              "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>"};
    // Slices along one dimension, some of which are outside or for the same place; or each for a place of its own.
    Places at;
    const int64_t dim = w.draw(x.rank());
    if (kind == EachOnce) {
      count = std::min(count, x.shape[dim]);
      at.indices = {"", {count, 1}, w.choose({"i32", "i64", "ui8", "i16"}), 0, 0, 0, true};
      at.indices.name = w.define(join("dgc.iota dim 0 : ", at.indices.type()));
      at.indices = w.define(join("dgc.reverse ", at.indices.name, " dims [0] : ", at.indices.type()), at.indices);
    } else {
      at.indices = w.indices({count, 1}, -1, x.shape[dim]);
    }
    at.ofUpdates = without(x.shape, dim);
    at.ofUpdates.insert(at.ofUpdates.begin(), count);
    Shape window(x.rank() - 1);
    std::iota(window.begin(), window.end(), 1);
    at.attributes = join("scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = ", listOf(window),
                         ", inserted_window_dims = [", dim, "], scatter_dims_to_operand_dims = [", dim,
                         "], index_vector_dim = 1>", kind == EachOnce ? ", unique_indices = true" : "");
    return at;
  }
  PlacesKind placesKind(const Value &x) {
    const int64_t kind = w.draw(x.rank() == 2 ? 3 : 2);
    return kind == 2 ? Windows : kind == 1 ? EachOnce : Slices;
  }

  void scatter() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && isSummable(value); }))
      return;
    const std::string op = isInteger(x.element)
                               ? w.choose({"second", "add", "maximum", "minimum", "subtract", "multiply", "and", "or"})
                               : w.choose({"second", "add", "maximum", "minimum", "subtract"});
    const Places at = places(x, placesKind(x));
    const Value updates = w.partner(x, at.ofUpdates, /*isExact=*/true);
    const bool isSum = op == "add" || op == "subtract";
    const double bound = isSum ? x.bound + at.ofUpdates[0] * updates.bound : std::max(x.bound, updates.bound);
    if (!isSummable(updates) || !PrimitiveWriter::fits(x.element, bound))
      return;
    w.use(x);
    w.giveExact(join("\"stablehlo.scatter\"(", x.name, ", ", at.indices.name, ", ", updates.name, ") <{", at.attributes,
                     "}> (", combining(x.element, op), ") : (", x.type(), ", ", at.indices.type(), ", ", updates.type(),
                     ") -> ", x.type()),
                x.shape, x.element, bound);
  }

  /// Of two or three tensors at the same places: the updates replace what is there, or each element is made of both where no
  /// two updates are for one place.
  void scatterSeveral() {
    Value x;
    if (!w.pick(x, hasDims))
      return;
    const bool isReplaced = !isSummable(x) || w.draw(2);
    std::vector<Value> operands = {x}, updates, results;
    for (int64_t i = 1 + w.draw(2); i > 0; --i) {
      Value other;
      w.pick(other, [&](const Value &value) { return isReplaced || isSummable(value); });
      w.use(other);
      operands.push_back(w.resized(other, x.shape));
    }
    const Places at = places(x, isReplaced ? placesKind(x) : EachOnce);
    std::string arguments, more, names, types, ofUpdates, namesOfUpdates;
    std::vector<std::string> before, after;
    for (const Value &each : operands) {
      updates.push_back(w.partner(each, at.ofUpdates, !isReplaced));
      if (!isReplaced && !isSummable(updates.back()))
        return;
      before.push_back("%" + w.freshName());
      after.push_back("%" + w.freshName());
      const std::string element = tensorOf({}, each.element), comma = names.empty() ? "" : ", ";
      names += comma + each.name;
      types += comma + each.type();
      arguments += comma + before.back() + ": " + element;
      more += ", " + after.back() + ": " + element;
      namesOfUpdates += ", " + updates.back().name;
      ofUpdates += ", " + updates.back().type();
      results.push_back(worst(each, updates.back()));
    }
    w.use(x);
    w.giveAll(join("\"stablehlo.scatter\"(", names, ", ", at.indices.name, namesOfUpdates, ") <{", at.attributes,
                   "}> ({\n  ^bb0(", arguments, more, "):\n",
                   isReplaced ? returned(operands, after) : combined(operands, before, after), "  }) : (", types, ", ",
                   at.indices.type(), ofUpdates, ") -> (", types, ")"),
              results);
  }

  static std::string returned(const std::vector<Value> &operands, const std::vector<std::string> &names) {
    std::string all, types;
    for (size_t i = 0; i < operands.size(); ++i) {
      all += (i ? ", " : "") + names[i];
      types += (i ? ", " : "") + tensorOf({}, operands[i].element);
    }
    return join("    stablehlo.return ", all, " : ", types, "\n");
  }

  /// The first one is replaced where the second one is larger or smaller than its update, the others are combined.
  std::string combined(const std::vector<Value> &operands, const std::vector<std::string> &before,
                       const std::vector<std::string> &after) {
    std::vector<std::string> given;
    std::string text;
    for (size_t i = 0; i < operands.size(); ++i) {
      const std::string element = tensorOf({}, operands[i].element);
      given.push_back("%" + w.freshName());
      if (i > 0) {
        text += join("    ", given[i], " = stablehlo.", w.choose({"maximum", "minimum"}), " ", before[i], ", ",
                     after[i], " : ", element, "\n");
        continue;
      }
      const std::string isChosen = "%" + w.freshName(), other = tensorOf({}, operands[1].element);
      text += join("    ", isChosen, " = stablehlo.compare ", w.choose({"LT", "GE"}), ", ", before[1], ", ", after[1],
                   " : (", other, ", ", other, ") -> tensor<i1>\n    ", given[0], " = stablehlo.select ", isChosen,
                   ", ", after[0], ", ", before[0], " : tensor<i1>, ", element, "\n");
    }
    return text + returned(operands, given);
  }

  void scatterAdd() {
    Value updates;
    if (!w.pick(updates, [](const Value &value) { return hasDims(value) && isNumber(value); }))
      return;
    const int64_t dim = w.draw(updates.rank()), count = updates.shape[dim], size = 2 + w.draw(5);
    const Value i = w.indices({count}, -1, size);
    Shape shape = updates.shape;
    shape[dim] = size;
    w.giveSum(join("dgc.scatter_add ", i.name, ", ", updates.name, " dim ", dim, " size ", size, " : ", i.type(), ", ",
                   updates.type()),
              updates, shape, count);
  }
};

} // namespace

std::vector<PrimitiveOp> rareChoosingOps() { return {add<Choices, &Choices::scatterSeveral>}; }

std::vector<PrimitiveOp> choosingOps() {
  return {add<Choices, &Choices::dynamicSlice>, add<Choices, &Choices::dynamicSlice>, add<Choices, &Choices::gather>,
          add<Choices, &Choices::gather>,       add<Choices, &Choices::scatter>,      add<Choices, &Choices::scatter>,
          add<Choices, &Choices::scatterAdd>};
}

} // namespace dgc::testing
