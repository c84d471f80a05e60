// What the CUDA device copies and fills outside of programs, on a driver that finds missing waits.
#include "runtime/artifact/GpuSizes.h"
#include "test/unit/device/cuda/BareDevice.h"

#include "gtest/gtest.h"

#include <functional>

using namespace dgc::rt;
using namespace dgc::rt::cuda;
using namespace dgc::testing;

namespace {
constexpr size_t kHalf = gpu::transferBytes / 2;

std::vector<std::byte> someBytes(size_t count, unsigned seed) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((i * 2654435761U + i / kHalf * 77 + seed) >> 8);
  return bytes;
}

/// A device with an arena of so many bytes.
class CudaMemory : public ::testing::Test {
protected:
  void open(size_t bytes) {
    close();
    log = std::make_shared<FakeLog>();
    device = *bareDevice(*artifact, log, [this](FakeDriver &made) { driver = &made; });
    arena = static_cast<std::byte *>(*device->memory()->allocateArena(bytes));
  }
  /// Nothing was wrong.
  void close() {
    device.reset();
    if (log)
      EXPECT_EQ(log->violations, std::vector<std::string>());
  }
  void TearDown() override { close(); }

  std::unique_ptr<Artifact> artifact = barePlan();
  std::shared_ptr<FakeLog> log;
  std::unique_ptr<Device> device;
  FakeDriver *driver = nullptr;
  std::byte *arena = nullptr;
};

TEST_F(CudaMemory, CopiesAreWhole) {
  for (size_t bytes :
       {size_t{0}, size_t{1}, kHalf - 1, kHalf, kHalf + 1, 2 * kHalf, 2 * kHalf + 3, 3 * kHalf + 5, 5 * kHalf}) {
    SCOPED_TRACE(bytes);
    open(bytes + 128);
    const std::vector<std::byte> from = someBytes(bytes, 1), zeros(64);
    ASSERT_TRUE(device->memory()->upload(arena + 64, from).ok());
    std::vector<std::byte> to(bytes), around(64);
    ASSERT_TRUE(device->memory()->download(to, arena + 64).ok());
    EXPECT_EQ(to, from);
    for (std::byte *edge : {arena, arena + 64 + bytes}) {
      ASSERT_TRUE(device->memory()->download(around, edge).ok());
      EXPECT_EQ(around, zeros);
    }
  }
}

TEST_F(CudaMemory, PiecesAreWrittenInOrder) {
  const size_t bytes = 3 * kHalf + 40;
  open(bytes);
  const std::vector<std::byte> from = someBytes(bytes, 2);
  uint64_t next = 0;
  ASSERT_TRUE(device->memory()
                  ->upload(arena, bytes,
                           [&](uint64_t offset, std::span<std::byte> piece) {
                             EXPECT_EQ(offset, next);
                             EXPECT_EQ(piece.size() % 8, 0U);
                             next += piece.size();
                             std::memcpy(piece.data(), from.data() + offset, piece.size());
                           })
                  .ok());
  EXPECT_EQ(next, bytes);
  std::vector<std::byte> to(bytes);
  ASSERT_TRUE(device->memory()->download(to, arena).ok());
  EXPECT_EQ(to, from);
  EXPECT_EQ(log->mostPinnedBytes, gpu::transferBytes); // plans count no more
}

// A piece is written while the one before is copied, and taken while the next one is.
TEST_F(CudaMemory, CopiesOverlapWithTheHost) {
  open(5 * kHalf);
  std::vector<std::byte> bytes(5 * kHalf);
  for (bool isUp : {true, false}) {
    log->calls.clear();
    ASSERT_TRUE((isUp ? device->memory()->upload(arena, bytes) : device->memory()->download(bytes, arena)).ok());
    const std::string copy = isUp ? "copy to device" : "copy to host", wait = "await";
    std::vector<std::string> calls = {copy, copy, wait, copy, wait, copy, wait, copy};
    if (!isUp)
      calls.push_back(wait); // the last piece is waited for with the stream
    EXPECT_EQ(log->calls, calls);
  }
}

// Each wait of the host taken away is found: by values that are wrong, or by the driver.
TEST_F(CudaMemory, EachWaitIsNeeded) {
  const size_t bytes = 5 * kHalf;
  const std::vector<std::byte> first = someBytes(bytes, 3), second = someBytes(100, 4);
  std::vector<std::byte> back(bytes), backOfSecond(100);
  auto run = [&](int forgotten) {
    open(bytes + 100);
    driver->forgetWait(forgotten);
    DeviceMemory &memory = *device->memory();
    ASSERT_TRUE(memory.upload(arena, first).ok());
    ASSERT_TRUE(memory.upload(arena + bytes, second).ok());
    ASSERT_TRUE(memory.download(back, arena).ok());
    ASSERT_TRUE(memory.download(backOfSecond, arena + bytes).ok());
  };
  auto isFound = [&] {
    bool found = back != first || backOfSecond != second || !log->violations.empty();
    log->violations.clear();
    return found;
  };
  ASSERT_NO_FATAL_FAILURE(run(-1));
  EXPECT_FALSE(isFound());
  // Three of five pieces and the end, the small one, five pieces, the small one. What the second upload leaves is waited
  // for by the copy that follows on the same stream.
  for (int wait : {0, 1, 2, 3, 5, 6, 7, 8, 9, 10}) {
    ASSERT_NO_FATAL_FAILURE(run(wait));
    EXPECT_TRUE(isFound()) << "wait " << wait;
  }
}

// Other streams, and other GPUs, need not wait for what is copied or filled.
TEST_F(CudaMemory, ReturnsWhenItIsDone) {
  const std::vector<std::byte> from = someBytes(100, 6);
  const std::function<absl::Status(DeviceMemory &)> actions[] = {
      [&](DeviceMemory &memory) { return memory.upload(arena, from); },
      [&](DeviceMemory &memory) { return memory.fill(arena, DType::F32, 1.5, 25); },
      [&](DeviceMemory &memory) { return memory.fill(arena, DType::F64, 1.5, 12); }};
  for (const auto &action : actions)
    for (bool waits : {true, false}) {
      open(200);
      ASSERT_TRUE(action(*device->memory()).ok()); // ends what made the arena
      driver->forgetWait(waits ? -1 : 0);
      ASSERT_TRUE(action(*device->memory()).ok());
      auto other = driver->createStream();
      ASSERT_TRUE(driver->copy(addressOf(arena + 100), addressOf(arena), 100, *other).ok());
      ASSERT_TRUE(driver->synchronize(*other).ok());
      driver->destroyStream(*other);
      EXPECT_EQ(log->violations.empty(), waits);
      log->violations.clear();
    }
}

TEST_F(CudaMemory, NothingIsCalledAfterAnError) {
  const std::vector<std::byte> from = someBytes(4 * kHalf, 5);
  std::vector<std::byte> to(from.size());
  const std::function<absl::Status(DeviceMemory &)> actions[] = {
      [&](DeviceMemory &memory) { return memory.upload(arena, from); },
      [&](DeviceMemory &memory) { return memory.download(to, arena); },
      [&](DeviceMemory &memory) { return memory.fill(arena, DType::F32, 1.5, 100); },
      [&](DeviceMemory &memory) { return memory.fill(arena, DType::F64, 1.5, kHalf / 2); }};
  for (const auto &action : actions) {
    int call = 0;
    for (;; ++call) {
      open(from.size());
      driver->failAt(call);
      if (action(*device->memory()).ok())
        break;
    }
    EXPECT_GE(call, 2);
  }
}

TEST_F(CudaMemory, FillsElementsOfEachType) {
  for (int type = 0; type < numDTypes; ++type)
    for (double value : {0.0, 1.0, -0.0, -3.0, 0.1}) {
      const auto dtype = static_cast<DType>(type);
      SCOPED_TRACE(std::string(nameOf(dtype)) + " " + std::to_string(value));
      constexpr size_t count = 37;
      const size_t size = sizeOf(dtype);
      open(count * size + 128);
      std::vector<std::byte> expected(count * size + 128);
      for (size_t i = 0; i < count; ++i)
        storeElement(dtype, expected.data() + 64, static_cast<int64_t>(i), value);
      ASSERT_TRUE(device->memory()->fill(arena + 64, dtype, value, count).ok());
      ASSERT_TRUE(device->memory()->fill(arena + 64, dtype, 1, 0).ok());
      std::vector<std::byte> actual(expected.size());
      ASSERT_TRUE(device->memory()->download(actual, arena).ok());
      EXPECT_EQ(actual, expected);
    }
}

// Large ones are nothing that the host writes, but for f64 that has two halves.
TEST_F(CudaMemory, LargeFillsAreOneCall) {
  open(4 * kHalf);
  log->calls.clear();
  ASSERT_TRUE(device->memory()->fill(arena, DType::F32, 0.25, kHalf).ok());
  EXPECT_EQ(log->calls, std::vector<std::string>{"fill"});
  ASSERT_TRUE(device->memory()->fill(arena, DType::F64, 0.1, kHalf / 2).ok());
  std::vector<double> actual(kHalf / 2);
  ASSERT_TRUE(device->memory()->download(std::as_writable_bytes(std::span(actual)), arena).ok());
  EXPECT_EQ(actual, std::vector<double>(kHalf / 2, 0.1));
}
} // namespace
