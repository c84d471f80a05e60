// The suite over processes that map each other's segments.
#include "Processes.h"
#include "TransportSuite.h"

#include "runtime/collective/SharedMemory.h"

#include <csignal>
#include <filesystem>

#include <sys/wait.h>
#include <unistd.h>

namespace dgc::rt::test {
namespace {

std::vector<std::string> runProcesses(int worldSize, const TransportOptions &options, const RankProgram &program) {
  return forkRanks(worldSize, [&](int rank, const Exchange &exchange) {
    Abort abort;
    auto segment = SharedSegment::create(rank, worldSize, options);
    if (!segment.ok())
      return "error: " + segment.status().ToString();
    std::vector<std::string> all = exchange((*segment)->announcement());
    auto transport = std::move(**segment).connect(all, abort);
    if (!transport.ok())
      return "error: " + transport.status().ToString();
    std::string result = program(**transport);
    exchange("done"); // the others may still read this rank's memory
    return result;
  });
}

INSTANTIATE_TEST_SUITE_P(SharedMemory, TransportSuite, ::testing::ValuesIn(suiteCases({"Processes", runProcesses})),
                         caseName);

TEST(SharedMemory, ProgressOutlivesAKilledProcess) {
  TransportOptions options;
  options.sharedBytes = 4096;
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  pid_t child = fork();
  if (child == 0) {
    auto segment = SharedSegment::create(1, 2, options);
    if (!segment.ok())
      _exit(1);
    (*segment)->progress().set(41, 3);
    std::string a = (*segment)->announcement();
    (void)!write(fds[1], a.data(), a.size());
    for (;;)
      pause();
  }
  char buffer[200];
  ssize_t n = read(fds[0], buffer, sizeof(buffer));
  ASSERT_GT(n, 0);
  auto header = mapSegmentHeader(std::string(buffer, n));
  ASSERT_TRUE(header.ok()) << header.status();
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ((*header)->progress.get(), (Position{41, 3}));
  EXPECT_EQ((*header)->rank, 1u);
  close(fds[0]);
  close(fds[1]);
}

TEST(SharedMemory, RefusesWhatWasNotAnnounced) {
  TransportOptions options;
  options.sharedBytes = 4096;
  auto own = SharedSegment::create(0, 2, options);
  ASSERT_TRUE(own.ok());
  std::string good = (*own)->announcement();
  EXPECT_TRUE(mapSegmentHeader(good).ok());

  std::string other = good;
  other.back() ^= 1; // the nonce
  EXPECT_EQ(mapSegmentHeader(other).status().message(),
            "shared segment of process " + std::to_string(getpid()) + ": is not the one that was announced");
  EXPECT_FALSE(mapSegmentHeader(good.substr(1)).ok());
  EXPECT_FALSE(mapSegmentHeader("").ok());

  // Another file of this process in its place: not sealed.
  std::string file = good;
  FILE *f = tmpfile();
  int64_t fd = fileno(f);
  file.replace(16, 8, reinterpret_cast<char *>(&fd), 8);
  EXPECT_NE(std::string(mapSegmentHeader(file).status().message()).find("is not sealed"), std::string::npos);
  fclose(f);

  // No file at all: as in a sandbox, which keeps processes from what others have open. Then the process itself gives it.
  fd = 1 << 20;
  file.replace(16, 8, reinterpret_cast<char *>(&fd), 8);
  EXPECT_TRUE(mapSegmentHeader(file).ok()) << mapSegmentHeader(file).status();
  std::string unknown = file;
  unknown[file.size() - 32] ^= 1; // the name of its socket
  EXPECT_NE(std::string(mapSegmentHeader(unknown).status().message()).find("cannot open the shared segment"),
            std::string::npos);
}

TEST(SharedMemory, LeavesNoNameBehind) {
  auto names = [] {
    int n = 0;
    for ([[maybe_unused]] auto &e : std::filesystem::directory_iterator("/dev/shm"))
      n += e.path().filename().string().find("dgc") != std::string::npos;
    return n;
  };
  TransportOptions options;
  options.sharedBytes = 4096;
  auto segment = SharedSegment::create(0, 1, options);
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(names(), 0);
}

} // namespace
} // namespace dgc::rt::test
