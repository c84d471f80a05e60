// Data sets and feeds: which file serves what, which sample comes when, and
// that it does not depend on the number of workers.
#include "runtime/data/Feed.h"
#include "runtime/data/Npy.h"
#include "test/unit/support/FakeDisk.h"

#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

static void put(FakeDisk &disk, const std::string &path, DType dtype, std::vector<int64_t> shape, const void *data) {
  auto bytes = std::span(static_cast<const std::byte *>(data), *byteSize(dtype, shape));
  absl::Status status = writeNpy(disk, path, dtype, shape, bytes);
  ASSERT_TRUE(status.ok()) << status;
}

/// `count` samples; sample s of x is f32 [2, 3] with 100 s + position, label is
/// u8 s mod 256, id is i32 s.
static void putSamples(FakeDisk &disk, int64_t count) {
  std::vector<float> x;
  std::vector<uint8_t> label;
  std::vector<int32_t> id;
  for (int64_t s = 0; s < count; ++s) {
    for (int64_t i = 0; i < 6; ++i)
      x.push_back(static_cast<float>(100 * s + i));
    label.push_back(static_cast<uint8_t>(s));
    id.push_back(static_cast<int32_t>(s));
  }
  put(disk, "d/x.npy", DType::F32, {count, 2, 3}, x.data());
  put(disk, "d/label.npy", DType::U8, {count}, label.data());
  put(disk, "d/id.npy", DType::I32, {count}, id.data());
}

static InputSpec idInput(int64_t batch, int64_t lo, int64_t hi) {
  return {"id", DType::I32, {batch}, 0, {lo}, {hi - lo}};
}

static std::string messageOf(const absl::StatusOr<Feed> &feed) {
  return feed.ok() ? "no error" : std::string(feed.status().message());
}

TEST(Order, IsThatOfAPlainProgram) {
  std::ifstream file(DGC_SOURCE_DIR "/test/unit/data/golden/orders.txt");
  std::string line;
  int cases = 0;
  for (; std::getline(file, line); ++cases) {
    std::istringstream in(line);
    uint32_t count;
    uint64_t seed, epoch;
    in >> count >> seed >> epoch;
    std::vector<uint32_t> expected(count), order;
    for (uint32_t &e : expected)
      in >> e;
    permute(order, count, seed, epoch);
    EXPECT_THAT(order, ElementsAreArray(expected)) << line;
  }
  EXPECT_EQ(cases, 6);
}

TEST(Order, IsUniformEnough) {
  // Each of the 24 orders of 4 in 4800 epochs: 200 expected; 5 sigma is 69.
  std::map<std::vector<uint32_t>, int> seen;
  std::vector<uint32_t> order;
  for (uint64_t epoch = 0; epoch < 4800; ++epoch) {
    permute(order, 4, 7, epoch);
    ++seen[order];
  }
  EXPECT_EQ(seen.size(), 24u);
  for (auto &[key, count] : seen)
    EXPECT_NEAR(count, 200, 69);
}

TEST(Order, StepCounts) {
  EXPECT_EQ(stepsPerEpoch(60000, 128, LastBatch::Drop), 468);
  EXPECT_EQ(stepsPerEpoch(60000, 128, LastBatch::Weight), 469);
  EXPECT_EQ(stepsPerEpoch(256, 128, LastBatch::Weight), 2);
  EXPECT_EQ(stepsPerEpoch(5, 8, LastBatch::Drop), 0);
  EXPECT_EQ(stepsPerEpoch(5, 8, LastBatch::Weight), 1);
}

/// What all workers together see in `epoch`: ids by step and position.
static std::vector<std::vector<int32_t>> run(Dataset &data, int64_t batch, int64_t workers, int64_t epoch,
                                             LastBatch last, bool shuffle) {
  std::vector<std::vector<int32_t>> result;
  for (int64_t w = 0; w < workers; ++w) {
    int64_t lo = batch * w / workers, hi = batch * (w + 1) / workers;
    InputSpec input = idInput(batch, lo, hi);
    auto feed = Feed::create(data, "train", {&input, 1}, {batch, 11, shuffle, last});
    EXPECT_TRUE(feed.ok()) << feed.status();
    feed->seek({epoch, 0});
    result.resize(static_cast<size_t>(feed->stepsPerEpoch()));
    for (auto &step : result) {
      step.resize(static_cast<size_t>(batch));
      std::byte *to[] = {reinterpret_cast<std::byte *>(step.data() + lo)};
      int64_t valid = feed->next(to);
      if (w == workers - 1)
        step.resize(static_cast<size_t>(valid));
    }
    EXPECT_EQ(feed->cursor(), (Cursor{epoch + 1, 0}));
  }
  return result;
}

/// For many sizes: every sample once per epoch, the same for every number of
/// workers, also where the batch does not divide the data and the workers do
/// not divide the batch.
TEST(Feed, WorkersTogetherSeeEverySampleOnce) {
  for (int64_t samples : {1, 2, 7, 12, 64, 101}) {
    FakeDisk disk;
    putSamples(disk, samples);
    auto data = Dataset::open(disk, "d");
    ASSERT_TRUE(data.ok()) << data.status();
    for (int64_t batch : {1, 3, 8, 12, 128})
      for (LastBatch last : {LastBatch::Drop, LastBatch::Weight})
        for (bool shuffle : {false, true}) {
          if (last == LastBatch::Drop && batch > samples)
            continue;
          auto one = run(*data, batch, 1, 2, last, shuffle);
          std::vector<int32_t> all;
          for (auto &step : one)
            all.insert(all.end(), step.begin(), step.end());
          size_t expected = last == LastBatch::Weight ? samples : samples / batch * batch;
          EXPECT_EQ(all.size(), expected);
          std::sort(all.begin(), all.end());
          EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
          if (last == LastBatch::Weight) {
            std::vector<int32_t> every(static_cast<size_t>(samples));
            std::iota(every.begin(), every.end(), 0);
            EXPECT_EQ(all, every);
          }
          for (int64_t workers : {2, 3, 4, 8})
            EXPECT_EQ(run(*data, batch, workers, 2, last, shuffle), one) << samples << " " << batch << " " << workers;
        }
  }
}

TEST(Feed, FollowsThePermutation) {
  FakeDisk disk;
  putSamples(disk, 10);
  auto data = Dataset::open(disk, "d");
  InputSpec input = idInput(4, 0, 4);
  auto feed = Feed::create(*data, "train", {&input, 1}, {4, 0, true, LastBatch::Weight});
  ASSERT_TRUE(feed.ok()) << feed.status();
  // From golden/orders.txt: (10, seed 0, epoch 0) and epoch 1.
  std::vector<int32_t> batch(4);
  std::byte *to[] = {reinterpret_cast<std::byte *>(batch.data())};
  EXPECT_EQ(feed->next(to), 4);
  EXPECT_THAT(batch, ElementsAre(0, 1, 5, 3));
  EXPECT_EQ(feed->next(to), 4);
  EXPECT_THAT(batch, ElementsAre(8, 2, 4, 7));
  EXPECT_EQ(feed->next(to), 2);
  EXPECT_THAT(batch, ElementsAre(9, 6, 6, 6));
  EXPECT_EQ(feed->cursor(), (Cursor{1, 0}));
  EXPECT_EQ(feed->next(to), 4);
  EXPECT_THAT(batch, ElementsAre(4, 1, 5, 9));
  // Back into the middle of an epoch, as a run that continues does.
  feed->seek({0, 1});
  EXPECT_EQ(feed->next(to), 4);
  EXPECT_THAT(batch, ElementsAre(8, 2, 4, 7));
  feed->seek({0, 3});
  EXPECT_EQ(feed->cursor(), (Cursor{1, 0}));
}

TEST(Feed, CopiesRowsAndWidensLabels) {
  FakeDisk disk;
  putSamples(disk, 300);
  auto data = Dataset::open(disk, "d");
  std::vector<InputSpec> inputs = {{"x", DType::F32, {300, 2, 3}, 0, {298, 0, 0}, {2, 2, 3}},
                                   {"label", DType::I32, {300}, 0, {250}, {50}},
                                   {"label", DType::I64, {300}, 0, {}, {}},
                                   {"label", DType::U8, {300, 1}, 0, {}, {}}};
  auto feed = Feed::create(*data, "test", inputs, {300, 0, false, LastBatch::Drop});
  ASSERT_TRUE(feed.ok()) << feed.status();
  float x[12];
  int32_t label[50];
  int64_t wide[300];
  uint8_t narrow[300];
  std::byte *to[] = {reinterpret_cast<std::byte *>(x), reinterpret_cast<std::byte *>(label),
                     reinterpret_cast<std::byte *>(wide), reinterpret_cast<std::byte *>(narrow)};
  EXPECT_EQ(feed->next(to), 300);
  EXPECT_THAT(x, ElementsAre(29800, 29801, 29802, 29803, 29804, 29805, 29900, 29901, 29902, 29903, 29904, 29905));
  EXPECT_EQ(label[0], 250);
  EXPECT_EQ(label[5], 255);
  EXPECT_EQ(label[6], 0);
  EXPECT_EQ(wide[255], 255);
  EXPECT_EQ(wide[299], 43);
  EXPECT_EQ(narrow[299], 43);
}

/// A sharding that cuts inside a sample, and inputs without a batch dimension.
TEST(Feed, CutsBlocksOutOfSamples) {
  FakeDisk disk;
  putSamples(disk, 5);
  std::vector<double> table(24);
  std::iota(table.begin(), table.end(), 0.0);
  put(disk, "d/table.npy", DType::F64, {2, 3, 4}, table.data());
  auto data = Dataset::open(disk, "d");
  std::vector<InputSpec> inputs = {{"x", DType::F32, {2, 2, 3}, 0, {0, 0, 1}, {2, 2, 2}},
                                   {"x", DType::F32, {2, 2, 3}, 0, {1, 1, 0}, {1, 1, 3}},
                                   {"table", DType::F64, {2, 3, 4}, -1, {1, 1, 2}, {1, 2, 2}},
                                   {"table", DType::F64, {2, 3, 4}, -1, {}, {}}};
  auto feed = Feed::create(*data, "train", inputs, {2, 0, false, LastBatch::Drop});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_EQ(feed->stepsPerEpoch(), 2);
  float columns[8], row[3];
  double corner[4], whole[24];
  std::byte *to[] = {reinterpret_cast<std::byte *>(columns), reinterpret_cast<std::byte *>(row),
                     reinterpret_cast<std::byte *>(corner), reinterpret_cast<std::byte *>(whole)};
  feed->next(to);
  feed->next(to);
  EXPECT_THAT(columns, ElementsAre(201, 202, 204, 205, 301, 302, 304, 305));
  EXPECT_THAT(row, ElementsAre(303, 304, 305));
  EXPECT_THAT(corner, ElementsAre(18, 19, 22, 23));
  EXPECT_THAT(whole, ElementsAreArray(table));
}

// Three parts of a batch of 4 and of rows of 3: the last block is shorter, and its padding is left alone. But along the batch
// padding is the last sample again, so that nothing is computed with numbers that no data has.
TEST(Feed, FillsPaddingOfTheBatchAlone) {
  FakeDisk disk;
  putSamples(disk, 4);
  auto dataset = Dataset::open(disk, "d");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  FeedOptions options{4, 0, false, LastBatch::Drop};
  std::vector<InputSpec> inputs = {{"x", DType::F32, {4, 2, 3}, 0, {2, 0, 2}, {2, 2, 1}, {2, 2, 2}},
                                   {"id", DType::I32, {4}, 0, {4}, {0}, {2}}};
  auto feed = Feed::create(*dataset, "train", inputs, options);
  ASSERT_TRUE(feed.ok()) << feed.status();
  std::vector<float> x(8, -1);
  std::vector<int32_t> id(2, -1);
  std::byte *to[] = {reinterpret_cast<std::byte *>(x.data()), reinterpret_cast<std::byte *>(id.data())};
  feed->next(to);
  EXPECT_THAT(x, ElementsAre(202, -1, 205, -1, 302, -1, 305, -1));
  EXPECT_THAT(id, ElementsAre(3, 3));
}

// Samples that are columns, in the middle of a tensor and at its end, whole and a block with padding.
TEST(Feed, PutsTheBatchIntoAnyDimension) {
  FakeDisk disk;
  putSamples(disk, 4);
  auto dataset = Dataset::open(disk, "d");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  FeedOptions options{2, 0, false, LastBatch::Drop};
  std::vector<InputSpec> inputs = {{"x", DType::F32, {2, 2, 3}, 1, {}, {}},
                                   {"x", DType::F32, {2, 3, 2}, 2, {}, {}},
                                   {"x", DType::F32, {2, 2, 3}, 1, {1, 1, 1}, {1, 1, 2}, {1, 2, 2}},
                                   {"x", DType::F32, {2, 3, 2}, 2, {0, 2, 1}, {2, 1, 1}, {2, 2, 1}}};
  auto feed = Feed::create(*dataset, "train", inputs, options);
  ASSERT_TRUE(feed.ok()) << feed.status();
  std::vector<float> middle(12, -1), last(12, -1), block(4, -1), corner(4, -1);
  std::byte *to[] = {reinterpret_cast<std::byte *>(middle.data()), reinterpret_cast<std::byte *>(last.data()),
                     reinterpret_cast<std::byte *>(block.data()), reinterpret_cast<std::byte *>(corner.data())};
  feed->next(to);
  feed->next(to);
  EXPECT_THAT(middle, ElementsAre(200, 201, 202, 300, 301, 302, 203, 204, 205, 303, 304, 305));
  EXPECT_THAT(last, ElementsAre(200, 300, 201, 301, 202, 302, 203, 303, 204, 304, 205, 305));
  EXPECT_THAT(block, ElementsAre(304, 305, 304, 305));
  EXPECT_THAT(corner, ElementsAre(302, -1, 305, -1));
}

/// The header alone decides whether a file is expanded: this one is cut behind it.
TEST(Feed, ComparesTheHeaderBeforeItExpandsAFile) {
  FakeDisk disk;
  std::string header = *npyHeader(DType::F64, std::vector<int64_t>{100, 28, 28});
  std::string gzip{"\x1f\x8b\x08\0\0\0\0\0\0\x03\0", 11}; // a stored block that is not the last
  gzip += {static_cast<char>(header.size()), 0, static_cast<char>(~header.size()), '\xff'};
  disk.put("d/x.npy.gz", gzip + header + std::string(8, 'x'));
  auto data = Dataset::open(disk, "d");
  auto create = [&](DType dtype, std::vector<int64_t> shape) {
    std::vector<InputSpec> inputs = {{"x", dtype, shape}};
    return messageOf(Feed::create(*data, "train", inputs, {4, 0, true, LastBatch::Drop}));
  };
  EXPECT_THAT(create(DType::F32, {4, 28, 28}), HasSubstr("d/x.npy.gz holds f64 [100x28x28]: element types"));
  EXPECT_THAT(create(DType::F64, {4, 28}), HasSubstr("d/x.npy.gz holds f64 [100x28x28]: the shapes of one sample"));
  EXPECT_THAT(create(DType::F64, {4, 28, 28}),
              HasSubstr("takes 627200 bytes after the .npy header, the file has fewer"));
}

TEST(Feed, SaysWhatDoesNotFit) {
  FakeDisk disk;
  putSamples(disk, 10);
  int32_t three[] = {1, 2, 3};
  put(disk, "d/short.npy", DType::I32, {3}, three);
  auto data = Dataset::open(disk, "d");
  auto create = [&](std::vector<InputSpec> inputs, int64_t batch = 4, LastBatch last = LastBatch::Drop) {
    return messageOf(Feed::create(*data, "train", inputs, {batch, 0, true, last}));
  };
  EXPECT_EQ(create({{"image", DType::U8, {4, 28, 28}}}),
            "the model wants u8 [4x28x28]: data folder d has nothing for input "
            "'image' of the train split; it has id i32 [10] in id.npy; label "
            "u8 [10] in label.npy; short i32 [3] in short.npy; x f32 [10x2x3] "
            "in x.npy; accepted names are train-image.npy and image.npy (or "
            ".idx, and .gz of these)");
  EXPECT_EQ(create({{"x", DType::F64, {4, 2, 3}}}), "input 'x' is f64 [4x2x3], but d/x.npy holds f32 [10x2x3]: element "
                                                    "types must be equal (u8 also serves i32 and i64); declare the "
                                                    "input with the type of the data and convert it in the model");
  EXPECT_THAT(create({{"label", DType::F32, {4}}}), HasSubstr("element types must be equal"));
  EXPECT_EQ(create({{"x", DType::F32, {4, 6}}}), "input 'x' is f32 [4x6], but d/x.npy holds f32 [10x2x3]: the "
                                                 "shapes of one sample differ");
  EXPECT_EQ(create({{"id", DType::I32, {4}}, {"short", DType::I32, {4}}}),
            "d/id.npy has 10 samples, d/short.npy has 3; the inputs of a split "
            "need the same number");
  EXPECT_EQ(create({{"id", DType::I32, {16}}}, 16), "the train split has 10 samples, less than one global batch of 16; "
                                                    "compile with a smaller --batch, or take --last-batch weight");
  EXPECT_EQ(create({{"id", DType::I32, {16}}}, 16, LastBatch::Weight), "no error");
  EXPECT_THAT(create({{"id", DType::I32, {4}, 0, {2}, {3}}}), HasSubstr("the local block is outside of i32 [4]"));
  EXPECT_THAT(create({{"id", DType::I32, {8}}}), HasSubstr("in a program with a global batch of 4"));
}

TEST(Dataset, NamesAFolderThatIsMissing) {
  FakeDisk disk;
  auto data = Dataset::open(disk, "nowhere");
  ASSERT_FALSE(data.ok());
  EXPECT_THAT(std::string(data.status().message()), HasSubstr("--data: cannot list nowhere"));
}

TEST(Dataset, PrefersTheFileOfTheSplit) {
  FakeDisk disk;
  float one = 1, two = 2;
  put(disk, "d/x.npy", DType::F32, {1}, &one);
  put(disk, "d/train-x.npy", DType::F32, {1}, &two);
  auto data = Dataset::open(disk, "d");
  EXPECT_THAT((*data->find("train", "x"))->file, "d/train-x.npy");
  EXPECT_THAT((*data->find("test", "x"))->file, "d/x.npy");
  EXPECT_TRUE(data->has("test", "x"));
  EXPECT_FALSE(data->has("test", "y"));
}

TEST(Dataset, ReadsMnist) {
  auto data = Dataset::open(realDisk(), DGC_SOURCE_DIR "/examples/data/mnist");
  ASSERT_TRUE(data.ok()) << data.status();
  auto image = data->find("test", "image");
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT((*image)->shape, ElementsAre(10000, 28, 28));
  auto label = data->find("train", "label");
  ASSERT_TRUE(label.ok()) << label.status();
  ASSERT_THAT((*label)->shape, ElementsAre(60000));
  // The first labels of the training set, and how often each digit occurs.
  std::span<const std::byte> labels = std::as_const(**label).bytes();
  int first[] = {5, 0, 4, 1, 9, 2, 1, 3, 1, 4};
  for (size_t i = 0; i < 10; ++i)
    EXPECT_EQ(static_cast<int>(labels[i]), first[i]);
  std::vector<int> count(10);
  for (std::byte b : labels)
    ++count.at(static_cast<size_t>(b));
  EXPECT_THAT(count, ElementsAre(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949));
}
