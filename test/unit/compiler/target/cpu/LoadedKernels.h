//===- LoadedKernels.h - compile kernels and call them ----------------------===//

#ifndef DGC_TEST_UNIT_COMPILER_CODEGEN_CPU_LOADEDKERNELS_H
#define DGC_TEST_UNIT_COMPILER_CODEGEN_CPU_LOADEDKERNELS_H

#include "compiler/target/Target.h"
#include "compiler/target/cpu/Codegen.h"
#include "compiler/target/cpu/Lowering.h"
#include "mlir/Parser/Parser.h"
#include "runtime/device/reference/Interpreter.h"
#include "test/unit/support/EmulatedKernels.h"
#include "test/unit/support/GpuEmulator.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dgc::test {

using KernelFunction = void (*)(void *const *, int64_t, int64_t, const void *);

/// The kernels of a module given as text, compiled and loaded. With DGC_TEST_GPU=emulated in the environment they are the
/// grids that a GPU would run, in an emulator, and with DGC_TEST_TARGET=reference they are interpreted: so every test of
/// kernels is one of those as well.
class LoadedKernels {
public:
  explicit LoadedKernels(const std::string &text, const std::string &targetName = "cpu") {
    context.disableMultithreading();
    loadKernelDialects(context);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    if (!module)
      return;
    if (onReference()) {
      interpret(*module);
      return;
    }
    if (onGpu()) {
      auto result = dgc::testing::compileForEmulator(*module);
      EXPECT_TRUE(mlir::succeeded(result));
      if (mlir::failed(result))
        return;
      compiled = std::move(*result);
      emulator = dgc::testing::GpuEmulator::load(compiled.object);
      EXPECT_TRUE(emulator);
      return;
    }
    std::string wrong;
    std::optional<CpuTarget> target = CpuTarget::parse(targetName, wrong);
    auto result = target ? compileKernels(*module, *target) : mlir::FailureOr<CompiledKernels>();
    EXPECT_TRUE(mlir::succeeded(result));
    if (mlir::failed(result))
      return;
    compiled = std::move(*result);
    descriptor = memfd_create("kernels", 0);
    EXPECT_EQ(write(descriptor, compiled.object.data(), compiled.object.size()), ssize_t(compiled.object.size()));
    std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
  }

  static bool onGpu() {
    const char *device = std::getenv("DGC_TEST_GPU");
    return device && std::string(device) == "emulated";
  }
  static bool onReference() {
    const char *target = std::getenv("DGC_TEST_TARGET");
    return target && std::string(target) == "reference";
  }
  bool ok() const { return library || emulator || bytecode; }
  const CompiledKernel &info(size_t i = 0) const { return compiled.kernels.at(i); }

  /// Runs kernel `i` in `pieces` pieces, as so many threads would, the last piece first.
  /// On a GPU `pieces` only changes the order of blocks and threads.
  void call(std::vector<void *> args, int pieces = 1, size_t i = 0) const {
    if (bytecode)
      return callInterpreter(args, i);
    if (emulator)
      return callGrids(std::move(args), pieces, i);
    auto function = reinterpret_cast<KernelFunction>(dlsym(library, info(i).symbol.c_str()));
    ASSERT_NE(function, nullptr);
    ASSERT_EQ(args.size(), info(i).argCount);
    for (int64_t piece = pieces; piece-- > 0;)
      function(args.data(), info(i).extent * piece / pieces, info(i).extent * (piece + 1) / pieces, nullptr);
  }

  CompiledKernels compiled;

private:
  void interpret(mlir::ModuleOp module) {
    std::string wrong;
    auto result = TargetRegistry::builtin().create("reference", wrong)->compileKernels(module, nullptr);
    ASSERT_TRUE(mlir::succeeded(result));
    compiled = std::move(*result);
    auto kernels = reference::readKernels(std::as_bytes(std::span(compiled.object)));
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    bytecode = *kernels;
  }
  void callInterpreter(const std::vector<void *> &args, size_t i) const {
    ASSERT_EQ(args.size(), info(i).argCount);
    reference::Interpreter interpreter(*bytecode->kernels()->Get(static_cast<uint32_t>(i)));
    EXPECT_EQ(interpreter.workspaceBytes(), info(i).workspaceBytes);
    std::vector<std::byte> workspace(interpreter.workspaceBytes(), std::byte{0x55});
    absl::Status status = interpreter.run(args, workspace.data());
    ASSERT_TRUE(status.ok()) << status;
  }
  void callGrids(std::vector<void *> args, int pieces, size_t i) const {
    ASSERT_EQ(args.size(), info(i).argCount);
    std::vector<char> workspace(info(i).workspaceBytes + 256, 0x55);
    void *start = workspace.data();
    size_t space = workspace.size();
    args.push_back(std::align(256, info(i).workspaceBytes, start, space));
    for (const KernelLaunch &launch : info(i).launches)
      ASSERT_EQ(emulator->run(launch.symbol, launch.grid, launch.block, args,
                              pieces > 1 ? dgc::testing::GpuEmulator::Order::Backward
                                         : dgc::testing::GpuEmulator::Order::Forward),
                "");
  }

  mlir::MLIRContext context;
  int descriptor = -1; // stays open: the loader knows libraries by name
  void *library = nullptr;
  std::unique_ptr<dgc::testing::GpuEmulator> emulator;
  const reference::Kernels *bytecode = nullptr; // in compiled.object
};

/// Memory aligned like the arena's, with a guard zone that must not be written.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t count, T fill = T()) : count(count), memory(count + 2 * kGuard, fill) {
    for (size_t i = 0; i < kGuard; ++i)
      memory[i] = memory[count + kGuard + i] = T(77);
  }
  ~Buffer() {
    for (size_t i = 0; i < kGuard; ++i) {
      EXPECT_TRUE(memory[i] == T(77)) << "written before the buffer";
      EXPECT_TRUE(memory[count + kGuard + i] == T(77)) << "written behind the buffer";
    }
  }
  T *data() { return memory.data() + kGuard; }
  T &operator[](size_t i) { return memory[kGuard + i]; }
  size_t size() const { return count; }

private:
  static constexpr size_t kGuard = 16;
  size_t count;
  std::vector<T> memory;
};

/// Numbers that are neither symmetric nor sorted, in about [-2, 2].
inline double sample(size_t i) { return double((i * 7919 + 13) % 1009) / 252.0 - 2.0; }

template <typename T> Buffer<T> samples(size_t count, size_t start = 0) {
  Buffer<T> buffer(count);
  for (size_t i = 0; i < count; ++i)
    buffer[i] = T(sample(start + i));
  return buffer;
}

} // namespace dgc::test

#endif // DGC_TEST_UNIT_COMPILER_CODEGEN_CPU_LOADEDKERNELS_H
