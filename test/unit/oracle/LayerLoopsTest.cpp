// Layers of a dgc.repeat as a loop: the numbers of the layers written out, alone and over workers.
#include "test/unit/oracle/Broken.h"
#include "test/unit/oracle/Transformer.h"
#include "test/unit/support/TransformerText.h"

using namespace dgc::testing;

namespace {

const std::string cut = "tensor-parallel=*query/*:-1,*key/*:-1,*value/*:-1,*up/*:-1";

std::string textWith(const std::string &optimizer) {
  TransformerSizes sizes;
  sizes.layers = 3;
  sizes.optimizer = optimizer;
  return transformerText(sizes);
}

TrainOptions optionsFor(const std::string &repeats, int steps, const std::string &mesh = "",
                        const std::string &strategy = "") {
  TrainOptions how{mesh, strategy, steps};
  how.inputs = windowsOfStep;
  how.repeats = repeats;
  return how;
}

/// How often a plan has a loop in its training step.
size_t countLoops(const std::string &text, const TrainOptions &how) {
  auto bytes = compileText(text, optionsOf(how));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  size_t loops = 0;
  if (bytes.ok())
    for (const auto *program : *dgc::artifact::GetPlan(bytes->data())->programs())
      if (program->name()->string_view() == "train")
        for (const auto *step : *program->steps())
          loops += step->action_type() == dgc::artifact::Action::While;
  return loops;
}

TEST(LayerLoops, TrainTheSameWeights) {
  const std::string text = textWith("sgd learning_rate 0.1");
  EXPECT_EQ(countLoops(text, optionsFor("unroll", 1)), 0u);
  EXPECT_EQ(countLoops(text, optionsFor("auto", 1)), 0u) << "three layers are written out";
  EXPECT_GE(countLoops(text, optionsFor("loop", 1)), 2u);
  NamedArrays initial = train(text, optionsFor("unroll", 0)), one = train(text, optionsFor("unroll", 1));
  ASSERT_TRUE(one.contains("layer.2.query/kernel"));
  // Each layer has the variables and the initial values that it has written out.
  EXPECT_EQ(distance(train(text, optionsFor("loop", 0)), initial), 0);
  const std::pair<const char *, std::string> cases[] = {
      {"", ""},
      {"", "accumulate=6"}, // a loop in the rounds of a loop
      {"", "recompute=layer.*"},
      {"data=3", "data-parallel"}, // 3 does not divide the batch
      {"data=2", "zero1"},
      {"data=3", "zero2"},
      {"data=2", "zero2,accumulate=6"},
      {"data=2", "zero3"},
      {"data=2", "zero3,accumulate=6"}, // layers are gathered one by one in each of the rounds
      {"model=2", cut},
      {"data=2", "accumulate=6,recompute=layer.*"},
      {"data=2,model=2", cut + ",zero1,accumulate=6,sequence-parallel"},
  };
  for (const auto &[mesh, strategy] : cases) {
    TrainOptions how = optionsFor("loop", 1, mesh, strategy);
    NamedArrays step = train(text, how);
    EXPECT_LE(distance(step, one), 1e-6) << mesh << " " << strategy;
    EXPECT_LE(distance(step, one, &initial), 2e-5) << mesh << " " << strategy << ", gradients";
    if (*mesh)
      expectBrokenIsNoticed(text, how, one, initial);
  }
}

/// The gradients of the biases of keys are zeros but for rounding, which optimizers that divide by their size make large.
NamedArrays withoutKeyBiases(NamedArrays arrays) {
  std::erase_if(arrays, [](const auto &each) { return each.first.find("key/bias") != std::string::npos; });
  return arrays;
}

NamedArrays trained(const std::string &text, const TrainOptions &how) { return withoutKeyBiases(train(text, how)); }

// What looks at a weight as a whole looks at that of each layer; names choose weights, and what tells layers apart keeps
// them written out.
TEST(LayerLoops, EveryOptimizer) {
  const std::pair<const char *, bool> cases[] = {
      {"adamw learning_rate 0.01 weight_decay 0.1 average 0.9", true},
      {"lamb learning_rate 0.01", true},
      {"adafactor learning_rate 0.01", true},
      {"muon learning_rate 0.01", true},
      {"sgd learning_rate 0.1 momentum 0.9 clip_global_norm 0.5", true},
      {"sgd learning_rate 0.1 for \"*/bias\" learning_rate_factor 3.0", true},
      {"sgd learning_rate 0.1 for \"layer.*.up/*\" frozen", true},
      {"sgd learning_rate 0.1 for \"layer.1.*\" frozen", false},
  };
  for (const auto &[optimizer, isLoop] : cases) {
    const std::string text = textWith(optimizer);
    EXPECT_EQ(countLoops(text, optionsFor("loop", 1)) > 0, isLoop) << optimizer;
    NamedArrays initial = train(text, optionsFor("unroll", 0)), three = trained(text, optionsFor("unroll", 3));
    EXPECT_GT(distance(three, withoutKeyBiases(initial)), 1e-3) << optimizer;
    EXPECT_LE(distance(trained(text, optionsFor("loop", 3)), three), 2e-5) << optimizer;
    EXPECT_LE(distance(trained(text, optionsFor("loop", 3, "data=2", "zero1")), three), 2e-5) << optimizer << ", zero1";
  }
}

const char *nested = R"(
dgc.model @m {
  %x = dgc.input "x" : tensor<?x6xf32>
  %y = dgc.input "y" : tensor<?x6xf32>
  %gain = dgc.variable "gain" uniform -0.5 0.5 : tensor<6xf32>
  %o:2 = dgc.repeat 2 "outer" (%a = %x, %b = %x) {
    %s = dgc.variable "scale" uniform 0.5 1.5 : tensor<6xf32>
    %i = dgc.repeat 3 "inner" (%h = %a) {
      %w = dgc.variable "w" glorot_uniform : tensor<6x6xf32>
      %d = dgc.dense %h, %w, %gain
      %t = dgc.tanh %d
      dgc.next %t
    }
    %c = dgc.bias_add %i, %s
    %e = dgc.variable "e" glorot_uniform : tensor<6x6xf32>
    %f = dgc.dense %b, %e
    %g = dgc.add %c, 0.25
    dgc.next %f, %g
  }
  %sum = dgc.add %o#0, %o#1
  %loss = dgc.mean_squared_error %sum, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";

/// A repeat whose rounds have values of other types each: 12, 6 and 3 features.
const char *halved = R"(
dgc.model @m {
  %x = dgc.input "x" : tensor<?x6x12x1xf32>
  %y = dgc.input "y" : tensor<?x6xf32>
  %p = dgc.repeat 2 "pool" (%h = %x) {
    %half = dgc.max_pool %h window [1, 2]
    dgc.next %half
  }
  %r = dgc.repeat 2 "layer" (%h = %x) {
    %w = dgc.variable "w" uniform 0.5 1.5 : tensor<1xf32>
    %m = dgc.bias_add %h, %w
    dgc.next %m
  }
  %a = dgc.reduce sum %p dims [2, 3]
  %b = dgc.reduce sum %r dims [2, 3]
  %c = dgc.add %a, %b
  %loss = dgc.mean_squared_error %c, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.001
}
)";

NamedArrays trained(const char *text, const NamedArrays &inputs, const std::string &repeats, int steps,
                    const std::string &mesh = "", const std::string &strategy = "") {
  TrainOptions how = optionsFor(repeats, steps, mesh, strategy);
  how.size = 7;
  how.inputs = [&](int) { return inputs; };
  return train(text, how);
}

HostArray ramp(const std::vector<int64_t> &shape, float scale) {
  std::vector<float> values(1);
  for (int64_t size : shape)
    values.resize(values.size() * static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) * scale);
  return HostArray::of(shape, values);
}

/// Dropout and noise in layers, which are in a block of layers.
const char *drawing = R"(
dgc.model @m {
  %x = dgc.input "x" : tensor<?x6xf32>
  %y = dgc.input "y" : tensor<?x6xf32>
  %o = dgc.repeat 2 "outer" (%a = %x) {
    %before = dgc.dropout %a rate 0.25
    %i = dgc.repeat 3 "inner" (%h = %before) {
      %w = dgc.variable "w" glorot_uniform : tensor<6x6xf32>
      %d = dgc.dense %h, %w
      %t = dgc.dropout %d rate 0.5
      %n = dgc.random_normal 0.0 0.1 : tensor<7x6xf32>
      %s = dgc.add %t, %n
      dgc.next %s
    }
    dgc.next %i
  }
  %p = dgc.dropout %o rate 0.25
  %loss = dgc.mean_squared_error %p, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";

// The numbers that layers draw are those that they draw written out.
TEST(LayerLoops, RandomNumbers) {
  const NamedArrays inputs = {{"x", ramp({7, 6}, 0.7F)}, {"y", ramp({7, 6}, 0.3F)}};
  NamedArrays initial = trained(drawing, inputs, "unroll", 0), two = trained(drawing, inputs, "unroll", 2);
  ASSERT_TRUE(two.contains("outer.1.inner.2.w"));
  const std::pair<const char *, const char *> cases[] = {
      {"", ""}, {"data=3", "data-parallel"}, {"data=2", "zero1"}, {"", "accumulate=7"}, {"", "recompute=outer.*"}};
  for (auto [mesh, strategy] : cases)
    EXPECT_LE(distance(trained(drawing, inputs, "loop", 2, mesh, strategy), two, &initial), 2e-5)
        << mesh << " " << strategy;
}

// Random numbers in a scan along another dimension than the first one; of a batch that is not full, too.
TEST(LayerLoops, RandomNumbersOfLaterDimensions) {
  std::string text = drawing;
  text.replace(text.find("%p = dgc.dropout %o rate 0.25"), 29, R"(%u = dgc.variable "u" glorot_uniform : tensor<6x6xf32>
  %long = dgc.broadcast_in_dim %o dims [0, 2] to [7, 4, 6]
  %p = dgc.scan (%h = %o) over (%s = %long) with (%m = %u) dim 1 {
    %q = dgc.matmul %h, %m
    %r = dgc.add %q, %s
    %d = dgc.dropout %r rate 0.25
    dgc.yield %d
  })");
  text.replace(text.find("learning_rate 0.1"), 17, "learning_rate 1e-3");
  NamedArrays inputs = {{"x", ramp({7, 6}, 0.7F)}, {"y", ramp({7, 6}, 0.3F)}};
  auto run = [&](const char *repeats, int steps, int validCount, const char *mesh, const char *strategy) {
    TrainOptions how = optionsFor(repeats, steps, mesh, strategy);
    how.size = 7;
    how.validCount = validCount;
    how.inputs = [&](int) { return inputs; };
    return train(text, how);
  };
  for (int valid : {7, 5}) {
    NamedArrays initial = run("unroll", 0, valid, "", ""), two = run("unroll", 2, valid, "", "");
    EXPECT_GT(distance(two, initial), 1e-3);
    EXPECT_LE(distance(run("loop", 2, valid, "", ""), two, &initial), 2e-5) << valid;
    EXPECT_LE(distance(run("loop", 2, valid, "data=3", "data-parallel"), two, &initial), 2e-5) << valid;
  }
}

// Several values go around, here in turns; a variable from outside is shared by all rounds.
TEST(LayerLoops, RepeatsInRepeats) {
  const NamedArrays inputs = {{"x", ramp({7, 6}, 0.7F)}, {"y", ramp({7, 6}, 0.3F)}};
  NamedArrays initial = trained(nested, inputs, "unroll", 0), two = trained(nested, inputs, "unroll", 2);
  ASSERT_TRUE(two.contains("outer.1.inner.2.w"));
  EXPECT_EQ(distance(trained(nested, inputs, "loop", 0), initial), 0);
  EXPECT_LE(distance(trained(nested, inputs, "loop", 2), two, &initial), 2e-5);
  EXPECT_LE(distance(trained(nested, inputs, "loop", 2, "data=3", "zero1"), two, &initial), 2e-5);
}

TEST(LayerLoops, RoundsOfOtherTypesAreWrittenOut) {
  const NamedArrays inputs = {{"x", ramp({7, 6, 12, 1}, 0.7F)}, {"y", ramp({7, 6}, 0.3F)}};
  TrainOptions how = optionsFor("loop", 1);
  how.size = 7;
  EXPECT_EQ(countLoops(halved, how), 2u) << "one of the two repeats, there and back";
  NamedArrays initial = trained(halved, inputs, "unroll", 0), two = trained(halved, inputs, "unroll", 2);
  EXPECT_LE(distance(trained(halved, inputs, "loop", 2), two, &initial), 2e-5);
}

} // namespace
