// Workers of one machine that find each other by a file.
#include "runtime/cluster/MeetingFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class MeetingFileTest : public ::testing::Test {
protected:
  MeetingFileTest() : folder(::testing::TempDir() + "meeting-" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder);
  }
  ~MeetingFileTest() override { std::filesystem::remove_all(folder); }
  std::string folder;
};

TEST_F(MeetingFileTest, OthersFindWhatRankZeroHasAnnounced) {
  auto file = MeetingFile::announce(folder, "job 1");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->meeting().coordinator, StartsWith("127.0.0.1:"));
  EXPECT_EQ(file->meeting().secret.size(), 64u);
  auto found = findMeeting(folder, "job 1", 0);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->coordinator, file->meeting().coordinator);
  EXPECT_EQ(found->secret, file->meeting().secret);
  EXPECT_THAT(findMeeting(folder, "job 2", 0.05).status().message(), HasSubstr("did not come within 0.05 s"));
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    struct stat status = {};
    ASSERT_EQ(lstat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << entry.path();
  }
}

TEST_F(MeetingFileTest, RankZeroMayComeLater) {
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    auto file = MeetingFile::announce(folder, "job");
    ASSERT_TRUE(file.ok()) << file.status();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  });
  auto found = findMeeting(folder, "job", 20);
  EXPECT_TRUE(found.ok()) << found.status();
  late.join();
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "it goes with rank 0";
}

// Of a process that has died, and of one that has its number by now.
TEST_F(MeetingFileTest, WhatIsLeftDoesNotCount) {
  std::string path;
  {
    auto file = MeetingFile::announce(folder, "job");
    ASSERT_TRUE(file.ok());
    path = std::filesystem::directory_iterator(folder)->path();
  }
  for (const std::string &process : {std::string("999999999.5"), std::to_string(getpid()) + ".5", std::string("x")}) {
    std::ofstream(path) << process << " 127.0.0.1:1 secret\n";
    EXPECT_FALSE(findMeeting(folder, "job", 0.01).ok()) << process;
  }
}

// A file that others can read or write, or that leads elsewhere, is none of rank 0.
TEST_F(MeetingFileTest, FilesOfOthersDoNotCount) {
  auto file = MeetingFile::announce(folder, "job");
  ASSERT_TRUE(file.ok());
  const std::string path = std::filesystem::directory_iterator(folder)->path();
  chmod(path.c_str(), 0644);
  EXPECT_FALSE(findMeeting(folder, "job", 0.01).ok());
  chmod(path.c_str(), 0600);
  EXPECT_TRUE(findMeeting(folder, "job", 0.01).ok());
  std::filesystem::rename(path, folder + "/elsewhere");
  std::filesystem::create_symlink(folder + "/elsewhere", path);
  EXPECT_FALSE(findMeeting(folder, "job", 0.01).ok());
}

TEST_F(MeetingFileTest, AFolderThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(MeetingFile::announce(folder + "/missing", "job").status().message(), HasSubstr("/missing/dgc-meeting."));
}

} // namespace
} // namespace dgc::rt
