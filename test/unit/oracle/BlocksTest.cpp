// Layers that are written once and called by name: the same numbers as written out, also where they are cut.
#include "test/unit/passes/partition/Compare.h"

using namespace dgc::testing;

namespace {

const char *called = R"(
dgc.block @mlp(%x, %gain) {
  %u = dgc.variable "up" glorot_uniform : tensor<6x10xf32>
  %d = dgc.variable "down" glorot_uniform : tensor<10x6xf32>
  %a = dgc.dense %x, %u
  %b = dgc.tanh %a
  %c = dgc.dense %b, %d
  %e = dgc.bias_add %c, %gain
  dgc.return %e
}
dgc.block @pair(%x, %gain) {
  %y = dgc.call @mlp "first" (%x, %gain)
  %z = dgc.call @mlp "second" (%y, %gain)
  dgc.return %z
}
dgc.model @m {
  %x = dgc.input "x" : tensor<?x6xf32>
  %y = dgc.input "y" : tensor<?x6xf32>
  %gain = dgc.variable "gain" uniform -0.5 0.5 : tensor<6xf32>
  %h = dgc.call @pair "bottom" (%x, %gain)
  %o = dgc.repeat 2 "top" (%t = %h) {
    %n = dgc.call @mlp "layer" (%t, %gain)
    dgc.next %n
  }
  %loss = dgc.mean_squared_error %o, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";

std::string writtenOut() {
  std::string text = R"(
dgc.model @m {
  %x = dgc.input "x" : tensor<?x6xf32>
  %y = dgc.input "y" : tensor<?x6xf32>
  %gain = dgc.variable "gain" uniform -0.5 0.5 : tensor<6xf32>
)",
              last = "%x";
  int number = 0;
  for (const char *name : {"bottom.first", "bottom.second", "top.0.layer", "top.1.layer"}) {
    std::string n = std::to_string(number++);
    text += "  %u" + n + " = dgc.variable \"" + name + ".up\" glorot_uniform : tensor<6x10xf32>\n  %d" + n +
            " = dgc.variable \"" + name + ".down\" glorot_uniform : tensor<10x6xf32>\n  %a" + n + " = dgc.dense " +
            last + ", %u" + n + "\n  %b" + n + " = dgc.tanh %a" + n + "\n  %c" + n + " = dgc.dense %b" + n + ", %d" +
            n + "\n  %e" + n + " = dgc.bias_add %c" + n + ", %gain\n";
    last = "%e" + n;
  }
  return text + "  %loss = dgc.mean_squared_error " + last +
         ", %y\n  dgc.loss %loss\n  dgc.optimizer sgd learning_rate 0.1\n}\n";
}

auto train(const std::string &text, const std::string &mesh = "", const std::string &strategy = "") {
  ExecuteOptions options;
  options.from = "input";
  options.batch = 8;
  options.mesh = mesh;
  options.strategy = strategy;
  options.run.program = "train";
  options.run.steps = 3;
  return execute(text, {{"x", array({8, 6}, 1)}, {"y", array({8, 6}, 2)}}, options);
}

TEST(Blocks, CalledAsWrittenOut) {
  auto expected = train(writtenOut()), actual = train(called);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(expected->variables.size(), 9u);
  expectClose(expected->variables, actual->variables, 0);
  expectClose(expected->outputs, actual->outputs, 0);
}

// Variables of calls are found by their names, and cut.
TEST(Blocks, TensorParallel) {
  auto expected = train(writtenOut()), actual = train(called, "data=2,model=2", "data-parallel,tensor-parallel=*.up:1");
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  expectClose(expected->variables, actual->variables, 2e-6);
  expectClose(expected->outputs, actual->outputs, 2e-6);
}

// One call less is another model.
TEST(Blocks, ACallThatIsMissingIsSeen) {
  std::string text = called;
  size_t second = text.find("  dgc.return %z");
  text.replace(second, 15, "  dgc.return %y");
  text.erase(text.find("  %z = dgc.call @mlp"), std::string("  %z = dgc.call @mlp \"second\" (%y, %gain)\n").size());
  auto expected = train(writtenOut()), actual = train(text);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_GT(relativeError(expected->outputs.at("loss"), actual->outputs.at("loss")), 1e-3);
}

} // namespace
