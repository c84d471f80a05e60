// Ops of random programs that move elements.
#include "test/unit/fuzz/PrimitiveOps.h"

namespace dgc::testing {

namespace {

struct Moves : PrimitiveMaker {
  void transpose() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return value.rank() > 1; }))
      return;
    Shape permutation, shape;
    for (int64_t d = 0; d < x.rank(); ++d)
      permutation.insert(permutation.begin() + w.draw(d + 1), d);
    for (int64_t d : permutation)
      shape.push_back(x.shape[d]);
    giveMoved(x, "transpose", "permutation " + listOf(permutation), shape);
  }

  void reverse() {
    Value x;
    if (!w.pick(x, hasDims))
      return;
    Shape dims;
    for (int64_t d = 0; d < x.rank(); ++d)
      if (w.draw(2) || (dims.empty() && d + 1 == x.rank()))
        dims.push_back(d);
    giveMoved(x, "reverse", "dims " + listOf(dims), x.shape);
  }

  void slice() {
    Value x;
    if (!w.pick(x, hasDims))
      return;
    Shape from, to, strides, shape;
    for (int64_t size : x.shape) {
      const bool isWhole = w.draw(2);
      from.push_back(isWhole ? 0 : w.draw(size));
      to.push_back(isWhole ? size : from.back() + 1 + w.draw(size - from.back()));
      strides.push_back(1 + w.draw(3));
      shape.push_back((to.back() - from.back() + strides.back() - 1) / strides.back());
    }
    giveMoved(x, "slice", join("from ", listOf(from), " to ", listOf(to), " strides ", listOf(strides)), shape);
  }

  void pad() {
    Value x;
    if (!w.pick(x, hasDims))
      return;
    Shape low, high, interior, shape;
    for (int64_t size : x.shape) {
      interior.push_back(w.draw(2) ? w.draw(3) : 0);
      const int64_t spread = size + (size - 1) * interior.back();
      low.push_back(w.draw(5) - 2);
      high.push_back(w.draw(5) - 2);
      if (spread + low.back() + high.back() < 1)
        low.back() = high.back() = 0;
      shape.push_back(spread + low.back() + high.back());
    }
    if (sizeOf(shape) > largestSize)
      return;
    const Value with = w.constant({}, x.element, isFloat(x.element) ? 1.25 : 1);
    w.use(x);
    w.give(w.define(join("dgc.pad ", x.name, ", ", with.name, " low ", listOf(low), " high ", listOf(high),
                         " interior ", listOf(interior), " : ", x.type(), ", ", with.type()),
                    worst(x, with), shape));
  }

  void concatenate() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return hasDims(value) && sizeOf(value.shape) <= largestSize / 3; }))
      return;
    const int64_t dim = w.draw(x.rank());
    Shape shape = x.shape;
    shape[dim] = 1 + w.draw(5);
    const Value y = w.partner(x, shape);
    w.use(x);
    std::vector<Value> parts = w.draw(2) ? std::vector{x, y} : std::vector{y, x};
    if (w.draw(3) == 0)
      parts.push_back(x);
    std::string names, types;
    shape[dim] = 0;
    for (const Value &part : parts) {
      names += (names.empty() ? "" : ", ") + part.name;
      types += (types.empty() ? "" : ", ") + part.type();
      shape[dim] += part.shape[dim];
    }
    w.give(w.define(join("dgc.concatenate ", names, " dim ", dim, " : ", types), worst(x, y), shape));
  }

  void broadcast() {
    Value x;
    if (!w.pick(x, [](const Value &value) { return value.rank() < 3; }))
      return;
    Shape dims, shape;
    for (int64_t d = 0; d <= x.rank(); ++d) {
      if (w.draw(2))
        shape.push_back(2 + w.draw(4));
      if (d == x.rank())
        break;
      dims.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(x.shape[d]);
    }
    if (sizeOf(shape) <= largestSize)
      giveMoved(x, "broadcast_in_dim", join("dims ", listOf(dims), " to ", listOf(shape)), shape);
  }

  void reshape() {
    Value x;
    if (!w.pick(x, hasDims))
      return;
    const int64_t size = sizeOf(x.shape);
    std::vector<int64_t> factors;
    for (int64_t factor = 2; factor < size; ++factor)
      if (size % factor == 0)
        factors.push_back(factor);
    if (factors.empty())
      return;
    const int64_t factor = w.choose(factors);
    giveMoved(x, "reshape", "to " + listOf({factor, size / factor}), {factor, size / factor});
  }
};

} // namespace

std::vector<PrimitiveOp> movingOps() {
  return {add<Moves, &Moves::transpose>, add<Moves, &Moves::reverse>,     add<Moves, &Moves::slice>,
          add<Moves, &Moves::pad>,       add<Moves, &Moves::concatenate>, add<Moves, &Moves::broadcast>,
          add<Moves, &Moves::reshape>};
}

} // namespace dgc::testing
