// Text and token files: numbering of characters, windows, splits, and what is refused.
#include "runtime/base/Philox.h"
#include "runtime/data/Feed.h"
#include "test/unit/support/FakeDisk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using testing::ElementsAre;
using testing::HasSubstr;

static std::string bytesOf(const std::vector<uint16_t> &numbers) {
  return {reinterpret_cast<const char *>(numbers.data()), numbers.size() * 2};
}

static std::vector<int32_t> numbersOf(const Tokens &tokens) {
  std::vector<int32_t> numbers(static_cast<size_t>(tokens.size()));
  std::memcpy(numbers.data(), tokens.array.bytes().data(), numbers.size() * 4);
  return numbers;
}

TEST(Vocabulary, IsAscendingOverTheCharactersOfTheText) {
  auto vocabulary = vocabularyOf("b\na\xC3\xA9\xE2\x82\xAC\xF0\x9F\x90\xB8z a", "f");
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_THAT(*vocabulary, ElementsAre(U'\n', U' ', U'a', U'b', U'z', U'\u00E9', U'\u20AC', U'\U0001F438'));
}

TEST(Vocabulary, IsReadAsItWasWritten) {
  Vocabulary vocabulary{U'z', U'\n', U'\\', U'\t', U'\r', U' ', U'\u20AC', U'n'};
  std::string text = formatVocabulary(vocabulary);
  EXPECT_EQ(text, "z\n\\n\n\\\\\n\\t\n\\r\n \n\xE2\x82\xAC\nn\n");
  auto read = parseVocabulary(text, "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, vocabulary);
}

TEST(Vocabulary, RefusesWhatIsNoSymbol) {
  EXPECT_THAT(std::string(parseVocabulary("a\nbc\n", "v").status().message()), HasSubstr("line 2 is not one symbol"));
  EXPECT_THAT(std::string(parseVocabulary("a\n\nb\n", "v").status().message()), HasSubstr("line 2 is not one symbol"));
  EXPECT_THAT(std::string(parseVocabulary("a\nb\na\n", "v").status().message()),
              HasSubstr("line 3 has the symbol 'a' a second time"));
}

TEST(Text, IsUtf8) {
  for (std::string bad : {"ab\xFF", "ab\xC3", "ab\xC0\x80", "ab\xED\xA0\x80", "ab\xF5\x80\x80\x80"})
    EXPECT_THAT(std::string(vocabularyOf(bad, "f").status().message()), HasSubstr("f: the byte at 2 is no UTF-8"));
}

TEST(Text, IsNumberedByTheVocabulary) {
  auto tokens = tokensOfText("abca", {U'c', U'a', U'b'}, "f");
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_THAT(numbersOf(*tokens), ElementsAre(1, 2, 0, 1));
  EXPECT_THAT(std::string(tokensOfText("ab\nd", {U'a', U'b'}, "f").status().message()),
              HasSubstr("the character '\\n' at byte 2 is not in the vocabulary"));
}

/// 100 tokens 0, 1, 2, ..: 90 for training, 10 held out.
static FakeDisk counting() {
  FakeDisk disk;
  std::vector<uint16_t> numbers(100);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<uint16_t>(i);
  disk.put("d/count.u16", bytesOf(numbers));
  return disk;
}

static std::vector<InputSpec> specs(int64_t batch, int64_t lo, int64_t hi, int64_t length) {
  std::vector<InputSpec> result;
  for (const char *name : {"tokens", "next_tokens"})
    result.push_back({name, DType::I32, {batch, length}, 0, {lo, 0}, {hi - lo, length}});
  return result;
}

/// The batches of some steps: tokens, then next tokens.
static std::vector<std::vector<int32_t>> take(FakeDisk &disk, std::string_view split, int64_t lo, int64_t hi,
                                              const FeedOptions &options, int steps, int64_t length = 4) {
  auto dataset = Dataset::open(disk, "d");
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  auto feed = Feed::create(*dataset, split, specs(options.globalBatch, lo, hi, length), options);
  EXPECT_TRUE(feed.ok()) << feed.status();
  std::vector<std::vector<int32_t>> batches;
  for (int step = 0; feed.ok() && step < steps; ++step) {
    std::vector<int32_t> tokens(static_cast<size_t>((hi - lo) * length)), next(tokens.size());
    std::byte *destinations[] = {reinterpret_cast<std::byte *>(tokens.data()),
                                 reinterpret_cast<std::byte *>(next.data())};
    feed->next(destinations);
    batches.push_back(tokens);
    batches.push_back(next);
  }
  return batches;
}

TEST(Windows, AreDrawnByStepAndExample) {
  FakeDisk disk = counting();
  FeedOptions options{.globalBatch = 3, .seed = 5};
  auto batches = take(disk, "train", 0, 3, options, 2);
  for (int64_t step = 0; step < 2; ++step)
    for (int64_t row = 0; row < 3; ++row) {
      // 90 tokens of training; a window of 4 and its next token begin at one of 86 places.
      uint64_t word = Philox(5, (uint64_t{0xFFFFFE} << 40) + 0).bits64(static_cast<uint64_t>(3 * step + row));
      int32_t begin = static_cast<int32_t>(static_cast<unsigned __int128>(word) * 86 >> 64);
      for (int32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(batches[2 * step][row * 4 + i], begin + i);
        EXPECT_EQ(batches[2 * step + 1][row * 4 + i], begin + i + 1);
      }
    }
}

TEST(Windows, DoNotDependOnTheNumberOfWorkers) {
  FakeDisk disk = counting();
  FeedOptions options{.globalBatch = 6, .seed = 9};
  auto whole = take(disk, "train", 0, 6, options, 8); // more than an epoch
  for (int64_t workers : {2, 3})
    for (int64_t rank = 0; rank < workers; ++rank) {
      int64_t rows = 6 / workers;
      auto part = take(disk, "train", rank * rows, (rank + 1) * rows, options, 8);
      for (size_t i = 0; i < whole.size(); ++i)
        EXPECT_EQ(part[i],
                  std::vector<int32_t>(whole[i].begin() + rank * rows * 4, whole[i].begin() + (rank + 1) * rows * 4));
    }
}

TEST(Windows, OfTheHeldOutTenthFollowEachOther) {
  FakeDisk disk = counting();
  FeedOptions options{.globalBatch = 2, .shuffle = false, .lastBatch = LastBatch::Weight};
  auto batches = take(disk, "test", 0, 2, options, 2, 3);
  EXPECT_THAT(batches[0], ElementsAre(90, 91, 92, 93, 94, 95));
  EXPECT_THAT(batches[1], ElementsAre(91, 92, 93, 94, 95, 96));
  EXPECT_THAT(batches[2], ElementsAre(96, 97, 98, 96, 97, 98)); // the last one, and padding
  EXPECT_THAT(batches[3], ElementsAre(97, 98, 99, 97, 98, 99));
}

static std::string errorOf(FakeDisk &disk, std::vector<InputSpec> inputs, std::string_view split = "train") {
  auto dataset = Dataset::open(disk, "d");
  auto feed = Feed::create(*dataset, split, inputs, {.globalBatch = 2});
  return feed.ok() ? "no error" : std::string(feed.status().message());
}

TEST(Windows, AreRefusedWhereTheyDoNotFit) {
  FakeDisk disk = counting();
  EXPECT_THAT(errorOf(disk, specs(2, 0, 2, 10), "test"),
              HasSubstr("d/count.u16 has 10 tokens for the test split, fewer than a window of 10 and its next token"));
  EXPECT_THAT(errorOf(disk, {{"tokens", DType::F32, {2, 4}, 0, {}, {}}}),
              HasSubstr("input 'tokens' is f32 [2x4], but d/count.u16 holds tokens: these serve inputs of i32 or i64"));
  auto uneven = specs(2, 0, 2, 4);
  uneven[1].globalShape[1] = uneven[1].localShape[1] = 5;
  EXPECT_THAT(errorOf(disk, uneven), HasSubstr("windows of 4 and 5 tokens; they must be as long"));
  disk.put("d/other.txt", "text");
  EXPECT_THAT(errorOf(disk, specs(2, 0, 2, 4)),
              HasSubstr("data folder d has several sequences of tokens: count.u16, other.txt; keep one"));
}

TEST(Numbers, AreWholeAndNotNegative) {
  FakeDisk disk;
  disk.put("d/x.u16", "abc");
  EXPECT_THAT(errorOf(disk, specs(2, 0, 2, 4)), HasSubstr("d/x.u16 has 3 bytes, which is not a whole number of u16"));
  FakeDisk other;
  int32_t numbers[] = {3, -7};
  other.put("d/x.i32", std::string(reinterpret_cast<const char *>(numbers), 8));
  EXPECT_THAT(errorOf(other, specs(2, 0, 2, 4)), HasSubstr("d/x.i32: token 1 is -7"));
}

TEST(Vocabulary, OfTheFolderIsUsed) {
  FakeDisk disk;
  disk.put("d/t.txt", "abababababababababab");
  disk.put("d/vocabulary.txt", "x\nb\na\n");
  FeedOptions options{.globalBatch = 1, .shuffle = false};
  EXPECT_THAT(take(disk, "train", 0, 1, options, 1)[0], ElementsAre(2, 1, 2, 1));
}
