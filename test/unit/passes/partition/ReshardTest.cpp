// Every reshard between two shardings of a value, by running: what comes out is the value, distributed as asked for.
#include "test/unit/passes/partition/Compare.h"

using namespace dgc::testing;

namespace {

using Shape = std::vector<int64_t>;

/// The axes of the mesh: 'a' and 'b' below.
const char *const names[] = {"data", "model"};

/// Per dimension the axes that cut it ("ab"), and the axes along which the value is partial.
struct Layout {
  std::vector<std::string> dims;
  std::string partial;
};

std::vector<Layout> allLayouts(const Shape &mesh, size_t rank, bool partial) {
  std::vector<Layout> layouts = {{std::vector<std::string>(rank), ""}};
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    std::vector<Layout> next;
    for (const Layout &layout : layouts) {
      next.push_back(layout);
      if (partial)
        next.push_back({layout.dims, layout.partial + char('a' + axis)});
      for (size_t dim = 0; dim < rank; ++dim)
        for (size_t place = 0; place <= layout.dims[dim].size(); ++place) {
          next.push_back(layout);
          next.back().dims[dim].insert(place, 1, char('a' + axis));
        }
    }
    layouts = std::move(next);
  }
  return layouts;
}

std::string axesText(const std::string &axes) {
  std::string text;
  for (char axis : axes)
    text += (text.empty() ? "\"" : ", \"") + std::string(names[axis - 'a']) + "\"";
  return "{" + text + "}";
}

std::string shardingText(const std::vector<std::string> &dims) {
  std::string text;
  for (const std::string &axes : dims)
    text += (text.empty() ? "" : ", ") + axesText(axes);
  return "<@mesh, [" + text + "]>";
}

std::string typeText(const Shape &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// A function that takes the value (%x) and, for every set of axes, its addends along these (%y..), and returns the
/// value once for each pair of shardings.
class Program {
public:
  Program(const Shape &mesh, const Shape &shape) : mesh(mesh), type(typeText(shape)) {
    inputs["arg0"] = array(shape, 1);
    header = "dist.mesh @mesh <data = " + std::to_string(mesh[0]) +
             (mesh.size() > 1 ? ", model = " + std::to_string(mesh[1]) : "") + ">\nfunc.func @f(%x: " + type +
             " {dist.sharding = #dist.sharding" + shardingText(std::vector<std::string>(shape.size())) + "}";
    for (const char *axes : {"a", "b", "ab"})
      if (mesh.size() > 1 || axes == std::string("a"))
        addAddends(axes, shape);
  }

  void add(const Layout &from, const Layout &to) {
    std::string n = std::to_string(pairs.size());
    if (from.partial.empty()) {
      body += "  %s" + n + " = dist.constraint %x to " + shardingText(from.dims) + " : " + type + "\n";
    } else {
      std::vector<std::string> dims = from.dims;
      dims.insert(dims.begin(), from.partial);
      body += "  %c" + n + " = dist.constraint %y" + from.partial + " to " + shardingText(dims) + " : " +
              addendTypes.at(from.partial) + "\n  %s" + n + " = dgc.reduce sum %c" + n +
              " dims [0] : " + addendTypes.at(from.partial) + "\n";
    }
    body += "  %r" + n + " = dist.reshard %s" + n + " to " + shardingText(to.dims) + " : " + type + "\n";
    results += (pairs.empty() ? "" : ", ") + type + " {dist.sharding = #dist.sharding" + shardingText(to.dims) + "}";
    returned += (pairs.empty() ? "%r" : ", %r") + n;
    types += (pairs.empty() ? "" : ", ") + type;
    pairs.push_back(text(from) + " to " + text(to));
  }

  /// Runs it, and compares each result with the value.
  void check() {
    if (pairs.empty())
      return;
    ExecuteOptions options;
    options.mesh = "data=" + std::to_string(mesh[0]) + (mesh.size() > 1 ? ",model=" + std::to_string(mesh[1]) : "");
    auto run = execute(header + ") -> (" + results + ") {\n" + body + "  return " + returned + " : " + types + "\n}\n",
                       inputs, options);
    ASSERT_TRUE(run.ok()) << run.status();
    for (size_t i = 0; i < pairs.size(); ++i)
      EXPECT_LE(relativeError(inputs.at("arg0"), run->outputs.at("result" + std::to_string(i))), 1e-6) << pairs[i];
    *this = Program(mesh, inputs.at("arg0").shape);
  }

  size_t size() const { return pairs.size(); }

private:
  static std::string text(const Layout &layout) {
    return shardingText(layout.dims) + (layout.partial.empty() ? "" : " partial " + layout.partial);
  }

  /// Addends that make up the value: the last one is what the others leave.
  void addAddends(const std::string &axes, Shape shape) {
    int64_t count = 1;
    for (char axis : axes)
      count *= mesh[axis - 'a'];
    shape.insert(shape.begin(), count);
    std::vector<float> whole = inputs.at("arg0").as<float>(), addends = array(shape, 2).as<float>();
    size_t last = addends.size() - whole.size();
    for (size_t i = 0; i < whole.size(); ++i) {
      addends[last + i] = whole[i];
      for (size_t j = i; j < last; j += whole.size())
        addends[last + i] -= addends[j];
    }
    addendTypes[axes] = typeText(shape);
    header += ", %y" + axes + ": " + typeText(shape) + " {dist.sharding = #dist.sharding" +
              shardingText(std::vector<std::string>(shape.size())) + "}";
    inputs["arg" + std::to_string(inputs.size())] = HostArray::of(shape, addends);
  }

  Shape mesh;
  std::string type, header, body, results, returned, types;
  std::map<std::string, std::string> addendTypes;
  std::vector<std::string> pairs;
  NamedArrays inputs;
};

struct Case {
  Shape mesh, shape;
};

class Reshard : public ::testing::TestWithParam<Case> {};

// All pairs, many in a program.
TEST_P(Reshard, GivesTheValue) {
  const Case &c = GetParam();
  Program program(c.mesh, c.shape);
  for (const Layout &from : allLayouts(c.mesh, c.shape.size(), /*partial=*/true))
    for (const Layout &to : allLayouts(c.mesh, c.shape.size(), /*partial=*/false)) {
      program.add(from, to);
      if (program.size() == 100)
        program.check();
    }
  program.check();
}

std::string join(const Shape &shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

INSTANTIATE_TEST_SUITE_P(Meshes, Reshard,
                         ::testing::Values(Case{{4}, {8}}, Case{{4}, {8, 4}}, Case{{4}, {4, 8, 12}}, Case{{2, 2}, {8}},
                                           Case{{2, 2}, {8, 4}}, Case{{2, 2}, {4, 8, 12}}, Case{{2, 3}, {12}},
                                           Case{{2, 3}, {12, 6}}, Case{{2, 3}, {6, 12, 18}}),
                         [](const ::testing::TestParamInfo<Case> &info) {
                           return join(info.param.shape) + "_on_" + join(info.param.mesh);
                         });

} // namespace
