// Records of event files, against numbers that others have published, and the names of the files.
#include "runtime/telemetry/EventFile.h"
#include "test/unit/support/FakeDisk.h"
#include "test/unit/telemetry/EventReader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using namespace std::string_literals;

// RFC 3720, B.4, and the check value of the catalogue of CRCs.
TEST(EventFile, HasTheCrcOfIscsi) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aa);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43);
  std::string ascending;
  for (char c = 0; c < 32; ++c)
    ascending += c;
  EXPECT_EQ(crc32c(ascending), 0x46dd794e);
}

// The event files of TensorFlow begin with a record of 24 bytes, whose length and CRC are these.
TEST(EventFile, FramesRecordsAsTensorFlow) {
  std::string out = "before";
  appendRecord(std::string(24, 'x'), out);
  EXPECT_EQ(out.substr(0, 18), "before\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22"s);
  EXPECT_EQ(out.size(), 6u + 8 + 4 + 24 + 4);
  appendRecord("", out);
  std::string_view rest;
  EXPECT_EQ(test::readRecords(std::string_view(out).substr(6), rest), (std::vector{std::string(24, 'x'), ""s}));
  EXPECT_EQ(rest, "");
}

TEST(EventFile, ATruncatedFileHasTheRecordsBefore) {
  std::string whole;
  for (const char *data : {"one", "two", "three"})
    appendRecord(data, whole);
  for (size_t size = 0; size <= whole.size(); ++size) {
    std::string_view rest;
    const size_t records = test::readRecords(std::string_view(whole).substr(0, size), rest).size();
    EXPECT_EQ(records, size < 19 ? 0u : size < 38 ? 1u : size < 59 ? 2u : 3u) << size;
  }
}

/// The names in the folder "d".
static std::vector<std::string> names(FakeDisk &disk) { return *disk.list("d"); }

static std::string ending(int n) { return str(".", hostName(), ".", ::getpid(), ".", n, ".dgc"); }

TEST(EventFile, NamesSortInTheOrderInWhichFilesBegin) {
  FakeDisk disk;
  disk.needsFolders = true;
  ASSERT_TRUE(EventFile::create(disk, "d", 1700000000).ok());
  EXPECT_EQ(names(disk), std::vector{"events.out.tfevents.1700000000" + ending(0)});
  // In the same second, and with a clock that has gone back.
  ASSERT_TRUE(EventFile::create(disk, "d", 1700000000).ok());
  ASSERT_TRUE(EventFile::create(disk, "d/", 1600000000).ok());
  EXPECT_EQ(names(disk),
            (std::vector{"events.out.tfevents.1700000000" + ending(0), "events.out.tfevents.1700000001" + ending(0),
                         "events.out.tfevents.1700000002" + ending(0)}));
  // Other files count where they are events.
  disk.put("d/events.out.tfevents.1800000000.host", "");
  disk.put("d/events.out.tfevents.19000000001", "");
  disk.put("d/events.out.tfevents.junk", "");
  disk.put("d/1900000000", "");
  ASSERT_TRUE(EventFile::create(disk, "d", 1700000000).ok());
  EXPECT_THAT(names(disk), testing::Contains("events.out.tfevents.1900000001" + ending(0)));
}

TEST(EventFile, TakesAnotherNameWhereOneIsTaken) {
  FakeDisk disk;
  disk.put("d/events.out.tfevents.9999999999" + ending(0), "old");
  ASSERT_TRUE(EventFile::create(disk, "d", 1700000000).ok());
  EXPECT_EQ(*disk.get("d/events.out.tfevents.9999999999" + ending(0)), "old");
  EXPECT_EQ(*disk.get("d/events.out.tfevents.9999999999" + ending(1)), "");
}

TEST(EventFile, AFullDiskIsToldAndNothingMoreIsWritten) {
  FakeDisk disk;
  auto file = *EventFile::create(disk, "d", 1700000000);
  const std::string path = "d/" + names(disk)[0];
  file->add("one");
  EXPECT_EQ(*disk.get(path), "");
  ASSERT_TRUE(file->flush().ok());
  disk.error = ENOSPC;
  disk.failAt = disk.operations;
  file->add("two");
  const absl::Status status = file->flush();
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(str("cannot write ", path, ": No space left")));
  file->add("three"); // there is space again
  EXPECT_EQ(file->flush(), status);
  std::string_view rest;
  EXPECT_EQ(test::readRecords(*disk.get(path), rest), std::vector{"one"s});
  EXPECT_GT(rest.size(), 0u);
  EXPECT_LT(rest.size(), 19u);
}

TEST(EventFile, SaysWhatItCannotMake) {
  FakeDisk disk;
  disk.error = EACCES;
  disk.failAt = 0;
  auto file = EventFile::create(disk, "d", 1700000000);
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(std::string(file.status().message()), testing::HasSubstr("cannot create folder d: Permission denied"));
}
