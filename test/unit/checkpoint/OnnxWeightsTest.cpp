// Weights go into ONNX models: what is no weight there stays, byte for byte.
#include "runtime/checkpoint/OnnxWeights.h"
#include "runtime/base/ExitCode.h"
#include "test/unit/support/FakeDisk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dgc::rt;
using dgc::rt::test::FakeDisk;
using testing::AllOf;
using testing::HasSubstr;

namespace {
/// A field of a protobuf message whose content is bytes, below 128 of them.
std::string field(int number, const std::string &bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string number(int field, int value) {
  return std::string{static_cast<char>(field << 3), static_cast<char>(value)};
}

const std::string w = number(1, 2) + number(2, 1) + field(8, "w") + field(9, std::string(8, '\1'));
const std::string external =
    number(1, 1) + number(2, 7) + field(8, "n") + field(13, field(1, "location") + field(2, "f")) + number(14, 1);
const std::string shape = number(1, 1) + number(2, 7) + field(8, "shape") + field(7, "\3");
const std::string node = field(4, "Relu"), producer = field(2, "exporter");

/// A model with a node, the initializers, and a field that no version of the format has.
std::string model(const std::string &initializers) {
  return number(1, 9) + producer + field(7, field(1, node) + initializers + field(15, "of the graph"));
}
std::string initializer(const std::string &tensor) { return field(5, tensor); }

std::vector<VariableSpec> plan() {
  return {{"w", DType::F32, {2}},
          {"n", DType::I64, {1}},
          {"w.adam_mean", DType::F32, {2}, /*slot=*/true},
          {"loss_scale", DType::F32, {}, false, /*optional=*/true}};
}

std::string messageOf(FakeDisk &disk, const std::vector<VariableSpec> &plan) {
  auto opened = OnnxWeights::open(disk, "d/m.onnx", plan);
  if (opened.ok())
    return "no error";
  EXPECT_EQ(exitCodeOf(opened.status()), ExitCode::BadData);
  return std::string(opened.status().message());
}
} // namespace

TEST(OnnxWeights, KeepsTheGraphAndReplacesInitializers) {
  FakeDisk disk;
  disk.put("d/m.onnx", model(initializer(w) + initializer(external) + initializer(shape)));
  auto file = OutputFile::reserve(disk, "d/m.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  auto onnx = OnnxWeights::open(disk, "d/m.onnx", plan());
  ASSERT_TRUE(onnx.ok()) << onnx.status();
  EXPECT_EQ(onnx->size(), 2U);
  const float weight[] = {1.5, -2}, mean[] = {7, 7};
  const int64_t count[] = {258};
  ASSERT_TRUE(onnx->save(*file, std::vector<Tensor>{{"w", DType::F32, {2}, std::as_bytes(std::span(weight))},
                                                    {"w.adam_mean", DType::F32, {2}, std::as_bytes(std::span(mean))},
                                                    {"n", DType::I64, {1}, std::as_bytes(std::span(count))}})
                  .ok());
  const std::string newW = number(1, 2) + number(2, 1) + field(8, "w") +
                           field(9, std::string(reinterpret_cast<const char *>(weight), sizeof weight));
  const std::string newN = number(1, 1) + number(2, 7) + field(8, "n") +
                           field(9, std::string(reinterpret_cast<const char *>(count), sizeof count));
  auto bytes = readFile(disk, "d/m.onnx");
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, number(1, 9) + producer +
                        field(7, field(1, node) + initializer(newW) + initializer(newN) +
                                     initializer(number(1, 1) + number(2, 7) + field(7, "\3") + field(8, "shape")) +
                                     field(15, "of the graph")));
}

TEST(OnnxWeights, NamesAllThatDoesNotFit) {
  FakeDisk disk;
  disk.put("d/m.onnx", model(initializer(w)));
  EXPECT_THAT(messageOf(disk, {{"w", DType::F32, {3}}, {"n", DType::I64, {1}}}),
              AllOf(HasSubstr("'w' is f32 [2] there, and f32 [3] in the plan"),
                    HasSubstr("it has no initializer 'n' (i64 [1])")));
  EXPECT_THAT(messageOf(disk, {{"w", DType::F64, {2}}}), HasSubstr("'w' is f32 [2] there, and f64 [2] in the plan"));
  EXPECT_THAT(messageOf(disk, {}), HasSubstr("the plan has no variables"));
  EXPECT_THAT(messageOf(disk, {{"w", DType::F32, {2}}}), "no error");
}

TEST(OnnxWeights, RefusesWhatIsNoModel) {
  FakeDisk disk;
  EXPECT_THAT(messageOf(disk, plan()), HasSubstr("d/m.onnx is not there: copy the ONNX model"));
  for (const std::string &bytes : {std::string("PK\3\4"), std::string(), producer}) {
    disk.put("d/m.onnx", bytes);
    EXPECT_THAT(messageOf(disk, plan()), HasSubstr("is no ONNX model, or damaged"));
  }
}

TEST(OnnxWeights, RefusesMoreThanAFileHolds) {
  FakeDisk disk;
  const std::string large = number(1, 1) + std::string("\x08\xff\xff\xff\xff\x01", 6) + number(2, 1) + field(8, "l");
  disk.put("d/m.onnx", model(initializer(large)));
  EXPECT_THAT(messageOf(disk, {{"l", DType::F32, {1, 536870911}}}), HasSubstr("more than 2 GiB"));
}
