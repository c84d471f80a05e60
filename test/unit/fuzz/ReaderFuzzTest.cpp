// Damaged programs of other frameworks: each is read, or refused with an error; never a crash, never without end or bound.
// DGC_FUZZ_FIRST and DGC_FUZZ_COUNT choose the seeds; the target `fuzz` runs more, docs/testing.md says how to run many.
//
// A reader of bytecode or ONNX works in a process of its own, which hides what a sanitizer finds in it. DGC_FUZZ_IN_PROCESS=1 has
// it in the process of the test; what ends that is read again as dgc-compile reads it.
#include "compiler/driver/Registration.h"
#include "compiler/import/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/base/Sanitizers.h"
#include "test/unit/fuzz/ChildBatches.h"
#include "test/unit/fuzz/ForkRefusal.h"
#include "test/unit/fuzz/Mutant.h"
#include "test/unit/fuzz/Seeds.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <sstream>
#include <unistd.h>

using namespace dgc;
using namespace dgc::testing;

namespace {

constexpr const char *inputs = DGC_SOURCE_DIR "/test/lit/compiler/import/";
/// What a program may take; those that are not damaged take a fraction of it.
constexpr WorkLimits limits{.seconds = rt::isSanitized ? 20 : 2, .bytes = size_t{1} << 30};

/// How reading ends. Silent: refused, and it does not say why.
enum Reading { Read, Refused, Silent };

/// What mutants are made of.
struct Program {
  std::string name, content;
};

Program programIn(const std::string &name) {
  std::ifstream file(inputs + name, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return {name, content.str()};
}

/// Reads in a context of its own: what was read before makes no difference. An exception is a crash.
Reading endOfReading(const mlir::DialectRegistry &registry, const std::string &program,
                     const std::string &signature = "") noexcept {
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  bool isSaid = false;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    isSaid |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && !diagnostic.str().empty();
    return mlir::success();
  });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(program, "mutant"), llvm::SMLoc());
  auto module = import::readModel(sources, &context, {.signature = signature});
  return module ? Read : isSaid ? Refused : Silent;
}

std::string describe(WorkEnd end) {
  switch (end.kind) {
  case WorkEnd::Returned:
    return "was refused without an error";
  case WorkEnd::Signalled:
    return "ended by signal " + std::to_string(end.code);
  case WorkEnd::Exited:
    return "ended the process with " + std::to_string(end.code) + ", as a sanitizer does";
  case WorkEnd::TooSlow:
    return "took more than " + std::to_string(static_cast<int>(limits.seconds)) + " s, twice";
  case WorkEnd::TooLarge:
    return "took more than " + std::to_string(limits.bytes >> 20) + " MiB";
  }
  return "";
}

/// Reads mutants of programs; of `signature`, where it is not empty, in place of the programs.
class Mutants {
public:
  Mutants(std::vector<Program> programs, bool areTexts, std::string signature = "")
      : programs(std::move(programs)), areTexts(areTexts), signature(std::move(signature)) {
    registerAllDialects(registry);
    import::registerDialects(registry);
  }

  void readAll() {
    (void)endOfReading(registry, programs[0].content); // children have what is loaded once
    readInChildren(first, first + count, [this](uint32_t seed, WorkEnd end) { take(seed, end); });
    std::filesystem::remove(signatureFile);
    if (numContained > 0)
      std::printf("%u mutants end a reader, which dgc-compile reports as it should\n", numContained);
    if (count < 100)
      return;
    // Mutants are neither all alike the programs nor all noise.
    EXPECT_GT(counts[Read], 0u);
    EXPECT_GT(counts[Refused], 0u);
  }

private:
  const Program &programOf(uint32_t seed) const { return programs[seed % programs.size()]; }

  std::string mutantNumber(uint32_t seed) const {
    std::mt19937 random(seed);
    return mutantOf(signature.empty() ? programOf(seed).content : signature, areTexts, random);
  }

  /// In a child.
  Reading readOne(uint32_t seed) const {
    llvm::remove_bad_alloc_error_handler();
    llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { endForMemory(); });
    std::optional<ForkRefusal> refusal;
    if (isInProcess)
      refusal.emplace();
    const std::string mutant = mutantNumber(seed);
    if (signature.empty())
      return endOfReading(registry, mutant);
    std::ofstream(signatureFile, std::ios::binary) << mutant;
    return endOfReading(registry, programOf(seed).content, signatureFile);
  }

  void readInChildren(uint32_t from, uint32_t to, const std::function<void(uint32_t, WorkEnd)> &report) const {
    WorkLimits own = limits;
    own.tries = isInProcess ? 1 : 2; // the second one is that outside
    workInChildren(from, to, own, [this](uint32_t seed) { return readOne(seed); }, report);
  }

  /// What becomes of a mutant that ended a process with its reader in it, where the reader has one of its own.
  WorkEnd endOutside(uint32_t seed) {
    WorkEnd end;
    isInProcess = false;
    readInChildren(seed, seed + 1, [&](uint32_t, WorkEnd outside) { end = outside; });
    isInProcess = true;
    numContained += end.kind == WorkEnd::Returned;
    return end;
  }

  void take(uint32_t seed, WorkEnd end) {
    // A sanitizer ends the process with a code.
    if (isInProcess && end.kind != WorkEnd::Returned && end.kind != WorkEnd::Exited)
      end = endOutside(seed);
    const bool isReturned = end.kind == WorkEnd::Returned;
    if (isReturned)
      ++counts[end.code];
    if (!isReturned || end.code == Silent)
      fail(seed, end);
    showProgress(seed - first + 1);
  }

  void fail(uint32_t seed, WorkEnd end) const {
    const std::string kept = ::testing::TempDir() + "mutant-" + name + "-" + std::to_string(seed);
    std::ofstream(kept, std::ios::binary) << mutantNumber(seed);
    ADD_FAILURE() << "seed " << seed << ", a mutant of " << (signature.empty() ? programOf(seed).name : "the signature")
                  << ", now in " << kept << ", " << describe(end)
                  << ". Again: " << (isInProcess ? "DGC_FUZZ_IN_PROCESS=1 " : "") << "DGC_FUZZ_FIRST=" << seed
                  << " DGC_FUZZ_COUNT=1 reader_fuzz_test --gtest_filter=ReaderFuzz." << name;
  }

  void showProgress(uint32_t done) {
    const auto now = std::chrono::steady_clock::now();
    const bool isShown = count > 1000 || ::isatty(STDERR_FILENO);
    if (!isShown || now - shown < std::chrono::seconds(10))
      return;
    shown = now;
    std::fprintf(stderr, "%s: %u of %u mutants, %.0f/s\n", name.c_str(), done, count,
                 done / std::chrono::duration<double>(now - begun).count());
  }

  const std::vector<Program> programs;
  const bool areTexts;
  const std::string signature;
  mlir::DialectRegistry registry;
  const uint32_t first = numberOf("DGC_FUZZ_FIRST", 0), count = numberOf("DGC_FUZZ_COUNT", 200);
  bool isInProcess = numberOf("DGC_FUZZ_IN_PROCESS", 0) != 0;
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string signatureFile = ::testing::TempDir() + "signature-" + std::to_string(::getpid());
  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown = begun;
  std::map<int, uint32_t> counts; // of what reading ends with
  uint32_t numContained = 0;
};

/// The programs of the lit tests of the import: the parts of files that are split.
std::vector<Program> textsOfTests() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(inputs))
    if (entry.path().extension() == ".mlir")
      names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  std::vector<Program> programs;
  for (const std::string &name : names) {
    std::istringstream lines(programIn(name).content);
    std::string program;
    int part = 0;
    auto add = [&] {
      ++part;
      if (import::formatOf(program) == import::Format::StableHLO)
        programs.push_back({name + ", part " + std::to_string(part), program});
      program.clear();
    };
    for (std::string line; std::getline(lines, line);) {
      if (line == "// -----")
        add();
      else if (!line.starts_with("//")) // what a test expects; that it is there would have mutants in comments
        program += line + "\n";
    }
    add();
  }
  return programs;
}

TEST(ReaderFuzz, PortableArtifacts) { Mutants({programIn("Inputs/step.mlirbc")}, false).readAll(); }

/// Bytecode that MLIR's reader refuses without a word is refused with an error, also where no process can be started for it.
TEST(ReaderFuzz, SilentReaderInProcess) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  import::registerDialects(registry);
  std::string artifact = programIn("Inputs/step.mlirbc").content;
  ASSERT_GT(artifact.size(), 3677u);
  artifact[3677] = '\376';
  EXPECT_EQ(endOfReading(registry, artifact), Refused);
  const ForkRefusal refusal;
  EXPECT_EQ(endOfReading(registry, artifact), Refused);
}

TEST(ReaderFuzz, Texts) {
  const std::vector<Program> programs = textsOfTests();
  ASSERT_GT(programs.size(), 25u);
  Mutants(programs, true).readAll();
}

TEST(ReaderFuzz, Signatures) {
  Mutants(
      {programIn("step.mlir")}, true,
      R"({"arguments": {"0": {"name": "w", "new_value": 0, "initial": 0.5}, "1-2": {"batch": 0}, "1": {"name": "x"}},
"results": {"1": {"name": "loss"}}})")
      .readAll();
}

//===-- ONNX --------------------------------------------------------------===//

/// Fields of a message of protobuf.
class Message {
public:
  Message &number(unsigned field, uint64_t value) { return varint(field << 3).varint(value); }
  Message &text(unsigned field, const std::string &value) {
    varint(field << 3 | 2).varint(value.size());
    bytes += value;
    return *this;
  }
  Message &message(unsigned field, const Message &value) { return text(field, value.bytes); }

  std::string bytes;

private:
  Message &varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
    return *this;
  }
};

/// The numbers of fields are those of onnx.proto.
Message onnxNode(const std::string &op, std::initializer_list<std::string> operands, const std::string &result,
                 std::initializer_list<std::pair<std::string, std::vector<uint64_t>>> attributes = {}) {
  Message node;
  for (const std::string &operand : operands)
    node.text(1, operand);
  node.text(2, result).text(3, "node " + result).text(4, op);
  for (const auto &[name, values] : attributes) {
    Message attribute;
    attribute.text(1, name);
    if (values.size() == 1)
      attribute.number(3, values[0]).number(20, 2); // an integer
    for (const uint64_t value : values)
      if (values.size() > 1)
        attribute.number(8, value);
    node.message(5, values.size() > 1 ? attribute.number(20, 7) : attribute);
  }
  return node;
}

Message onnxTensor(const std::string &name, uint64_t type, std::initializer_list<uint64_t> dims, size_t bytes) {
  Message tensor;
  for (const uint64_t dim : dims)
    tensor.number(1, dim);
  return tensor.number(2, type).text(8, name).text(9, std::string(bytes, '\1'));
}

Message onnxValue(const std::string &name, std::initializer_list<uint64_t> dims) {
  Message shape;
  for (const uint64_t dim : dims)
    shape.message(1, Message().number(1, dim));
  return Message().text(1, name).message(2, Message().message(1, Message().number(1, 1).message(2, shape)));
}

std::string onnxModel() {
  constexpr uint64_t f32 = 1, i64 = 7;
  Message graph;
  graph.message(1, onnxNode("Conv", {"x", "kernel"}, "a", {{"pads", {1, 1, 1, 1}}, {"strides", {2, 2}}}))
      .message(1, onnxNode("Relu", {"a"}, "b"))
      .message(1, onnxNode("MaxPool", {"b"}, "c", {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}}))
      .message(1, onnxNode("Reshape", {"c", "shape"}, "d"))
      .message(1, onnxNode("Gemm", {"d", "w", "v"}, "e", {{"transB", {1}}}))
      .message(1, onnxNode("Softmax", {"e"}, "f", {{"axis", {1}}}))
      .message(1, onnxNode("Slice", {"f", "begin", "end"}, "g"))
      .message(1, onnxNode("Transpose", {"g"}, "h", {{"perm", {1, 0}}}))
      .message(1, onnxNode("Concat", {"h", "h"}, "i", {{"axis", {0}}}))
      .message(1, onnxNode("ReduceSum", {"i", "begin"}, "y", {{"keepdims", {0}}}));
  graph.text(2, "graph")
      .message(5, onnxTensor("kernel", f32, {2, 1, 3, 3}, 72))
      .message(5, onnxTensor("shape", i64, {2}, 16).text(9, std::string("\2\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0", 16)))
      .message(5, onnxTensor("w", f32, {3, 8}, 96))
      .message(5, onnxTensor("v", f32, {3}, 12))
      .message(5, onnxTensor("begin", i64, {1}, 8).text(9, std::string(8, '\0')))
      .message(5, onnxTensor("end", i64, {1}, 8).text(9, std::string("\1\0\0\0\0\0\0\0", 8)))
      .message(11, onnxValue("x", {2, 1, 8, 8}))
      .message(12, onnxValue("y", {1}));
  return Message().number(1, 9).message(8, Message().number(2, 20)).message(7, graph).bytes;
}

TEST(ReaderFuzz, OnnxModelIsRead) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  EXPECT_EQ(endOfReading(registry, onnxModel()), Read);
}

TEST(ReaderFuzz, OnnxModels) { Mutants({{"a model of this test", onnxModel()}}, false).readAll(); }

} // namespace
