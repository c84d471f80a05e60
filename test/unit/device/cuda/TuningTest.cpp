// The file of algorithms that were measured: what is read, and what is not.
#include "runtime/device/cuda/Tuning.h"
#include "test/unit/support/FakeDisk.h"

#include <gmock/gmock.h>

using namespace dgc::rt;
using namespace dgc::rt::cuda;
using dgc::rt::test::FakeDisk;
using ::testing::HasSubstr;

namespace {

const char *const kFile = "/plans/m.dgcx.tuning.json";

TuningOptions measuring(bool keeps = true) { return {kFile, true, keeps}; }

TEST(Tuning, KeepsWhatWasMeasured) {
  FakeDisk disk;
  ASSERT_TRUE(disk.makeDirectory("/plans").ok());
  Tuning tuning(disk, measuring(), "GPU", "library 1");
  EXPECT_EQ(tuning.warning(), "");
  EXPECT_EQ(tuning.find("f32 1 x 2 x 3 x 4"), std::nullopt);
  ASSERT_TRUE(tuning.save().ok());
  EXPECT_FALSE(disk.exists(kFile)); // there is nothing to keep
  tuning.keep("f32 1 x 2 x 3 x 4", 2);
  EXPECT_EQ(tuning.find("f32 1 x 2 x 3 x 4"), 2u);
  ASSERT_TRUE(tuning.save().ok());

  Tuning again(disk, {kFile}, "GPU", "library 1");
  EXPECT_EQ(again.warning(), "");
  EXPECT_FALSE(again.measures());
  EXPECT_EQ(again.find("f32 1 x 2 x 3 x 4"), 2u);
  EXPECT_EQ(again.find("f32 1 x 2 x 3 x 5"), std::nullopt);
}

TEST(Tuning, OneWorkerWrites) {
  FakeDisk disk;
  Tuning tuning(disk, measuring(/*keeps=*/false), "GPU", "library 1");
  tuning.keep("p", 1);
  ASSERT_TRUE(tuning.save().ok());
  EXPECT_FALSE(disk.exists(kFile));
}

TEST(Tuning, AnotherMachineIsIgnored) {
  FakeDisk disk;
  ASSERT_TRUE(disk.makeDirectory("/plans").ok());
  Tuning tuning(disk, measuring(), "GPU", "library 1");
  tuning.keep("p", 1);
  ASSERT_TRUE(tuning.save().ok());
  for (auto [gpu, library] : {std::pair{"GPU 2", "library 1"}, {"GPU", "library 2"}}) {
    Tuning other(disk, {kFile}, gpu, library);
    EXPECT_EQ(other.find("p"), std::nullopt);
    EXPECT_THAT(other.warning(), HasSubstr("it is for "));
    EXPECT_THAT(other.warning(), HasSubstr("--tune"));
  }
}

TEST(Tuning, BrokenFilesAreIgnored) {
  FakeDisk disk;
  ASSERT_TRUE(disk.makeDirectory("/plans").ok());
  for (const char *text : {"", "{", "[]", "{}", R"({"gpu": 1, "library": "l", "products": {}})",
                           R"({"gpu": "GPU", "library": "l"})", R"({"gpu": "GPU", "library": "l", "products": [1]})",
                           R"({"gpu": "GPU", "library": "l", "products": {"p": 0, "q": -1}})",
                           R"({"gpu": "GPU", "library": "l", "products": {"p": 0, "q": "1"}})", "\xff\xfe"}) {
    ASSERT_TRUE(writeFileAtomically(disk, kFile, text).ok());
    Tuning tuning(disk, measuring(), "GPU", "l");
    EXPECT_NE(tuning.warning(), "") << text;
    EXPECT_EQ(tuning.find("p"), std::nullopt) << text;
    // Measured again, the file is whole again.
    tuning.keep("p", 1);
    ASSERT_TRUE(tuning.save().ok());
    EXPECT_EQ(Tuning(disk, {kFile}, "GPU", "l").find("p"), 1u);
  }
}

TEST(Tuning, ProductsAreToldApart) {
  Gemm gemm;
  gemm.m = 2, gemm.n = 3, gemm.k = 4;
  std::string plain = describeProduct(gemm);
  Gemm other = gemm;
  other.activation = Activation::Relu;
  EXPECT_NE(describeProduct(other), plain);
  other = gemm;
  other.hasBias = true;
  EXPECT_NE(describeProduct(other), plain);
  other = gemm;
  other.a.transposed = true;
  EXPECT_NE(describeProduct(other), plain);
  other = gemm;
  other.b.batchStride = 12;
  EXPECT_NE(describeProduct(other), plain);
  other = gemm;
  other.type = DType::BF16;
  EXPECT_NE(describeProduct(other), plain);
}

} // namespace
