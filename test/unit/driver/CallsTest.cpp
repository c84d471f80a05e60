// --feed and --fetch on a small MLP whose arguments and results have positions, as those of programs that were not written
// as a model; ranks as threads.
#include "runtime/driver/Worker.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/data/Npz.h"
#include "runtime/driver/Signature.h"
#include "runtime/executor/RunOnce.h"
#include "test/unit/executor/MlpPlan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <unistd.h>

using namespace dgc::rt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
constexpr int64_t batch = 12, hidden = 8;

class CallsOf : public ::testing::Test {
protected:
  CallsOf() : folder(str(::testing::TempDir(), "dgc-calls-", ::getpid())) {
    std::filesystem::create_directories(folder);
    options.fetch = path("out.npz");
  }
  ~CallsOf() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder + "/" + name; }

  static dgc::artifact::PlanT plan(uint32_t world) {
    return test::mlpPlan({.world = world, .batch = batch, .hidden = hidden}, DGC_MLP_KERNELS);
  }

  /// Of `train`: w1 is argument 0 and result 1, image argument 3, the loss result 4; the others have no position.
  static dgc::artifact::PlanT positionedPlan(uint32_t world,
                                             dgc::artifact::InitKind init = dgc::artifact::InitKind::Zeros) {
    dgc::artifact::PlanT made = plan(world);
    dgc::artifact::ProgramT &train = *made.programs[0];
    train.inputs[0]->argument = 3;
    train.outputs[0]->result = 4;
    for (auto &variable : made.variables) {
      auto state = std::make_unique<dgc::artifact::StateUseT>();
      state->variable = variable->name;
      state->is_written = variable->name != "b3";
      if (variable->name == "w1") {
        state->argument = 0;
        state->result = 1;
        variable->init = init;
      }
      train.states.push_back(std::move(state));
    }
    return made;
  }

  static std::unique_ptr<Artifact> load(dgc::artifact::PlanT made) {
    auto artifact = loadBytes(*finishPlan(std::move(made)));
    EXPECT_TRUE(artifact.ok()) << artifact.status();
    return *std::move(artifact);
  }

  /// Different numbers for each seed.
  static HostArray bytes(std::vector<int64_t> shape, int seed, int below) {
    HostArray values{DType::U8, shape, std::vector<std::byte>(*byteSize(DType::U8, shape))};
    for (size_t i = 0; i < values.bytes.size(); ++i)
      values.bytes[i] =
          static_cast<std::byte>((i * 7 + i / 5 + static_cast<size_t>(seed) * 3) % static_cast<size_t>(below));
    return values;
  }
  static HostArray floats(std::vector<int64_t> shape, float scale) {
    HostArray values{DType::F32, shape, std::vector<std::byte>(*byteSize(DType::F32, shape))};
    for (size_t i = 0; i < values.bytes.size() / 4; ++i) {
      float value = scale * static_cast<float>(static_cast<int>(i * 13 % 31) - 15);
      std::memcpy(values.bytes.data() + 4 * i, &value, 4);
    }
    return values;
  }
  static NamedArrays data(int seed, const std::string &image = "image", int64_t examples = batch) {
    return {{image, bytes({examples, 28, 28}, seed, 256)}, {"label", bytes({examples}, seed, 10)}};
  }

  std::string write(const std::string &name, const NamedArrays &arrays) const {
    std::vector<NamedArray> named;
    for (const auto &[key, value] : arrays)
      named.push_back({key, value.dtype, value.shape, value.bytes});
    auto file = OutputFile::reserve(realDisk(), path(name));
    EXPECT_TRUE(writeNpz(*file, named).ok());
    return path(name);
  }

  absl::Status run(const Artifact &artifact) {
    printed.clear();
    return runInProcess(artifact, options, [&](std::string_view text) { printed += text; }, -1).status();
  }

  NamedArrays fetched() const {
    NamedArrays arrays;
    auto file = NpzFile::open(realDisk(), options.fetch);
    EXPECT_TRUE(file.ok()) << file.status();
    for (const NpzFile::Entry &entry : file->entries()) {
      auto array = file->read(entry);
      EXPECT_TRUE(array.ok()) << array.status();
      std::span<const std::byte> bytes = std::as_const(*array).bytes();
      arrays[entry.name] = {array->dtype, array->shape, {bytes.begin(), bytes.end()}};
    }
    return arrays;
  }

  void expectError(const Artifact &artifact, std::string_view text) {
    absl::Status s = run(artifact);
    EXPECT_THAT(std::string(s.message()), HasSubstr(std::string(text)));
    EXPECT_EQ(exitCodeOf(s), ExitCode::BadData) << s;
  }

  std::string folder, printed;
  RunOptions options;
};

std::vector<std::string> namesOf(const std::vector<Parameter> &parameters) {
  std::vector<std::string> names;
  for (const Parameter &parameter : parameters)
    names.push_back(str(parameter.position, " ", parameter.name));
  return names;
}

TEST_F(CallsOf, AreNumberedAsTheModelOrAsThePlanSays) {
  auto artifact = load(plan(1));
  Signature signature = signatureOf(artifact->plan(), "train");
  EXPECT_THAT(namesOf(signature.arguments),
              ElementsAre("0 image", "1 label", "2 w1", "3 b1", "4 w2", "5 b2", "6 w3", "7 b3"));
  EXPECT_THAT(namesOf(signature.results), ElementsAre("0 loss", "1 accuracy"));
  EXPECT_EQ(signature.arguments[0].batchDim, 0);
  auto positioned = load(positionedPlan(1));
  signature = signatureOf(positioned->plan(), "train");
  EXPECT_THAT(namesOf(signature.arguments),
              ElementsAre("0 w1", "3 image", "4 label", "5 b1", "6 w2", "7 b2", "8 w3", "9 b3"));
  EXPECT_THAT(namesOf(signature.results), ElementsAre("1 w1", "4 loss", "5 accuracy", "6 b1", "7 w2", "8 b2", "9 w3"));
  EXPECT_THAT(namesOf(signatureOf(positioned->plan(), "evaluate").results), ElementsAre("0 loss", "1 accuracy"));
}

// An argument with a position is given with the first call, by name or by position, and carried on from there.
TEST_F(CallsOf, CarryState) {
  NamedArrays first = data(1, "in3"), second = data(2);
  first["in0"] = floats({784, hidden}, 0.01f);
  NamedArrays named = data(1);
  named["w1"] = first["in0"];
  for (uint32_t world : {1u, 2u, 3u}) {
    auto artifact = load(positionedPlan(world));
    options.feed = {write("first.npz", first), write("second.npz", second)};
    ASSERT_TRUE(run(*artifact).ok());
    const NamedArrays carried = fetched();
    EXPECT_EQ(carried.size(), 14u);
    EXPECT_EQ(carried.at("out1"), carried.at("w1"));
    EXPECT_EQ(carried.at("out4"), carried.at("loss"));
    EXPECT_FALSE(carried.contains("b3"));
    // The first call alone, with its arrays by name; then the second one, with all that the first has left.
    options.feed = {write("named.npz", named)};
    options.save = path("weights");
    ASSERT_TRUE(run(*artifact).ok());
    EXPECT_NE(fetched().at("w1"), first["in0"]);
    EXPECT_NE(fetched().at("w1"), carried.at("w1"));
    options.feed = {path("second.npz")};
    options.load = std::exchange(options.save, "");
    ASSERT_TRUE(run(*artifact).ok());
    EXPECT_EQ(fetched(), carried);
    options.load.clear();
  }
}

TEST_F(CallsOf, AnyNumberOfWorkersGivesTheSame) {
  NamedArrays arrays = data(3);
  arrays["w1"] = floats({784, hidden}, 0.01f);
  options.feed = {write("a.npz", arrays)};
  std::vector<float> losses;
  for (uint32_t world : {1u, 2u, 3u, 4u}) {
    ASSERT_TRUE(run(*load(positionedPlan(world))).ok());
    float loss;
    std::memcpy(&loss, fetched().at("loss").bytes.data(), 4);
    losses.push_back(loss);
    EXPECT_NEAR(loss, losses[0], 1e-5 * losses[0]);
  }
}

// What fills a batch does not count: other examples in its place change nothing.
TEST_F(CallsOf, TakeFewerExamplesThanTheBatch) {
  for (uint32_t world : {1u, 3u}) {
    auto artifact = load(plan(world));
    options.entry = "evaluate";
    options.feed = {write("short.npz", data(4, "image", 5))};
    ASSERT_TRUE(run(*artifact).ok());
    const HostArray loss = fetched().at("loss");
    options.feed = {write("whole.npz", data(4))};
    ASSERT_TRUE(run(*artifact).ok());
    EXPECT_NE(fetched().at("loss"), loss);
    // Twice the same examples have the same mean.
    NamedArrays six = data(4, "image", 6), twice = six;
    for (auto &[name, value] : twice) {
      value.shape[0] = 12;
      value.bytes.insert(value.bytes.end(), value.bytes.begin(), value.bytes.end());
    }
    float means[2];
    for (int i : {0, 1}) {
      options.feed = {write("six.npz", i ? twice : six)};
      ASSERT_TRUE(run(*artifact).ok());
      std::memcpy(&means[i], fetched().at("loss").bytes.data(), 4);
    }
    EXPECT_NEAR(means[0], means[1], 1e-5 * means[1]);
  }
}

TEST_F(CallsOf, Refusals) {
  auto artifact = load(positionedPlan(2));
  NamedArrays arrays = data(1);
  options.feed = {write("a.npz", arrays)};
  expectError(*artifact, "a.npz has nothing for 'w1' (in0) of 'train', which is f32 [784x8]");
  // One that begins with a value of the plan need not be given.
  EXPECT_TRUE(run(*load(positionedPlan(2, dgc::artifact::InitKind::GlorotUniform))).ok());
  arrays["w1"] = floats({784, hidden}, 1);
  options.feed = {write("a.npz", arrays), write("b.npz", {{"image", arrays["image"]}})};
  expectError(*artifact, "b.npz has nothing for 'label' (in4)");
  arrays["in2"] = arrays["w1"];
  options.feed = {write("a.npz", arrays)};
  expectError(*artifact, "'train' has no argument 'in2'; it has w1 f32 [784x8] (in0), image u8 [12x28x28] (in3)");
  arrays.erase("in2");
  arrays["in0"] = arrays["w1"];
  options.feed = {write("a.npz", arrays)};
  expectError(*artifact, "two arrays are for 'w1', which is in0");
}
} // namespace
