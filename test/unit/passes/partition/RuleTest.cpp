// Every sharding rule, by running: the op cut in every way against the op alone.
#include "test/unit/passes/partition/Compare.h"

using namespace dgc::testing;

namespace {

/// A function body over %a, %b, .. (f32), which returns `result`.
struct Case {
  const char *name;
  std::vector<std::vector<int64_t>> arguments;
  const char *body; // defines %r
  const char *result;
  double tolerance = 2e-6;
};

// Sizes differ where they can, and all of them divide by 4.
const Case cases[] = {
    {"add", {{4, 8}, {4, 8}}, "%r = dgc.add %a, %b : tensor<4x8xf32>", "tensor<4x8xf32>"},
    {"select",
     {{4, 8}, {4, 8}},
     "%p = dgc.compare lt %a, %b : tensor<4x8xf32>\n"
     "%r = dgc.select %p, %a, %b : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>",
     "tensor<4x8xf32>"},
    {"transpose",
     {{4, 8, 12}},
     "%r = dgc.transpose %a permutation [2, 0, 1] : tensor<4x8x12xf32>",
     "tensor<12x4x8xf32>"},
    {"reshape_merge", {{4, 8, 12}}, "%r = dgc.reshape %a to [4, 96] : tensor<4x8x12xf32>", "tensor<4x96xf32>"},
    {"reshape_split", {{32, 12}}, "%r = dgc.reshape %a to [4, 8, 12] : tensor<32x12xf32>", "tensor<4x8x12xf32>"},
    {"broadcast", {{8}}, "%r = dgc.broadcast_in_dim %a dims [1] to [4, 8, 12] : tensor<8xf32>", "tensor<4x8x12xf32>"},
    {"concatenate",
     {{4, 8}, {4, 12}},
     "%r = dgc.concatenate %a, %b dim 1 : tensor<4x8xf32>, tensor<4x12xf32>",
     "tensor<4x20xf32>"},
    {"pad",
     {{4, 8}},
     "%z = dgc.constant dense<7.0> : tensor<f32>\n"
     "%r = dgc.pad %a, %z low [0, 3] high [0, 1] : tensor<4x8xf32>, tensor<f32>",
     "tensor<4x12xf32>"},
    {"slice", {{4, 8}}, "%r = dgc.slice %a from [0, 2] to [4, 6] : tensor<4x8xf32>", "tensor<4x4xf32>"},
    {"reverse", {{4, 8}}, "%r = dgc.reverse %a dims [1] : tensor<4x8xf32>", "tensor<4x8xf32>"},
    {"reduce_sum", {{4, 8, 12}}, "%r = dgc.reduce sum %a dims [0, 2] : tensor<4x8x12xf32>", "tensor<8xf32>"},
    {"reduce_max", {{4, 8, 12}}, "%r = dgc.reduce max %a dims [1] : tensor<4x8x12xf32>", "tensor<4x12xf32>"},
    {"reduce_min_all", {{4, 8}}, "%r = dgc.reduce min %a dims [0, 1] : tensor<4x8xf32>", "tensor<f32>"},
    {"reduce_product", {{4, 8}}, "%r = dgc.reduce product %a dims [0] : tensor<4x8xf32>", "tensor<8xf32>"},
    {"dot",
     {{4, 8}, {8, 12}},
     "%r = dgc.dot_general %a, %b contract [1] x [0] : tensor<4x8xf32>, tensor<8x12xf32>",
     "tensor<4x12xf32>"},
    {"dot_transposed",
     {{8, 4}, {8, 12}},
     "%r = dgc.dot_general %a, %b contract [0] x [0] : tensor<8x4xf32>, tensor<8x12xf32>",
     "tensor<4x12xf32>"},
    {"dot_batch",
     {{4, 8, 12}, {4, 12, 16}},
     "%r = dgc.dot_general %a, %b batch [0] x [0] contract [2] x [1] : tensor<4x8x12xf32>, tensor<4x12x16xf32>",
     "tensor<4x8x16xf32>"},
    // Indices from -1 to 9, some of them outside.
    {"gather",
     {{8, 12}, {4, 16}},
     "%s = dgc.scale %b by 5.0 plus 4.0 : tensor<4x16xf32>\n"
     "%i = dgc.convert %s to i32 : tensor<4x16xf32>\n"
     "%r = dgc.gather %a, %i dim 0 : tensor<8x12xf32>, tensor<4x16xi32>",
     "tensor<4x16x12xf32>"},
    {"gather_inner",
     {{4, 8, 12}, {16}},
     "%s = dgc.scale %b by 5.0 plus 4.0 : tensor<16xf32>\n"
     "%i = dgc.convert %s to i32 : tensor<16xf32>\n"
     "%r = dgc.gather %a, %i dim 1 : tensor<4x8x12xf32>, tensor<16xi32>",
     "tensor<4x16x12xf32>"},
    {"scatter_add",
     {{4, 16}, {4, 16, 12}},
     "%s = dgc.scale %a by 5.0 plus 4.0 : tensor<4x16xf32>\n"
     "%i = dgc.convert %s to i32 : tensor<4x16xf32>\n"
     "%r = dgc.scatter_add %i, %b dim 0 size 8 : tensor<4x16xi32>, tensor<4x16x12xf32>",
     "tensor<8x12xf32>",
     1e-5},
    {"scatter_add_inner",
     {{16}, {4, 16, 12}},
     "%s = dgc.scale %a by 5.0 plus 4.0 : tensor<16xf32>\n"
     "%i = dgc.convert %s to i32 : tensor<16xf32>\n"
     "%r = dgc.scatter_add %i, %b dim 1 size 8 : tensor<16xi32>, tensor<4x16x12xf32>",
     "tensor<4x8x12xf32>",
     1e-5},
    {"attention",
     {{4, 8, 16}, {4, 8, 16}, {4, 8, 16}},
     "%r = dgc.attention %a, %b, %c heads 4 causal : tensor<4x8x16xf32>",
     "tensor<4x8x16xf32>",
     1e-5},
    {"convolution",
     {{4, 8, 8, 4}, {3, 3, 4, 8}},
     "%r = dgc.convolution %a, %b padding [[1, 1], [1, 1]] : tensor<4x8x8x4xf32>, tensor<3x3x4x8xf32>",
     "tensor<4x8x8x8xf32>"},
    {"convolution_input_grad",
     {{4, 8, 8, 8}, {3, 3, 4, 8}},
     "%r = dgc.convolution_input_grad %a, %b input_size [8, 8] padding [[1, 1], [1, 1]]"
     " : tensor<4x8x8x8xf32>, tensor<3x3x4x8xf32>",
     "tensor<4x8x8x4xf32>"},
    {"convolution_weight_grad",
     {{4, 8, 8, 4}, {4, 8, 8, 8}},
     "%r = dgc.convolution_weight_grad %a, %b kernel_size [3, 3] padding [[1, 1], [1, 1]]"
     " : tensor<4x8x8x4xf32>, tensor<4x8x8x8xf32>",
     "tensor<3x3x4x8xf32>"},
    {"reduce_window",
     {{4, 8, 8, 4}},
     "%r = dgc.reduce_window max %a window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<4x8x8x4xf32>",
     "tensor<4x4x4x4xf32>"},
    {"max_pool_grad",
     {{4, 8, 8, 4}, {4, 4, 4, 4}},
     "%r = dgc.max_pool_grad %a, %b window [1, 2, 2, 1] strides [1, 2, 2, 1]"
     " : tensor<4x8x8x4xf32>, tensor<4x4x4x4xf32>",
     "tensor<4x8x8x4xf32>"},
    {"iota",
     {{8, 4}},
     "%i = dgc.iota dim 0 : tensor<8x4xf32>\n%r = dgc.multiply %a, %i : tensor<8x4xf32>",
     "tensor<8x4xf32>"},
    // A partial sum goes on through linear ops, meets another one, and then one that is not linear.
    {"partial_sums",
     {{8, 4}, {8, 4}},
     "%0 = dgc.reduce sum %a dims [0] : tensor<8x4xf32>\n"
     "%1 = dgc.reduce sum %b dims [0] : tensor<8x4xf32>\n"
     "%2 = dgc.negate %0 : tensor<4xf32>\n"
     "%3 = dgc.add %2, %1 : tensor<4xf32>\n"
     "%r = dgc.exponential %3 : tensor<4xf32>",
     "tensor<4xf32>"},
    // A row softmax, whose rows may be cut.
    {"softmax",
     {{4, 8}},
     "%m = dgc.reduce max %a dims [1] : tensor<4x8xf32>\n"
     "%mb = dgc.broadcast_in_dim %m dims [0] to [4, 8] : tensor<4xf32>\n"
     "%d = dgc.subtract %a, %mb : tensor<4x8xf32>\n"
     "%e = dgc.exponential %d : tensor<4x8xf32>\n"
     "%s = dgc.reduce sum %e dims [1] : tensor<4x8xf32>\n"
     "%sb = dgc.broadcast_in_dim %s dims [0] to [4, 8] : tensor<4xf32>\n"
     "%r = dgc.divide %e, %sb : tensor<4x8xf32>",
     "tensor<4x8xf32>"},
};

std::string typeOf(const std::vector<int64_t> &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// The axes that cut one dimension of one argument.
struct Cut {
  size_t argument, dim;
  std::string axes; // "\"data\""
};

std::string program(const Case &c, const std::vector<Cut> &cuts) {
  std::string text = "func.func @f(";
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    text += (i ? ", %" : "%") + std::string(1, char('a' + i)) + ": " + typeOf(c.arguments[i]);
    std::string dims;
    bool annotated = false;
    for (size_t dim = 0; dim < c.arguments[i].size(); ++dim) {
      std::string axes;
      for (const Cut &cut : cuts)
        if (cut.argument == i && cut.dim == dim)
          axes += (axes.empty() ? "" : ", ") + cut.axes;
      annotated |= !axes.empty();
      dims += (dim ? ", {" : "{") + (axes.empty() ? "?" : axes) + "}";
    }
    if (!cuts.empty())
      text += " {dist.sharding = #dist.sharding<@mesh, [" + dims + "]>}";
  }
  return (cuts.empty() ? "" : "dist.mesh @mesh <data = 2, model = 2>\n") + text + ") -> " + c.result + " {\n" + c.body +
         "\nreturn %r : " + c.result + "\n}\n";
}

void expectSame(const Case &c, const NamedArrays &inputs, const NamedArrays &alone, const std::vector<Cut> &cuts) {
  ExecuteOptions options;
  options.mesh = "data=2,model=2";
  std::string text = program(c, cuts);
  SCOPED_TRACE(text);
  auto result = execute(text, inputs, options);
  ASSERT_TRUE(result.ok()) << result.status();
  expectClose(alone, result->outputs, c.tolerance);
}

class Rule : public ::testing::TestWithParam<Case> {};

// Each dimension cut by one axis, by both, and each two dimensions (of one argument or of two) by one each. The
// rest follows by propagation, or is resharded.
TEST_P(Rule, CutInEveryWay) {
  const Case &c = GetParam();
  NamedArrays inputs;
  for (size_t i = 0; i < c.arguments.size(); ++i)
    inputs["arg" + std::to_string(i)] = array(c.arguments[i], i + 1);
  auto alone = execute(program(c, {}), inputs);
  ASSERT_TRUE(alone.ok()) << alone.status();

  std::vector<Cut> places;
  for (size_t i = 0; i < c.arguments.size(); ++i)
    for (size_t dim = 0; dim < c.arguments[i].size(); ++dim)
      if (c.arguments[i][dim] % 4 == 0)
        places.push_back({i, dim, ""});
  auto cut = [](Cut place, const char *axes) { return Cut{place.argument, place.dim, axes}; };
  for (size_t i = 0; i < places.size(); ++i) {
    expectSame(c, inputs, alone->outputs, {cut(places[i], "\"data\"")});
    expectSame(c, inputs, alone->outputs, {cut(places[i], "\"model\", \"data\"")});
    for (size_t j = i + 1; j < places.size(); ++j)
      expectSame(c, inputs, alone->outputs, {cut(places[i], "\"data\""), cut(places[j], "\"model\"")});
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Rule, ::testing::ValuesIn(cases),
                         [](const ::testing::TestParamInfo<Case> &info) { return info.param.name; });

} // namespace
