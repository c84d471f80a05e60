// Philox against the published vectors, the distributions against their
// definitions, 16-bit floats, clock, disk, status.
#include "runtime/base/Clock.h"
#include "runtime/base/DType.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Philox.h"
#include "runtime/base/Status.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <thread>
#include <unistd.h>

using namespace dgc::rt;

// Known answers of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, 0, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, ElementsAreWordsOfBlocks) {
  Philox p(0x0123456789abcdef, 0xfedcba9876543210);
  PhiloxBlock b = philox4x32({7, 0, 0x76543210, 0xfedcba98}, 0x89abcdef, 0x01234567);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(p.bits32(28 + i), b[i]);
  EXPECT_EQ(p.bits64(15), (uint64_t{b[3]} << 32) | b[2]);
}

TEST(Philox, QuantileInvertsTheNormalDistribution) {
  for (int i = 0; i < 730; ++i) {
    double p = 1e-6 + 0.00137 * i;
    double z = Philox::inverseNormal(p);
    EXPECT_NEAR(0.5 * std::erfc(-z / std::sqrt(2.0)), p, 4e-16 + 4e-15 * p);
  }
}

TEST(Philox, Moments) {
  Philox p(42, 7);
  constexpr int n = 200000;
  double u = 0, z = 0, zz = 0, t = 0, tt = 0, worst = 0;
  for (int e = 0; e < n; ++e) {
    u += p.uniformF32(e);
    double a = p.normal(e), b = p.truncatedNormal(e);
    z += a, zz += a * a, t += b, tt += b * b, worst = std::max(worst, std::fabs(b));
  }
  EXPECT_NEAR(u / n, 0.5, 0.003);
  EXPECT_NEAR(z / n, 0.0, 0.01);
  EXPECT_NEAR(zz / n, 1.0, 0.02);
  EXPECT_NEAR(t / n, 0.0, 0.01);
  EXPECT_NEAR(std::sqrt(tt / n), 0.87962566103423978, 0.005);
  EXPECT_LE(worst, 2.0);
}

TEST(DType, NamesAndSizes) {
  for (int i = 0; i < numDTypes; ++i)
    EXPECT_EQ(dtypeFromName(nameOf(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_EQ(sizeOf(DType::BF16), 2u);
  EXPECT_EQ(sizeOf(DType::I1), 1u);
  EXPECT_FALSE(dtypeFromName("f31"));
}

TEST(DType, HalfRoundTripsEveryValue) {
  for (uint32_t h = 0; h < 65536; ++h) {
    float f = fromF16(static_cast<uint16_t>(h)), g = fromBF16(static_cast<uint16_t>(h));
    if (!std::isnan(f)) {
      EXPECT_EQ(toF16(f), h);
    }
    if (!std::isnan(g)) {
      EXPECT_EQ(toBF16(g), h);
    }
  }
  EXPECT_EQ(fromF16(0x3c01), 1.0f + 0x1p-10f);
  EXPECT_EQ(toF16(1.0f + 0x1p-11f), 0x3c00); // halfway: to even
  EXPECT_EQ(toF16(1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(toF16(65520.0f), 0x7c00);
  EXPECT_EQ(toF16(65519.0f), 0x7bff);
  EXPECT_EQ(toBF16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_TRUE(std::isnan(fromF16(toF16(NAN))) && std::isnan(fromBF16(toBF16(NAN))));
}

TEST(Clock, FakeTimeWakesSleepers) {
  FakeClock clock(5);
  std::thread sleeper([&] { clock.sleepUntil(5 + 3_s); });
  clock.advance(1_s);
  EXPECT_EQ(clock.now(), 5 + 1_s);
  clock.advance(2_s);
  sleeper.join();
  std::mutex mutex;
  std::condition_variable cv;
  std::unique_lock<std::mutex> lock(mutex);
  EXPECT_FALSE(clock.waitUntil(cv, lock, clock.now()));
}

TEST(Status, ContextCodeAndPayloadsSurvive) {
  absl::Status s = withExitCode(absl::DataLossError("bad byte"), ExitCode::BadArtifact);
  s = withExitCode(annotate(s, "plan.dgcx"), ExitCode::Usage);
  EXPECT_EQ(s.message(), "plan.dgcx: bad byte");
  EXPECT_TRUE(absl::IsDataLoss(s));
  EXPECT_EQ(exitCodeOf(s), ExitCode::BadArtifact);
  EXPECT_EQ(exitCodeOf(absl::OkStatus()), ExitCode::Ok);
  EXPECT_EQ(exitCodeOf(absl::UnknownError("x")), ExitCode::Internal);
}

TEST(Disk, WritesAtomicallyAndReadsBack) {
  std::string folder = absl::StrCat(::testing::TempDir(), "dgc-disk-", ::getpid());
  Disk &disk = realDisk();
  ASSERT_TRUE(disk.makeDirectory(folder + "/a/b").ok());
  std::string path = folder + "/a/b/file";
  ASSERT_TRUE(writeFileAtomically(disk, path, "hello").ok());
  EXPECT_EQ(*disk.list(folder + "/a/b"), std::vector<std::string>{"file"});
  EXPECT_EQ(*readFile(disk, path), "hello");
  EXPECT_EQ(readFile(disk, path, 4).status().code(), absl::StatusCode::kResourceExhausted);
  absl::Status missing = readFile(disk, folder + "/none").status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_NE(missing.message().find("/none"), std::string::npos);
  std::filesystem::remove_all(folder);
}
