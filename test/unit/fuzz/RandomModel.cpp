// Random models: three families with random sizes, annotated by chance.
#include "test/unit/fuzz/RandomModel.h"

#include <algorithm>
#include <random>

namespace dgc::testing {

namespace {
using Shape = std::vector<int64_t>;

struct Mesh {
  const char *op;
  std::vector<std::string> axes;
};

const Mesh meshes[] = {
    {"dist.mesh @mesh <a = 2>", {"a"}},
    {"dist.mesh @mesh <a = 3>", {"a"}},
    {"dist.mesh @mesh <a = 2, b = 2>", {"a", "b"}},
    {"dist.mesh @mesh <a = 2, b = 3>", {"a", "b"}},
    {"dist.mesh @mesh <a = 3, b = 2>", {"a", "b"}},
};

std::string typeOf(const Shape &shape, const char *element = "f32") {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

class ModelWriter {
public:
  ModelWriter(uint32_t seed, bool slots, bool annotated, uint32_t annotationSeed)
      : random(seed + 17), annotations(annotationSeed * 7919 + seed), slots(slots), annotated(annotated) {}

  RandomModel write() {
    batch = 5 + draw(10);
    uint32_t family = draw(3);
    const Mesh *of = &meshes[annotations() % std::size(meshes)];
    mesh = annotated ? of : nullptr;
    // Few annotations leave most to propagation, many conflict.
    density = 1 + annotations() % 6;
    family == 0 ? perceptron() : family == 1 ? convolutions() : transformer();
    model.text = (mesh ? std::string(mesh->op) + "\n" : "") + "dgc.model @m {\n" + body + "  dgc.loss %loss\n" +
                 "  dgc.optimizer " + optimizer() + "\n}\n";
    return std::move(model);
  }

private:
  int64_t draw(int64_t below) { return random() % below; }

  std::string optimizer() {
    static const char *const plain[] = {"sgd learning_rate 1", "sgd learning_rate 1 clip_global_norm 0.3"};
    static const char *const stateful[] = {"sgd learning_rate 0.5 momentum 0.9",
                                           "adam learning_rate 0.01",
                                           "adamw learning_rate 0.01 weight_decay 0.01",
                                           "adam learning_rate 0.01 clip_global_norm 0.3",
                                           "lamb learning_rate 0.01 weight_decay 0.1",
                                           "muon learning_rate 0.01",
                                           "adafactor learning_rate 0.1"};
    return slots ? stateful[draw(std::size(stateful))] : plain[draw(std::size(plain))];
  }

  //===--------------------------------------------------------------------===//
  // Annotations
  //===--------------------------------------------------------------------===//

  /// Each axis cuts one dimension or none; dimensions are open or closed.
  std::string sharding(size_t rank) {
    std::vector<std::string> dims(rank);
    std::vector<std::string> axes = mesh->axes;
    std::shuffle(axes.begin(), axes.end(), annotations);
    for (const std::string &axis : axes)
      if (size_t dim = annotations() % (rank + 1); dim < rank)
        dims[dim] += (dims[dim].empty() ? "\"" : ", \"") + axis + "\"";
    std::string text = "<@mesh, [";
    for (size_t dim = 0; dim < rank; ++dim) {
      bool open = annotations() % 2;
      text += (dim ? ", {" : "{") + dims[dim] + (open ? dims[dim].empty() ? "?" : ", ?" : "") + "}";
    }
    return text + "]>";
  }

  bool annotate() { return mesh && annotations() % 7 < density; }

  std::string annotation(size_t rank, const std::string &others = "") {
    std::string own = annotate() ? "dist.sharding = #dist.sharding" + sharding(rank) : "";
    std::string comma = !own.empty() && !others.empty() ? ", " : "";
    return own.empty() && others.empty() ? "" : " {" + others + comma + own + "}";
  }

  //===--------------------------------------------------------------------===//
  // Members
  //===--------------------------------------------------------------------===//

  void line(const std::string &text) { body += indent + text + "\n"; }

  std::string input(const std::string &name, const Shape &shape, const char *element) {
    line("%" + name + " = dgc.input \"" + name + "\"" + annotation(shape.size()) + " : " + typeOf(shape, element));
    return "%" + name;
  }

  std::string variable(const std::string &init, const Shape &shape, const std::string &names = "") {
    std::string name = "w" + std::to_string(counter++);
    line("%" + name + " = dgc.variable \"" + name + "\" " + init + annotation(shape.size(), names) + " : " +
         typeOf(shape));
    return "%" + name;
  }

  /// A value in between, constrained by chance.
  std::string value(const std::string &op, size_t rank) {
    std::string name = "%v" + std::to_string(counter++);
    line(name + " = " + op);
    if (annotate() && annotations() % 2) {
      line(name + "_c = dist.constraint " + name + " to " + sharding(rank));
      return name + "_c";
    }
    return name;
  }

  void floats(const std::string &name, const Shape &shape) {
    std::vector<float> values(count(shape));
    for (float &each : values)
      each = float(random() % 2000) / 1000 - 1;
    model.inputs[name] = HostArray::of(shape, values);
  }
  void integers(const std::string &name, const Shape &shape, int64_t below) {
    std::vector<int32_t> values(count(shape));
    for (int32_t &each : values)
      each = int32_t(random() % below);
    model.inputs[name] = HostArray::of<int32_t>(shape, values, rt::DType::I32);
  }
  static int64_t count(const Shape &shape) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    return count;
  }

  std::string batchNorm(const std::string &x, int64_t channels, size_t rank) {
    std::string scale = variable("constant 1", {channels}), offset = variable("zeros", {channels});
    std::string mean = variable("zeros", {channels}), variance = variable("constant 1", {channels});
    std::string name = "%n" + std::to_string(counter++);
    line(name + ", " + name + "_m, " + name + "_v = dgc.batch_norm " + x + ", " + scale + ", " + offset + ", " + mean +
         ", " + variance + " momentum 0.9 epsilon 1e-3");
    line("dgc.assign " + mean + ", " + name + "_m");
    line("dgc.assign " + variance + ", " + name + "_v");
    return value("dgc.tanh " + name, rank);
  }

  std::string dense(const std::string &x, int64_t from, int64_t to, size_t rank) {
    std::string weight = variable("normal 0 0.4", {from, to});
    std::string bias = draw(3) ? ", " + variable("zeros", {to}) : "";
    return value("dgc.dense " + x + ", " + weight + bias, rank);
  }

  void loss(const std::string &logits, int64_t classes) {
    input("label", {batch}, "i32");
    integers("label", {batch}, classes);
    line("%loss = dgc.cross_entropy " + logits + ", %label");
    line("dgc.output \"logits\" " + logits + annotation(2));
  }

  //===--------------------------------------------------------------------===//
  // Families
  //===--------------------------------------------------------------------===//

  void perceptron() {
    int64_t features = 2 + draw(14), classes = 2 + draw(7);
    std::string x = input("x", {batch, features}, "f32");
    floats("x", {batch, features});
    for (int64_t layer = 0, layers = 1 + draw(3); layer < layers; ++layer) {
      int64_t width = 2 + draw(12);
      x = dense(x, features, width, 2);
      features = width;
      if (draw(3))
        x = batchNorm(x, features, 2);
      if (draw(3) == 0)
        x = value("dgc.dropout " + x + " rate 0.3", 2);
      if (draw(2)) // a residual connection
        x = value("dgc.add " + x + ", " + dense(value("dgc.gelu " + x + " tanh", 2), features, features, 2), 2);
    }
    loss(dense(x, features, classes, 2), classes);
  }

  void convolutions() {
    int64_t size = 4 + draw(5), channels = 1 + draw(3), classes = 2 + draw(5);
    std::string x = input("x", {batch, size, size, channels}, "f32");
    floats("x", {batch, size, size, channels});
    for (int64_t layer = 0, layers = 1 + draw(2); layer < layers && size >= 3; ++layer) {
      int64_t width = 2 + draw(6);
      std::string kernel = variable("normal 0 0.4", {3, 3, channels, width});
      x = value("dgc.conv2d " + x + ", " + kernel, 4);
      size -= 2;
      channels = width;
      x = draw(3) ? batchNorm(x, channels, 4) : value("dgc.tanh " + x, 4);
      if (size >= 2 && draw(2)) {
        x = value("dgc.avg_pool " + x + " window [2, 2]", 4);
        size /= 2;
      }
    }
    x = value("dgc.flatten " + x, 2);
    loss(dense(x, size * size * channels, classes, 2), classes);
  }

  void transformer() {
    int64_t heads = 1 + draw(3), width = heads * (5 - heads + draw(2)), length = 2 + draw(6), symbols = 5 + draw(9);
    input("tokens", {batch, length}, "i32");
    integers("tokens", {batch, length}, symbols);
    input("next", {batch, length}, "i32");
    integers("next", {batch, length}, symbols);
    std::string table = variable("normal 0 0.4", {symbols, width}), places = variable("normal 0 0.4", {length, width});
    std::string x = value("dgc.embedding " + table + ", %tokens", 3);
    x = value("dgc.position_embedding " + x + ", " + places, 3);
    std::string layers = std::to_string(1 + draw(2));
    line("%features = dgc.repeat " + layers + " \"layer\" (%x = " + x + ") {");
    indent = "    ";
    std::string y = value("dgc.add %x, " + attention(norm("%x", width), width, heads), 3);
    std::string up = value("dgc.gelu " + dense(norm(y, width), width, 2 * width, 3) + " tanh", 3);
    line("dgc.next " + value("dgc.add " + y + ", " + dense(up, 2 * width, width, 3), 3));
    indent = "  ";
    line("}");
    std::string logits = value("dgc.matmul " + norm("%features", width) + ", " + table + " transposed", 3);
    line("%loss = dgc.cross_entropy " + logits + ", %next");
    line("dgc.output \"logits\" " + logits + annotation(3));
  }

  std::string norm(const std::string &x, int64_t width) {
    std::string scale = variable("constant 1", {width}), offset = variable("zeros", {width});
    return value("dgc.layer_norm " + x + ", " + scale + ", " + offset, 3);
  }

  std::string attention(const std::string &x, int64_t width, int64_t heads) {
    std::string q = dense(x, width, width, 3), k = dense(x, width, width, 3), v = dense(x, width, width, 3);
    std::string mixed = value(
        "dgc.attention " + q + ", " + k + ", " + v + " heads " + std::to_string(heads) + (draw(2) ? " causal" : ""), 3);
    return dense(mixed, width, width, 3);
  }

  std::mt19937 random, annotations;
  bool slots, annotated;
  const Mesh *mesh = nullptr;
  uint32_t density = 0;
  int64_t batch = 0;
  std::string body, indent = "  ";
  unsigned counter = 0;
  RandomModel model;
};
} // namespace

RandomModel randomModel(uint32_t seed, bool slots, bool annotated, uint32_t annotationSeed) {
  return ModelWriter(seed, slots, annotated, annotationSeed).write();
}

} // namespace dgc::testing
