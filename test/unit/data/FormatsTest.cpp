// IDX, npy and gzip readers: files as NumPy and gzip write them, and damaged
// ones.
#include "runtime/base/ExitCode.h"
#include "runtime/data/Idx.h"
#include "runtime/data/Npy.h"
#include "test/unit/support/FakeDisk.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using testing::ElementsAre;
using testing::HasSubstr;

static const std::string golden = DGC_SOURCE_DIR "/test/unit/data/golden/";

static Bytes bytesOf(std::string_view text) {
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

static std::string fileText(const std::string &name) {
  auto text = readFile(realDisk(), golden + name);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

static absl::StatusOr<Array> npy(std::string_view text) { return parseArray(npyFormat, bytesOf(text), "x.npy"); }
static absl::StatusOr<Array> idx(std::string_view text) { return parseArray(idxFormat, bytesOf(text), "x.idx"); }

template <typename T> static std::vector<T> valuesOf(const Array &array) {
  std::vector<T> values(array.bytes().size() / sizeof(T));
  std::memcpy(values.data(), array.bytes().data(), array.bytes().size());
  return values;
}

static void expectError(const absl::StatusOr<Array> &result, std::string_view text) {
  ASSERT_FALSE(result.ok()) << text;
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(std::string(text)));
  EXPECT_EQ(exitCodeOf(result.status()), ExitCode::BadData);
}

static std::string str0(std::initializer_list<int> bytes) { return std::string(bytes.begin(), bytes.end()); }

// ---- npy

struct NpyCase {
  const char *name;
  DType dtype;
};

class NpyTypes : public testing::TestWithParam<NpyCase> {};

/// The values 1, 4, 7, ... in [2, 3], for integers.
TEST_P(NpyTypes, ReadsWhatNumPyWrote) {
  auto array = npy(fileText(std::string(GetParam().name) + ".npy"));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype, GetParam().dtype);
  EXPECT_THAT(array->shape, ElementsAre(2, 3));
  ASSERT_EQ(array->bytes().size(), 6 * sizeOf(GetParam().dtype));
  if (isFloat(GetParam().dtype) || GetParam().dtype == DType::I1)
    return;
  for (int i = 0; i < 6; ++i) {
    int64_t value = 0;
    std::memcpy(&value, array->bytes().data() + i * sizeOf(GetParam().dtype), sizeOf(GetParam().dtype));
    EXPECT_EQ(value, 3 * i + 1);
  }
}

/// Our writer makes the bytes that NumPy makes.
TEST_P(NpyTypes, WritesWhatNumPyWrites) {
  std::string text = fileText(std::string(GetParam().name) + ".npy");
  auto array = npy(text);
  ASSERT_TRUE(array.ok()) << array.status();
  FakeDisk disk;
  absl::Status status = writeNpy(disk, "d/out.npy", array->dtype, array->shape, array->bytes());
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_NE(disk.get("d/out.npy"), nullptr);
  EXPECT_EQ(*disk.get("d/out.npy"), text);
}

INSTANTIATE_TEST_SUITE_P(All, NpyTypes,
                         testing::Values(NpyCase{"b1", DType::I1}, NpyCase{"i1", DType::I8}, NpyCase{"i2", DType::I16},
                                         NpyCase{"i4", DType::I32}, NpyCase{"i8", DType::I64}, NpyCase{"u1", DType::U8},
                                         NpyCase{"u2", DType::U16}, NpyCase{"u4", DType::U32},
                                         NpyCase{"u8", DType::U64}, NpyCase{"f2", DType::F16},
                                         NpyCase{"f4", DType::F32}, NpyCase{"f8", DType::F64}),
                         [](const auto &info) { return info.param.name; });

TEST(Npy, ReadsFloatsOfEveryWidth) {
  EXPECT_THAT(valuesOf<float>(*npy(fileText("f4.npy"))), ElementsAre(1, 4, 7, 10, 13, 16));
  EXPECT_THAT(valuesOf<double>(*npy(fileText("f8.npy"))), ElementsAre(1, 4, 7, 10, 13, 16));
  EXPECT_EQ(fromF16(valuesOf<uint16_t>(*npy(fileText("f2.npy")))[5]), 16.0f);
  EXPECT_THAT(valuesOf<uint8_t>(*npy(fileText("b1.npy"))), ElementsAre(0, 1, 0, 1, 0, 1));
}

// As NumPy saves bf16 of ml_dtypes, of which it knows the size alone.
TEST(Npy, ReadsElementsOfTwoBytesAsBf16) {
  auto array = npy(fileText("raw2.npy"));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype, DType::BF16);
  EXPECT_THAT(valuesOf<uint16_t>(*array), ElementsAre(0x3f80, 0xc000, 0x7f80));
  std::vector<std::byte> bytes(array->bytes().begin(), array->bytes().end());
  std::vector<std::byte> wide = toNpyType(DType::BF16, bytes);
  std::vector<float> values(3);
  ASSERT_EQ(wide.size(), values.size() * sizeof(float));
  std::memcpy(values.data(), wide.data(), wide.size());
  EXPECT_THAT(values, ElementsAre(1, -2, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(toNpyType(DType::U16, bytes), bytes);
}

TEST(Npy, ReadsEveryVersion) {
  for (const char *name : {"version1.npy", "version2.npy", "version3.npy"}) {
    auto array = npy(fileText(name));
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_THAT(valuesOf<float>(*array), ElementsAre(0, 1, 2, 3, 4)) << name;
  }
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  auto scalar = npy(fileText("scalar.npy"));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_THAT(valuesOf<double>(*scalar), ElementsAre(2.5));
  auto empty = npy(fileText("empty.npy"));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_THAT(empty->shape, ElementsAre(0, 4));
}

TEST(Npy, SaysHowToSaveWhatIsNotAccepted) {
  expectError(npy(fileText("fortran.npy")), "x.npy: Fortran order; save it with numpy.ascontiguousarray(a)");
  expectError(npy(fileText("big_endian.npy")), "x.npy: big-endian elements ('>f4'); save it with "
                                               "a.astype('<f4')");
  expectError(npy(fileText("complex.npy")), "complex numbers ('<c8'); save their real and imaginary parts");
  expectError(npy(fileText("record.npy")), "not a dict of descr");
}

TEST(Npy, RefusesEveryTruncation) {
  std::string text = fileText("f4.npy");
  for (size_t n = 0; n < text.size(); ++n)
    EXPECT_FALSE(npy(text.substr(0, n)).ok()) << n;
  expectError(npy(text.substr(0, 100)), "truncated: the .npy header has 118 bytes, the file 100");
  expectError(npy(text.substr(0, 151)), "f32 [2x3] takes 24 bytes after the .npy header, the file has "
                                        "23");
  expectError(npy(text + "x"), "the file has 25");
}

/// A version 1 file with this header and no elements.
static std::string withHeader(const std::string &header) {
  return std::string("\x93NUMPY\x01\0", 8) +
         str0({static_cast<int>(header.size() & 255), static_cast<int>(header.size() >> 8)}) + header;
}

TEST(Npy, RefusesHostileHeaders) {
  expectError(npy(withHeader("{'descr': '<f8', 'fortran_order': False, "
                             "'shape': (4294967296, 4294967296), }")),
              "more than any memory holds");
  // The same behind a zero, where the product is zero.
  expectError(npy(withHeader("{'descr': '<f8', 'fortran_order': False, "
                             "'shape': (0, 4294967296, 4294967296), }")),
              "more than any memory holds");
  for (const char *header :
       {"", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (0)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)} x",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (0,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (0,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "{'descr: <f4}"})
    expectError(npy(withHeader(header)), "not a dict of descr");
  EXPECT_TRUE(npy(withHeader("{\"shape\":(0,),\"fortran_order\":False,"
                             "\"descr\":\"<f4\"}"))
                  .ok());
}

TEST(Npy, RefusesOtherMagicAndVersions) {
  expectError(npy("PK\x03\x04 and more of it"), "not a .npy file");
  expectError(npy(std::string("\x93NUMPY\x04\0\0\0\0\0", 12)), "version 4.0 of .npy");
}

TEST(Npy, RefusesABoolThatIsNone) {
  std::string text = fileText("b1.npy");
  text.back() = 2;
  expectError(npy(text), "a bool that is neither 0 nor 1");
}

TEST(Npy, HasNoBF16) {
  auto header = npyHeader(DType::BF16, {});
  ASSERT_FALSE(header.ok());
  EXPECT_THAT(std::string(header.status().message()), HasSubstr("bf16"));
}

// ---- IDX

TEST(Idx, ReadsBytes) {
  auto array = idx(str0({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype, DType::U8);
  EXPECT_THAT(array->shape, ElementsAre(2, 3));
  EXPECT_THAT(valuesOf<uint8_t>(*array), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Idx, TurnsBigEndianAround) {
  auto floats = idx(str0({0, 0, 13, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0}));
  ASSERT_TRUE(floats.ok()) << floats.status();
  EXPECT_THAT(valuesOf<float>(*floats), ElementsAre(1.5f));
  auto shorts = idx(str0({0, 0, 11, 1, 0, 0, 0, 2, 1, 2, 0xff, 0xfe}));
  ASSERT_TRUE(shorts.ok()) << shorts.status();
  EXPECT_THAT(valuesOf<int16_t>(*shorts), ElementsAre(258, -2));
}

TEST(Idx, RefusesDamage) {
  std::string good = str0({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6});
  for (size_t n = 0; n < good.size(); ++n)
    EXPECT_FALSE(idx(good.substr(0, n)).ok()) << n;
  expectError(idx(good.substr(0, 17)), "x.idx: u8 [2x3] takes 6 bytes after "
                                       "the IDX header, the file has 5");
  expectError(idx(good + "x"), "the file has 7");
  expectError(idx(str0({0, 0, 7, 1, 0, 0, 0, 0})), "not an IDX file");
  expectError(idx("PK\x03\x04"), "begins with 80 75 3");
  expectError(idx(str0({0, 0, 14, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255})),
              "more than any memory holds");
}

// ---- gzip

/// "hello hello hello hello" as `gzip -n` writes it.
static std::string gzipped() {
  return str0({0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0x48, 0xcd, 0xc9,
               0xc9, 0x57, 0xc8, 0x40, 0x27, 0x01, 0xe3, 0x51, 0x3d, 0x8d, 0x17, 0x00, 0x00, 0x00});
}

static absl::StatusOr<Bytes> readGz(const std::string &text, uint64_t limit = 1 << 20) {
  FakeDisk disk;
  disk.put("d/x.gz", text);
  return readWhole(disk, "d/x.gz", limit);
}

TEST(Gzip, Decompresses) {
  auto bytes = readGz(gzipped());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(std::string(reinterpret_cast<char *>(bytes->data()), bytes->size()), "hello hello hello hello");
}

TEST(Gzip, RefusesDamage) {
  for (size_t n = 0; n < gzipped().size(); ++n)
    EXPECT_FALSE(readGz(gzipped().substr(0, n)).ok()) << n;
  // Every bit behind the header is covered by the checksum or the size.
  for (size_t i = 10; i < gzipped().size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = gzipped();
      bad[i] ^= 1 << bit;
      auto result = readGz(bad);
      if (result.ok()) // a bit of padding after the last block
        EXPECT_EQ(std::string(reinterpret_cast<char *>(result->data()), result->size()), "hello hello hello hello");
    }
  auto more = readGz(gzipped() + "more");
  ASSERT_FALSE(more.ok());
  EXPECT_THAT(std::string(more.status().message()), HasSubstr("4 bytes that are no gzip member follow the gzip data"));
  for (size_t n = 2; n < gzipped().size(); ++n) // the second member is cut
    EXPECT_FALSE(readGz(gzipped() + gzipped().substr(0, n)).ok()) << n;
}

static std::string textOf(const absl::StatusOr<Bytes> &bytes) {
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? std::string(reinterpret_cast<const char *>(bytes->data()), bytes->size()) : "";
}

/// `text` as one member of gzip, in stored blocks: RFC 1951, 3.2.4.
static std::string stored(std::string_view text) {
  std::string out = str0({0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3});
  auto little = [&](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      out += static_cast<char>(value >> (8 * i));
  };
  std::string_view rest = text;
  do {
    uint16_t length = static_cast<uint16_t>(std::min<size_t>(rest.size(), 0xffff));
    out += static_cast<char>(rest.size() == length);
    little(length, 2);
    little(static_cast<uint16_t>(~length), 2);
    out += rest.substr(0, length);
    rest.remove_prefix(length);
  } while (!rest.empty());
  uint32_t crc = ~0u;
  for (char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  little(~crc, 4);
  little(static_cast<uint32_t>(text.size()), 4);
  return out;
}

TEST(Gzip, ReadsAllMembers) {
  std::string hello = "hello hello hello hello";
  EXPECT_EQ(textOf(readGz(gzipped() + gzipped() + stored("!"))), hello + hello + "!");
  EXPECT_EQ(textOf(readGz(stored("") + gzipped() + stored(""))), hello);
  EXPECT_EQ(textOf(readGz(gzipped() + std::string(512, '\0'))), hello); // padding of a tape
  std::string many, expected;
  for (int i = 0; i < 300; ++i) {
    many += stored(std::string(static_cast<size_t>(i), 'a'));
    expected += std::string(static_cast<size_t>(i), 'a');
  }
  EXPECT_EQ(textOf(readGz(many)), expected);
  EXPECT_FALSE(readGz(many, expected.size() - 1).ok());
  EXPECT_EQ(textOf(readGz(many, expected.size())), expected);
}

/// An array in several members, cut anywhere, in its header too.
TEST(Gzip, ArraysMayHaveAnyMembers) {
  std::string file = fileText("f4.npy");
  for (size_t n = 0; n <= file.size(); ++n) {
    FakeDisk disk;
    disk.put("d/x.npy.gz", stored(file.substr(0, n)) + stored(file.substr(n)));
    auto header = readArrayHeader(disk, "d/x.npy.gz", npyFormat);
    ASSERT_TRUE(header.ok()) << n << header.status();
    EXPECT_THAT(header->shape, ElementsAre(2, 3));
    auto array = readArray(disk, "d/x.npy.gz", npyFormat);
    ASSERT_TRUE(array.ok()) << n << array.status();
    EXPECT_THAT(valuesOf<float>(*array), ElementsAre(1, 4, 7, 10, 13, 16));
  }
}

namespace {
/// A disk whose files are as large as they say, of zeros behind their text, and that counts what is read.
class LargeDisk : public FakeDisk {
public:
  uint64_t size = 0, bytesRead = 0;
  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string &path) override {
    struct File : ReadableFile {
      uint64_t size() const override { return disk->size; }
      absl::Status readAt(uint64_t offset, std::span<std::byte> out) override {
        disk->bytesRead += out.size();
        std::fill(out.begin(), out.end(), std::byte{0});
        if (offset < text.size())
          std::memcpy(out.data(), text.data() + offset, std::min<size_t>(out.size(), text.size() - offset));
        return absl::OkStatus();
      }
      LargeDisk *disk;
      std::string text;
    };
    auto file = std::make_unique<File>();
    file->disk = this;
    file->text = *get(path);
    return file;
  }
};
} // namespace

/// The header is compared with the size of the file, and with what that can expand to, before memory is taken.
TEST(Npy, TakesNoMemoryBeforeTheHeaderIsChecked) {
  LargeDisk disk;
  std::string text = *npyHeader(DType::F32, std::vector<int64_t>{5, 7});
  disk.put("d/x.npy", text);
  disk.size = uint64_t{1} << 45; // a sparse file
  expectError(readArray(disk, "d/x.npy", npyFormat), "f32 [5x7] takes 140 bytes after the .npy header, the file has ");
  EXPECT_LE(disk.bytesRead, 2 * longestHeader);

  FakeDisk small;
  std::string bomb = *npyHeader(DType::F32, std::vector<int64_t>{1 << 20, 1 << 20});
  small.put("d/x.npy.gz", stored(bomb + "abcd"));
  expectError(readArray(small, "d/x.npy.gz", npyFormat),
              "takes 4398046511104 bytes after the .npy header, the file has fewer");
  small.put("d/x.npy.gz", stored(text + std::string(141, 'x')));
  expectError(readArray(small, "d/x.npy.gz", npyFormat), "takes 140 bytes after the .npy header, the file has more");
  small.put("d/x.npy.gz", stored(text + std::string(139, 'x')));
  expectError(readArray(small, "d/x.npy.gz", npyFormat), "takes 140 bytes after the .npy header, the file has 139");
}

TEST(Gzip, DoesNotAllocateWhatATrailerClaims) {
  std::string bomb = gzipped();
  bomb.replace(bomb.size() - 4, 4, "\xff\xff\xff\xff");
  auto result = readGz(bomb, uint64_t{1} << 40);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("claims 4294967295 bytes"));
  EXPECT_FALSE(readGz(gzipped(), 22).ok());
}

TEST(Gzip, NamesTheFileThatIsMissing) {
  FakeDisk disk;
  auto result = readWhole(disk, "d/none.npy");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("cannot open d/none.npy"));
  EXPECT_EQ(exitCodeOf(result.status()), ExitCode::BadData);
}
