// What is said when the driver of NVIDIA is not as it should be: each is one line with what was found and what is
// needed.
#include "runtime/base/ExitCode.h"
#include "runtime/device/cuda/DeviceUse.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/Library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace dgc::rt;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

std::string errorOf(const char *mode) {
  setenv("FAKE_CUDA", mode, 1);
  auto driver = cuda::openDriver(0);
  unsetenv("FAKE_CUDA");
  if (driver.ok())
    return "";
  EXPECT_EQ(exitCodeOf(driver.status()), ExitCode::Machine);
  EXPECT_THAT(std::string(driver.status().message()), Not(HasSubstr("\n")));
  return std::string(driver.status().message());
}

TEST(RealDriver, OpensWhatIsThere) {
  auto driver = cuda::openDriver(0);
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ((*driver)->gpu().name, "Test GPU");
  EXPECT_EQ((*driver)->gpu().major, 8);
  EXPECT_EQ((*driver)->gpu().minor, 6);
}

TEST(RealDriver, SaysWhatIsMissing) {
  EXPECT_THAT(errorOf("old"), AllOf(HasSubstr("is for CUDA 11.4"), HasSubstr("CUDA 12.0 is needed")));
  EXPECT_THAT(errorOf("no GPU"), HasSubstr("the driver finds none"));
  EXPECT_THAT(errorOf("zero GPUs"), HasSubstr("the driver finds none"));
  EXPECT_THAT(errorOf("busy"), HasSubstr("busy or unavailable (CUDA_ERROR_DEVICE_UNAVAILABLE)"));
}

TEST(RealDriver, WorkersShareGpus) {
  EXPECT_EQ(cuda::countGpus(), 1);
  EXPECT_EQ((*cuda::openDriver(3))->gpu().name, "Test GPU");
  setenv("FAKE_CUDA", "two GPUs", 1);
  EXPECT_EQ(cuda::countGpus(), 2);
  EXPECT_EQ((*cuda::openDriver(3))->gpu().name, "Second GPU");
  EXPECT_EQ((*cuda::openDriver(4))->gpu().name, "Test GPU");
  unsetenv("FAKE_CUDA");
}

TEST(RealDriver, ReachesOtherGpus) {
  setenv("FAKE_CUDA", "two GPUs", 1);
  auto driver = *cuda::openDriver(0), other = *cuda::openDriver(1);
  EXPECT_NE(driver->gpu().id, other->gpu().id);
  EXPECT_TRUE(*driver->reaches(driver->gpu().id, true));
  EXPECT_TRUE(*driver->reaches(other->gpu().id, true));
  EXPECT_TRUE(*driver->reaches(other->gpu().id, false));
  EXPECT_FALSE(*driver->reaches(cuda::GpuId{9}, true)); // of another host
  unsetenv("FAKE_CUDA");
  EXPECT_FALSE(*driver->reaches(other->gpu().id, true)); // not visible here
}

TEST(RealDriver, OpensMemoryOfOthers) {
  auto driver = *cuda::openDriver(0);
  auto handle = driver->share(0x1234);
  ASSERT_TRUE(handle.ok()) << handle.status();
  EXPECT_EQ(*driver->openShared(*handle), 0x1234u);
  driver->closeShared(0x1234);
  setenv("FAKE_CUDA", "no IPC", 1);
  EXPECT_THAT(std::string(driver->share(0x1234).status().message()), HasSubstr("cuIpcGetMemHandle: "));
  unsetenv("FAKE_CUDA");
}

TEST(RealDriver, AsksWhetherAStreamIsDone) {
  auto driver = *cuda::openDriver(0);
  EXPECT_FALSE(*driver->isDone(nullptr));
  EXPECT_TRUE(*driver->isDone(reinterpret_cast<void *>(1)));
  EXPECT_FALSE(driver->isDone(reinterpret_cast<void *>(2)).ok());
}

TEST(RealDriver, SaysHowMuchMemoryIsTaken) {
  setenv("FAKE_NVML_USED", "1000", 1);
  auto driver = cuda::openDriver(0);
  ASSERT_TRUE(driver.ok()) << driver.status();
  setenv("FAKE_NVML_USED", "1700", 1);
  EXPECT_EQ(*(*driver)->bytesInUse(), 700u); // since it was opened
  setenv("FAKE_NVML_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(*(*driver)->bytesInUse(), 123u);
  unsetenv("FAKE_NVML_USED");
  unsetenv("FAKE_NVML_PID");
}

TEST(RealDriver, SaysWhatIsFreeAndTheClocks) {
  auto driver = cuda::openDriver(0);
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ((*driver)->gpu().driverVersion, 13000);
  auto use = cuda::DeviceUse::open((*driver)->gpu().busId);
  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_EQ((*use)->describe(), "1024 MiB free, SM at 345 of 1980 MHz, memory at 2619 of 3201 MHz");
  EXPECT_EQ((*use)->driverVersion(), "580.12.34");
}

TEST(Library, TheFoldersOfTheUserComeFirst) {
  const std::string root = ::testing::TempDir() + "/packages";
  std::filesystem::create_directories(root + "/nvidia/cudnn/lib");
  setenv("DGC_CUDA_LIBS", ("/some/folder:" + root).c_str(), 1);
  std::vector<std::string> folders = cuda::libraryFolders();
  unsetenv("DGC_CUDA_LIBS");
  std::filesystem::remove_all(root);
  ASSERT_GE(folders.size(), 4u);
  EXPECT_EQ(folders[0], "/some/folder");
  EXPECT_EQ(folders[1], root);
  EXPECT_EQ(folders[2], root + "/nvidia/cudnn/lib");
  EXPECT_EQ(folders[3], ""); // the loader's own
}

/// A folder with a cuDNN of this version.
void putCudnn(const std::string &folder, const std::string &version) {
  const std::string from = DGC_FAKE_CUDNN;
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(from + "/libcudnn.so.9", folder + "/libcudnn.so.9");
  std::filesystem::copy_file(from + "/" + version + "/libcudnn_graph.so.9", folder + "/libcudnn_graph.so.9");
}

/// What findCudnn() takes where a toolkit has an older one than a wheel.
absl::StatusOr<cuda::Library> findCudnnOf(const std::string &root, const std::string &named) {
  setenv("CUDA_PATH", root.c_str(), 1);
  setenv("VIRTUAL_ENV", (root + "/environment").c_str(), 1);
  if (!named.empty())
    setenv("DGC_CUDA_LIBS", named.c_str(), 1);
  absl::StatusOr<cuda::Library> found = cuda::findCudnn();
  for (const char *name : {"CUDA_PATH", "VIRTUAL_ENV", "DGC_CUDA_LIBS"})
    unsetenv(name);
  return found;
}

TEST(Library, TheNewestCudnnIsTakenUnlessOneIsNamed) {
  const std::string root = ::testing::TempDir() + "/cudnn";
  std::filesystem::remove_all(root);
  const std::string wheel = root + "/environment/lib/python3.12/site-packages/nvidia/cudnn/lib";
  putCudnn(root + "/lib64", "991400");
  putCudnn(wheel, "991900");
  absl::StatusOr<cuda::Library> found = findCudnnOf(root, "");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->path, wheel + "/libcudnn.so.9");
  EXPECT_EQ(reinterpret_cast<size_t (*)()>(found->find("cudnnGetVersion"))(), 991900u);

  found = findCudnnOf(root, "/nothing:" + root + "/lib64");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->path, root + "/lib64/libcudnn.so.9");
  std::filesystem::remove_all(root);
}

TEST(Library, WheelsOfThePythonOnThePathAreFound) {
  std::string root = ::testing::TempDir() + "/environment";
  std::string folder = root + "/lib/python3.12/site-packages/nvidia/cublas/lib";
  std::filesystem::create_directories(folder);
  std::filesystem::create_directories(root + "/bin");
  const std::string path = std::getenv("PATH");
  auto isFound = [&] {
    setenv("PATH", (root + "/bin:" + path).c_str(), 1);
    std::vector<std::string> folders = cuda::libraryFolders();
    setenv("PATH", path.c_str(), 1);
    return std::ranges::find(folders, folder) != folders.end();
  };
  EXPECT_FALSE(isFound()); // there is no python3
  std::filesystem::create_symlink("/bin/sh", root + "/bin/python3");
  EXPECT_TRUE(isFound());
  std::filesystem::remove_all(root);
}

TEST(Library, WhatIsNotThereIsNamed) {
  auto library = cuda::findLibrary("cuNothing", {"libcunothing.so.9", "libcunothing.so.8"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(exitCodeOf(library.status()), ExitCode::Machine);
  EXPECT_THAT(
      std::string(library.status().message()),
      AllOf(HasSubstr("cuNothing was not found (libcunothing.so.9, libcunothing.so.8)"), HasSubstr("--cuda-libs DIR")));
}

} // namespace
