// Output files: faults and crashes at every operation, and two writers of one file, on a disk in memory and on the real
// one.
#include "runtime/base/OutputFile.h"
#include "test/unit/support/FakeDisk.h"

#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

static absl::Status write(Disk &disk, const std::string &path, const std::string &text) {
  return replaceFile(disk, path, [&](WritableFile &file) {
    DGC_RETURN_IF_ERROR(file.write(text.substr(0, text.size() / 2)));
    return file.write(text.substr(text.size() / 2));
  });
}

/// The names that a fake disk holds in the folder d.
static std::vector<std::string> namesIn(FakeDisk &disk) {
  disk.failAt = -1;
  auto names = disk.list("d");
  return names.ok() ? *names : std::vector<std::string>();
}

static const std::string stale = ".x.0123456789abcdef.dgc-tmp";

TEST(OutputFile, ReplacesAWholeFileAndLeavesNothingElse) {
  FakeDisk disk;
  disk.put("d/x", "old");
  ASSERT_TRUE(write(disk, "d/x", "new").ok());
  EXPECT_EQ(*disk.get("d/x"), "new");
  EXPECT_THAT(namesIn(disk), ElementsAre("x"));
  disk.crash(/*namesSurvive=*/false);
  EXPECT_EQ(*disk.get("d/x"), "new");
}

TEST(OutputFile, ASecondWriterIsRefusedUntilTheFirstIsGone) {
  FakeDisk disk;
  {
    auto first = OutputFile::reserve(disk, "d/x");
    ASSERT_TRUE(first.ok()) << first.status();
    auto second = OutputFile::reserve(disk, "d/x");
    EXPECT_TRUE(absl::IsAlreadyExists(second.status()));
    EXPECT_THAT(std::string(second.status().message()), HasSubstr("cannot write d/x: another job"));
    EXPECT_TRUE(OutputFile::reserve(disk, "d/y").ok());
    ASSERT_TRUE(first->replace([](WritableFile &file) { return file.write("first"); }).ok());
  }
  EXPECT_TRUE(write(disk, "d/x", "second").ok());
  EXPECT_EQ(*disk.get("d/x"), "second");
  EXPECT_THAT(namesIn(disk), ElementsAre("x"));
}

TEST(OutputFile, WithoutLocksTwoWritersDoNotDamageEachOther) {
  FakeDisk disk;
  disk.hasNoLocks = true;
  disk.put("d/" + stale, "of another job, which may live");
  auto a = OutputFile::reserve(disk, "d/x"), b = OutputFile::reserve(disk, "d/x");
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(a->replace([&](WritableFile &file) {
                 DGC_RETURN_IF_ERROR(file.write("aa"));
                 DGC_RETURN_IF_ERROR(b->replace([](WritableFile &other) { return other.write("b"); }));
                 EXPECT_EQ(*disk.get("d/x"), "b");
                 return file.write("aa");
               }).ok());
  EXPECT_EQ(*disk.get("d/x"), "aaaa");
  EXPECT_NE(disk.get("d/" + stale), nullptr);
}

/// Whatever operation fails, the file is the old one or the new one, the error is reported, and nothing else is left.
TEST(OutputFile, ADiskThatFailsOnceLosesNothing) {
  FakeDisk good;
  ASSERT_TRUE(write(good, "d/x", "new").ok());
  for (int error : {ENOSPC, EIO})
    for (int at = 0; at < good.operations; ++at) {
      FakeDisk disk;
      disk.put("d/x", "old");
      disk.failAt = at;
      disk.error = error;
      absl::Status status = write(disk, "d/x", "new");
      ASSERT_FALSE(status.ok()) << at;
      EXPECT_THAT(std::string(status.message()), HasSubstr(error == ENOSPC ? "No space left" : "Input/output"));
      EXPECT_THAT(namesIn(disk), ElementsAre("x")) << at;
      EXPECT_TRUE(*disk.get("d/x") == "old" || *disk.get("d/x") == "new") << at;
    }
}

/// The power goes, or the process is killed, at any operation: the file is whole, it is the new one when replace() had
/// returned OK, and the next job removes what is left, but no file of the user.
TEST(OutputFile, TheNextJobRemovesWhatACrashLeft) {
  FakeDisk good;
  ASSERT_TRUE(write(good, "d/x", "new").ok());
  bool wasLeft = false;
  for (bool namesSurvive : {false, true})
    for (int at = 0; at <= good.operations; ++at) {
      FakeDisk disk;
      disk.put("d/x", "old");
      disk.put("d/x.tmp", "of the user");
      disk.failAt = at;
      disk.failAfterwards = true;
      bool saved = write(disk, "d/x", "new").ok();
      disk.crash(namesSurvive);
      EXPECT_TRUE(*disk.get("d/x") == "new" || (!saved && *disk.get("d/x") == "old")) << at << " " << namesSurvive;
      wasLeft |= namesIn(disk).size() > 2;
      ASSERT_TRUE(write(disk, "d/x", "next").ok()) << at;
      EXPECT_THAT(namesIn(disk), ElementsAre("x", "x.tmp")) << at;
      EXPECT_EQ(*disk.get("d/x.tmp"), "of the user");
      EXPECT_EQ(*disk.get("d/x"), "next");
    }
  EXPECT_TRUE(wasLeft);
}

TEST(OutputFile, BeginsAnEmptyFileAtOnce) {
  FakeDisk disk;
  disk.put("d/x", "old");
  auto output = OutputFile::reserve(disk, "d/x");
  ASSERT_TRUE(output.ok());
  auto file = output->begin();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*disk.get("d/x"), "");
  ASSERT_TRUE((*file)->write("line").ok());
  EXPECT_EQ(*disk.get("d/x"), "line");
  EXPECT_FALSE(OutputFile::reserve(disk, "d/x").ok());
}

TEST(OutputFile, AReservationThatEndsLeavesNothingOfADeadJob) {
  FakeDisk disk;
  disk.put("d/.x.dgc-lock", "");
  disk.put("d/" + stale, "");
  disk.put("d/.y.0123456789abcdef.dgc-tmp", "of another output");
  disk.put("d/x", "whole");
  EXPECT_TRUE(OutputFile::reserve(disk, "d/x").ok());
  EXPECT_THAT(namesIn(disk), ElementsAre(".y.0123456789abcdef.dgc-tmp", "x"));
}

namespace {
/// A folder of the real disk.
class RealOutputFile : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "dgc-output-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string in(const std::string &name) const { return folder + "/" + name; }
  void put(const std::string &name, const std::string &text) {
    std::FILE *file = std::fopen(in(name).c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(text.c_str(), file);
    std::fclose(file);
  }
  std::string get(const std::string &name) { return readFile(realDisk(), in(name)).value_or("no such file"); }
  std::vector<std::string> names() { return *realDisk().list(folder); }

  std::string folder;
};
} // namespace

/// What another process holds is refused, with its number; after SIGKILL it is free, and its temporary goes.
TEST_F(RealOutputFile, ALockEndsWithItsProcess) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    auto output = OutputFile::reserve(realDisk(), in("x"));
    (void)!output
        ->replace([&](WritableFile &file) {
          (void)file.write("half");
          (void)!::write(ready[1], "r", 1);
          pause();
          return absl::OkStatus();
        })
        .ok();
    _exit(1);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  absl::Status refused = write(realDisk(), in("x"), "mine");
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(str("x: another job (process ", static_cast<int>(child), " on ")));
  EXPECT_EQ(names().size(), 2u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(names().size(), 2u);
  EXPECT_TRUE(write(realDisk(), in("x"), "mine").ok());
  EXPECT_THAT(names(), ElementsAre("x"));
  EXPECT_EQ(get("x"), "mine");
}

TEST_F(RealOutputFile, TheSameProcessHearsThatItWritesOneFileTwice) {
  fs::create_directory_symlink(".", in("loop"));
  auto first = OutputFile::reserve(realDisk(), in("x"));
  ASSERT_TRUE(first.ok());
  absl::Status second = OutputFile::reserve(realDisk(), in("loop/x")).status();
  EXPECT_THAT(std::string(second.message()), HasSubstr("this job writes it already"));
}

TEST_F(RealOutputFile, TouchesNoFileOfTheUser) {
  put("victim", "precious");
  for (const char *name : {"x.tmp", ".x.tmp", ".x.0123.dgc-tmp", ".x.0123456789abcdeg.dgc-tmp",
                           ".y.0123456789abcdef.dgc-tmp", ".x.dgc-lock"})
    put(name, "of the user");
  fs::create_symlink("victim", in(".x.00000000000000aa.dgc-tmp"));
  fs::create_directory(in(".x.00000000000000bb.dgc-tmp"));
  put(".x.00000000000000cc.dgc-tmp", "of a dead job");
  std::vector<std::string> before = names();
  ASSERT_TRUE(write(realDisk(), in("x"), "new").ok());
  std::erase(before, ".x.00000000000000cc.dgc-tmp");
  before.emplace_back("x");
  EXPECT_THAT(names(), testing::UnorderedElementsAreArray(before));
  EXPECT_EQ(get("victim"), "precious");
  EXPECT_EQ(get("x.tmp"), "of the user");
  EXPECT_EQ(get(".x.dgc-lock"), "of the user");
  EXPECT_EQ(get("x"), "new");
}

TEST_F(RealOutputFile, FollowsNoSymbolicLink) {
  put("victim", "precious");
  fs::create_symlink("victim", in("x"));
  EXPECT_TRUE(absl::IsAlreadyExists(realDisk().createNew(in("x"), in("x")).status()));
  ASSERT_TRUE(write(realDisk(), in("x"), "new").ok());
  EXPECT_EQ(get("victim"), "precious");
  EXPECT_EQ(get("x"), "new");
  put("empty", "");
  fs::create_hard_link(in("empty"), in(".z.dgc-lock"));
  EXPECT_TRUE(write(realDisk(), in("z"), "new").ok());
  EXPECT_EQ(get("empty"), "");
  fs::create_symlink("victim", in(".y.dgc-lock"));
  EXPECT_FALSE(write(realDisk(), in("y"), "new").ok());
  EXPECT_EQ(get("victim"), "precious");
}

TEST_F(RealOutputFile, KeepsTheModeOfTheFileThatItReplaces) {
  auto modeOf = [&](const std::string &name) { return fs::status(in(name)).permissions(); };
  for (fs::perms mode : {fs::perms(0600), fs::perms(0666), fs::perms(0440)}) {
    put("x", "old");
    fs::permissions(in("x"), mode);
    ASSERT_TRUE(write(realDisk(), in("x"), "new").ok());
    EXPECT_EQ(modeOf("x"), mode);
    auto output = OutputFile::reserve(realDisk(), in("x"));
    ASSERT_TRUE(output.ok() && output->begin().ok());
    EXPECT_EQ(modeOf("x"), mode);
    EXPECT_EQ(get("x"), "");
    fs::remove(in("x"));
  }
}

TEST_F(RealOutputFile, NamesAreAsLongAsTheFileSystemAllows) {
  std::string name(255, 'n');
  ASSERT_TRUE(write(realDisk(), in(name), "new").ok());
  EXPECT_EQ(get(name), "new");
  EXPECT_EQ(names().size(), 1u);
}

TEST_F(RealOutputFile, WritesIntoWhatCannotBeReplaced) {
  EXPECT_FALSE(realDisk().isReplaceable("/dev/stdout"));
  EXPECT_FALSE(realDisk().isReplaceable("/proc/self/fd/1"));
  EXPECT_FALSE(realDisk().isReplaceable("/dev/full"));
  EXPECT_TRUE(realDisk().isReplaceable(in("x")));
  EXPECT_THAT(std::string(write(realDisk(), "/dev/full", "text").message()), HasSubstr("No space left"));
  EXPECT_THAT(std::string(write(realDisk(), folder, "text").message()), HasSubstr("Is a directory"));
  // A pipe is not opened before there is something to write: its reader would see an end.
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(OutputFile::reserve(realDisk(), in("pipe")).ok());
}

TEST_F(RealOutputFile, KnowsOneFileUnderTwoNames) {
  put("x", "");
  fs::create_directory_symlink(".", in("loop"));
  fs::create_hard_link(in("x"), in("hard"));
  EXPECT_TRUE(realDisk().isSame(in("x"), in("loop/./x")));
  EXPECT_TRUE(realDisk().isSame(in("x"), in("hard")));
  EXPECT_TRUE(realDisk().isSame(in("none"), in("loop/none")));
  EXPECT_FALSE(realDisk().isSame(in("x"), in("none")));
  EXPECT_FALSE(realDisk().isSame(in("none"), in("other")));
}
