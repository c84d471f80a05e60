// Safetensors: files made by hand from the format's description, damaged and
// hostile ones, and a disk that fails.
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/base/ExitCode.h"
#include "test/unit/support/FakeDisk.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using testing::ElementsAre;
using testing::HasSubstr;

static std::string fileOf(const std::string &header, const std::string &data) {
  std::string size(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    size[i] = static_cast<char>(header.size() >> (8 * i));
  return size + header + data;
}

static absl::StatusOr<SafetensorsFile> open(const std::string &text) {
  static FakeDisk disk;
  disk.put("d/x", text);
  return SafetensorsFile::open(disk, "d/x");
}

static void expectError(const std::string &file, const std::string &message) {
  auto result = open(file);
  ASSERT_FALSE(result.ok()) << message;
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(message));
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("d/x"));
  EXPECT_EQ(exitCodeOf(result.status()), ExitCode::BadData);
}

static std::string floats(std::initializer_list<float> values) {
  std::string text(values.size() * 4, '\0');
  std::memcpy(text.data(), values.begin(), text.size());
  return text;
}

/// A 2x3 f32 matrix and a u8 vector of 3, with a metadata entry.
static const std::string handMade = fileOf(R"({"__metadata__":{"who":"hand"},"m":{"dtype":"F32","shape":[2,3],)"
                                           R"("data_offsets":[0,24]},"v":{"dtype":"U8","shape":[3],)"
                                           R"("data_offsets":[24,27]}}   )",
                                           floats({1, 2, 3, 4, 5, 6}) + "abc");

TEST(Safetensors, ReadsAFileMadeByHand) {
  auto file = open(handMade);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata().at("who"), "hand");
  ASSERT_EQ(file->entries().size(), 2u);
  const auto &m = file->entries().at("m");
  EXPECT_EQ(m.dtype, DType::F32);
  EXPECT_THAT(m.shape, ElementsAre(2, 3));
  float values[6];
  ASSERT_TRUE(file->read(m, std::as_writable_bytes(std::span(values))).ok());
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6));
  char letters[3];
  ASSERT_TRUE(file->read(file->entries().at("v"), std::as_writable_bytes(std::span(letters))).ok());
  EXPECT_EQ(std::string(letters, 3), "abc");
  EXPECT_FALSE(file->read(m, std::as_writable_bytes(std::span(letters))).ok());
}

TEST(Safetensors, ReadsBlocks) {
  auto file = open(handMade);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto &m = file->entries().at("m");
  auto block = [&](std::vector<int64_t> start, std::vector<int64_t> size) {
    std::vector<float> out(static_cast<size_t>(size[0] * size[1]));
    absl::Status status = file->readBlock(m, start, size, std::as_writable_bytes(std::span(out)));
    EXPECT_TRUE(status.ok()) << status;
    return out;
  };
  EXPECT_THAT(block({0, 0}, {2, 3}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(block({1, 0}, {1, 3}), ElementsAre(4, 5, 6));
  EXPECT_THAT(block({0, 1}, {2, 2}), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(block({1, 2}, {1, 1}), ElementsAre(6));
  EXPECT_THAT(block({2, 0}, {0, 3}), ElementsAre());
  std::vector<std::byte> out(8);
  int64_t start[] = {1, 2}, size[] = {1, 2};
  EXPECT_FALSE(file->readBlock(m, start, size, out).ok());
}

TEST(Safetensors, WritesTheDescribedBytes) {
  std::string m = floats({1, 2, 3, 4, 5, 6}), v = "abc";
  std::vector<Tensor> tensors = {{"m", DType::F32, {2, 3}, std::as_bytes(std::span(m))},
                                 {"v", DType::U8, {3}, std::as_bytes(std::span(v))}};
  FakeDisk disk;
  absl::Status status = writeSafetensors(disk, "d/x", tensors, {{"who", "hand"}});
  ASSERT_TRUE(status.ok()) << status;
  std::string header = R"({"__metadata__":{"who":"hand"},"m":{"dtype":"F32","shape":[2,3],)"
                       R"("data_offsets":[0,24]},"v":{"dtype":"U8","shape":[3],)"
                       R"("data_offsets":[24,27]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(*disk.get("d/x"), fileOf(header, m + v));
  EXPECT_EQ(disk.fileCount(), 1u);
}

TEST(Safetensors, KeepsEveryElementTypeAndShape) {
  std::vector<Tensor> tensors;
  std::vector<std::byte> data(2 * 8, std::byte{1});
  for (int i = 0; i < numDTypes; ++i) {
    DType dtype = static_cast<DType>(i);
    auto bytes = std::span<const std::byte>(data).first(2 * sizeOf(dtype));
    tensors.push_back({std::string(nameOf(dtype)), dtype, {1, 2, 1}, bytes});
  }
  tensors.push_back({"scalar", DType::F64, {}, std::span<const std::byte>(data).first(8)});
  tensors.push_back({"empty", DType::F32, {0, 4}, {}});
  tensors.push_back({"name \"with\" \\ \xc3\xa9", DType::U8, {0}, {}});
  FakeDisk disk;
  ASSERT_TRUE(writeSafetensors(disk, "d/x", tensors, {}).ok());
  auto file = SafetensorsFile::open(disk, "d/x");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->entries().size(), tensors.size());
  for (const Tensor &tensor : tensors) {
    ASSERT_TRUE(file->entries().count(tensor.name)) << tensor.name;
    EXPECT_EQ(file->entries().at(tensor.name).dtype, tensor.dtype);
    EXPECT_EQ(file->entries().at(tensor.name).shape, tensor.globalShape);
  }
}

TEST(Safetensors, RefusesToWriteNonsense) {
  FakeDisk disk;
  std::vector<Tensor> twice = {{"a", DType::U8, {0}, {}}, {"a", DType::U8, {0}, {}}};
  EXPECT_FALSE(writeSafetensors(disk, "d/x", twice, {}).ok());
  std::vector<Tensor> wrong = {{"a", DType::U8, {3}, {}}};
  EXPECT_FALSE(writeSafetensors(disk, "d/x", wrong, {}).ok());
  EXPECT_EQ(disk.fileCount(), 0u);
}

TEST(Safetensors, RefusesEveryTruncation) {
  for (size_t n = 0; n < handMade.size(); ++n)
    EXPECT_FALSE(open(handMade.substr(0, n)).ok()) << n;
  expectError(handMade.substr(0, handMade.size() - 1), "truncated: tensor 'v' ends at byte 27 of the data, the file "
                                                       "has 26");
  expectError(handMade + "x", "1 bytes follow the last tensor");
}

TEST(Safetensors, RefusesHostileHeaders) {
  auto one = [](const std::string &body, const std::string &data = "abcd") {
    return fileOf("{\"a\":" + body + "}", data);
  };
  expectError(std::string(8, '\xff') + "{}", "asks for a header of");
  expectError("PK", "it has 2 bytes");
  expectError(fileOf("not json at all", ""), "it is not JSON at byte");
  expectError(fileOf("[[[[[[[[", ""), "it has an array at the top");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[1]}"), "lacks dtype, shape");
  expectError(one("{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,4]}"),
              "tensor 'a' has elements of type 'F8_E4M3'");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}"),
              "tensor 'a' is f32 [2] but its data_offsets span 4 bytes");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}"), "data_offsets are not [begin, end]");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}"), "a number in an unexpected place");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}"), "a negative number");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}"), "a fraction");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[[1]],\"data_offsets\":[0,4]}"), "an array in an unexpected place");
  expectError(one("{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],"
                  "\"data_offsets\":[0,4]}"),
              "'dtype' twice");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],"
                  "\"more\":1}"),
              "has 'more'");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],"
                  "\"data_offsets\":[0,4]}"),
              "data_offsets span 4 bytes");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[1],"
                  "\"data_offsets\":[18446744073709551612,"
                  "18446744073709551616]}"),
              "a fraction");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[1],"
                  "\"data_offsets\":[18446744073709551611,"
                  "18446744073709551615]}"),
              "begins at byte 18446744073709551611");
  expectError(one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]}", "abcde"), "where 0 is expected");
  std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  expectError(fileOf("{" + a + "," + a + "}", "ab"), "'a' is there twice");
  expectError(fileOf("{" + a +
                         R"(,"b":{"dtype":"U8","shape":[2],)"
                         R"("data_offsets":[1,3]}})",
                     "abc"),
              "tensor 'b' begins at byte 1 of the data, where 2 is expected");
  expectError(fileOf(R"({"__metadata__":{"k":1}})", ""), "a number in an unexpected place");
  expectError(fileOf(R"({"__metadata__":{"k":"1","k":"2"}})", ""), "__metadata__ has 'k' twice");
  expectError(fileOf(R"({"__metadata__":{},"__metadata__":{}})", ""), "is there twice");
  // A tower of arrays as deep as the header is long.
  expectError(fileOf("{\"a\":" + std::string(1 << 20, '['), ""), "an array in an unexpected place");
}

TEST(Safetensors, AcceptsAFileOfNothing) {
  auto file = open(fileOf("{}", ""));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->entries().empty());
}

/// Whatever operation fails, the old file stays or the new one is there whole,
/// the error is reported, and no temporary file is left.
TEST(Safetensors, ADiskThatFailsOnceLosesNothing) {
  std::string m = floats({1, 2, 3, 4, 5, 6});
  std::vector<Tensor> tensors = {{"m", DType::F32, {2, 3}, std::as_bytes(std::span(m))}};
  FakeDisk good;
  ASSERT_TRUE(writeSafetensors(good, "d/x", tensors, {}).ok());
  for (int error : {ENOSPC, EIO})
    for (int at = 0; at < good.operations; ++at) {
      FakeDisk disk;
      disk.put("d/x", "old");
      disk.failAt = at;
      disk.error = error;
      absl::Status status = writeSafetensors(disk, "d/x", tensors, {});
      ASSERT_FALSE(status.ok()) << at;
      EXPECT_THAT(std::string(status.message()), HasSubstr(error == ENOSPC ? "No space left" : "Input/output"));
      EXPECT_EQ(disk.fileCount(), 1u) << at;
      EXPECT_TRUE(*disk.get("d/x") == "old" || *disk.get("d/x") == *good.get("d/x")) << at;
    }
}

/// The power goes at any operation: after it the old file or the new one is
/// there whole, and when the save had returned OK it is the new one.
TEST(Safetensors, ACrashLeavesTheOldFileOrTheNew) {
  std::string m = floats({1, 2, 3, 4, 5, 6});
  std::vector<Tensor> tensors = {{"m", DType::F32, {2, 3}, std::as_bytes(std::span(m))}};
  FakeDisk good;
  ASSERT_TRUE(writeSafetensors(good, "d/x", tensors, {}).ok());
  for (bool namesSurvive : {false, true})
    for (int at = 0; at <= good.operations; ++at) {
      FakeDisk disk;
      disk.put("d/x", "old");
      disk.failAt = at;
      disk.failAfterwards = true;
      bool saved = writeSafetensors(disk, "d/x", tensors, {}).ok();
      disk.crash(namesSurvive);
      ASSERT_NE(disk.get("d/x"), nullptr) << at;
      bool isNew = *disk.get("d/x") == *good.get("d/x");
      EXPECT_TRUE(isNew || (!saved && *disk.get("d/x") == "old")) << at << " " << namesSurvive;
    }
}
