// Random models that combine, pair and rearrange the examples of a batch: every op takes values that are there and adds
// one.
#include "test/unit/fuzz/RandomBatchModel.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

namespace dgc::testing {

namespace {

/// The size of a dimension: `fixed` and `each` for every example.
struct Dim {
  int64_t fixed, each;
  bool operator==(const Dim &other) const = default;
};

using Shape = std::vector<Dim>;

struct Value {
  std::string name;
  Shape shape;
};

class BatchModelWriter {
public:
  BatchModelWriter(uint32_t seed, int64_t batch) : random(seed), batch(batch), manual(seed % 6 == 5) {}

  RandomBatchModel write() {
    values = {{"%x", {{0, 1}, {3, 0}}}, {"%h", {{0, 1}, {3, 0}}}, {"%g", {{0, 1}, {2, 0}, {3, 0}}}};
    if (manual)
      region();
    for (uint32_t i = 0, count = 2 + draw(6); i < count; ++i)
      addOp();
    addLoss(values[1]); // the weights are trained, whatever else is
    for (size_t i = values.size(); i-- > 3 && i + 3 > values.size();)
      addLoss(values[i]);
    for (size_t i = values.size(); i-- > 3 && i + 3 > values.size();)
      line("dgc.output \"" + values[i].name.substr(1) + "\" " + values[i].name);
    std::string mesh = manual ? "dist.mesh @mesh <data = 2>\n" : "";
    return {mesh + "dgc.model @m {\n" + head + body + "  dgc.loss " + loss +
                "\n  dgc.optimizer sgd learning_rate 0.5\n}\n",
            manual};
  }

private:
  static constexpr const char *head = R"(  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?xi32>
  %x3 = dgc.input "x3" : tensor<?x2x3xf32>
  %w = dgc.variable "w" normal 0.0 0.7 : tensor<3x3xf32>
  %b = dgc.variable "b" normal 0.0 0.7 : tensor<3xf32>
  %queue = dgc.variable "queue" normal 0.0 0.7 frozen : tensor<2x3xf32>
  %h = dgc.dense %x, %w, %b
  %g = dgc.dense %x3, %w, %b
)";

  uint32_t draw(size_t below) { return below ? static_cast<uint32_t>(random() % below) : 0; }
  void line(const std::string &text) { body += "  " + text + "\n"; }
  std::string define(const std::string &text) {
    std::string name = "%v" + std::to_string(counter++);
    line(name + " = " + text);
    return name;
  }
  void give(const std::string &text, Shape shape) { values.push_back({define(text), std::move(shape)}); }
  /// The same between -1 and 1, so that numbers stay small.
  void giveSmall(const std::string &text, Shape shape) { give("dgc.tanh " + define(text), std::move(shape)); }

  int64_t sizeOf(Dim dim) const { return dim.fixed + dim.each * batch; }
  template <typename T> static std::string listOf(const std::vector<T> &numbers) {
    std::string text = "[";
    for (size_t i = 0; i < numbers.size(); ++i)
      text += (i ? ", " : "") + std::to_string(numbers[i]);
    return text + "]";
  }
  std::vector<int64_t> sizesOf(const Shape &shape) const {
    std::vector<int64_t> sizes;
    for (Dim dim : shape)
      sizes.push_back(sizeOf(dim));
    return sizes;
  }
  std::string typeOf(const Shape &shape) const {
    std::string text = "tensor<";
    for (int64_t size : sizesOf(shape))
      text += std::to_string(size) + "x";
    return text + "f32>";
  }
  std::string variable(const std::string &init, const Shape &shape) {
    std::string name = "%p" + std::to_string(counter++);
    line(name + " = dgc.variable \"" + name.substr(1) + "\" " + init + " : " + typeOf(shape));
    return name;
  }

  /// A value of that rank at least, later ones more often; its shape is empty where there is none.
  Value pick(size_t least = 1, size_t most = 3) {
    std::vector<Value> fit;
    for (const Value &value : values)
      if (value.shape.size() >= least && value.shape.size() <= most)
        fit.push_back(value);
    return fit.empty() ? Value() : fit[std::max(draw(fit.size()), draw(fit.size()))];
  }

  void addOp() {
    using Op = void (BatchModelWriter::*)();
    static constexpr Op ops[] = {
        &BatchModelWriter::unary,       &BatchModelWriter::binary,    &BatchModelWriter::binary,
        &BatchModelWriter::reduce,      &BatchModelWriter::reduce,    &BatchModelWriter::center,
        &BatchModelWriter::softmax,     &BatchModelWriter::matmul,    &BatchModelWriter::matmul,
        &BatchModelWriter::transpose,   &BatchModelWriter::merge,     &BatchModelWriter::split,
        &BatchModelWriter::concatenate, &BatchModelWriter::enqueue,   &BatchModelWriter::concatenate,
        &BatchModelWriter::slice,       &BatchModelWriter::slice,     &BatchModelWriter::pad,
        &BatchModelWriter::reverse,     &BatchModelWriter::layerNorm, &BatchModelWriter::batchNorm,
        &BatchModelWriter::attention,   &BatchModelWriter::embedding};
    (this->*ops[draw(std::size(ops))])();
  }

  /// A part of the model that is written for one device, with the examples of that.
  void region() {
    static constexpr const char *bodies[] = {"dgc.tanh %l", "dgc.softmax %l", "dgc.softmax %l dim 0",
                                             "dgc.reverse %l dims [1]", "dgc.reverse %l dims [0]"};
    const char *of = draw(2) ? "%x" : "%h";
    std::string sharding = R"([#dist.sharding<@mesh, [{"data"}, {}]>])";
    give(std::string("dist.manual (%l = ") + of + ") over @mesh [\"data\"] in " + sharding + " out " + sharding +
             " {\n    %t = " + bodies[draw(std::size(bodies))] + "\n    dist.return %t\n  }",
         {{0, 1}, {3, 0}});
  }

  void unary() {
    static constexpr const char *names[] = {"tanh", "sigmoid", "negate", "relu"};
    Value a = pick();
    give("dgc." + std::string(names[draw(4)]) + " " + a.name, a.shape);
  }

  void binary() {
    static constexpr const char *names[] = {"add", "subtract", "multiply", "maximum"};
    Value a = pick(), b = a;
    for (const Value &value : values)
      if (value.shape == a.shape && value.name != a.name && draw(2))
        b = value;
    give("dgc." + std::string(names[draw(4)]) + " " + a.name + ", " + b.name, a.shape);
  }

  void reduce() {
    static constexpr const char *kinds[] = {"sum", "max", "min", "product"};
    Value a = pick();
    std::vector<size_t> dims;
    Shape left;
    for (size_t d = 0; d < a.shape.size(); ++d)
      if (draw(2))
        dims.push_back(d);
      else
        left.push_back(a.shape[d]);
    if (!dims.empty())
      giveSmall("dgc.reduce " + std::string(kinds[draw(4)]) + " " + a.name + " dims " + listOf(dims), left);
  }

  /// Subtracts what a reduction gives.
  void center() {
    Value a = pick();
    size_t reduced = draw(a.shape.size());
    std::vector<size_t> left;
    for (size_t d = 0; d < a.shape.size(); ++d)
      if (d != reduced)
        left.push_back(d);
    std::string total = define(std::string("dgc.reduce ") + (draw(2) ? "sum " : "max ") + a.name + " dims [" +
                               std::to_string(reduced) + "]");
    std::string wide =
        define("dgc.broadcast_in_dim " + total + " dims " + listOf(left) + " to " + listOf(sizesOf(a.shape)));
    giveSmall("dgc.subtract " + a.name + ", " + wide, a.shape);
  }

  void softmax() {
    Value a = pick();
    give(std::string("dgc.") + (draw(2) ? "softmax " : "log_softmax ") + a.name + " dim " +
             std::to_string(draw(a.shape.size())),
         a.shape);
  }

  void matmul() {
    Value a = pick(2, 2);
    for (int attempt = 0; attempt < 6 && !a.name.empty(); ++attempt) {
      Value b = pick(2, 2);
      if (a.shape[1] == b.shape[1])
        return giveSmall("dgc.matmul " + a.name + ", " + b.name + " transposed", {a.shape[0], b.shape[0]});
      if (a.shape[1] == b.shape[0])
        return giveSmall("dgc.matmul " + a.name + ", " + b.name, {a.shape[0], b.shape[1]});
    }
  }

  void transpose() {
    Value a = pick(2);
    if (a.name.empty())
      return;
    std::vector<size_t> permutation(a.shape.size());
    Shape shape;
    for (size_t d = 0; d < permutation.size(); ++d)
      permutation[d] = d;
    std::shuffle(permutation.begin(), permutation.end(), random);
    for (size_t d : permutation)
      shape.push_back(a.shape[d]);
    give("dgc.transpose " + a.name + " permutation " + listOf(permutation), shape);
  }

  /// Two neighbouring dimensions as one.
  void merge() {
    Value a = pick(2);
    if (a.name.empty())
      return;
    size_t d = draw(a.shape.size() - 1);
    Dim first = a.shape[d], second = a.shape[d + 1];
    if (first.each != 0 && second.each != 0)
      return;
    Shape shape = a.shape;
    shape[d] = {first.fixed * second.fixed, first.fixed * second.each + first.each * second.fixed};
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    give("dgc.reshape " + a.name + " to " + listOf(sizesOf(shape)), shape);
  }

  /// A dimension of several batches as two.
  void split() {
    Value a = pick(1, 2);
    if (a.name.empty())
      return;
    size_t d = draw(a.shape.size());
    Dim dim = a.shape[d];
    if (dim.fixed != 0 || dim.each < 2)
      return;
    Shape shape = a.shape;
    bool examplesFirst = draw(2);
    shape[d] = examplesFirst ? Dim{0, 1} : Dim{dim.each, 0};
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, examplesFirst ? Dim{dim.each, 0} : Dim{0, 1});
    give("dgc.reshape " + a.name + " to " + listOf(sizesOf(shape)), shape);
  }

  void concatenate() {
    Value a = pick();
    size_t d = draw(a.shape.size());
    std::vector<Value> fit;
    for (const Value &value : values) {
      Shape shape = value.shape;
      if (shape.size() == a.shape.size()) {
        shape[d] = a.shape[d];
        if (shape == a.shape)
          fit.push_back(value);
      }
    }
    Value b = fit[draw(fit.size())];
    Shape shape = a.shape;
    shape[d] = {a.shape[d].fixed + b.shape[d].fixed, a.shape[d].each + b.shape[d].each};
    give("dgc.concatenate " + a.name + ", " + b.name + " dim " + std::to_string(d), shape);
  }

  /// Examples and rows that belong to none.
  void enqueue() {
    Value a = pick(2, 2);
    if (a.name.empty() || !(a.shape[1] == Dim{3, 0}))
      return;
    bool first = draw(2);
    Shape shape = a.shape;
    shape[0].fixed += 2;
    give("dgc.concatenate " + (first ? "%queue, " + a.name : a.name + ", %queue") + " dim 0", shape);
  }

  /// All but a first or last element, every second one, or a number of batches of several.
  void slice() {
    Value a = pick();
    size_t d = draw(a.shape.size());
    Dim dim = a.shape[d];
    std::vector<int64_t> from(a.shape.size(), 0), to = sizesOf(a.shape), strides(a.shape.size(), 1);
    Shape shape = a.shape;
    uint32_t how = draw(4);
    if (how == 0 && dim.each > 1) { // one batch and what is in front of it
      to[d] = dim.fixed + batch;
      shape[d].each = 1;
    } else if (how == 1 && dim.each > 1) {
      from[d] = batch;
      shape[d].each -= 1;
    } else if (how == 2 && dim.each % 2 == 0 && dim.fixed % 2 == 0) {
      strides[d] = 2;
      from[d] = draw(2);
      shape[d] = {dim.fixed / 2, dim.each / 2};
    } else if (dim.fixed > 1 || draw(4) == 0) {
      (draw(2) ? from[d] += 1 : to[d] -= 1);
      shape[d].fixed -= 1;
    } else {
      return;
    }
    if (sizeOf(shape[d]) < 1)
      return;
    give("dgc.slice " + a.name + " from " + listOf(from) + " to " + listOf(to) +
             (how == 2 ? " strides " + listOf(strides) : ""),
         shape);
  }

  void pad() {
    Value a = pick();
    size_t d = draw(a.shape.size());
    std::vector<int64_t> low(a.shape.size(), 0), high(a.shape.size(), 0);
    low[d] = draw(3);
    high[d] = draw(3);
    Shape shape = a.shape;
    shape[d].fixed += low[d] + high[d];
    std::string value = define("dgc.constant dense<0.5> : tensor<f32>");
    give("dgc.pad " + a.name + ", " + value + " low " + listOf(low) + " high " + listOf(high), shape);
  }

  void reverse() {
    Value a = pick();
    // Mostly along what is no batch.
    size_t d = draw(a.shape.size());
    if (a.shape[d].each == 0 || draw(4) == 0)
      give("dgc.reverse " + a.name + " dims [" + std::to_string(d) + "]", a.shape);
  }

  void layerNorm() {
    Value a = pick(2);
    if (a.name.empty())
      return;
    // Not trained: their gradients would be those of places.
    std::string scale = variable("constant 1.5 frozen", {a.shape.back()});
    std::string offset = variable("constant 0.25 frozen", {a.shape.back()});
    give("dgc.layer_norm " + a.name + ", " + scale + ", " + offset + " epsilon 0.01", a.shape);
  }

  void batchNorm() {
    Value a = pick(2);
    if (a.name.empty() || a.shape.back().each != 0)
      return;
    Shape channels{a.shape.back()};
    std::string scale = variable("constant 1.5 frozen", channels);
    std::string offset = variable("constant 0.25 frozen", channels);
    std::string mean = variable("zeros", channels), variance = variable("constant 1.0", channels);
    std::string name = "%n" + std::to_string(counter++);
    line(name + ", " + name + "_m, " + name + "_v = dgc.batch_norm " + a.name + ", " + scale + ", " + offset + ", " +
         mean + ", " + variance + " epsilon 0.01");
    line("dgc.assign " + mean + ", " + name + "_m");
    line("dgc.assign " + variance + ", " + name + "_v");
    values.push_back({name, a.shape});
  }

  void attention() {
    Value a = pick(3);
    if (a.name.empty())
      return;
    std::string causal = draw(2) ? " causal" : "", scale = draw(2) ? " scale 0.5" : "";
    give("dgc.attention " + a.name + ", " + a.name + ", " + a.name + " heads 1" + causal + scale, a.shape);
  }

  void embedding() {
    Value table = pick(2, 2);
    if (!table.name.empty() && sizeOf(table.shape[0]) >= 3)
      give("dgc.embedding " + table.name + ", %y", {{0, 1}, table.shape[1]});
  }

  /// Adds a scalar of the value to the loss.
  void addLoss(const Value &value) {
    std::string term;
    const Shape &shape = value.shape;
    if (shape.empty())
      term = value.name;
    else if (shape.size() == 2 && shape[0] == Dim{0, 1} && sizeOf(shape[1]) >= 3 && draw(3)) {
      term = define("dgc.cross_entropy " + value.name + ", %y");
      line("dgc.metric \"accuracy" + std::to_string(counter) + "\" " + define("dgc.accuracy " + value.name + ", %y"));
    } else if (draw(2)) {
      term = define("dgc.mean_squared_error " + value.name + ", " + define("dgc.tanh " + value.name));
    } else {
      std::vector<size_t> all;
      for (size_t d = 0; d < shape.size(); ++d)
        all.push_back(d);
      term = define("dgc.reduce sum " + define("dgc.tanh " + value.name) + " dims " + listOf(all));
    }
    loss = loss.empty() ? term : define("dgc.add " + loss + ", " + term);
  }

  std::mt19937 random;
  int64_t batch;
  bool manual;
  std::vector<Value> values;
  std::string body, loss;
  unsigned counter = 0;
};
} // namespace

RandomBatchModel randomBatchModel(uint32_t seed, int64_t batch) { return BatchModelWriter(seed, batch).write(); }

} // namespace dgc::testing
