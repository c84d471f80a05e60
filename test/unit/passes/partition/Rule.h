// Running a program cut in some way against the program alone.
#pragma once

#include "test/unit/passes/partition/Compare.h"
#include "test/unit/passes/partition/RuleCases.h"

#include <cctype>

namespace dgc::testing {

inline std::string typeOf(const std::vector<int64_t> &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// The axes that cut one dimension of one argument or, after them, of the result.
struct Cut {
  size_t value, dim;
  std::string axes; // "\"data\""
};

/// The shape in a type of the form "tensor<4x8xf32>".
inline std::vector<int64_t> shapeOf(const std::string &type) {
  std::vector<int64_t> shape;
  for (size_t at = type.find('<') + 1; std::isdigit(static_cast<unsigned char>(type[at]));) {
    size_t length = 0;
    shape.push_back(std::stoll(type.substr(at), &length));
    at += length + 1;
  }
  return shape;
}

/// " {dist.sharding = ..}" of value number `value`, or nothing where no dimension of it is cut.
inline std::string annotation(size_t value, size_t rank, const std::vector<Cut> &cuts) {
  std::string dims;
  bool annotated = false;
  for (size_t dim = 0; dim < rank; ++dim) {
    std::string axes;
    for (const Cut &cut : cuts)
      if (cut.value == value && cut.dim == dim)
        axes += (axes.empty() ? "" : ", ") + cut.axes;
    annotated |= !axes.empty();
    dims += (dim ? ", {" : "{") + (axes.empty() ? "?" : axes) + "}";
  }
  return annotated ? " {dist.sharding = #dist.sharding<@mesh, [" + dims + "]>}" : "";
}

inline std::string program(const Case &c, const std::string &mesh, const std::vector<Cut> &cuts) {
  std::string text = "func.func @f(";
  for (size_t i = 0; i < c.arguments.size(); ++i)
    text += (i ? ", %" : "%") + std::string(1, char('a' + i)) + ": " + typeOf(c.arguments[i]) +
            annotation(i, c.arguments[i].size(), cuts);
  std::string result = annotation(c.arguments.size(), shapeOf(c.result).size(), cuts);
  return (cuts.empty() ? "" : "dist.mesh @mesh <" + mesh + ">\n") + text + ") -> (" + c.result + result + ") {\n" +
         c.body + "\nreturn %r : " + c.result + "\n}\n";
}

/// Runs cases on one mesh, and compares with what the op alone gives.
class Runner {
public:
  Runner(const Case &c, std::string mesh) : c(c), mesh(std::move(mesh)) {
    for (size_t i = 0; i < c.arguments.size(); ++i)
      inputs["arg" + std::to_string(i)] = array(c.arguments[i], i + 1);
    auto result = execute(program(c, "", {}), inputs);
    EXPECT_TRUE(result.ok()) << result.status();
    if (result.ok())
      alone = result->outputs;
  }

  void expectSame(const std::vector<Cut> &cuts) const {
    ExecuteOptions options;
    options.mesh = mesh;
    if (std::string(c.body).find("fused") != std::string::npos)
      options.attention = "fused"; // or it would be expanded before it is cut
    std::string text = program(c, mesh, cuts);
    SCOPED_TRACE(text);
    auto result = execute(text, inputs, options);
    ASSERT_TRUE(result.ok()) << result.status();
    expectClose(alone, result->outputs, c.tolerance);
  }

  /// On a mesh of data and model: each dimension cut by both axes, and each two dimensions, of one value or of two, by one
  /// each. The rest follows by propagation, or is resharded.
  void expectSameHoweverCut() const {
    const std::vector<Cut> all = places();
    for (size_t i = 0; i < all.size(); ++i) {
      expectSame({{all[i].value, all[i].dim, "\"model\", \"data\""}});
      for (size_t j = i + 1; j < all.size(); ++j)
        expectSame({{all[i].value, all[i].dim, "\"data\""}, {all[j].value, all[j].dim, "\"model\""}});
    }
  }

  /// Every dimension of more than one element, of arguments and of the result.
  std::vector<Cut> places() const {
    std::vector<Cut> places;
    for (size_t i = 0; i <= c.arguments.size(); ++i) {
      std::vector<int64_t> shape = i < c.arguments.size() ? c.arguments[i] : shapeOf(c.result);
      for (size_t dim = 0; dim < shape.size(); ++dim)
        if (shape[dim] > 1)
          places.push_back({i, dim, ""});
    }
    return places;
  }

private:
  const Case &c;
  std::string mesh;
  NamedArrays inputs, alone;
};

inline Cut cut(const Cut &place, const char *axes) { return {place.value, place.dim, axes}; }

inline std::string nameOfCase(const ::testing::TestParamInfo<Case> &info) { return info.param.name; }

} // namespace dgc::testing
