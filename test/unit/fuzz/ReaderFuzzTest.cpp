// Damaged programs of other frameworks: each is read, or refused with an error; never a crash, never without end.
// DGC_FUZZ_FIRST and DGC_FUZZ_COUNT choose the seeds; the target `fuzz` runs more.
#include "compiler/driver/Registration.h"
#include "compiler/import/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "test/unit/fuzz/Mutant.h"
#include "test/unit/fuzz/Seeds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace dgc;
using namespace dgc::testing;

namespace {

constexpr const char *inputs = DGC_SOURCE_DIR "/test/lit/compiler/import/";
/// What a program may take, in seconds; those that are not damaged take a fraction of one.
constexpr unsigned timeLimit = 60;
/// What a child ends with.
constexpr int read = 0, refused = 8, silent = 9; // silent: refused, and it does not say why

std::string contentOf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

/// Reads in a process of its own, and gives its status. An exception is a crash.
int statusOfReading(mlir::MLIRContext &context, const std::string &program, const std::string &signature) noexcept {
  const pid_t child = ::fork();
  if (child != 0) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
      ;
    return status;
  }
  ::alarm(timeLimit);
  bool isSaid = false;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    isSaid |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && !diagnostic.str().empty();
    return mlir::success();
  });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(program, "mutant"), llvm::SMLoc());
  auto module = import::readModel(sources, &context, {.signature = signature});
  ::_exit(module ? read : isSaid ? refused : silent);
}

/// Reads mutants of programs; of `signature`, where it is not empty, in place of the programs.
void readMutants(const std::vector<std::string> &programs, bool areTexts, const std::string &signature = "") {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  import::registerDialects(registry);
  context.appendDialectRegistry(registry);
  const std::string file = ::testing::TempDir() + "mutant-" + std::to_string(::getpid());
  const uint32_t first = numberOf("DGC_FUZZ_FIRST", 0), count = numberOf("DGC_FUZZ_COUNT", 200);
  std::map<int, int> counts; // of what children end with
  for (uint32_t seed = first; seed < first + count; ++seed) {
    std::mt19937 random(seed);
    const std::string &program = programs[seed % programs.size()];
    const std::string mutant = mutantOf(signature.empty() ? program : signature, areTexts, random);
    if (!signature.empty())
      std::ofstream(file) << mutant;
    const int status = statusOfReading(context, signature.empty() ? mutant : program, signature.empty() ? "" : file);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    ++counts[code];
    if (code == read || code == refused)
      continue;
    const std::string kept = ::testing::TempDir() + "mutant-" + std::to_string(seed);
    std::ofstream(kept, std::ios::binary) << mutant;
    ADD_FAILURE() << "seed " << seed << ", now in " << kept
                  << (code == silent ? " was refused without an error" : " ended by signal " + std::to_string(-code));
  }
  // Mutants are neither all alike the programs nor all noise.
  EXPECT_GT(counts[read], 0);
  EXPECT_GT(counts[refused], 0);
  std::filesystem::remove(file);
}

/// The programs of the lit tests of the import: the parts of files that are split.
std::vector<std::string> textsOfTests() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(inputs))
    if (entry.path().extension() == ".mlir")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> programs;
  for (const std::filesystem::path &path : paths) {
    std::istringstream lines(contentOf(path));
    std::string program;
    auto add = [&] {
      if (import::formatOf(program) == import::Format::StableHLO)
        programs.push_back(program);
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

TEST(ReaderFuzz, PortableArtifacts) { readMutants({contentOf(std::string(inputs) + "Inputs/step.mlirbc")}, false); }

TEST(ReaderFuzz, Texts) {
  const std::vector<std::string> programs = textsOfTests();
  ASSERT_GT(programs.size(), 25u);
  readMutants(programs, true);
}

TEST(ReaderFuzz, Signatures) {
  readMutants(
      {contentOf(std::string(inputs) + "step.mlir")}, true,
      R"({"arguments": {"0": {"name": "w", "new_value": 0, "initial": 0.5}, "1-2": {"batch": 0}, "1": {"name": "x"}},
"results": {"1": {"name": "loss"}}})");
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
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(onnxModel(), "model"), llvm::SMLoc());
  EXPECT_TRUE(import::readModel(sources, &context));
}

TEST(ReaderFuzz, OnnxModels) { readMutants({onnxModel()}, false); }

} // namespace
