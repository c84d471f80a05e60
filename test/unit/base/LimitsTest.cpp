// Limits of the system: each is met in a process of its own, which says what it met and ends as dgc-run does.
#include "runtime/base/Limits.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace dgc::rt;
using testing::HasSubstr;

static void limit(__rlimit_resource resource, rlim_t value) {
  rlimit both{value, value};
  ASSERT_EQ(setrlimit(resource, &both), 0);
}

/// Ends this process as dgc-run does with a status.
[[noreturn]] static void end(const absl::Status &status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::_Exit(static_cast<int>(exitCodeOf(status)));
}

static auto withMachineCode() { return testing::ExitedWithCode(static_cast<int>(ExitCode::Machine)); }

TEST(LimitsDeathTest, TheNumberOfOpenFilesIsNamed) {
  EXPECT_EXIT(
      {
        limit(RLIMIT_NOFILE, 16);
        end(checkResources({.files = 64}));
      },
      withMachineCode(), "cannot open the 64 files that this takes: .*; the limit on open files \\(ulimit -n\\) is 16");
  EXPECT_EXIT(
      {
        limit(RLIMIT_NOFILE, 3);
        end(withExitCode(readFile(realDisk(), "/dev/null").status(), ExitCode::BadData));
      },
      withMachineCode(), "cannot open /dev/null: .*\\(ulimit -n\\) is 3");
}

TEST(LimitsDeathTest, ALimitThatIsNamedIsRemembered) {
  EXPECT_EXIT(
      {
        limit(RLIMIT_NOFILE, 16);
        limitBehind(ENOENT);
        const bool early = isLimitNamed();
        limitBehind(EMFILE);
        std::_Exit(!early && isLimitNamed() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(LimitsDeathTest, AFileThatIsTooLargeIsAnErrorAndNothingIsLeft) {
  std::string folder = testing::TempDir() + "dgc-limits-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  EXPECT_EXIT(
      {
        prepareForLimits("test");
        limit(RLIMIT_FSIZE, 1024);
        end(writeFileAtomically(realDisk(), folder + "/x", std::string(5000, 'x')));
      },
      withMachineCode(), "cannot write .*/x: File too large; the limit on the size of files \\(ulimit -f\\) is 1 kB");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) // which take terabytes of address space
TEST(LimitsDeathTest, MemoryThatRunsOutIsAnErrorOnThreadsThatUnwind) {
  auto takeTooMuch = [] {
    static const char *volatile taken; // so that the compiler does not leave the allocation away
    std::vector<char> much(std::size_t{4} << 30);
    taken = much.data();
    return taken != nullptr;
  };
  EXPECT_EXIT(
      {
        prepareForLimits("test");
        limit(RLIMIT_AS, rlim_t{1} << 30);
        end(catchExhaustion([&] { return takeTooMuch() ? absl::OkStatus() : absl::InternalError("none"); }));
      },
      withMachineCode(), "out of memory; the limit on the address space \\(ulimit -v\\) is 1048576 kB");
  EXPECT_EXIT(
      {
        prepareForLimits("test");
        limit(RLIMIT_AS, rlim_t{1} << 30);
        std::thread([&] { takeTooMuch(); }).join();
      },
      withMachineCode(), "test: error: out of memory; the limit on the address space \\(ulimit -v\\) is 1048576 kB");
  EXPECT_EXIT(
      {
        limit(RLIMIT_AS, rlim_t{1} << 30);
        end(checkResources({.addressSpace = uint64_t{2} << 30}));
      },
      withMachineCode(), "cannot map the 2048 MiB that this takes: .*\\(ulimit -v\\) is 1048576 kB");
  EXPECT_EXIT(
      {
        limit(RLIMIT_AS, rlim_t{1} << 30);
        end(checkResources({.threads = 1000})); // no room for their stacks
      },
      withMachineCode(), "cannot start the 1000 threads that this takes: .*\\(ulimit -v\\) is 1048576 kB");
}
#endif

TEST(Limits, ExceptionsBecomeErrors) {
  absl::Status memory = catchExhaustion([]() -> absl::Status { throw std::bad_alloc(); });
  EXPECT_EQ(exitCodeOf(memory), ExitCode::Machine);
  absl::StatusOr<int> thread = catchExhaustion(
      []() -> absl::StatusOr<int> { throw std::system_error(EAGAIN, std::generic_category(), "thread"); });
  EXPECT_EQ(exitCodeOf(thread.status()), ExitCode::Machine);
  EXPECT_THAT(std::string(thread.status().message()), HasSubstr("cannot start a thread: Resource temporarily"));
  EXPECT_EQ(*catchExhaustion([]() -> absl::StatusOr<int> { return 7; }), 7);
}

TEST(Limits, OtherErrorsHaveNoLimitBehindThem) {
  EXPECT_EQ(limitBehind(ENOENT), "");
  EXPECT_EQ(exitCodeOf(errnoStatus(ENOENT, "x")), ExitCode::Internal);
  EXPECT_TRUE(checkResources({.files = 8, .threads = 8, .addressSpace = 1 << 20}).ok());
}
