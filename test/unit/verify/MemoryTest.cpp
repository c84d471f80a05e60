// What the bytes of an arena hold.
#include "runtime/verify/Memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace dgc;
using namespace dgc::verify;
using reference::Type;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
TensorRef integers(const std::vector<int64_t> &values, Type type = Type::I32) {
  auto tensor = std::make_shared<Tensor>(type, values.size());
  tensor->i.assign(values.begin(), values.end());
  return tensor;
}

class MemoryTest : public testing::Test {
protected:
  std::string error(uint64_t offset, Type type, size_t count, uint64_t run = 1) {
    absl::StatusOr<TensorRef> value = memory.read(offset, type, count, run);
    return value.ok() ? "read" : std::string(value.status().message());
  }
  Elements<int64_t> values(uint64_t offset, size_t count, uint64_t run = 1) {
    absl::StatusOr<TensorRef> value = memory.read(offset, Type::I32, count, run);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? (*value)->i : Elements<int64_t>();
  }
  Memory memory;
};
} // namespace

TEST_F(MemoryTest, GivesWhatWasWritten) {
  const TensorRef three = integers({1, 2, 3});
  memory.write(64, three, 0, 3, {1, 5});
  EXPECT_EQ(*memory.read(64, Type::I32, 3, 1), three); // the tensor itself
  EXPECT_THAT(values(68, 2), ElementsAre(2, 3));
  EXPECT_EQ(memory.writerOf(75), (Writer{1, 5}));
  EXPECT_EQ(memory.writerOf(76), std::nullopt);
}

TEST_F(MemoryTest, JoinsWhatSeveralWrote) {
  memory.write(0, integers({1, 2, 3, 4}), 0, 4, {1, 0});
  memory.write(4, integers({9, 8, 7}), 1, 2, {1, 1});
  EXPECT_THAT(values(0, 4), ElementsAre(1, 8, 7, 4));
  EXPECT_EQ(memory.writerOf(3), (Writer{1, 0}));
  EXPECT_EQ(memory.writerOf(4), (Writer{1, 1}));
  EXPECT_EQ(memory.writerOf(12), (Writer{1, 0}));
}

TEST_F(MemoryTest, RefusesWhatIsNotThere) {
  memory.write(0, integers({1, 2}), 0, 2, {1, 0});
  EXPECT_THAT(error(8, Type::I32, 1), HasSubstr("nothing was written there"));
  EXPECT_THAT(error(0, Type::I32, 3), HasSubstr("bytes from 8 are read, and nothing was written there"));
  EXPECT_THAT(error(0, Type::I16, 2), HasSubstr("read as I16 and were written as I32"));
  EXPECT_THAT(error(2, Type::I32, 1), HasSubstr("in the middle of an element"));
}

TEST_F(MemoryTest, RefusesWhatIsOverwrittenInPart) {
  memory.write(0, integers({1, 2, 3, 4}), 0, 4, {1, 0});
  memory.write(6, integers({5}, Type::I16), 0, 1, {1, 1}); // the upper half of the second element
  EXPECT_THAT(values(0, 1), ElementsAre(1));
  EXPECT_NE(error(0, Type::I32, 2), "read");
  EXPECT_NE(error(4, Type::I32, 1), "read");
  EXPECT_THAT(values(8, 2), ElementsAre(3, 4));
}

TEST_F(MemoryTest, RefusesWhatIsOfAnEarlierRun) {
  memory.write(0, integers({1, 2}), 0, 2, {1, 0});
  EXPECT_THAT(error(0, Type::I32, 2, 2), HasSubstr("before this run writes them: they are of run 1, this is run 2"));
  memory.keep(4, 4, 2); // a variable
  EXPECT_THAT(values(4, 1, 2), ElementsAre(2));
  EXPECT_NE(error(0, Type::I32, 2, 2), "read");
}

TEST_F(MemoryTest, GapsAreUndefined) {
  auto numbers = std::make_shared<Tensor>(Type::F32, 1);
  numbers->set(0, fromInteger(5));
  memory.write(4, numbers, 0, 1, {1, 0});
  const TensorRef all = memory.readWithGaps(0, Type::F32, 3, 1);
  EXPECT_TRUE(all->number(1).same(fromInteger(5)));
  EXPECT_TRUE(std::isnan(all->f[0]) && std::isnan(all->f[2]));
}
