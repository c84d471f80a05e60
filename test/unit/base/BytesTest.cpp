// Numbers of bytes as people write them.

#include "runtime/base/Bytes.h"

#include <gtest/gtest.h>

using dgc::rt::parseBytes;

TEST(Bytes, BothKindsOfUnits) {
  EXPECT_EQ(parseBytes("1000000"), 1000000);
  EXPECT_EQ(parseBytes("0"), 0);
  EXPECT_EQ(parseBytes("12B"), 12);
  EXPECT_EQ(parseBytes("64KiB"), 65536);
  EXPECT_EQ(parseBytes("64kB"), 64000);
  EXPECT_EQ(parseBytes("512MiB"), 536870912);
  EXPECT_EQ(parseBytes("512MB"), 512000000);
  EXPECT_EQ(parseBytes("10GB"), 10000000000);
  EXPECT_EQ(parseBytes("10GiB"), 10737418240);
  EXPECT_EQ(parseBytes("2TB"), 2000000000000);
  EXPECT_EQ(parseBytes("1TiB"), 1099511627776);
}

TEST(Bytes, SpacesCaseAndFractions) {
  EXPECT_EQ(parseBytes("10 gb"), 10000000000);
  EXPECT_EQ(parseBytes("1.5GiB"), 1610612736);
  EXPECT_EQ(parseBytes("0.25 KiB"), 256);
  EXPECT_EQ(parseBytes("1.9"), 1);
}

TEST(Bytes, WhatIsNone) {
  for (const char *text : {"", "GB", "-1", "-1GB", "1G", "1X", "1XB", "1GBs", "10 GB ", "1e9", "1.GB", ".5GB", "1,5GB",
                           "99999999999999999999", "9223372036854775807KB", "9000000TiB"})
    EXPECT_EQ(parseBytes(text), std::nullopt) << text;
}

TEST(Bytes, TheLargest) { EXPECT_EQ(parseBytes("9223372036854775806"), INT64_MAX - 1); }
