// Tries to break out: each attempt succeeds outside of the sandbox, which shows that it is one, and fails inside.
#include "runtime/base/Sandbox.h"
#include "runtime/base/Sanitizers.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dgc::rt;

namespace {

/// A folder with a part that is granted and one that is not, each with a file and a folder.
class Sandbox : public ::testing::Test {
protected:
  void SetUp() override {
    if (isSanitized)
      GTEST_SKIP() << "sanitizers start processes and trace this one";
    if (!sandboxSupport().isWhole())
      GTEST_SKIP() << "this kernel lacks " << sandboxSupport().missing();
    prepare();
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  /// Makes the folders anew.
  void prepare() const {
    std::filesystem::remove_all(root);
    for (const std::string &part : {granted, other}) {
      std::filesystem::create_directories(part + "/folder");
      std::ofstream(part + "/file") << "text";
    }
  }
  /// What `body` gives in a process of its own, in the sandbox or not; -1 where it was ended by a signal.
  int inProcess(bool isSandboxed, const std::function<int()> &body) const {
    const pid_t pid = fork();
    if (pid == 0) {
      if (isSandboxed && !enterSandbox({{granted, root + "/not there"}, {}}).ok())
        _exit(99);
      _exit(body());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// An attempt that gives 0 where it succeeds; where not, it is refused with EPERM, EACCES or EXDEV, or as `refusal` says.
  void breaksOutOnlyWithout(const char *what, const std::function<long()> &attempt, int refusal = 0) const {
    auto outcome = [&] { return attempt() == 0 ? 0 : errno; };
    EXPECT_EQ(inProcess(false, outcome), 0) << what << ": " << "the attempt itself does not work";
    prepare();
    const int error = inProcess(true, outcome);
    prepare();
    if (refusal)
      EXPECT_EQ(error, refusal) << what;
    else
      EXPECT_TRUE(error == EPERM || error == EACCES || error == EXDEV) << what << ": " << std::strerror(error);
  }

  const std::string root = ::testing::TempDir() + "/dgc-sandbox-" + std::to_string(getpid());
  const std::string granted = root + "/granted", other = root + "/other";
};

long opened(const std::string &path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  return fd < 0 ? -1 : close(fd);
}

TEST_F(Sandbox, WritesNothingOutside) {
  breaksOutOnlyWithout("new file", [&] { return opened(other + "/new", O_WRONLY | O_CREAT); });
  breaksOutOnlyWithout("write", [&] { return opened(other + "/file", O_WRONLY); });
  breaksOutOnlyWithout("truncating open", [&] { return opened(other + "/file", O_RDONLY | O_TRUNC); });
  breaksOutOnlyWithout("truncate", [&] { return truncate((other + "/file").c_str(), 1); });
  breaksOutOnlyWithout("mkdir", [&] { return mkdir((other + "/made").c_str(), 0700); });
  breaksOutOnlyWithout("rmdir", [&] { return rmdir((other + "/folder").c_str()); });
  breaksOutOnlyWithout("symlink", [&] { return symlink("/", (other + "/link").c_str()); });
  breaksOutOnlyWithout("fifo", [&] { return mkfifo((other + "/pipe").c_str(), 0600); });
  breaksOutOnlyWithout("moved out", [&] { return rename((granted + "/file").c_str(), (other + "/file2").c_str()); });
  breaksOutOnlyWithout("linked out", [&] { return link((granted + "/file").c_str(), (other + "/hard").c_str()); });
  breaksOutOnlyWithout("through ..", [&] { return opened(granted + "/../other/file", O_WRONLY); });
  breaksOutOnlyWithout("through a link", [&] {
    return symlink((other + "/file").c_str(), (granted + "/out").c_str()) != 0 || opened(granted + "/out", O_WRONLY);
  });
  breaksOutOnlyWithout("chmod", [&] { return chmod((other + "/file").c_str(), 0666); });
  breaksOutOnlyWithout("times", [&] { return utimes((other + "/file").c_str(), nullptr); });
  breaksOutOnlyWithout("unlink", [&] { return unlink((other + "/file").c_str()); });
}

TEST_F(Sandbox, WritesInside) {
  EXPECT_EQ(inProcess(true,
                      [&] {
                        return opened(granted + "/new", O_WRONLY | O_CREAT | O_EXCL) ||
                               opened(granted + "/file", O_WRONLY | O_TRUNC) ||
                               mkdir((granted + "/made").c_str(), 0700) ||
                               opened(granted + "/made/deep", O_WRONLY | O_CREAT) ||
                               rename((granted + "/new").c_str(), (granted + "/file").c_str()) ||
                               rename((granted + "/made/deep").c_str(), (granted + "/deep").c_str()) ||
                               rmdir((granted + "/made").c_str()) || unlink((granted + "/deep").c_str()) ||
                               opened("/dev/null", O_WRONLY) || opened(other + "/file", O_RDONLY) ||
                               opened("/etc/passwd", O_RDONLY);
                      }),
            0);
}

TEST_F(Sandbox, StartsNothing) {
  breaksOutOnlyWithout("fork", [] {
    const pid_t pid = fork();
    if (pid == 0)
      _exit(0);
    return pid < 0 ? -1 : 0;
  });
  breaksOutOnlyWithout(
      "vfork by clone3",
      [] {
        uint64_t arguments[11] = {};
        arguments[4] = SIGCHLD;
        const long pid = syscall(SYS_clone3, arguments, sizeof(arguments));
        if (pid == 0)
          _exit(0);
        return pid < 0 ? -1 : 0;
      },
      ENOSYS);
  char program[] = "/bin/true", *arguments[] = {program, nullptr};
  breaksOutOnlyWithout("exec", [&] { return execv(program, arguments); });
  // A program that is in memory alone, which no rule for files is about.
  breaksOutOnlyWithout("exec from memory", [&] {
    const int from = open(program, O_RDONLY | O_CLOEXEC), to = memfd_create("program", MFD_CLOEXEC);
    char buffer[4096];
    for (ssize_t n; (n = read(from, buffer, sizeof(buffer))) > 0;)
      (void)!write(to, buffer, n);
    return fexecve(to, arguments, environ);
  });
}

TEST_F(Sandbox, ReachesIntoNoOtherProcess) {
  const pid_t test = getpid();
  int secret = 42, copy = 0;
  iovec local = {&copy, sizeof(copy)}, remote = {&secret, sizeof(secret)};
  breaksOutOnlyWithout("reading memory",
                       [&] { return process_vm_readv(test, &local, 1, &remote, 1, 0) == 4 ? 0 : -1; });
  breaksOutOnlyWithout("memory as a file", [&] { return opened("/proc/" + std::to_string(test) + "/mem", O_RDONLY); });
  breaksOutOnlyWithout("signal", [&] { return kill(test, 0); });
  breaksOutOnlyWithout("signal to a thread", [&] { return syscall(SYS_tgkill, test, test, 0); });
  breaksOutOnlyWithout("trace", [&] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); });
  EXPECT_EQ(inProcess(true, [] { return raise(0) || kill(getpid(), 0); }), 0) << "itself";
}

TEST_F(Sandbox, OfThreadsToo) {
  auto inThread = [&](const std::function<long()> &attempt) {
    return [=] {
      long result = -1;
      int error = 0;
      std::thread([&] {
        result = attempt();
        error = errno;
      }).join();
      errno = error;
      return result;
    };
  };
  breaksOutOnlyWithout("write", inThread([&] { return opened(other + "/file", O_WRONLY); }));
  breaksOutOnlyWithout("chmod", inThread([&] { return chmod((other + "/file").c_str(), 0600); }));
}

TEST_F(Sandbox, CannotBeLeft) {
  EXPECT_EQ(inProcess(true,
                      [&] {
                        if (!enterSandbox({{root, "/"}, {}}).ok())
                          return 1;
                        return opened(other + "/file", O_WRONLY) == 0 ? 2 : 0;
                      }),
            0);
}

// Threads that were there before as well: they are those of the network.
TEST_F(Sandbox, ClosesTheNetworkForAllThreads) {
  EXPECT_EQ(inProcess(true,
                      [&] {
                        int ends[2];
                        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
                          return 1;
                        std::atomic<bool> isClosed = false;
                        int before = -1, after = 0;
                        std::atomic<bool> hasTried = false;
                        std::thread other([&] {
                          before = socket(AF_INET, SOCK_STREAM, 0);
                          hasTried = true;
                          while (!isClosed)
                            std::this_thread::yield();
                          after = socket(AF_INET, SOCK_STREAM, 0);
                        });
                        while (!hasTried)
                          std::this_thread::yield();
                        const bool ok = closeNetwork().ok();
                        isClosed = true;
                        other.join();
                        if (!ok || before < 0 || after >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
                          return 2;
                        return write(ends[0], "x", 1) == 1 ? 0 : 3; // what is open goes on
                      }),
            0);
}

TEST(SandboxSupport, SaysWhatIsMissing) {
  EXPECT_EQ((SandboxSupport{0, false}.missing()), "Landlock and seccomp");
  EXPECT_EQ((SandboxSupport{0, true}.missing()), "Landlock");
  EXPECT_EQ((SandboxSupport{4, false}.missing()), "seccomp");
  EXPECT_TRUE((SandboxSupport{1, true}.isWhole()));
}

} // namespace
