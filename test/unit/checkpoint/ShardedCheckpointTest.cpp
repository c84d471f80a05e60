// Sharded checkpoints: what workers save comes back at any cut, and whatever is damaged is noticed.
#include "runtime/base/ExitCode.h"
#include "runtime/base/Sha256.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/ManifestText.h"
#include "test/unit/checkpoint/ShardedModel.h"

#include <nlohmann/json.hpp>
#include <random>

using namespace dgc::rt;
using namespace dgc::rt::test;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

static const std::string folder = "d/step-000000500", manifestPath = folder + "/manifest.json";

/// A disk that has the folder d.
static FakeDisk emptyDisk() {
  FakeDisk disk;
  disk.needsFolders = true;
  EXPECT_TRUE(disk.makeDirectory("d").ok());
  return disk;
}

static std::string messageOf(Disk &disk, Verify verify = Verify::All) {
  auto checkpoint = Checkpoint::open(disk, folder, modelPlan(), Restore::All, verify);
  if (checkpoint.ok())
    return "no error";
  EXPECT_EQ(exitCodeOf(checkpoint.status()), ExitCode::BadData) << checkpoint.status();
  return std::string(checkpoint.status().message());
}

static std::string numbered(uint32_t file, uint32_t world) {
  return str("model-0000", file, "-of-0000", world, ".safetensors");
}

//===-- What is saved comes back ----------------------------------------===//

/// Reads all blocks of `parts` per dimension.
static void expectBlocks(const Checkpoint &checkpoint, const VariableSpec &spec, std::vector<int64_t> parts) {
  const size_t rank = spec.globalShape.size();
  parts.resize(rank, 1);
  std::vector<int64_t> at(rank), start(rank), size(rank);
  for (bool more = true; more;) {
    for (size_t d = 0; d < rank; ++d)
      std::tie(start[d], size[d]) = partOf(spec.globalShape[d], parts[d], at[d]);
    std::vector<std::byte> block(bytesOf(spec.dtype, size), std::byte{0xee});
    absl::Status status = checkpoint.read(spec.name, start, size, block);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(block, blockOf(spec, 3, start, size)) << spec.name;
    more = false;
    for (size_t d = rank; d-- > 0 && !more;)
      more = ++at[d] < parts[d] || (at[d] = 0);
  }
}

TEST(ShardedCheckpoint, ComesBackAtAnyCut) {
  for (uint32_t world = 1; world <= 5; ++world) {
    FakeDisk disk = emptyDisk();
    absl::Status saved = save(disk, 500, world, 3);
    ASSERT_TRUE(saved.ok()) << saved;
    auto checkpoint = Checkpoint::open(disk, folder, modelPlan());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    EXPECT_EQ(checkpoint->state(), stateOf(500));
    EXPECT_EQ(*readRunState(disk, folder), stateOf(500));
    EXPECT_THAT(checkpoint->extra(), ElementsAre(std::pair("version", "3")));
    EXPECT_EQ(checkpoint->leftOut(), "");
    for (const VariableSpec &spec : modelPlan())
      for (int64_t rows = 1; rows <= 5; ++rows)
        for (int64_t columns = 1; columns <= 3; ++columns)
          expectBlocks(*checkpoint, spec, {rows, columns});
  }
}

TEST(ShardedCheckpoint, HasOneFileForEachWorkerThatGivesSomething) {
  FakeDisk disk = emptyDisk();
  ASSERT_TRUE(save(disk, 500, 4, 3).ok());
  // Of five rows the fourth worker has none, of seven columns one.
  EXPECT_THAT(*disk.list(folder), ElementsAre("manifest.json", numbered(1, 4), numbered(2, 4), numbered(3, 4),
                                              numbered(4, 4), "model.safetensors.index.json"));
  auto file = SafetensorsFile::open(disk, folder + "/" + numbered(2, 4));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->verify().ok());
  std::vector<std::string> names;
  for (auto &[name, entry] : file->entries())
    names.push_back(name);
  EXPECT_THAT(names, ElementsAre("b[2:4]", "w/momentum[0:5,2:4,0:2]", "w[2:4,0:7]"));
  // Eight workers: the last three have nothing.
  ASSERT_TRUE(save(disk, 501, 8, 3).ok());
  EXPECT_EQ(disk.list("d/step-000000501")->size(), 2 + 7);
  EXPECT_EQ(problemOf(disk, "d/step-000000501", "3"), "");
}

TEST(ShardedCheckpoint, HasTheIndexOfHuggingFace) {
  FakeDisk disk = emptyDisk();
  ASSERT_TRUE(save(disk, 500, 2, 3).ok());
  auto index = nlohmann::json::parse(*disk.get(folder + "/model.safetensors.index.json"));
  EXPECT_EQ(index["weight_map"],
            nlohmann::json({{"empty", numbered(1, 2)}, {"scale", numbered(1, 2)}, {"steps", numbered(1, 2)}}));
  EXPECT_EQ(index["metadata"]["total_size"], 4 + 8);
  for (auto &[name, file] : index["weight_map"].items())
    EXPECT_TRUE(SafetensorsFile::open(disk, folder + "/" + file.get<std::string>())->entries().contains(name));
  // Of one worker every variable is whole.
  ASSERT_TRUE(save(disk, 501, 1, 3).ok());
  index = nlohmann::json::parse(*disk.get("d/step-000000501/model.safetensors.index.json"));
  EXPECT_EQ(index["weight_map"].size(), modelPlan().size());
}

TEST(ShardedCheckpoint, IsComparedWithThePlanAsAFileIs) {
  FakeDisk disk = emptyDisk();
  ASSERT_TRUE(save(disk, 500, 3, 3).ok());
  std::vector<VariableSpec> plan = {{"w", DType::F32, {5, 7}}, {"c", DType::F32, {1}}};
  auto opened = Checkpoint::open(disk, folder, plan);
  EXPECT_EQ(std::string(opened.status().message()),
            folder + " does not fit the plan; it lacks c; the plan has no b, empty, scale, steps, w/momentum");
  plan.pop_back();
  opened = Checkpoint::open(disk, folder, plan, Restore::Weights);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_FALSE(opened->state());
  EXPECT_TRUE(opened->has("w"));
  EXPECT_FALSE(opened->has("b"));
  EXPECT_THAT(opened->leftOut(), HasSubstr("left out of the file: b, empty, scale"));
  float row[7];
  EXPECT_FALSE(
      opened->read("b", std::vector<int64_t>{0}, std::vector<int64_t>{7}, std::as_writable_bytes(std::span(row))).ok());
  for (std::vector<int64_t> start : {std::vector<int64_t>{5, 0}, {-1, 0}, {0}, {INT64_MAX, 0}})
    EXPECT_FALSE(opened->read("w", start, std::vector<int64_t>{1, 7}, std::as_writable_bytes(std::span(row))).ok());
}

TEST(ShardedCheckpoint, SaysWhatToNameInPlaceOfAFolder) {
  FakeDisk disk = emptyDisk();
  auto messageFor = [&](const std::string &path) {
    return std::string(Checkpoint::open(disk, path, modelPlan()).status().message());
  };
  EXPECT_EQ(messageFor("d"), "d is a folder without a checkpoint in it: it has no manifest.json");
  ASSERT_TRUE(save(disk, 500, 1, 3).ok());
  EXPECT_EQ(messageFor("d"), "d is a folder of checkpoints: name one of them, as d/step-000000500");
  EXPECT_EQ(readRunState(disk, "d").status().message(), messageFor("d"));
  EXPECT_THAT(messageFor("d/step-000000499"), HasSubstr("cannot open d/step-000000499"));
}

TEST(ShardedCheckpoint, RefusesPiecesThatDoNotFit) {
  FakeDisk disk = emptyDisk();
  const float values[4] = {};
  const auto bytes = std::as_bytes(std::span(values));
  auto messageOfPieces = [&](const std::vector<VariablePiece> &pieces) {
    static int attempt = 0;
    ShardId id{500, nonceOf(++attempt), 0, 1};
    absl::Status status = writeShard(disk, "d", id, pieces);
    if (status.ok())
      status = commitShards(disk, "d", id, stateOf(500), {});
    return std::string(status.message());
  };
  EXPECT_THAT(messageOfPieces({{"w", DType::F32, {4}, {1}, {4}, bytes}}), HasSubstr("w is not inside of f32 [4]"));
  EXPECT_THAT(messageOfPieces({{"w", DType::F32, {8}, {1}, {3}, bytes}}), HasSubstr("w has 16 bytes for f32 [3]"));
  EXPECT_THAT(messageOfPieces({{"w\xff", DType::F32, {4}, {0}, {4}, bytes}}), HasSubstr("w\\xff is not UTF-8"));
  EXPECT_THAT(messageOfPieces({{"w", DType::F32, {4}, {0}, {4}, bytes}, {"w", DType::F32, {4}, {0}, {4}, bytes}}),
              HasSubstr("w is given twice"));
  EXPECT_THAT(messageOfPieces({{"w", DType::F32, {5}, {0}, {4}, bytes}, {"w", DType::F32, {6}, {0}, {4}, bytes}}),
              HasSubstr("w is both f32 [5] and f32 [6]"));
  EXPECT_THAT(messageOfPieces({{"w", DType::F32, {5}, {0}, {4}, bytes}}),
              HasSubstr("what the workers wrote is not whole: variable 'w': its pieces have 4 of 5 elements"));
  EXPECT_THAT(messageOfPieces({{"w", DType::F32, {6}, {0}, {4}, bytes}, {"w", DType::F32, {6}, {2}, {4}, bytes}}),
              HasSubstr("variable 'w': its pieces overlap"));
  EXPECT_THAT(stepsIn(disk), IsEmpty());
  // A variable that has the name of a slice of another one.
  EXPECT_EQ(messageOfPieces({{"w", DType::F32, {8}, {0}, {4}, bytes},
                             {"w", DType::F32, {8}, {4}, {4}, bytes},
                             {"w[0:4]", DType::F32, {4}, {0}, {4}, bytes}}),
            "");
  std::vector<VariableSpec> plan = {{"w", DType::F32, {8}}, {"w[0:4]", DType::F32, {4}}};
  EXPECT_TRUE(Checkpoint::open(disk, folder, plan).ok());
}

TEST(ShardedCheckpoint, RefusesWorkersOfOtherPlans) {
  FakeDisk disk = emptyDisk();
  const float values[4] = {};
  ShardId id{500, nonceOf(1), 0, 2};
  ASSERT_TRUE(writeShard(disk, "d", id, {{{"w", DType::F32, {8}, {0}, {4}, std::as_bytes(std::span(values))}}}).ok());
  id.rank = 1;
  ASSERT_TRUE(writeShard(disk, "d", id, {{{"w", DType::F32, {9}, {4}, {4}, std::as_bytes(std::span(values))}}}).ok());
  EXPECT_THAT(std::string(commitShards(disk, "d", id, stateOf(500), {}).message()),
              HasSubstr("dgc-tmp/.shard-00002.json: variable 'w' is f32 [9], and f32 [8] for workers of lower ranks"));
  EXPECT_FALSE(commitShards(disk, "d", id, stateOf(499), {}).ok());
  EXPECT_THAT(std::string(commitShards(disk, "d", id, stateOf(500), {{"k", "\xff"}}).message()),
              HasSubstr("the value of 'k' is not UTF-8"));
}

//===-- What is damaged is noticed --------------------------------------===//

TEST(ShardedCheckpoint, NoticesFlippedBitsAndTornFiles) {
  FakeDisk disk = emptyDisk();
  ASSERT_TRUE(save(disk, 500, 2, 3).ok());
  const std::vector<std::string> names = *disk.list(folder);
  for (const std::string &name : names) {
    const std::string path = folder + "/" + name, good = *disk.get(path);
    for (size_t i = 0; i < good.size(); i += 3) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
      disk.put(path, bad);
      ASSERT_THAT(messageOf(disk), HasSubstr(path)) << i;
    }
    for (size_t length = 0; length < good.size(); length += 41) {
      disk.put(path, good.substr(0, length));
      ASSERT_THAT(messageOf(disk), HasSubstr(path)) << length;
    }
    disk.put(path, good + " ");
    EXPECT_THAT(messageOf(disk), HasSubstr(path));
    ASSERT_TRUE(disk.remove(path).ok());
    EXPECT_THAT(messageOf(disk), HasSubstr(name == "manifest.json" ? folder : path));
    disk.put(path, good);
  }
  EXPECT_EQ(messageOf(disk), "no error");
}

TEST(ShardedCheckpoint, WorkersShareTheComparisonOfDigests) {
  FakeDisk disk = emptyDisk();
  ASSERT_TRUE(save(disk, 500, 3, 3).ok());
  const std::string path = folder + "/" + numbered(2, 3);
  std::string bad = *disk.get(path);
  bad.back() = static_cast<char>(bad.back() ^ 1);
  disk.put(path, bad);
  EXPECT_EQ(messageOf(disk), path + " is damaged: its content does not match its SHA-256; take another copy (or remove "
                                    "dgc.sha256 from its metadata, where it was changed on purpose)");
  EXPECT_EQ(messageOf(disk, Verify::Manifest), "no error");
  auto checkpoint = Checkpoint::open(disk, folder, modelPlan(), Restore::All, Verify::Manifest);
  ASSERT_EQ(checkpoint->numShards(), 3u);
  EXPECT_TRUE(checkpoint->verifyShard(0).ok());
  EXPECT_THAT(std::string(checkpoint->verifyShard(1).message()), HasSubstr(path));
  EXPECT_TRUE(checkpoint->verifyShard(2).ok());
  // A whole file of another checkpoint: without reading it.
  ASSERT_TRUE(save(disk, 501, 3, 4).ok());
  disk.put(path, *disk.get("d/step-000000501/" + numbered(2, 3)));
  EXPECT_EQ(messageOf(disk, Verify::Manifest), path + " has another dgc.sha256 than manifest.json says: it was damaged "
                                                      "or replaced; take another checkpoint");
}

/// Changes the manifest, whose digest is made to fit.
template <typename F> static std::string messageAfter(FakeDisk &disk, F change) {
  const std::string good = *disk.get(manifestPath);
  Manifest manifest = *parseManifest(good);
  change(manifest);
  disk.put(manifestPath, *formatManifest(manifest));
  std::string message = messageOf(disk);
  disk.put(manifestPath, good);
  return message;
}

TEST(ShardedCheckpoint, RefusesManifestsThatDoNotHoldTogether) {
  FakeDisk disk = emptyDisk();
  ASSERT_TRUE(save(disk, 500, 2, 3).ok());
  EXPECT_EQ(messageAfter(disk, [](Manifest &) {}), "no error");
  disk.put("d/secret", *disk.get(folder + "/" + numbered(1, 2)));
  for (std::string name : {std::string("../secret"), std::string("/etc/passwd"), std::string(), std::string("."),
                           std::string(".."), std::string("a/b"), std::string("a\0b", 3), std::string(300, 'a')})
    EXPECT_THAT(messageAfter(disk, [&](Manifest &m) { m.files[0].name = name; }),
                testing::AllOf(HasSubstr(manifestPath), HasSubstr("is not the name of a file in its folder")));
  EXPECT_THAT(messageAfter(disk, [](Manifest &m) { m.files[0].name = m.files[1].name; }), HasSubstr("twice"));
  EXPECT_THAT(messageAfter(disk, [](Manifest &m) { m.files[0].digest = "ab"; }), HasSubstr("is not 64 digits"));
  EXPECT_THAT(messageAfter(disk, [](Manifest &m) { ++m.files[1].bytes; }),
              HasSubstr(folder + "/" + numbered(2, 2) + " has "));
  EXPECT_THAT(messageAfter(disk, [](Manifest &m) { m.files[1].digest[5] ^= 1; }), HasSubstr("another dgc.sha256"));
  auto afterW = [&](auto change) { return messageAfter(disk, [&](Manifest &m) { change(m.variables["w"]); }); };
  using Variable = Manifest::Variable;
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[0].file = 2; }), HasSubstr("variable 'w': a piece of it is in file 2"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[0].file = UINT64_MAX; }), HasSubstr("is in file 184467440737095"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[0].start[0] = 3; }), HasSubstr("is not inside of f32 [5x7]"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[0].start[0] = INT64_MAX; }), HasSubstr("is not inside of"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[0].size.pop_back(); }), HasSubstr("is not inside of"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[0].start[0] = 1; }), HasSubstr("overlap, and leave gaps"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[0].size[1] = 6; }), HasSubstr("its pieces have 32 of 35 elements"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[1].start[0] = 0, w.pieces[1].size[0] = 3; }), HasSubstr("overlap"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[0].size[0] = 0; }), HasSubstr("has no elements"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces.clear(); }), HasSubstr("its pieces have 0 of 35 elements"));
  EXPECT_THAT(afterW([](Variable &w) { w.globalShape = {INT64_MAX, INT64_MAX}; }), HasSubstr("it is too large"));
  EXPECT_THAT(afterW([](Variable &w) { w.globalShape[1] = 8; }), HasSubstr("its pieces have 35 of 40"));
  EXPECT_THAT(afterW([](Variable &w) { w.dtype = DType::I32; }), HasSubstr("is f32 [3x7], and i32 [3x7] in manifest"));
  EXPECT_THAT(afterW([](Variable &w) { w.pieces[0].tensor = "w"; }), HasSubstr("lacks the tensor w that manifest"));
  EXPECT_THAT(messageAfter(disk, [](Manifest &m) { m.variables.erase("w"); }), HasSubstr("has 6 tensors, and 5 in"));
  EXPECT_THAT(messageAfter(disk, [](Manifest &m) { m.variables["v"] = m.variables["w"]; }),
              HasSubstr("two pieces are the tensor w[0:3,0:7]"));
  EXPECT_THAT(messageAfter(disk, [](Manifest &m) { m.state["dgc.step"] = "x"; }), HasSubstr("'dgc.step' is 'x'"));
}

/// Replaces text of the manifest, whose digest is made to fit.
static std::string messageWith(FakeDisk &disk, const std::string &text) {
  const std::string good = *disk.get(manifestPath);
  disk.put(manifestPath, str(text, digestBegin, sha256Of(text), digestEnd));
  std::string message = messageOf(disk);
  disk.put(manifestPath, good);
  return message;
}

TEST(ShardedCheckpoint, RefusesTextThatIsNoManifest) {
  FakeDisk disk = emptyDisk();
  ASSERT_TRUE(save(disk, 500, 2, 3).ok());
  const std::string text = *disk.get(manifestPath), body = text.substr(0, text.rfind(digestBegin));
  auto replaced = [&](const std::string &from, const std::string &to) {
    std::string changed = body;
    size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return messageWith(disk, changed.replace(at, from.size(), to));
  };
  EXPECT_EQ(messageWith(disk, body), "no error");
  EXPECT_EQ(replaced("\"version\": 1", "\"version\": 2"),
            manifestPath + ": it is of version 2, and this version of dgc reads version 1: load it with the version "
                           "that wrote it");
  EXPECT_THAT(replaced("dgc checkpoint", "other"), HasSubstr("its format is 'other', not 'dgc checkpoint'"));
  EXPECT_THAT(replaced("\"version\": 1,", ""), HasSubstr("it lacks 'version'"));
  EXPECT_THAT(replaced("\"version\": 1", "\"version\": 1, \"more\": 1"), HasSubstr("has 'more', which this version"));
  EXPECT_THAT(replaced("\"version\": 1", "\"version\": 1, \"version\": 1"), HasSubstr("it has 'version' twice"));
  EXPECT_THAT(replaced("\"version\": 1", "\"version\": 1.5"), HasSubstr("a fraction"));
  EXPECT_THAT(replaced("\"version\": 1", "\"version\": -1"), HasSubstr("a negative number"));
  EXPECT_THAT(replaced("\"version\": 1", "\"version\": " + std::string(100000, '[')), HasSubstr("an array in an"));
  EXPECT_THAT(replaced("\"version\": 1", "\"version\": null"), HasSubstr("null in an unexpected place"));
  EXPECT_THAT(replaced("\"shape\": [7]", "\"shape\": [[7]]"), HasSubstr("variable 'b' has an array in an unexpected"));
  EXPECT_THAT(replaced("\"shape\": [7]", "\"shape\": [\"7\"]"), HasSubstr("a string in an unexpected place"));
  EXPECT_THAT(replaced("\"shape\": [7]", "\"shape\": [18446744073709551615]"), HasSubstr("a number in an unexpected"));
  EXPECT_THAT(replaced("\"dtype\": \"f32\"", "\"dtype\": \"f31\""), HasSubstr("of type 'f31', which is not supported"));
  EXPECT_THAT(replaced("\"b\": {", "\"b\": {}, \"b\": {"), HasSubstr("variable 'b' lacks 'dtype'"));
  EXPECT_THAT(replaced("\"empty\": {", "\"b\": {"), HasSubstr("variable 'b' is there twice"));
  EXPECT_THAT(replaced("\"version\": \"3\"", "\"version\": \"3\", \"version\": \"3\""), HasSubstr("twice"));
  for (std::string wrong : {"", "{", "[]", "null", "{}", "\"", "\xff"})
    EXPECT_THAT(messageWith(disk, wrong), HasSubstr(manifestPath)) << wrong;
  EXPECT_THAT(text, HasSubstr("\"sha256\": \"" + sha256Of(body))); // as sha256sum gives it
}

/// Random changes behind a digest that fits: an error or a checkpoint, but no crash.
TEST(ShardedCheckpoint, SurvivesAnyText) {
  FakeDisk disk = emptyDisk();
  ASSERT_TRUE(save(disk, 500, 2, 3).ok());
  const std::string text = *disk.get(manifestPath), body = text.substr(0, text.rfind(digestBegin));
  const std::string letters = "0123456789\"{}[]:,- .\\/wb\xff";
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = body;
    for (size_t n = 1 + random() % 3; n-- > 0;) {
      size_t at = random() % changed.size();
      std::string with(1, letters[random() % letters.size()]);
      changed.replace(at, random() % 3, random() % 4 ? with : changed.substr(random() % changed.size(), 20));
    }
    EXPECT_THAT(messageWith(disk, changed), AnyOf(HasSubstr(folder), "no error"));
  }
}
