// Workers of one machine find each other without an address, and nobody else finds them.
#include "runtime/cluster/MeetingPoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A name that no other run of the tests has at the time.
std::string jobName(const std::string &name) { return name + " of " + std::to_string(getpid()); }

/// Whether a socket with this name is there, by what the kernel lists.
bool isListed(const std::string &part) {
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);)
    if (line.find(part) != std::string::npos)
      return true;
  return false;
}

/// A process that runs `body` and then waits until it is killed, with its exit or the end of `body` told.
class Child {
public:
  explicit Child(const std::function<void()> &body) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
      body();
      (void)!write(ends[1], "x", 1);
      pause();
      _exit(0);
    }
    close(ends[1]);
    char done;
    EXPECT_EQ(read(ends[0], &done, 1), 1);
    close(ends[0]);
  }
  ~Child() { end(); }
  void end() {
    if (pid <= 0)
      return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = -1;
  }

private:
  pid_t pid;
};

TEST(MeetingPoint, OthersFindWhatRankZeroHasAnnounced) {
  auto point = MeetingPoint::announce(jobName("job 1"));
  ASSERT_TRUE(point.ok()) << point.status();
  EXPECT_THAT(point->meeting().coordinator, StartsWith("127.0.0.1:"));
  EXPECT_EQ(point->meeting().secret.size(), 64u);
  for (int worker = 1; worker < 4; ++worker) {
    auto found = findMeeting(jobName("job 1"), 0);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->coordinator, point->meeting().coordinator);
    EXPECT_EQ(found->secret, point->meeting().secret);
  }
  EXPECT_THAT(findMeeting(jobName("job 2"), 0.05).status().message(), HasSubstr("did not come within 0.05 s"));
  EXPECT_THAT(MeetingPoint::announce(jobName("job 1")).status().message(),
              HasSubstr("another process is rank 0 of this job already"));
}

TEST(MeetingPoint, RankZeroMayComeLater) {
  std::promise<void> isFound;
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    auto point = MeetingPoint::announce(jobName("job"));
    ASSERT_TRUE(point.ok()) << point.status();
    isFound.get_future().wait();
  });
  auto found = findMeeting(jobName("job"), 60);
  EXPECT_TRUE(found.ok()) << found.status();
  isFound.set_value();
  late.join();
  EXPECT_FALSE(findMeeting(jobName("job"), 0).ok()) << "it goes with rank 0";
}

TEST(MeetingPoint, NothingIsLeftOfOneThatWasKilled) {
  const std::string job = jobName("killed"), part = "dgc-meeting.";
  Child child([&] { new MeetingPoint(*MeetingPoint::announce(job)); });
  EXPECT_TRUE(findMeeting(job, 0).ok());
  EXPECT_TRUE(isListed(part));
  child.end();
  EXPECT_FALSE(findMeeting(job, 0).ok());
  EXPECT_TRUE(MeetingPoint::announce(job).ok());
}

// What another user may do: it learns nothing, and cannot take the place of rank 0.
TEST(MeetingPoint, IsOfOneUser) {
  if (geteuid() != 0)
    GTEST_SKIP() << "takes another user, which only root can be";
  const std::string job = jobName("job");
  std::optional<MeetingPoint> point = *MeetingPoint::announce(job);
  // The name has the number of the user in it, so the other one asks as root, and says who it is by its effective user.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Child stranger([&] {
    ASSERT_EQ(seteuid(65534), 0);
    const char answer = findMeeting(job, 0).ok() ? 'y' : 'n';
    (void)!write(ends[1], &answer, 1);
  });
  char answer = 0;
  ASSERT_EQ(read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'n');
  close(ends[0]);
  close(ends[1]);
  stranger.end(); // it has a copy of the socket
  point.reset();
  Child impostor([&] {
    ASSERT_EQ(seteuid(65534), 0);
    new MeetingPoint(*MeetingPoint::announce(job));
  });
  EXPECT_THAT(findMeeting(job, 60).status().message(),
              HasSubstr("a process of another user (65534) answers in the place of rank 0 of this job"));
}

} // namespace
} // namespace dgc::rt
