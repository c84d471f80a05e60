// Models with parts that are written for one device, by running: as the same models without such parts.
#include "test/unit/passes/partition/Compare.h"

#include <regex>

using namespace dgc::testing;

namespace {

/// Three steps of training on 8 examples.
absl::StatusOr<dgc::rt::RunOnceResult> train(const std::string &text, const std::string &strategy = "") {
  ExecuteOptions options;
  options.from = "input";
  options.batch = 8;
  options.strategy = strategy;
  options.run.program = "train";
  options.run.steps = 3;
  return execute(text, {{"x", array({8, 6}, 1)}, {"y", array({8, 4}, 2)}}, options);
}

/// A model around the lines that make %o, an 8x4 tensor, from %x and the variables.
std::string model(const std::string &mesh, const std::string &lines) {
  return (mesh.empty() ? "" : "dist.mesh @mesh <" + mesh + ">\n") + R"(
dgc.model @m {
  %x = dgc.input "x" : tensor<?x6xf32>
  %y = dgc.input "y" : tensor<?x4xf32>
  %w1 = dgc.variable "w1" glorot_uniform : tensor<6x16xf32>
  %b1 = dgc.variable "b1" uniform -0.5 0.5 : tensor<16xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<16x4xf32>
  %b2 = dgc.variable "b2" uniform -0.5 0.5 : tensor<4xf32>
)" + lines +
         R"(
  %loss = dgc.mean_squared_error %o, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";
}

/// A region over `AXES` that takes x, w1, b1, w2 and b2. `shardings` has theirs and, behind `out`, that of its result,
/// as
/// `<[{}, {"model"}]>` each.
std::string region(const std::string &shardings, const std::string &body) {
  std::string text = R"(
  %o = dist.manual (%lx = %x, %lw1 = %w1, %lb1 = %b1, %lw2 = %w2, %lb2 = %b2) over @mesh AXES
      in [)" + shardings +
                     "] {\n" + body + "  }\n";
  return std::regex_replace(text, std::regex("<\\["), "#dist.sharding<@mesh, [");
}

std::string withAxes(const std::string &text, const std::string &axes) {
  return std::regex_replace(text, std::regex("AXES"), axes);
}

const std::string plain = R"(
  %h0 = dgc.dense %x, %w1, %b1
  %h1 = dgc.tanh %h0
  %o = dgc.dense %h1, %w2, %b2
)";

// A matrix cut by columns, one cut by rows, and an all-reduce: by hand.
const std::string columnRow = R"(<[{}, {}]>, <[{}, {"model"}]>, <[{"model"}]>, <[{"model"}, {}]>, <[{}]>]
      out [<[{}, {}]>)";
const std::string columnRowBody = R"(
    %h0 = dgc.dense %lx, %lw1, %lb1
    %h1 = dgc.tanh %h0
    %part = dgc.dense %h1, %lw2
    %whole = dist.all_reduce sum %part over @mesh ["model"]
    %r = dgc.bias_add %whole, %lb2
    dist.return %r
)";

void expectSame(const std::string &expected, const std::string &actual, const std::string &strategy = "") {
  auto alone = train(expected), cut = train(actual, strategy);
  ASSERT_TRUE(alone.ok()) << alone.status();
  ASSERT_TRUE(cut.ok()) << cut.status() << actual;
  expectClose(alone->variables, cut->variables, 2e-6);
  expectClose(alone->outputs, cut->outputs, 2e-6);
}

TEST(Manual, TensorParallelByHand) {
  expectSame(model("", plain), model("model = 2", withAxes(region(columnRow, columnRowBody), "[\"model\"]")));
}

// The axis that is not manual is that of the batch, elsewhere in the model.
TEST(Manual, BesideDataParallelism) {
  expectSame(model("", plain), model("data = 2, model = 2", withAxes(region(columnRow, columnRowBody), "[\"model\"]")),
             "data-parallel");
}

// The batch is cut inside, too: gradients of the weights are summed over it.
TEST(Manual, BothAxesInside) {
  std::string shardings =
      R"(<[{"data"}, {}]>, <[{}, {"model"}]>, <[{"model"}]>, <[{"model"}, {}]>, <[{}]>]
      out [<[{"data"}, {}]>)";
  std::string text = withAxes(region(shardings, columnRowBody), "[\"data\", \"model\"]");
  for (const char *strategy : {"data-parallel", "zero2"})
    expectSame(model("", plain), model("data = 2, model = 2", text), strategy);
}

// The mistake that is easy to make by hand: a bias that every device adds before the sum.
TEST(Manual, BiasThatIsAddedTwiceIsSeen) {
  std::string wrong = R"(
    %h0 = dgc.dense %lx, %lw1, %lb1
    %h1 = dgc.tanh %h0
    %part = dgc.dense %h1, %lw2, %lb2
    %whole = dist.all_reduce sum %part over @mesh ["model"]
    dist.return %whole
)";
  auto alone = train(model("", plain));
  auto cut = train(model("model = 2", withAxes(region(columnRow, wrong), "[\"model\"]")));
  ASSERT_TRUE(alone.ok() && cut.ok()) << alone.status() << cut.status();
  EXPECT_GT(relativeError(alone->outputs.at("loss"), cut->outputs.at("loss")), 1e-3);
}

/// A body and what it computes, written without devices.
struct Collective {
  const char *name, *shardings, *body, *plain;
};

class ManualCollective : public ::testing::TestWithParam<Collective> {};

// Over both axes of a 2x2 mesh in turn: what goes back through each collective.
TEST_P(ManualCollective, HasTheGradientOfWhatItComputes) {
  for (const char *axis : {"a", "b"}) {
    std::string text = withAxes(region(GetParam().shardings, GetParam().body), "[\"a\", \"b\"]");
    text = std::regex_replace(text, std::regex("AXIS"), axis);
    text = std::regex_replace(text, std::regex("OTHER"), *axis == 'a' ? "b" : "a");
    expectSame(model("", GetParam().plain), model("a = 2, b = 2", text));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, ManualCollective,
    ::testing::Values(
        // Activations cut by columns are gathered; the batch is cut by the other axis.
        Collective{"AllGather", R"(<[{"OTHER"}, {}]>, <[{}, {"AXIS"}]>, <[{"AXIS"}]>, <[{}, {}]>, <[{}]>]
      out [<[{"OTHER"}, {}]>)",
                   R"(
    %h0 = dgc.dense %lx, %lw1, %lb1
    %h1 = dgc.tanh %h0
    %all = dist.all_gather %h1 dim 1 over @mesh ["AXIS"]
    %r = dgc.dense %all, %lw2, %lb2
    dist.return %r
)",
                   plain.c_str()},
        // The sum of the parts is left in parts of the batch.
        Collective{"ReduceScatter", R"(<[{"OTHER"}, {}]>, <[{}, {"AXIS"}]>, <[{"AXIS"}]>, <[{"AXIS"}, {}]>, <[{}]>]
      out [<[{"OTHER", "AXIS"}, {}]>)",
                   R"(
    %h0 = dgc.dense %lx, %lw1, %lb1
    %h1 = dgc.tanh %h0
    %part = dgc.dense %h1, %lw2
    %sum = dist.reduce_scatter sum %part dim 0 over @mesh ["AXIS"]
    %r = dgc.bias_add %sum, %lb2
    dist.return %r
)",
                   plain.c_str()},
        // From all columns of a part of the batch to a part of the columns of all of it, and back.
        Collective{"AllToAll", R"(<[{"OTHER", "AXIS"}, {}]>, <[{}, {}]>, <[{"AXIS"}]>, <[{}, {}]>, <[{}]>]
      out [<[{"OTHER", "AXIS"}, {}]>)",
                   R"(
    %h0 = dgc.dense %lx, %lw1
    %columns = dist.all_to_all %h0 split 1 concat 0 over @mesh ["AXIS"]
    %b = dgc.bias_add %columns, %lb1
    %rows = dist.all_to_all %b split 0 concat 1 over @mesh ["AXIS"]
    %h1 = dgc.tanh %rows
    %r = dgc.dense %h1, %lw2, %lb2
    dist.return %r
)",
                   plain.c_str()},
        // A ring: each has the parts of the sum one after the other.
        Collective{"Permute", R"(<[{"OTHER"}, {}]>, <[{}, {"AXIS"}]>, <[{"AXIS"}]>, <[{"AXIS"}, {}]>, <[{}]>]
      out [<[{"OTHER"}, {}]>)",
                   R"(
    %h0 = dgc.dense %lx, %lw1, %lb1
    %h1 = dgc.tanh %h0
    %part = dgc.dense %h1, %lw2
    %other = dist.permute %part targets [1, 0] over @mesh ["AXIS"]
    %sum = dgc.add %part, %other
    %r = dgc.bias_add %sum, %lb2
    dist.return %r
)",
                   plain.c_str()},
        // What one device has is computed with by all; the others' parts are not used.
        Collective{"Broadcast", R"(<[{}, {}]>, <[{}, {"AXIS"}]>, <[{"AXIS"}]>, <[{"AXIS"}, {}]>, <[{}]>]
      out [<[{}, {}]>)",
                   R"(
    %w = dist.broadcast %lw1 root 0 over @mesh ["AXIS"]
    %b = dist.broadcast %lb1 root 0 over @mesh ["AXIS"]
    %v = dist.broadcast %lw2 root 0 over @mesh ["AXIS"]
    %h0 = dgc.dense %lx, %w, %b
    %h1 = dgc.tanh %h0
    %r = dgc.dense %h1, %v, %lb2
    dist.return %r
)",
                   R"(
    %w = dgc.slice %w1 from [0, 0] to [6, 8]
    %b = dgc.slice %b1 from [0] to [8]
    %v = dgc.slice %w2 from [0, 0] to [8, 4]
    %h0 = dgc.dense %x, %w, %b
    %h1 = dgc.tanh %h0
    %o = dgc.dense %h1, %v, %b2
)"},
        // The largest of each row, and a device's own part of a value that all have.
        Collective{"MaxAndSlice", R"(<[{}, {}]>, <[{}, {}]>, <[{}]>, <[{}, {}]>, <[{}]>]
      out [<[{}, {}]>)",
                   R"(
    %h0 = dgc.dense %lx, %lw1, %lb1
    %i = dist.axis_index @mesh ["AXIS"]
    %half = dist.slice %h0 at %i dim 1 parts 2
    %most = dist.all_reduce max %half over @mesh ["AXIS"]
    %rows = dist.slice %lw2 at %i dim 0 parts 2
    %part = dgc.dense %most, %rows
    %sum = dist.all_reduce sum %part over @mesh ["AXIS"]
    %r = dgc.bias_add %sum, %lb2
    dist.return %r
)",
                   R"(
    %h0 = dgc.dense %x, %w1, %b1
    %left = dgc.slice %h0 from [0, 0] to [8, 8]
    %right = dgc.slice %h0 from [0, 8] to [8, 16]
    %most = dgc.maximum %left, %right
    %both = dgc.concatenate %most, %most dim 1
    %o = dgc.dense %both, %w2, %b2
)"},
        // The position of a device, and a number, as operands of other ops.
        Collective{"Position", R"(<[{}, {}]>, <[{}, {}]>, <[{}]>, <[{}, {}]>, <[{}]>]
      out [<[{}, {}]>)",
                   R"(
    %h0 = dgc.dense %lx, %lw1, %lb1
    %i = dist.axis_index @mesh ["AXIS"]
    %half = dist.slice %h0 at %i dim 1 parts 2
    %n = dgc.convert %i to f32
    %p = dgc.add %n, 0.25
    %moved = dgc.multiply %half, %p
    %rows = dist.slice %lw2 at %i dim 0 parts 2
    %part = dgc.dense %moved, %rows
    %sum = dist.all_reduce sum %part over @mesh ["AXIS"]
    %r = dgc.bias_add %sum, %lb2
    dist.return %r
)",
                   R"(
    %h0 = dgc.dense %x, %w1, %b1
    %left = dgc.slice %h0 from [0, 0] to [8, 8]
    %right = dgc.slice %h0 from [0, 8] to [8, 16]
    %quarter = dgc.multiply %left, 0.25
    %more = dgc.multiply %right, 1.25
    %both = dgc.concatenate %quarter, %more dim 1
    %o = dgc.dense %both, %w2, %b2
)"}),
    [](const auto &each) { return each.param.name; });

// Layers that repeat, each with a region and variables of its own.
TEST(Manual, InARepeat) {
  const char *head = "  %first = dgc.dense %x, %w1, %b1\n";
  const char *tail = "  %o = dgc.dense %last, %w2, %b2\n";
  std::string alone = std::string(head) + R"(
  %last = dgc.repeat 2 "layer" (%h = %first) {
    %u = dgc.variable "u" glorot_uniform : tensor<16x32xf32>
    %d = dgc.variable "d" glorot_uniform : tensor<32x16xf32>
    %a = dgc.dense %h, %u
    %b = dgc.tanh %a
    %c = dgc.dense %b, %d
    dgc.next %c
  }
)" + tail;
  std::string cut = std::string(head) + R"(
  %last = dgc.repeat 2 "layer" (%h = %first) {
    %u = dgc.variable "u" glorot_uniform : tensor<16x32xf32>
    %d = dgc.variable "d" glorot_uniform : tensor<32x16xf32>
    %e = dist.manual (%lh = %h, %lu = %u, %ld = %d) over @mesh ["model"]
        in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{}, {"model"}]>, #dist.sharding<@mesh, [{"model"}, {}]>]
        out [#dist.sharding<@mesh, [{}, {}]>] {
      %a = dgc.dense %lh, %lu
      %b = dgc.tanh %a
      %part = dgc.dense %b, %ld
      %c = dist.all_reduce sum %part over @mesh ["model"]
      dist.return %c
    }
    dgc.next %e
  }
)" + tail;
  expectSame(model("", alone), model("model = 2", cut));
}

} // namespace
