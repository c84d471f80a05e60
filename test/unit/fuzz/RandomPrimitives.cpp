// Random programs of primitive ops: every op takes values that are there and adds one or two. Where a difference of the
// last bit would decide (comparisons, sorts, roundings), operands are integers, or multiples of 1/8 that every target
// computes exactly.
#include "test/unit/fuzz/RandomPrimitives.h"
#include "test/unit/fuzz/PrimitiveOps.h"

#include <algorithm>

namespace dgc::testing {

namespace {

class Writer {
public:
  using Value = PrimitiveValue;

  Writer(uint32_t seed, const RandomMesh *mesh, uint32_t shardingSeed)
      : w(seed), shardingRandom(shardingSeed * 7919 + seed), mesh(mesh) {}

  RandomPrimitives write() {
    RandomPrimitives program;
    const std::string arguments = addArguments(program);
    const size_t numArguments = w.values.size();
    const int64_t count = 6 + w.draw(9);
    for (int64_t done = 0, tries = 0; done < count && tries < 60; ++tries) {
      const size_t before = w.values.size();
      addOp();
      done += w.values.size() > before;
      if (mesh && w.values.size() > before && shardingRandom() % 4 == 0)
        addConstraint();
    }
    std::string names, types, annotated;
    for (size_t i = numArguments; i < w.values.size(); ++i) {
      const Value &value = w.values[i];
      if (value.isUsed)
        continue;
      const char *comma = names.empty() ? "" : ", ";
      names += comma + value.name;
      types += comma + value.type();
      annotated += comma + value.type() + annotation(value.shape);
      program.results.push_back({value.element, value.tolerance});
    }
    program.text = (mesh ? mesh->op + "\n" : "") + "func.func @f(" + arguments + ") -> (" + annotated + ") {\n" +
                   w.body + "  return " + names + " : " + types + "\n}\n";
    return program;
  }

private:
  std::string addArguments(RandomPrimitives &program) {
    static const std::vector<std::string> integers = {"i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"};
    static const std::vector<int64_t> sizes = {3, 5, 7, 6, 8, 4, 2};
    const std::string elements[] = {"f32", "i32", w.choose({"f64", "f32", "i64", "i16"}), w.choose(integers)};
    std::string text;
    for (size_t i = 0; i < std::size(elements); ++i) {
      Shape shape(i == 0 && w.draw(3) == 0 ? 4 : 1 + w.draw(3));
      for (int64_t &size : shape)
        size = w.choose(sizes);
      while (sizeOf(shape) > 250)
        for (int64_t &size : shape)
          size = std::max<int64_t>(2, size - 1);
      program.arguments.push_back({shape, elements[i]});
      w.give({"%arg" + std::to_string(i), shape, elements[i], 4, 0, 0, true});
      text += (i ? ", " : "") + w.values.back().name + ": " + w.values.back().type() + annotation(shape);
    }
    return text;
  }

  std::string annotation(const Shape &shape) {
    if (!mesh || shardingRandom() % 3 == 0)
      return "";
    return " {dist.sharding = #dist.sharding" + randomSharding(shape.size(), *mesh, shardingRandom) + "}";
  }

  void addConstraint() {
    Value &value = w.values[shardingRandom() % w.values.size()];
    const std::string name = "%c" + std::to_string(numConstraints++);
    w.body += join("  ", name, " = dist.constraint ", value.name, " to ",
                   randomSharding(value.shape.size(), *mesh, shardingRandom), " : ", value.type(), "\n");
    value.name = name; // from here on
  }

  static std::vector<PrimitiveOp> all(std::initializer_list<std::vector<PrimitiveOp> (*)()> lists) {
    std::vector<PrimitiveOp> ops;
    for (auto list : lists)
      for (PrimitiveOp op : list())
        ops.push_back(op);
    return ops;
  }

  /// Every third program has one of the rare ops.
  void addOp() {
    static const std::vector<PrimitiveOp> ops =
        all({elementwiseOps, movingOps, choosingOps, reducingOps, productOps, controlOps});
    static const std::vector<PrimitiveOp> rareOps =
        all({complexOps, rareElementwiseOps, rareChoosingOps, rareProductOps, rareControlOps});
    w.choose(w.draw(25) == 0 ? rareOps : ops)(w);
  }

  PrimitiveWriter w;
  std::mt19937 shardingRandom;
  const RandomMesh *mesh;
  unsigned numConstraints = 0;
};
} // namespace

RandomPrimitives randomPrimitives(uint32_t seed, const RandomMesh *mesh, uint32_t shardingSeed) {
  return Writer(seed, mesh, shardingSeed).write();
}

} // namespace dgc::testing
