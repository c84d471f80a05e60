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

  void scatter() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && isSummable(value); }))
      return;
    const std::string op = isInteger(x.element)
                               ? w.choose({"second", "add", "maximum", "minimum", "subtract", "multiply", "and", "or"})
                               : w.choose({"second", "add", "maximum", "minimum", "subtract"});
    int64_t count = 2 + w.draw(4);
    const int64_t kind = w.draw(x.rank() == 2 ? 3 : 2);
    Shape ofUpdates;
    std::string dims, unique;
    Value i;
    if (kind == 2) { // windows, some of which overlap
      ofUpdates = {count, 1 + w.draw(x.shape[0]), 1 + w.draw(x.shape[1])};
      i = w.indices({count, 2}, -1, 3);
      dims = "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1";
    } else { // slices along one dimension, some of which are outside or for the same place
      const int64_t dim = w.draw(x.rank());
      if (kind == 1) { // each for a place of its own
        count = std::min(count, x.shape[dim]);
        i = {"", {count, 1}, w.choose({"i32", "i64", "ui8", "i16"}), 0, 0, 0, true};
        i.name = w.define(join("dgc.iota dim 0 : ", i.type()));
        i = w.define(join("dgc.reverse ", i.name, " dims [0] : ", i.type()), i);
        unique = ", unique_indices = true";
      } else {
        i = w.indices({count, 1}, -1, x.shape[dim]);
      }
      ofUpdates = without(x.shape, dim);
      ofUpdates.insert(ofUpdates.begin(), count);
      Shape window(x.rank() - 1);
      std::iota(window.begin(), window.end(), 1);
      dims = join("update_window_dims = ", listOf(window), ", inserted_window_dims = [", dim,
                  "], scatter_dims_to_operand_dims = [", dim, "], index_vector_dim = 1");
    }
    const Value updates = w.partner(x, ofUpdates, /*isExact=*/true);
    const bool isSum = op == "add" || op == "subtract";
    const double bound = isSum ? x.bound + count * updates.bound : std::max(x.bound, updates.bound);
    if (!isSummable(updates) || !PrimitiveWriter::fits(x.element, bound))
      return;
    w.use(x);
    w.giveExact(join("\"stablehlo.scatter\"(", x.name, ", ", i.name, ", ", updates.name,
                     ") <{scatter_dimension_numbers = #stablehlo.scatter<", dims, ">", unique, "}> (",
                     combining(x.element, op), ") : (", x.type(), ", ", i.type(), ", ", updates.type(), ") -> ",
                     x.type()),
                x.shape, x.element, bound);
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

std::vector<PrimitiveOp> choosingOps() {
  return {add<Choices, &Choices::dynamicSlice>, add<Choices, &Choices::dynamicSlice>, add<Choices, &Choices::gather>,
          add<Choices, &Choices::gather>,       add<Choices, &Choices::scatter>,      add<Choices, &Choices::scatter>,
          add<Choices, &Choices::scatterAdd>};
}

} // namespace dgc::testing
