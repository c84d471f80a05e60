// Runs the readers of this program over their corpora. A file is what a fuzzer found to lead somewhere, or what once broke a
// reader and then is called after that.
#include "test/unit/readers/Reader.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <ostream>

using namespace dgc::rt::test;
namespace fs = std::filesystem;

namespace dgc::rt::test {
static void PrintTo(const Reader &reader, std::ostream *out) { *out << reader.name; }
} // namespace dgc::rt::test

namespace {

const fs::path corpus = fs::path(DGC_SOURCE_DIR) / "test/unit/readers/corpus";

std::vector<uint8_t> bytesOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Corpus : public testing::TestWithParam<Reader> {};

/// A corpus of which nothing is accepted tests no more than the first check: it is of a format that was.
TEST_P(Corpus, IsReadOrRefused) {
  const Reader reader = GetParam();
  const fs::path folder = corpus / reader.name;
  ASSERT_TRUE(fs::is_directory(folder)) << folder;
  std::vector<fs::path> files(fs::directory_iterator(folder), fs::directory_iterator{});
  std::sort(files.begin(), files.end());
  size_t accepted = 0;
  for (const fs::path &file : files) {
    SCOPED_TRACE(file.string());
    const std::vector<uint8_t> bytes = bytesOf(file);
    EXPECT_LE(bytes.size(), 1 << 14) << "files of a corpus are small";
    accepted += reader.read(bytes);
    // Cut short, and with other bits: as far as a test goes without a fuzzer.
    reader.read(std::span(bytes).first(bytes.size() / 2));
    for (size_t i = 0; i < 8 && !bytes.empty(); ++i) {
      std::vector<uint8_t> changed = bytes;
      changed[bytes.size() * i / 8] ^= static_cast<uint8_t>(1u << i);
      reader.read(changed);
    }
  }
  EXPECT_GT(accepted, 0) << "no file in " << folder << " is accepted: write seeds again with write_seeds";
  EXPECT_FALSE(reader.read({})) << "no bytes are accepted";
}

INSTANTIATE_TEST_SUITE_P(Readers, Corpus, testing::ValuesIn(readers()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
