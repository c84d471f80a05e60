// LLVM's names of CPU features against lines of /proc/cpuinfo.
#include "runtime/device/cpu/Features.h"

#include "gtest/gtest.h"

using namespace dgc::rt;

namespace {
const char flags[] = "flags\t\t: fpu cx16 sse2 ssse3 pni sse4_1 sse4_2 popcnt abm bmi1 bmi2 fma f16c avx avx2 avx512f "
                     "avx512_vnni sha_ni lahf_lm 3dnowprefetch lm";

std::vector<std::string> missing(std::vector<std::string> features) { return missingFeatures(features, flags); }

TEST(Features, NamesOfLlvmAreFound) {
  EXPECT_TRUE(missing({"+64bit", "sse4.1", "+sse4.2", "crc32", "bmi", "lzcnt", "prfchw", "sahf", "sha", "avx512vnni",
                       "evex512", "sse3", "+avx2", "fma", "x87"})
                  .empty());
}

TEST(Features, WhatIsMissingIsNamed) {
  EXPECT_EQ(missing({"+avx2", "+avx512bw", "amx-tile", "-avx512vl"}),
            (std::vector<std::string>{"avx512bw", "amx-tile"}));
}

// A name is a whole word: avx512 is not avx512f.
TEST(Features, NoPrefixes) { EXPECT_EQ(missing({"avx512", "av"}).size(), 2u); }

TEST(Features, ThisMachineHasSse2) {
  std::vector<std::string> features{"sse2"};
  EXPECT_TRUE(checkCpuFeatures(features).ok());
}
} // namespace
