// .npz files: those of NumPy, our own, and damaged ones.
#include "runtime/data/Npz.h"
#include "runtime/base/ExitCode.h"
#include "test/unit/support/FakeDisk.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using testing::ElementsAre;
using testing::HasSubstr;

static std::string golden(const std::string &name) {
  auto text = readFile(realDisk(), DGC_SOURCE_DIR "/test/unit/data/golden/" + name);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

namespace {
struct Read {
  absl::Status status;
  std::map<std::string, Array> arrays;
};

/// Everything that is in a file of these bytes, or the first error.
Read readAll(const std::string &bytes) {
  FakeDisk disk;
  disk.put("a.npz", bytes);
  Read read;
  auto file = NpzFile::open(disk, "a.npz");
  read.status = file.status();
  for (size_t i = 0; read.status.ok() && i < file->entries().size(); ++i) {
    const NpzFile::Entry &entry = file->entries()[i];
    auto header = file->header(entry);
    auto array = file->read(entry);
    read.status = array.status();
    if (!array.ok())
      continue;
    EXPECT_EQ(header->shape, array->shape);
    read.arrays[entry.name] = *std::move(array);
  }
  return read;
}

template <typename T> std::vector<T> valuesOf(const Array &array) {
  std::vector<T> values(array.bytes().size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), array.bytes().data(), array.bytes().size());
  return values;
}
} // namespace

static void expectError(const std::string &bytes, std::string_view text) {
  Read read = readAll(bytes);
  ASSERT_FALSE(read.status.ok()) << text;
  EXPECT_THAT(std::string(read.status.message()), HasSubstr(std::string(text)));
  EXPECT_EQ(exitCodeOf(read.status), ExitCode::BadData);
}

/// `text` with the bytes at each occurrence of `from`, `offset` bytes behind its beginning, replaced.
static std::string patched(std::string text, const std::string &from, size_t offset, const std::string &to) {
  size_t count = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1), ++count)
    text.replace(at + offset, to.size(), to);
  EXPECT_GT(count, 0u);
  return text;
}

static const std::string localHeader("PK\x03\x04"), directoryEntry("PK\x01\x02");

TEST(Npz, ReadsWhatNumPyWrote) {
  for (const char *name : {"plain.npz", "compressed.npz"}) {
    Read read = readAll(golden(name));
    ASSERT_TRUE(read.status.ok()) << name << ": " << read.status;
    EXPECT_THAT(read.arrays.at("x").shape, ElementsAre(2, 3));
    EXPECT_THAT(valuesOf<float>(read.arrays.at("x")), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(valuesOf<int64_t>(read.arrays.at("layer/w")), ElementsAre(0, 1, 2));
    EXPECT_THAT(valuesOf<double>(read.arrays.at("scalar")), ElementsAre(2.5));
    EXPECT_THAT(read.arrays.at("empty").shape, ElementsAre(0, 4));
    EXPECT_EQ(read.arrays.count("zeros"), std::string(name) == "compressed.npz");
  }
  EXPECT_TRUE(readAll(golden("none.npz")).status.ok());
}

TEST(Npz, ReadsWhatItWrites) {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const std::vector<uint8_t> flags{1, 0, 1};
  FakeDisk disk;
  auto write = [&] {
    auto file = OutputFile::reserve(disk, "d/out.npz");
    ASSERT_TRUE(file.ok()) << file.status();
    absl::Status written =
        writeNpz(*file, std::vector<NamedArray>{{"x", DType::F32, {3, 2}, std::as_bytes(std::span(x))},
                                                {"a/b", DType::I1, {3}, std::as_bytes(std::span(flags))},
                                                {"none", DType::F64, {0, 7}, {}}});
    ASSERT_TRUE(written.ok()) << written;
  };
  write();
  const std::string bytes = *disk.get("d/out.npz");
  Read read = readAll(bytes);
  ASSERT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.arrays.size(), 3u);
  EXPECT_EQ(valuesOf<float>(read.arrays.at("x")), x);
  EXPECT_EQ(valuesOf<uint8_t>(read.arrays.at("a/b")), flags);
  EXPECT_EQ(read.arrays.at("a/b").dtype, DType::I1);
  EXPECT_THAT(read.arrays.at("none").shape, ElementsAre(0, 7));
  write();
  EXPECT_EQ(*disk.get("d/out.npz"), bytes) << "the time is in it?";
}

TEST(Npz, LeavesTheOldFileWhenItCannotWrite) {
  const std::vector<float> x(1000, 1);
  std::vector<NamedArray> arrays{{"x", DType::F32, {1000}, std::as_bytes(std::span(x))}};
  FakeDisk disk;
  disk.put("d/out.npz", "old");
  for (int i = 0;; ++i) {
    auto file = OutputFile::reserve(disk, "d/out.npz");
    ASSERT_TRUE(file.ok()) << file.status();
    disk.operations = 0;
    disk.failAt = i;
    absl::Status written = writeNpz(*file, arrays);
    disk.failAt = -1;
    const std::string &now = *disk.get("d/out.npz");
    EXPECT_TRUE(now == "old" || readAll(now).status.ok()) << i;
    if (written.ok())
      break;
  }
  EXPECT_NE(*disk.get("d/out.npz"), "old");
  arrays[0].shape = {999};
  auto file = OutputFile::reserve(disk, "d/out.npz");
  EXPECT_FALSE(writeNpz(*file, arrays).ok());
  arrays[0] = {"x", DType::BF16, {2000}, std::as_bytes(std::span(x))};
  EXPECT_FALSE(writeNpz(*file, arrays).ok());
}

TEST(Npz, RefusesWhatIsNoneOfNumPys) {
  expectError("", "a.npz: not a .npz file: it is empty");
  expectError("hello", "a.npz: not a .npz file, or truncated or damaged");
  expectError(golden("f4.npy"), "not a .npz file");
  expectError(golden("other.npz"), "a.npz: 'readme.txt' is no .npy file");
  expectError(golden("twice.npz"), "a.npz: two arrays have the same name");
  expectError(golden("bzip2.npz"), "a.npz: x: compressed by another method than deflate");
  std::string encrypted = patched(golden("short.npz"), localHeader, 6, "\x01");
  expectError(patched(encrypted, directoryEntry, 8, "\x01"), "a.npz: x: it is encrypted");
  FakeDisk disk;
  EXPECT_EQ(exitCodeOf(NpzFile::open(disk, "nothing.npz").status()), ExitCode::BadData);
}

TEST(Npz, RefusesEveryTruncation) {
  for (const char *name : {"plain.npz", "compressed.npz"}) {
    const std::string text = golden(name);
    for (size_t n = 0; n < text.size(); ++n) {
      Read read = readAll(text.substr(0, n));
      EXPECT_FALSE(read.status.ok()) << name << " " << n;
      EXPECT_EQ(exitCodeOf(read.status), ExitCode::BadData);
    }
  }
}

// A damaged byte is noticed, or is one that nothing depends on: the values that are read are never others.
TEST(Npz, NeverReadsOtherValues) {
  for (const char *name : {"plain.npz", "compressed.npz"}) {
    const std::string text = golden(name);
    const Read right = readAll(text);
    for (size_t n = 0; n < text.size(); ++n)
      for (int bit : {0, 3, 7}) {
        std::string damaged = text;
        damaged[n] = static_cast<char>(damaged[n] ^ 1 << bit);
        Read read = readAll(damaged);
        if (!read.status.ok()) {
          EXPECT_EQ(exitCodeOf(read.status), ExitCode::BadData) << read.status;
          continue;
        }
        for (const auto &[array, value] : read.arrays)
          if (auto expected = right.arrays.find(array); expected != right.arrays.end())
            EXPECT_EQ(valuesOf<uint8_t>(value), valuesOf<uint8_t>(expected->second)) << name << " " << n << " " << bit;
      }
  }
}

TEST(Npz, TakesNoMoreMemoryThanThereCanBe) {
  expectError(golden("huge.npz"), "u8 [1000000000000] does not take the 0 bytes after the .npy header");
  expectError(golden("short.npz"), "f32 [2x3] does not take the 23 bytes after the .npy header");
  // A directory that says 2 GiB of 55 compressed bytes.
  std::string bomb = patched(golden("compressed.npz"), directoryEntry, 24, std::string("\0\0\0\x7f", 4));
  Read read = readAll(bomb);
  EXPECT_FALSE(read.status.ok());
}

TEST(Npz, ReportsADiskThatCannotRead) {
  FakeDisk disk;
  disk.put("a.npz", golden("plain.npz"));
  for (int i = 1;; ++i) {
    disk.operations = 0;
    disk.failAt = i;
    auto file = NpzFile::open(disk, "a.npz");
    absl::Status status = file.status();
    if (file.ok())
      status = file->read(file->entries()[0]).status();
    if (status.ok())
      break;
    EXPECT_THAT(std::string(status.message()), HasSubstr("a.npz"));
    EXPECT_EQ(exitCodeOf(status), ExitCode::BadData) << i << " " << status;
    ASSERT_LT(i, 1000);
  }
}
