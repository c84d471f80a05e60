// The action ScatterAdd on a fake GPU, where the kernels of the plug-in run on this CPU, against plain loops.
#include "runtime/artifact/GpuSizes.h"
#include "runtime/base/Philox.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "test/unit/artifact/SamplePlan.h"
#include "test/unit/device/cuda/FakeDriver.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>

using namespace dgc::rt;
using namespace dgc::rt::cuda;
using namespace dgc::rt::test;
using namespace dgc::testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

struct Case {
  DType type = DType::F32;
  uint64_t outer = 1, count = 1000, inner = 4, size = 10;
  DType indexType = DType::I32;
  std::optional<int64_t> offset = std::nullopt;
  uint64_t shift = 0; // bytes from an address that is a multiple of 256 to dst, and to the updates
  bool inGraph = false;
};
using Indices = std::vector<int64_t>;
using Numbers = std::vector<double>;

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << nameOf(c.type) << ' ' << c.outer << " x " << c.count << " x " << c.inner << " to " << c.size << ", "
             << nameOf(c.indexType) << ", shift " << c.shift;
}

/// Indices from `first` on, some of which are in the case's slices.
Indices randomIndices(const Case &c, int64_t first, int64_t range, uint64_t seed = 1) {
  Philox philox(seed, 2);
  Indices indices(c.count);
  for (uint64_t j = 0; j < c.count; ++j)
    indices[j] = first + static_cast<int64_t>(philox.uniformF32(j) * static_cast<float>(range));
  return indices;
}

/// Whole numbers, whose sums are exact; or any, whose sums depend on the order.
Numbers numbers(const Case &c, bool areWhole = true) {
  Philox philox(3, 4);
  Numbers values(c.outer * c.count * c.inner);
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = 2 * philox.uniformF32(i) - 1;
    values[i] = areWhole ? std::floor(value * 100) : static_cast<double>(value);
  }
  return values;
}

Numbers expected(const Case &c, const Indices &indices, const Numbers &updates) {
  std::vector<long double> sums(c.outer * c.size * c.inner);
  for (uint64_t o = 0; o < c.outer; ++o)
    for (uint64_t j = 0; j < c.count; ++j) {
      const int64_t slice = indices[j] - c.offset.value_or(0);
      for (uint64_t i = 0; i < c.inner && slice >= 0 && slice < static_cast<int64_t>(c.size); ++i)
        sums[(o * c.size + static_cast<uint64_t>(slice)) * c.inner + i] +=
            static_cast<long double>(updates[(o * c.count + j) * c.inner + i]);
    }
  return {sums.begin(), sums.end()};
}

std::unique_ptr<Artifact> emptyPlan() {
  fb::PlanT plan;
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cuda";
  plan.world_size = 1;
  auto artifact = loadBytes(*finishPlan(std::move(plan)));
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  return *std::move(artifact);
}

/// Memory of the arena.
struct Room {
  uint64_t begin, bytes;
};

/// The action alone, on a device of its own.
class OnFakeGpu {
public:
  OnFakeGpu(const Case &c, const Indices &indices, const Numbers &updates) : c(c) {
    const Room parts[] = {take(c.outer * c.size * c.inner * sizeOf(c.type), c.shift),
                          take(updates.size() * sizeOf(c.type), c.shift), take(c.count * sizeOf(c.indexType), 0),
                          take(8, 0)};
    dst = parts[0];
    arena.resize(next, std::byte{0x6b});
    for (size_t i = 0; i < updates.size(); ++i)
      storeElement(c.type, arena.data() + parts[1].begin, static_cast<int64_t>(i), updates[i]);
    visit(c.indexType, [&](auto element) {
      using Stored = decltype(element)::Stored;
      for (size_t j = 0; j < indices.size(); ++j) {
        const auto index = static_cast<Stored>(indices[j]);
        std::memcpy(arena.data() + parts[2].begin + j * sizeof index, &index, sizeof index);
      }
    });
    const int64_t first = c.offset.value_or(0);
    std::memcpy(arena.data() + parts[3].begin, &first, sizeof first);
    const auto extent = [](uint64_t value) { return static_cast<int64_t>(value); };
    operands = {{nullptr, c.indexType, {extent(c.count)}},
                {nullptr, c.type, {extent(c.outer), extent(c.count), extent(c.inner)}},
                {nullptr, c.type, {extent(c.outer), extent(c.size), extent(c.inner)}},
                {nullptr, DType::I64, {}}};
    places = {parts[2].begin, parts[1].begin, parts[0].begin, parts[3].begin};
  }

  absl::Status on(int failAt = -1, bool backwards = false) {
    auto driver = std::make_unique<FakeDriver>(log);
    driver->runsBackwards = backwards;
    driver->failAt(failAt);
    DGC_ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device, CudaDevice::create(*plan, std::move(driver), {}));
    DeviceMemory &memory = *device->memory();
    DGC_ASSIGN_OR_RETURN(void *base, memory.allocateArena(arena.size()));
    for (size_t i = 0; i < operands.size(); ++i)
      operands[i].data = static_cast<std::byte *>(base) + places[i];
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::CreateScatterAdd(builder, 0, 1, 2, c.offset ? 3 : -1, c.outer, c.count, c.inner, c.size));
    DGC_ASSIGN_OR_RETURN(std::unique_ptr<PreparedOp> op,
                         device->prepare(*flatbuffers::GetRoot<fb::ScatterAdd>(builder.GetBufferPointer()), operands));
    DGC_RETURN_IF_ERROR(device->finish());
    workspaceBytes = device->scratchBytes();
    DGC_RETURN_IF_ERROR(memory.upload(base, arena));
    result.resize(arena.size());
    if (!c.inGraph) {
      DGC_RETURN_IF_ERROR(op->run({}));
      return memory.download(result, base);
    }
    ProgramParts parts;
    parts.name = "main";
    parts.segments = {{{op.get()}}};
    DGC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceProgram> program, memory.record(parts));
    for (int run = 0; run < 2; ++run) {
      DGC_RETURN_IF_ERROR(program->begin());
      DGC_RETURN_IF_ERROR(program->launch(0));
      DGC_RETURN_IF_ERROR(program->submit());
      DGC_RETURN_IF_ERROR(program->collect());
    }
    return memory.download(result, base);
  }

  Numbers values() const {
    Numbers values(c.outer * c.size * c.inner);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = loadElement(c.type, result.data() + dst.begin, static_cast<int64_t>(i));
    return values;
  }
  /// Whether all but dst is as it was.
  bool leavesTheRest() const {
    const size_t end = dst.begin + dst.bytes;
    return std::equal(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(dst.begin), arena.begin()) &&
           std::equal(result.begin() + static_cast<std::ptrdiff_t>(end), result.end(),
                      arena.begin() + static_cast<std::ptrdiff_t>(end));
  }

  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  std::vector<std::byte> result;
  size_t workspaceBytes = 0;

private:
  Room take(uint64_t bytes, uint64_t shift) {
    Room room{next + shift, bytes};
    next = (room.begin + bytes + 255) / 256 * 256;
    return room;
  }

  Case c;
  std::unique_ptr<Artifact> plan = emptyPlan();
  uint64_t next = 0;
  Room dst{};
  std::vector<std::byte> arena;
  std::vector<Operand> operands;
  std::vector<uint64_t> places;
};

/// Sums of whole numbers are exact.
void expectExact(const Case &c, const Indices &indices) {
  SCOPED_TRACE(::testing::Message() << c);
  const Numbers updates = numbers(c);
  OnFakeGpu run(c, indices, updates);
  absl::Status status = run.on();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(run.values(), expected(c, indices, updates));
  EXPECT_TRUE(run.leavesTheRest());
  EXPECT_THAT(run.log->violations, IsEmpty());
  EXPECT_EQ(run.log->allocatedBytes, 0u);
}

/// Some of the indices are in no slice.
void expectExact(const Case &c) {
  const auto size = static_cast<int64_t>(c.size);
  expectExact(c, randomIndices(c, c.offset.value_or(0) - size / 3 - 1, 2 * size + 2));
}

TEST(ScatterAdd, AllSizes) {
  for (DType type : {DType::F32, DType::F64})
    for (uint64_t count : {1, 63, 64, 65, 1023, 1024, 1025, 5000})
      for (uint64_t size : {1, 10, 300})
        for (uint64_t inner : {1, 3, 4, 10})
          for (uint64_t outer : {1, 3})
            expectExact({type, outer, count, inner, size});
}

TEST(ScatterAdd, WideSlices) {
  for (DType type : {DType::F32, DType::F64})
    for (uint64_t inner : {130, 767, 768})
      expectExact({type, 2, 1025, inner, 20});
}

TEST(ScatterAdd, ManySlices) {
  for (uint64_t size : {15, 16, 255, 256, 4095, 4096, 70'000, 1'100'000})
    for (uint64_t inner : {1, 4})
      expectExact({DType::F32, 1, 5000, inner, size});
}

TEST(ScatterAdd, NoUpdates) {
  for (DType type : {DType::F32, DType::F64})
    expectExact({type, 2, 0, 3, 10});
}

TEST(ScatterAdd, AddressesThatAreNotAligned) {
  for (uint64_t shift : {4, 8})
    expectExact({.inner = 8, .shift = shift});
  expectExact({.type = DType::F64, .inner = 8, .shift = 8});
}

TEST(ScatterAdd, AllTypesOfIndices) {
  for (DType type : {DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64})
    for (std::optional<int64_t> offset :
         {std::optional<int64_t>(), std::optional<int64_t>(40), std::optional<int64_t>(-3)}) {
      Case c{.count = 2000, .size = 50, .indexType = type, .offset = offset};
      const bool isSigned =
          visit(type, [](auto element) { return std::is_signed_v<typename decltype(element)::Stored>; });
      expectExact(c, randomIndices(c, isSigned ? -20 : 0, 140));
    }
}

// What is far from all slices, whose low bits are those of an index that is in one.
TEST(ScatterAdd, LargeIndices) {
  const Case c{.count = 6, .size = 50, .indexType = DType::I64};
  expectExact(c, {(int64_t{1} << 32) + 3, 3, INT64_MIN + 3, INT64_MAX, -1, 49});
}

// One slice has all updates, or all but those in front and behind.
TEST(ScatterAdd, LongRuns) {
  for (uint64_t count : {64, 128, 129, 10'000})
    for (uint64_t inner : {1, 4, 136}) {
      Case c{.outer = 2, .count = count, .inner = inner, .size = 40};
      Indices indices(count, 7);
      expectExact(c, indices);
      for (uint64_t j = 0; j < count; j += 3)
        indices[j] = j % 2 ? 3 : 20;
      expectExact(c, indices);
    }
}

TEST(ScatterAdd, RunsThatBeginAndEndAtChunks) {
  for (uint64_t before : {63, 64, 65})
    for (uint64_t run : {63, 64, 65, 127, 128, 129}) {
      Case c{.count = 400, .inner = 3, .size = 3};
      Indices indices(c.count, 2);
      std::fill_n(indices.begin(), before, 0);
      std::fill_n(indices.begin() + static_cast<std::ptrdiff_t>(before), run, 1);
      std::reverse(indices.begin(), indices.end());
      expectExact(c, indices);
    }
}

// The same bits each time, whichever threads are first, and in a graph.
TEST(ScatterAdd, TheSameBits) {
  for (DType type : {DType::F32, DType::F64})
    for (uint64_t inner : {3, 40}) {
      Case c{type, 2, 5000, inner, 60};
      Indices indices = randomIndices(c, -5, 80);
      std::fill_n(indices.begin() + 1000, 2000, 30);
      const Numbers updates = numbers(c, /*areWhole=*/false);
      OnFakeGpu first(c, indices, updates), second(c, indices, updates), backwards(c, indices, updates);
      ASSERT_TRUE(first.on().ok());
      ASSERT_TRUE(second.on().ok());
      ASSERT_TRUE(backwards.on(-1, true).ok());
      EXPECT_EQ(first.result, second.result);
      EXPECT_EQ(first.result, backwards.result);
      c.inGraph = true;
      OnFakeGpu graph(c, indices, updates);
      absl::Status status = graph.on();
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(first.result, graph.result);
      EXPECT_THAT(graph.log->violations, IsEmpty());
      indices[17] = indices[17] == 1 ? 2 : 1;
      OnFakeGpu other(c, indices, updates);
      ASSERT_TRUE(other.on().ok());
      EXPECT_NE(first.result, other.result);
    }
}

// Within 4 log2 n units in the last place, for terms that are equal, too.
TEST(ScatterAdd, ErrorsOfLongSums) {
  for (bool areEqual : {true, false})
    for (uint64_t inner : {1, 4}) {
      Case c{.count = 100'000, .inner = inner, .size = 3};
      Indices indices(c.count, 1);
      Numbers updates = numbers(c, /*areWhole=*/false);
      for (double &value : updates)
        value = areEqual ? static_cast<double>(0.1F) : std::abs(value);
      OnFakeGpu run(c, indices, updates);
      ASSERT_TRUE(run.on().ok());
      const Numbers exact = expected(c, indices, updates), actual = run.values();
      for (size_t i = 0; i < exact.size(); ++i)
        EXPECT_LE(std::abs(actual[i] - exact[i]), 4 * std::log2(100'000) * 0x1p-24 * exact[i]);
    }
}

// What a step of GPT-2 launches for the gradient of its embedding: four passes for indices of 16 bits.
TEST(ScatterAdd, LaunchesAndMemory) {
  Case c{.count = 16384, .inner = 4, .size = 50257};
  OnFakeGpu run(c, randomIndices(c, 0, 50257), numbers(c));
  ASSERT_TRUE(run.on().ok());
  EXPECT_EQ(run.log->launches, 1 + 4 * 3 + 2);
  EXPECT_EQ(run.workspaceBytes, gpu::scatterWorkspaceBytes(16384, 16));
  EXPECT_EQ(run.workspaceBytes, 4 * 65536 + 1024 + 2 * 256 * 16u);
  EXPECT_EQ(gpu::scatterWorkspaceBytes(16384, 768 * 4), 1'836'032u);
}

TEST(ScatterAdd, TooManyAreRefused) {
  for (bool ofUpdates : {true, false}) {
    const uint64_t most = uint64_t{1} << 32, count = ofUpdates ? most : 5, size = ofUpdates ? 5 : most;
    const std::unique_ptr<Artifact> plan = emptyPlan();
    auto device = CudaDevice::create(*plan, std::make_unique<FakeDriver>(std::make_shared<FakeLog>()), {});
    ASSERT_TRUE(device.ok()) << device.status();
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::CreateScatterAdd(builder, 0, 1, 2, -1, 1, count, 1, size));
    auto op = (*device)->prepare(*flatbuffers::GetRoot<fb::ScatterAdd>(builder.GetBufferPointer()), {});
    EXPECT_THAT(std::string(op.status().message()), HasSubstr("on GPUs both must be fewer than 2^32"));
  }
}

// Each call of the driver fails once: its error is told, nothing is used after it and nothing is left.
TEST(ScatterAdd, EveryErrorIsTold) {
  for (bool inGraph : {false, true}) {
    Case c{.count = 200, .inGraph = inGraph};
    const Indices indices = randomIndices(c, 0, 10);
    for (int failAt = 0;; ++failAt) {
      OnFakeGpu run(c, indices, numbers(c));
      absl::Status status = run.on(failAt);
      EXPECT_THAT(run.log->violations, IsEmpty()) << failAt;
      EXPECT_EQ(run.log->allocatedBytes, 0u) << failAt;
      if (status.ok()) {
        EXPECT_GT(failAt, 20);
        break;
      }
      EXPECT_THAT(std::string(status.message()), HasSubstr("CUDA_ERROR_LAUNCH_FAILED")) << failAt;
    }
  }
}
} // namespace
