// Checkpoints: what is saved comes back, at another cut too, and a file that
// does not fit the plan is refused with everything that differs.
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/base/ExitCode.h"
#include "test/unit/support/FakeDisk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using testing::ElementsAre;
using testing::HasSubstr;

static const float weight[] = {1, 2, 3, 4, 5, 6};
static const float momentum[] = {6, 5, 4, 3, 2, 1};

static std::vector<Tensor> tensors() {
  return {{"w", DType::F32, {3, 2}, std::as_bytes(std::span(weight))},
          {"w/momentum", DType::F32, {3, 2}, std::as_bytes(std::span(momentum))}};
}
static absl::Status save(FakeDisk &disk, const RunState &state) {
  auto file = OutputFile::reserve(disk, "d/c");
  return file.ok() ? saveCheckpoint(*file, tensors(), state) : file.status();
}
static std::vector<VariableSpec> plan() {
  return {{"w", DType::F32, {3, 2}, false}, {"w/momentum", DType::F32, {3, 2}, true}};
}

static std::string messageOf(FakeDisk &disk, std::vector<VariableSpec> plan) {
  auto checkpoint = Checkpoint::open(disk, "d/c", plan);
  if (checkpoint.ok())
    return "no error";
  EXPECT_EQ(exitCodeOf(checkpoint.status()), ExitCode::BadData);
  return std::string(checkpoint.status().message());
}

TEST(Checkpoint, BringsBackWhatWasSaved) {
  FakeDisk disk;
  RunState state{1404, {2, 468}, uint64_t{1} << 63, "ab01", "dgc 0.1.0"};
  ASSERT_TRUE(save(disk, state).ok());
  auto checkpoint = Checkpoint::open(disk, "d/c", plan());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->state(), state);
  // A worker that holds the last row.
  int64_t start[] = {2, 0}, size[] = {1, 2};
  float row[2];
  ASSERT_TRUE(checkpoint->read("w/momentum", start, size, std::as_writable_bytes(std::span(row))).ok());
  EXPECT_THAT(row, ElementsAre(2, 1));
  EXPECT_FALSE(checkpoint->read("other", start, size, std::as_writable_bytes(std::span(row))).ok());
}

TEST(Checkpoint, AcceptsWeightsAlone) {
  FakeDisk disk;
  auto weights = tensors();
  weights.resize(1);
  ASSERT_TRUE(writeSafetensors(disk, "d/c", weights, {}).ok());
  auto checkpoint = Checkpoint::open(disk, "d/c", plan());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_FALSE(checkpoint->state());
  EXPECT_TRUE(checkpoint->has("w"));
  EXPECT_FALSE(checkpoint->has("w/momentum"));
}

TEST(Checkpoint, AcceptsFilesWithoutWhatIsOptional) {
  FakeDisk disk;
  std::vector<VariableSpec> scaled = plan();
  scaled.push_back({"scale", DType::F32, {}, false, /*optional=*/true});
  ASSERT_TRUE(save(disk, {.step = 3}).ok());
  auto all = Checkpoint::open(disk, "d/c", scaled); // another precision
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->state()->step, 3);
  EXPECT_TRUE(all->has("w/momentum"));
  EXPECT_FALSE(all->has("scale"));
  EXPECT_EQ(all->leftOut(), "loaded d/c; at their initial values: scale");
  auto weights = tensors();
  weights.resize(1);
  ASSERT_TRUE(writeSafetensors(disk, "d/c", weights, {}).ok());
  auto alone = Checkpoint::open(disk, "d/c", scaled);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->leftOut(), "loaded d/c; at their initial values: scale, w/momentum");
  // Of another shape it is an error all the same.
  weights.push_back({"scale", DType::F32, {3, 2}, std::as_bytes(std::span(weight))});
  ASSERT_TRUE(writeSafetensors(disk, "d/c", weights, {}).ok());
  EXPECT_EQ(messageOf(disk, scaled),
            "d/c does not fit the plan; these differ: scale (f32 [3x2] for f32 []); its weights "
            "fit: --load-weights takes these alone");
}

TEST(Checkpoint, TakesTheWeightsOfAnotherOptimizer) {
  FakeDisk disk;
  ASSERT_TRUE(save(disk, {.step = 3}).ok());
  std::vector<VariableSpec> adam = {{"w", DType::F32, {3, 2}, false}, {"w/mean", DType::F32, {3, 2}, true}};
  EXPECT_EQ(messageOf(disk, adam),
            "d/c does not fit the plan; the plan has no w/momentum; its weights fit: --load-weights takes these alone");
  auto taken = Checkpoint::open(disk, "d/c", adam, Restore::Weights);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_FALSE(taken->state()); // a new run
  EXPECT_TRUE(taken->has("w"));
  EXPECT_EQ(taken->leftOut(), "loaded d/c; left out of the file: w/momentum; at their initial values: w/mean");
  // The state of an optimizer that has the same name and shape is not taken either.
  auto same = Checkpoint::open(disk, "d/c", plan(), Restore::Weights);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_FALSE(same->has("w/momentum"));
  adam.push_back({"b", DType::F32, {2}, false});
  auto missing = Checkpoint::open(disk, "d/c", adam, Restore::Weights);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("it lacks b"));
}

TEST(Checkpoint, NamesOfAFileAreFitForATerminal) {
  FakeDisk disk;
  const std::string name = "w\x1b[2J\ndgc-run: error: ";
  std::vector<Tensor> named = {{name, DType::F32, {3, 2}, std::as_bytes(std::span(weight))}};
  ASSERT_TRUE(writeSafetensors(disk, "d/c", named, {}).ok());
  EXPECT_THAT(messageOf(disk, {}), HasSubstr("the plan has no w\\x1b[2J\\ndgc-run: error: "));
}

TEST(Checkpoint, ListsEverythingThatDiffers) {
  FakeDisk disk;
  ASSERT_TRUE(save(disk, {}).ok());
  EXPECT_EQ(messageOf(disk, plan()), "no error");
  EXPECT_EQ(messageOf(disk, {{"w", DType::F32, {2, 3}, false}, {"b", DType::F32, {2}, false}}),
            "d/c does not fit the plan; it lacks b; the plan has no "
            "w/momentum; these differ: w (f32 [3x2] for f32 [2x3])");
  EXPECT_EQ(messageOf(disk, {{"w", DType::F64, {3, 2}, false}, {"w/momentum", DType::F32, {3, 2}, true}}),
            "d/c does not fit the plan; these differ: w (f32 [3x2] for f64 "
            "[3x2])");
  EXPECT_EQ(messageOf(disk, {{"w", DType::F32, {3, 2}, false},
                             {"w/momentum", DType::F32, {3, 2}, true},
                             {"w/second", DType::F32, {3, 2}, true}}),
            "d/c does not fit the plan; it lacks of the optimizer's state "
            "w/second; its weights fit: --load-weights takes these alone");
  std::vector<VariableSpec> many;
  for (int i = 0; i < 12; ++i)
    many.push_back({"v" + std::to_string(i), DType::F32, {1}, false});
  EXPECT_THAT(messageOf(disk, many), HasSubstr("it lacks v0, v1, v2, v3, v4, v5, v6, v7 and 4 more"));
}

TEST(Checkpoint, RefusesAStateThatIsNoState) {
  const Metadata good = {{"dgc.step", "10"}, {"dgc.epoch", "2"}, {"dgc.epoch_step", "8"}, {"dgc.seed", "0"}};
  auto messageWith = [&](Metadata change) {
    Metadata metadata = good;
    for (auto &[key, value] : change)
      metadata[key] = value;
    std::erase_if(metadata, [](const auto &entry) { return entry.second == "none"; });
    FakeDisk disk;
    EXPECT_TRUE(writeSafetensors(disk, "d/c", tensors(), metadata).ok());
    return messageOf(disk, plan());
  };
  EXPECT_EQ(messageWith({}), "no error");
  EXPECT_EQ(messageWith({{"other.key", "is theirs"}, {"dgcx", "too"}}), "no error");
  EXPECT_EQ(messageWith({{"dgc.cursor", "1"}}),
            "d/c: the metadata has 'dgc.cursor', which this version of dgc does not know: load it with the version "
            "that wrote it");
  EXPECT_EQ(messageWith({{"dgc.seed", "none"}}),
            "d/c: the metadata has no 'dgc.seed', which goes with the other dgc.* in it");
  EXPECT_THAT(messageWith({{"dgc.step", "none"}}), HasSubstr("has no 'dgc.step'"));
  for (const char *wrong : {"-1", "", "1x", " 1", "+1", "1e3", "9007199254740993", "99999999999999999999"})
    EXPECT_EQ(messageWith({{"dgc.step", wrong}}),
              str("d/c: the metadata 'dgc.step' is '", wrong, "', not a number from 0 to 9007199254740992"));
  EXPECT_THAT(messageWith({{"dgc.epoch", "1099511627777"}, {"dgc.step", "9007199254740992"}}),
              HasSubstr("not a number from 0 to 1099511627776"));
  EXPECT_THAT(messageWith({{"dgc.seed", "18446744073709551616"}}), HasSubstr("'dgc.seed' is"));
  EXPECT_EQ(messageWith({{"dgc.step", "9"}}),
            "d/c: the metadata says step 9, but epoch 2 and 8 steps in it, which takes "
            "at least 10");
}

/// Every bit of a checkpoint is covered by its digest, names, shapes, metadata and data, but for the mark of its key as
/// one of dgc: without that it is a file without a digest.
TEST(Checkpoint, NoticesEveryFlippedBit) {
  FakeDisk disk;
  RunState state{10, {2, 8}, 7, "ab01", "dgc 0.1.0"};
  ASSERT_TRUE(save(disk, state).ok());
  const std::string good = *disk.get("d/c");
  const size_t key = good.find("dgc.sha256");
  for (size_t i = 0; i < good.size(); ++i) {
    if (i >= key && i < key + 4)
      continue;
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    disk.put("d/c", bad);
    EXPECT_NE(messageOf(disk, plan()), "no error") << i;
  }
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  disk.put("d/c", bad);
  EXPECT_THAT(messageOf(disk, plan()), HasSubstr("d/c is damaged: its content does not match its SHA-256"));
  // The state alone is read without the data.
  EXPECT_TRUE(readRunState(disk, "d/c").ok());
}

/// The digest is that of the file with zeros for its digits, as sha256sum gives it.
TEST(Checkpoint, TheDigestIsThatOfSha256sum) {
  FakeDisk disk;
  const uint8_t byte[] = {7};
  std::vector<Tensor> one = {{"a", DType::U8, {1}, std::as_bytes(std::span(byte))}};
  ASSERT_TRUE(writeSafetensors(disk, "d/c", one, {{std::string(digestKey), ""}}).ok());
  std::string file = *disk.get("d/c");
  const std::string digest = "67278b8d7f2090c586d218584bf3144849c5368aad9276070ad4b2c556e1e90e";
  ASSERT_NE(file.find(digest), std::string::npos) << file;
  EXPECT_TRUE(SafetensorsFile::open(disk, "d/c")->verify().ok());
  for (const char *wrong : {"no digest", "67278B8D7F2090C586D218584BF3144849C5368AAD9276070AD4B2C556E1E90E"}) {
    std::string other = file;
    other.replace(other.find(digest), digest.size(), std::string(wrong).append(64, ' ').substr(0, 64));
    disk.put("d/c", other);
    EXPECT_THAT(std::string(SafetensorsFile::open(disk, "d/c").status().message()),
                HasSubstr("dgc.sha256 is not a SHA-256"));
  }
}

TEST(Checkpoint, NamesAFileThatIsMissing) {
  FakeDisk disk;
  EXPECT_THAT(messageOf(disk, plan()), HasSubstr("cannot open d/c"));
}
