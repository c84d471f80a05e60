// Dimensions that the mesh does not divide: a hidden layer of 10 units over 4 devices, a batch of 11 over several. The
// program is a model after the phase `model`, with the layouts of its variables written into it.

#include "test/unit/support/Execute.h"

#include "runtime/base/Disk.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/data/Npy.h"
#include "runtime/driver/Worker.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <regex>
#include <unistd.h>

using namespace dgc::testing;
using namespace dgc::rt;

namespace {

constexpr int64_t batch = 11;

/// One training step; a capital name stands where the layout of that value is said.
const char *model = R"(
module @uneven attributes {dgc.global_batch = 11 : i64} {
  MESH
  dgc.state @w1 weight glorot_uniform rng 0 : tensor<7x10xf32>
  dgc.state @b1 weight normal 0.0 0.5 rng 1 : tensor<10xf32>
  dgc.state @w2 weight glorot_uniform rng 2 : tensor<10x3xf32>
  func.func @train(%w1: tensor<7x10xf32> {dgc.state = @w1 W1}, %b1: tensor<10xf32> {dgc.state = @b1 B1},
      %w2: tensor<10x3xf32> {dgc.state = @w2 W2},
      %x: tensor<11x7xf32> {dgc.batch_dim = 0 : i64, dgc.input = "x", dgc.role = "data" X},
      %y: tensor<11xi32> {dgc.batch_dim = 0 : i64, dgc.input = "y", dgc.role = "data" Y},
      %n: tensor<i32> {dgc.input = "valid_count", dgc.role = "valid_count"},
      %step: tensor<i64> {dgc.input = "step", dgc.role = "step"})
      -> (tensor<7x10xf32> {dgc.state = @w1 W1}, tensor<10xf32> {dgc.state = @b1 B1},
          tensor<10x3xf32> {dgc.state = @w2 W2}, tensor<f32> {dgc.output = "loss", dgc.role = "loss"}) {
    %0 = dgc.dense %x, %w1, %b1 : tensor<11x7xf32>, tensor<7x10xf32>, tensor<10xf32>
    %1 = dgc.tanh %0 : tensor<11x10xf32>
    %2 = dgc.matmul %1, %w2 : tensor<11x10xf32>, tensor<10x3xf32>
    %loss = dgc.cross_entropy %2, %y valid %n : tensor<11x3xf32>, tensor<11xi32>
    %g:3 = dgc.gradient %loss wrt %w1, %b1, %w2 : tensor<f32>, tensor<7x10xf32>, tensor<10xf32>, tensor<10x3xf32>
    %r = dgc.learning_rate %step 0.1
    %w1n = dgc.apply_optimizer sgd(%w1, %g#0, %r, %step) : tensor<7x10xf32>, tensor<7x10xf32>, tensor<f32>
    %b1n = dgc.apply_optimizer sgd(%b1, %g#1, %r, %step) : tensor<10xf32>, tensor<10xf32>, tensor<f32>
    %w2n = dgc.apply_optimizer sgd(%w2, %g#2, %r, %step) : tensor<10x3xf32>, tensor<10x3xf32>, tensor<f32>
    return %w1n, %b1n, %w2n, %loss : tensor<7x10xf32>, tensor<10xf32>, tensor<10x3xf32>, tensor<f32>
  }
})";

/// A mesh, and the axes that cut the batch and the hidden units.
struct Layout {
  std::string mesh, batch, hidden;
};

std::string modelOn(const Layout &layout) {
  auto sharding = [&](const std::string &dims) {
    return layout.mesh.empty() ? "" : ", dist.sharding = #dist.sharding<@mesh, [" + dims + "]>";
  };
  std::string text = model, batch = "{" + layout.batch + "}", hidden = "{" + layout.hidden + "}";
  auto replace = [&](const std::string &what, const std::string &with) {
    text = std::regex_replace(text, std::regex(what + "\\b"), with);
  };
  replace("MESH", layout.mesh.empty() ? "" : "dist.mesh @mesh <" + layout.mesh + ">");
  replace(" W1", sharding("{}, " + hidden));
  replace(" B1", sharding(hidden));
  replace(" W2", sharding(hidden + ", {}"));
  replace(" X", sharding(batch + ", {}"));
  replace(" Y", sharding(batch));
  return text;
}

NamedArrays batchOfStep(int step) {
  std::mt19937 rng(500 + step);
  std::vector<float> x(batch * 7);
  std::vector<int32_t> y(batch);
  for (float &value : x)
    value = float(rng() % 2001) / 1000 - 1;
  for (int32_t &label : y)
    label = int32_t(rng() % 3);
  return {{"x", HostArray::of({batch, 7}, x)}, {"y", HostArray::of({batch}, y)}};
}

ExecuteOptions optionsOf(const Layout &layout, int steps) {
  ExecuteOptions options;
  options.from = "model";
  options.mesh = layout.mesh;
  options.run.program = "train";
  options.run.steps = steps;
  options.run.inputsOfStep = batchOfStep;
  return options;
}

NamedArrays train(const Layout &layout, int steps) {
  auto result = execute(modelOn(layout), batchOfStep(0), optionsOf(layout, steps));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->variables : NamedArrays();
}

/// |a - b| / |b - base| over all variables together.
double distance(const NamedArrays &a, const NamedArrays &b, const NamedArrays &base) {
  double difference = 0, norm = 0;
  for (const auto &[name, array] : b) {
    std::vector<float> x = a.at(name).as<float>(), y = array.as<float>(), z = base.at(name).as<float>();
    for (size_t i = 0; i < y.size(); ++i) {
      difference += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
      norm += (double(y[i]) - z[i]) * (double(y[i]) - z[i]);
    }
  }
  return std::sqrt(difference / norm);
}

const Layout layouts[] = {
    {"data=2", "\"data\"", ""},
    {"data=8", "\"data\"", ""},
    {"data=1,model=3", "", "\"model\""},
    {"data=1,model=4", "", "\"model\""},
    {"data=1,model=8", "", "\"model\""},
    {"data=2,model=4", "\"data\"", "\"model\""},
    {"data=4,model=2", "\"data\"", "\"model\""},
    {"data=1,a=2,b=2", "\"b\", \"a\"", ""},
    {"data=1,a=2,b=2", "", "\"b\", \"a\""},
};

TEST(Uneven, TrainsAsOneDeviceDoes) {
  NamedArrays initial = train({}, 0), one = train({}, 1), fifty = train({}, 50);
  for (const Layout &layout : layouts) {
    SCOPED_TRACE(layout.mesh + ": batch by " + layout.batch + ", hidden units by " + layout.hidden);
    NamedArrays start = train(layout, 0);
    ASSERT_EQ(start.size(), 3u);
    for (const auto &[name, array] : initial)
      EXPECT_EQ(start.at(name).bytes, array.bytes) << name << " begins with other values";
    EXPECT_LE(distance(train(layout, 1), one, initial), 2e-6);
    EXPECT_LE(distance(train(layout, 50), fifty, initial), 1e-5);
  }
}

TEST(Uneven, NoPaddingRefusesIt) {
  ExecuteOptions options = optionsOf({"data=1,model=4", "", "\"model\""}, 1);
  options.noPadding = true;
  auto result = execute(modelOn({"data=1,model=4", "", "\"model\""}), batchOfStep(0), options);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("dimension 1 has size 10, which its axes (model = 4) do not divide into 4 "
                                           "equal parts"),
            std::string::npos)
      << result.status();
}

/// A folder with 33 samples, and runs of the driver on it.
class Checkpoints : public testing::Test {
protected:
  Checkpoints() : folder(testing::TempDir() + "dgc-uneven-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder);
    std::vector<float> x;
    std::vector<int32_t> y;
    for (int step = 0; step < 3; ++step) {
      NamedArrays arrays = batchOfStep(step);
      for (float value : arrays.at("x").as<float>())
        x.push_back(value);
      for (int32_t label : arrays.at("y").as<int32_t>())
        y.push_back(label);
    }
    EXPECT_TRUE(
        writeNpy(realDisk(), folder + "/x.npy", DType::F32, std::vector<int64_t>{33, 7}, std::as_bytes(std::span(x)))
            .ok());
    EXPECT_TRUE(
        writeNpy(realDisk(), folder + "/y.npy", DType::I32, std::vector<int64_t>{33}, std::as_bytes(std::span(y)))
            .ok());
  }
  ~Checkpoints() override { std::filesystem::remove_all(folder); }

  /// Trains for some steps, from `load` if it is given, and returns what was saved.
  std::map<std::string, std::vector<float>> run(const Layout &layout, int64_t steps, const std::string &load = "",
                                                const std::string &save = "saved") {
    auto plan = compileText(modelOn(layout), optionsOf(layout, 1));
    EXPECT_TRUE(plan.ok()) << plan.status();
    auto artifact = loadBytes(*plan);
    EXPECT_TRUE(artifact.ok()) << artifact.status();
    RunOptions options;
    options.data = folder;
    options.steps = steps;
    options.evaluate = false;
    options.load = load.empty() ? "" : folder + "/" + load;
    options.save = folder + "/" + save;
    absl::Status status = runInProcess(**artifact, options, [](std::string_view) {}, -1).status();
    EXPECT_TRUE(status.ok()) << status;
    auto file = SafetensorsFile::open(realDisk(), options.save);
    EXPECT_TRUE(file.ok()) << file.status();
    std::map<std::string, std::vector<float>> values;
    for (const auto &[name, entry] : file->entries()) {
      values[name].resize(entry.bytes / sizeof(float));
      EXPECT_TRUE(file->read(entry, std::as_writable_bytes(std::span(values[name]))).ok());
    }
    return values;
  }

  std::string folder;
};

void expectNear(const std::map<std::string, std::vector<float>> &a,
                const std::map<std::string, std::vector<float>> &b) {
  ASSERT_EQ(a.size(), 3u);
  for (const auto &[name, values] : a)
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], b.at(name)[i], 2e-6) << name << " " << i;
}

// A checkpoint holds whole variables: what a run on one device wrote goes on cut, and the other way around.
TEST_F(Checkpoints, DoNotDependOnTheLayout) {
  Layout one, cut{"data=2,model=4", "\"data\"", "\"model\""}, other{"data=1,model=3", "", "\"model\""};
  auto whole = run(one, 6);
  expectNear(run(cut, 6), whole);
  run(cut, 2, "", "first");
  run(other, 2, "first", "second");
  expectNear(run(one, 2, "second"), whole);
  // Nothing is lost on the way: no steps give the same bits.
  EXPECT_EQ(run(cut, 0), run(one, 0));
}

} // namespace
