// Random programs: every op takes values that are there and adds one.
#include "test/unit/fuzz/RandomGraph.h"
#include "test/unit/fuzz/ShapeText.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace dgc::testing {

namespace {
struct Value {
  std::string name;
  Shape shape;
  bool argument = false; // has the same bits however the program is cut
};

class Writer {
public:
  Writer(uint32_t seed, const RandomMesh *mesh, uint32_t shardingSeed)
      : random(seed), shardingRandom(shardingSeed * 7919 + seed), mesh(mesh), element(seed % 2 ? "f32" : "f64") {}

  RandomGraph write() {
    RandomGraph graph;
    graph.elementType = element;
    std::string arguments;
    for (uint32_t i = 0, count = 1 + draw(3); i < count; ++i) {
      Shape shape = randomShape();
      graph.inputs.push_back(shape);
      values.push_back({"%arg" + std::to_string(i), shape, true});
      arguments += (i ? ", " : "") + values.back().name + ": " + typeOf(shape) + annotation(shape);
    }
    for (uint32_t i = 0, count = 3 + draw(9); i < count; ++i) {
      addOp();
      if (mesh && shardingRandom() % 4 == 0)
        addConstraint();
    }
    // The last values are results, so that most ops are needed.
    size_t results = std::min<size_t>(1 + draw(2), values.size());
    std::string names, types, annotated;
    for (size_t i = values.size() - results; i < values.size(); ++i) {
      const char *comma = names.empty() ? "" : ", ";
      names += comma + values[i].name;
      types += comma + typeOf(values[i].shape);
      annotated += comma + typeOf(values[i].shape) + annotation(values[i].shape);
    }
    graph.text = (mesh ? mesh->op + "\n" : "") + "func.func @f(" + arguments + ") -> (" + annotated + ") {\n" + body +
                 "  return " + names + " : " + types + "\n}\n";
    return graph;
  }

private:
  uint32_t draw(uint32_t below) { return below ? random() % below : 0; }
  std::string typeOf(const Shape &shape, const std::string &of = "") const {
    return tensorOf(shape, of.empty() ? element : of);
  }

  Shape randomShape() {
    static constexpr int64_t sizes[] = {1, 2, 3, 4, 4, 5, 6, 8, 8, 12};
    Shape shape(draw(8) == 0 ? 4 : 1 + draw(3));
    for (int64_t &size : shape)
      size = sizes[draw(std::size(sizes))];
    return shape;
  }

  std::string sharding(size_t rank) { return randomSharding(rank, *mesh, shardingRandom); }

  std::string annotation(const Shape &shape) {
    if (!mesh || shardingRandom() % 3 == 0)
      return "";
    return " {dist.sharding = #dist.sharding" + sharding(shape.size()) + "}";
  }

  void addConstraint() {
    Value &value = values[shardingRandom() % values.size()];
    std::string name = "%c" + std::to_string(counter++);
    body += "  " + name + " = dist.constraint " + value.name + " to " + sharding(value.shape.size()) + " : " +
            typeOf(value.shape) + "\n";
    value.name = name; // from here on
  }

  std::string define(const std::string &text) {
    std::string name = "%" + std::to_string(counter++);
    name.insert(1, "v");
    body += "  " + name + " = " + text + "\n";
    return name;
  }
  void give(const std::string &text, Shape shape) { values.push_back({define(text), std::move(shape)}); }

  /// A value, later ones more often.
  Value pick() {
    size_t i = std::max(draw(values.size()), draw(values.size()));
    return values[i];
  }
  Value pickOfRank(size_t least) {
    std::vector<Value> fit;
    for (const Value &value : values)
      if (value.shape.size() >= least)
        fit.push_back(value);
    return fit.empty() ? Value() : fit[std::max(draw(fit.size()), draw(fit.size()))];
  }

  void addOp() {
    using Op = void (Writer::*)();
    static constexpr Op ops[] = {&Writer::unary,   &Writer::unary,       &Writer::binary,    &Writer::binary,
                                 &Writer::reduce,  &Writer::reduce,      &Writer::dot,       &Writer::dot,
                                 &Writer::reshape, &Writer::transpose,   &Writer::broadcast, &Writer::slice,
                                 &Writer::pad,     &Writer::concatenate, &Writer::reverse,   &Writer::select,
                                 &Writer::iota,    &Writer::window,      &Writer::convolve,  &Writer::softmax};
    (this->*ops[draw(std::size(ops))])();
  }

  void unary() {
    static constexpr const char *names[] = {"tanh", "logistic", "negate", "abs"};
    Value a = pick();
    give("dgc." + std::string(names[draw(4)]) + " " + a.name + " : " + typeOf(a.shape), a.shape);
  }

  void binary() {
    static constexpr const char *names[] = {"add", "subtract", "multiply", "maximum", "minimum"};
    Value a = pick(), b = a;
    for (const Value &value : values)
      if (value.shape == a.shape && value.name != a.name && draw(2))
        b = value;
    give("dgc." + std::string(names[draw(5)]) + " " + a.name + ", " + b.name + " : " + typeOf(a.shape), a.shape);
  }

  void reduce() {
    static constexpr const char *kinds[] = {"sum", "sum", "max", "min"};
    Value a = pickOfRank(1);
    if (a.name.empty())
      return;
    Shape dims, left;
    for (size_t d = 0; d < a.shape.size(); ++d) {
      bool reduced = draw(2);
      (reduced ? dims : left).push_back(reduced ? int64_t(d) : a.shape[d]);
    }
    if (!dims.empty())
      give("dgc.reduce " + std::string(kinds[draw(4)]) + " " + a.name + " dims " + listOf(dims) + " : " +
               typeOf(a.shape),
           left);
  }

  void dot() {
    Value a = pickOfRank(1), b = pickOfRank(1);
    if (a.name.empty())
      return;
    size_t i = draw(a.shape.size()), j = draw(b.shape.size());
    Shape result = a.shape;
    result.erase(result.begin() + i);
    for (size_t d = 0; d < b.shape.size(); ++d)
      if (d != j)
        result.push_back(b.shape[d]);
    if (a.shape[i] != b.shape[j] || result.size() > 4 || sizeOf(result) > 4096)
      return;
    std::string name = define("dgc.dot_general " + a.name + ", " + b.name + " contract [" + std::to_string(i) +
                              "] x [" + std::to_string(j) + "] : " + typeOf(a.shape) + ", " + typeOf(b.shape));
    values.push_back({name, result});
    if (draw(2))
      give("dgc.tanh " + name + " : " + typeOf(result), result);
  }

  void reshape() {
    Value a = pickOfRank(1);
    if (a.name.empty())
      return;
    Shape shape = a.shape;
    size_t d = draw(shape.size());
    if (draw(2) && d + 1 < shape.size()) {
      shape[d] *= shape[d + 1];
      shape.erase(shape.begin() + d + 1);
    } else if (shape.size() < 4) {
      int64_t factor = shape[d] % 2 == 0 ? 2 : shape[d] % 3 == 0 ? 3 : 1;
      shape[d] /= factor;
      shape.insert(shape.begin() + d + draw(2), factor);
    }
    give("dgc.reshape " + a.name + " to " + listOf(shape) + " : " + typeOf(a.shape), shape);
  }

  void transpose() {
    Value a = pickOfRank(2);
    if (a.name.empty())
      return;
    Shape permutation(a.shape.size()), shape;
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
    for (int64_t d : permutation)
      shape.push_back(a.shape[d]);
    give("dgc.transpose " + a.name + " permutation " + listOf(permutation) + " : " + typeOf(a.shape), shape);
  }

  void broadcast() {
    Value a = pick();
    if (a.shape.size() > 2)
      return;
    Shape dims, shape;
    for (size_t d = 0; d <= a.shape.size(); ++d) {
      if (draw(2))
        shape.push_back(1 + draw(6));
      if (d < a.shape.size()) {
        dims.push_back(shape.size());
        shape.push_back(a.shape[d]);
      }
    }
    if (sizeOf(shape) <= 4096)
      give("dgc.broadcast_in_dim " + a.name + " dims " + listOf(dims) + " to " + listOf(shape) + " : " +
               typeOf(a.shape),
           shape);
  }

  void slice() {
    Value a = pickOfRank(1);
    if (a.name.empty())
      return;
    Shape from, to, shape;
    for (int64_t size : a.shape) {
      from.push_back(draw(3) ? 0 : draw(size));
      to.push_back(draw(3) ? size : from.back() + 1 + draw(size - from.back()));
      shape.push_back(to.back() - from.back());
    }
    give("dgc.slice " + a.name + " from " + listOf(from) + " to " + listOf(to) + " : " + typeOf(a.shape), shape);
  }

  void pad() {
    Value a = pickOfRank(1);
    if (a.name.empty())
      return;
    Shape low, high, shape;
    for (int64_t size : a.shape) {
      low.push_back(draw(2) ? 0 : draw(3));
      high.push_back(draw(2) ? 0 : draw(3));
      shape.push_back(size + low.back() + high.back());
    }
    if (sizeOf(shape) > 4096)
      return;
    std::string with = define("dgc.constant dense<0.25> : " + typeOf({}));
    give("dgc.pad " + a.name + ", " + with + " low " + listOf(low) + " high " + listOf(high) + " : " + typeOf(a.shape) +
             ", " + typeOf({}),
         shape);
  }

  void concatenate() {
    Value a = pickOfRank(1);
    if (a.name.empty() || sizeOf(a.shape) > 2048)
      return;
    size_t dim = draw(a.shape.size());
    Value b = a;
    for (const Value &value : values) {
      Shape same = value.shape;
      if (same.size() == a.shape.size())
        same[dim] = a.shape[dim];
      if (same == a.shape && draw(2))
        b = value;
    }
    Shape shape = a.shape;
    shape[dim] += b.shape[dim];
    give("dgc.concatenate " + a.name + ", " + b.name + " dim " + std::to_string(dim) + " : " + typeOf(a.shape) + ", " +
             typeOf(b.shape),
         shape);
  }

  void reverse() {
    Value a = pickOfRank(1);
    if (!a.name.empty())
      give("dgc.reverse " + a.name + " dims [" + std::to_string(draw(a.shape.size())) + "] : " + typeOf(a.shape),
           a.shape);
  }

  /// The condition is of arguments alone: rounding must not decide.
  void select() {
    Value a = values[0];
    std::vector<Value> same;
    for (const Value &value : values)
      if (value.shape == a.shape)
        same.push_back(value);
    if (!a.argument)
      return;
    std::string zero = define("dgc.constant dense<0.1> : " + typeOf(a.shape));
    std::string condition = define("dgc.compare lt " + a.name + ", " + zero + " : " + typeOf(a.shape));
    give("dgc.select " + condition + ", " + same[draw(same.size())].name + ", " + same[draw(same.size())].name + " : " +
             typeOf(a.shape, "i1") + ", " + typeOf(a.shape) + ", " + typeOf(a.shape),
         a.shape);
  }

  void iota() {
    Value a = pickOfRank(1);
    if (a.name.empty())
      return;
    std::string index = define("dgc.iota dim " + std::to_string(draw(a.shape.size())) + " : " + typeOf(a.shape));
    give("dgc.multiply " + a.name + ", " + index + " : " + typeOf(a.shape), a.shape);
  }

  void window() {
    Value a = pickOfRank(1);
    if (a.name.empty())
      return;
    Shape window(a.shape.size(), 1), strides(a.shape.size(), 1), shape;
    for (size_t d = 0; d < a.shape.size(); ++d) {
      if (a.shape[d] > 2 && draw(2))
        window[d] = 2 + draw(2), strides[d] = 1 + draw(2);
      shape.push_back((a.shape[d] - window[d]) / strides[d] + 1);
    }
    give("dgc.reduce_window " + std::string(draw(2) ? "max " : "sum ") + a.name + " window " + listOf(window) +
             " strides " + listOf(strides) + " : " + typeOf(a.shape),
         shape);
  }

  /// A convolution by a filter made of numbers.
  void convolve() {
    Value a = pickOfRank(4);
    if (a.shape.size() != 4 || a.shape[1] < 3 || a.shape[2] < 3)
      return;
    Shape filter{3, 3, a.shape[3], 1 + draw(4)};
    std::string index = define("dgc.iota dim " + std::to_string(draw(4)) + " : " + typeOf(filter));
    std::string weights = define("dgc.sine " + index + " : " + typeOf(filter));
    int64_t padding = draw(2), stride = 1 + draw(2);
    Shape shape{a.shape[0], (a.shape[1] + 2 * padding - 3) / stride + 1, (a.shape[2] + 2 * padding - 3) / stride + 1,
                filter[3]};
    std::string p = std::to_string(padding), s = std::to_string(stride);
    give("dgc.convolution " + a.name + ", " + weights + " strides [" + s + ", " + s + "] padding [[" + p + ", " + p +
             "], [" + p + ", " + p + "]] : " + typeOf(a.shape) + ", " + typeOf(filter),
         shape);
  }

  void softmax() {
    Value a = pickOfRank(1);
    if (!a.name.empty())
      give("dgc.softmax " + a.name + " : " + typeOf(a.shape), a.shape);
  }

  std::mt19937 random, shardingRandom;
  const RandomMesh *mesh;
  std::string element;
  std::vector<Value> values;
  std::string body;
  unsigned counter = 0;
};
} // namespace

RandomMesh randomMesh(uint32_t seed) {
  static const RandomMesh meshes[] = {
      {"data=2", "dist.mesh @mesh <data = 2>", {"data"}},
      {"data=2,model=2", "dist.mesh @mesh <data = 2, model = 2>", {"data", "model"}},
      {"data=3", "dist.mesh @mesh <data = 3>", {"data"}},
      {"data=2,model=3", "dist.mesh @mesh <data = 2, model = 3>", {"data", "model"}},
  };
  return meshes[seed % std::size(meshes)];
}

std::string randomSharding(size_t rank, const RandomMesh &mesh, std::mt19937 &random) {
  std::vector<std::string> dims(rank);
  std::vector<std::string> axes = mesh.axes;
  std::shuffle(axes.begin(), axes.end(), random);
  for (const std::string &axis : axes)
    if (size_t dim = random() % (rank + 1); dim < rank)
      dims[dim] += (dims[dim].empty() ? "\"" : ", \"") + axis + "\"";
  std::string text = "<@mesh, [";
  for (size_t dim = 0; dim < rank; ++dim) {
    bool open = random() % 2;
    text += (dim ? ", {" : "{") + dims[dim] + (open ? dims[dim].empty() ? "?" : ", ?" : "") + "}";
  }
  return text + "]>";
}

RandomGraph randomGraph(uint32_t seed, const RandomMesh *mesh, uint32_t shardingSeed) {
  return Writer(seed, mesh, shardingSeed).write();
}

} // namespace dgc::testing
