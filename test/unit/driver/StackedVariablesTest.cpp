// A stacked variable is saved, loaded, given and fetched as a variable for each part: two plans of one MLP, in one of which
// variables are stacked, have the same files. Ranks as threads.
#include "runtime/driver/State.h"
#include "runtime/driver/Worker.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Npz.h"
#include "runtime/driver/Signature.h"
#include "runtime/executor/RunOnce.h"
#include "test/unit/artifact/StackedPlan.h"
#include "test/unit/executor/MlpPlan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <map>
#include <numeric>
#include <unistd.h>

using namespace dgc::rt;
using namespace dgc::rt::test;
using testing::HasSubstr;

namespace {
constexpr int64_t hidden = 16; // a row of w2 takes 64 bytes

/// w2 is 16 rows, and there are three variables [5, 16] that nothing uses, each cut over the workers along its rows.
fb::PlanT stackedMlp(uint32_t world) {
  fb::PlanT plan = mlpPlan({.world = world, .batch = 120, .hidden = hidden}, DGC_MLP_KERNELS);
  fb::VariableT &w2 = *plan.variables[2];
  w2.name = "row.*.w2";
  w2.rng_strides = {3};
  fb::VariableT &e = addVariable(plan, "e.*", {3, 5, hidden}, {3, (5 + world - 1) / world, hidden});
  e.init = fb::InitKind::Normal;
  e.b = 1;
  e.rng_id = 50;
  e.rng_strides = {10};
  e.sharding = sharding({{}, {0}, {}});
  return plan;
}

HostArray floats(std::vector<int64_t> shape, float from) {
  std::vector<float> values(*byteSize(DType::F32, shape) / sizeof(float));
  std::iota(values.begin(), values.end(), from);
  return HostArray::of(std::move(shape), values);
}

class StackedVariables : public ::testing::Test {
protected:
  StackedVariables() : folder(str(::testing::TempDir(), "dgc-stacked-", ::getpid())) {
    std::filesystem::create_directories(folder);
    for (const auto &file : std::filesystem::directory_iterator(DGC_SOURCE_DIR "/examples/data/mnist"))
      std::filesystem::create_symlink(file.path(), folder / file.path().filename());
    options.data = folder;
    options.evaluate = false;
    options.steps = 0;
  }
  ~StackedVariables() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder / name; }

  static std::unique_ptr<Artifact> load(fb::PlanT made) {
    auto artifact = loadBytes(*finishPlan(std::move(made)));
    EXPECT_TRUE(artifact.ok()) << artifact.status();
    return *std::move(artifact);
  }

  absl::Status run(fb::PlanT made) {
    return runInProcess(*load(std::move(made)), options, [](std::string_view) {}, -1).status();
  }

  /// What is saved after a run.
  NamedArrays saved(fb::PlanT made, const std::string &name = "saved.safetensors") {
    options.save = path(name);
    absl::Status s = run(std::move(made));
    EXPECT_TRUE(s.ok()) << s;
    options.save.clear();
    NamedArrays arrays;
    auto file = SafetensorsFile::open(realDisk(), path(name));
    EXPECT_TRUE(file.ok()) << file.status();
    for (const auto &[key, entry] : file->entries()) {
      HostArray &values = arrays[key] = {entry.dtype, entry.shape, std::vector<std::byte>(entry.bytes)};
      EXPECT_TRUE(file->read(entry, values.bytes).ok());
    }
    return arrays;
  }

  std::string write(const std::string &name, const NamedArrays &arrays) const {
    std::vector<NamedArray> named;
    for (const auto &[key, value] : arrays)
      named.push_back({key, value.dtype, value.shape, value.bytes});
    auto file = OutputFile::reserve(realDisk(), path(name));
    EXPECT_TRUE(writeNpz(*file, named).ok());
    return path(name);
  }

  std::filesystem::path folder;
  RunOptions options;
};

TEST_F(StackedVariables, AreSavedAndLoadedAsSeparateOnes) {
  for (uint32_t world : {1u, 2u, 4u}) {
    SCOPED_TRACE(world);
    options.steps = 3;
    const NamedArrays separate = saved(unstacked(stackedMlp(world)), "separate"),
                      stacked = saved(stackedMlp(world), "stacked");
    EXPECT_EQ(stacked, separate);
    EXPECT_EQ(stacked.size(), 5u + 16 + 3);
    EXPECT_EQ(stacked.at("row.15.w2").shape, (std::vector<int64_t>{16}));
    EXPECT_EQ(stacked.at("e.2").shape, (std::vector<int64_t>{5, 16}));
    EXPECT_NE(stacked.at("e.1"), stacked.at("e.2"));
    options.steps = 0;
    for (uint32_t other : {1u, 2u, 3u}) {
      options.load = path("stacked");
      EXPECT_EQ(saved(unstacked(stackedMlp(other))), stacked);
      options.load = path("separate");
      EXPECT_EQ(saved(stackedMlp(other)), stacked);
    }
    options.load.clear();
  }
}

TEST_F(StackedVariables, BeginAsTheParts) {
  for (uint32_t world : {1u, 2u}) {
    options.steps = 2;
    const NamedArrays before = saved(stackedMlp(world), "before");
    options.steps = 0;
    fb::PlanT plan = stackedMlp(world);
    fb::VariableT &average = addVariable(plan, "average.*.w2", {hidden, hidden}, {hidden, hidden});
    average.role = fb::VariableRole::Slot;
    average.rng_strides = {1};
    average.begins_as = "row.*.w2";
    options.load = path("before");
    const NamedArrays after = saved(std::move(plan));
    options.load.clear();
    EXPECT_EQ(after.size(), before.size() + hidden);
    for (int row = 0; row < hidden; ++row)
      EXPECT_EQ(after.at(str("average.", row, ".w2")), before.at(str("row.", row, ".w2")));
  }
}

TEST_F(StackedVariables, AreReadFromFilesByPart) {
  const NamedArrays before = saved(stackedMlp(1), "values.safetensors");
  for (uint32_t world : {1u, 2u}) {
    auto fromFile = [&](const char *file, const char *beginsAs) {
      fb::PlanT plan = stackedMlp(world);
      fb::VariableT &e = *plan.variables.back();
      e.init = fb::InitKind::File;
      e.file = file;
      e.begins_as = beginsAs;
      if (*beginsAs)
        addVariable(plan, beginsAs, {3, 5, hidden}, {3, 5, hidden}).rng_strides = {1};
      return plan;
    };
    EXPECT_EQ(saved(fromFile("values.safetensors", "")), before);
    absl::Status s = run(fromFile("values.safetensors", "f.*"));
    EXPECT_THAT(std::string(s.message()), HasSubstr("variable 'e.0' from file 'values.safetensors': " +
                                                    path("values.safetensors") + " has no tensor 'f.0'"));
    // Each part is all of an array.
    const HostArray one = floats({5, hidden}, 4), all = floats({3, 5, hidden}, 4);
    ASSERT_TRUE(writeNpy(realDisk(), path("one.npy"), one.dtype, one.shape, one.bytes).ok());
    const NamedArrays read = saved(fromFile("one.npy", ""));
    for (const char *name : {"e.0", "e.1", "e.2"})
      EXPECT_EQ(read.at(name), one);
    ASSERT_TRUE(writeNpy(realDisk(), path("all.npy"), all.dtype, all.shape, all.bytes).ok());
    s = run(fromFile("all.npy", ""));
    EXPECT_THAT(std::string(s.message()), HasSubstr("holds f32 [3x5x16], needed is f32 [5x16]"));
  }
}

TEST_F(StackedVariables, AreCountedAndListedByPart) {
  auto artifact = load(stackedMlp(2));
  EXPECT_EQ(countSaved(artifact->plan()), 5 + 16 + 3);
  std::vector<std::string> names;
  for (const VariableSpec &spec : variableSpecs(artifact->plan()))
    names.push_back(spec.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"w1", "row.0.w2", "row.15.w2", "e.2"}));
  EXPECT_EQ(names.size(), 24u);
}

TEST_F(StackedVariables, AreGivenAndFetchedByPart) {
  // The plan says positions of w1 and of the stacked one; the latter has none for each part.
  auto plan = [](uint32_t world) {
    fb::PlanT made = stackedMlp(world);
    fb::ProgramT &train = *made.programs[0];
    int position = 0;
    for (const char *name : {"w1", "row.*.w2"}) {
      auto state = std::make_unique<fb::StateUseT>();
      state->variable = name;
      state->is_written = true;
      state->argument = state->result = position++;
      train.states.push_back(std::move(state));
    }
    return made;
  };
  auto artifact = load(plan(1));
  Signature signature = signatureOf(artifact->plan(), "train");
  ASSERT_EQ(signature.arguments.size(), 2u + 24);
  EXPECT_EQ(signature.arguments[0].name, "w1");
  EXPECT_EQ(signature.arguments[4].name, "row.0.w2");
  EXPECT_EQ(signature.arguments[4].shape, (std::vector<int64_t>{16}));
  EXPECT_FALSE(signature.arguments[4].hasPosition);
  ASSERT_EQ(signature.results.size(), 2u + 1 + 16);

  HostArray image{DType::U8, {120, 28, 28}, std::vector<std::byte>(120 * 28 * 28)};
  for (size_t i = 0; i < image.bytes.size(); ++i)
    image.bytes[i] = static_cast<std::byte>(i * 7 % 251);
  HostArray label{DType::U8, {120}, std::vector<std::byte>(120, std::byte(3))};
  options.data.clear();
  options.steps.reset();
  options.fetch = path("out.npz");
  for (uint32_t world : {1u, 2u}) {
    options.feed = {write(
        "in.npz",
        {{"image", image}, {"label", label}, {"row.3.w2", floats({hidden}, -8)}, {"e.1", floats({5, hidden}, 9)}})};
    const NamedArrays stacked = saved(plan(world));
    EXPECT_EQ(stacked.at("e.1"), floats({5, hidden}, 9));
    EXPECT_NE(stacked.at("row.3.w2"), stacked.at("row.4.w2"));
    auto file = NpzFile::open(realDisk(), options.fetch);
    ASSERT_TRUE(file.ok()) << file.status();
    size_t parts = 0;
    for (const NpzFile::Entry &entry : file->entries())
      if (entry.name.starts_with("row.")) {
        auto array = file->read(entry);
        ASSERT_TRUE(array.ok()) << array.status();
        std::span<const std::byte> bytes = std::as_const(*array).bytes();
        EXPECT_EQ((HostArray{array->dtype, array->shape, {bytes.begin(), bytes.end()}}), stacked.at(entry.name));
        ++parts;
      }
    EXPECT_EQ(parts, 16u);
    fb::PlanT separate = plan(world);
    separate.programs[0]->states.clear();
    EXPECT_EQ(saved(unstacked(std::move(separate))), stacked);
    options.feed = {write("in.npz", {{"image", image}, {"label", label}, {"row.*.w2", floats({hidden, hidden}, 0)}})};
    EXPECT_THAT(std::string(run(plan(world)).message()), HasSubstr("'train' has no argument 'row.*.w2'"));
  }
}
} // namespace
