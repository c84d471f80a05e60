// The device of plans for the target `reference`: kernels by the interpreter, copies and fills.
#include "runtime/device/Device.h"

#include "runtime/artifact/Actions.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/MemoryUse.h"
#include "runtime/base/Status.h"
#include "runtime/device/reference/Interpreter.h"

#include <cstring>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// Memory that kernels share, one after the other.
struct Workspace {
  std::vector<std::byte> bytes;
  CountedMemory counted;
};

class KernelOp final : public PreparedOp {
public:
  KernelOp(const reference::Kernel &kernel, std::vector<void *> args, Workspace &workspace)
      : interpreter(kernel), args(std::move(args)), workspace(workspace) {}
  absl::Status run(const dgc_step &) override { return interpreter.run(args, workspace.bytes.data()); }
  uint64_t workspaceBytes() const { return interpreter.workspaceBytes(); }

private:
  reference::Interpreter interpreter;
  std::vector<void *> args;
  Workspace &workspace;
};

class CopyOp final : public PreparedOp {
public:
  CopyOp(const Operand &dst, const Operand &src)
      : dst(dst.data), src(src.data), bytes(sizeOf(dst.dtype) * static_cast<size_t>(dst.numElements())) {}
  absl::Status run(const dgc_step &) override {
    std::memmove(dst, src, bytes);
    return absl::OkStatus();
  }

private:
  void *dst;
  const void *src;
  size_t bytes;
};

class FillOp final : public PreparedOp {
public:
  FillOp(const Operand &dst, double value) : dst(dst), type(reference::typeOf(dst.dtype)) {
    if (isFloat(dst.dtype))
      element.f = value;
    else
      element.i = static_cast<int64_t>(value);
  }
  absl::Status run(const dgc_step &) override {
    auto *to = static_cast<std::byte *>(dst.data);
    for (int64_t i = 0; i < dst.numElements(); ++i)
      storeElement(type, to + static_cast<uint64_t>(i) * sizeOf(type), element);
    return absl::OkStatus();
  }

private:
  Operand dst;
  reference::Type type;
  reference::Value element{.i = 0};
};

class ReferenceDevice final : public Device {
public:
  static absl::StatusOr<std::unique_ptr<Device>> create(const Artifact &artifact);

  using Device::prepare;
  PreparedOrStatus prepare(const artifact::KernelCall &call, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Copy &op, std::span<const Operand> buffers) override;
  PreparedOrStatus prepare(const artifact::Fill &op, std::span<const Operand> buffers) override;
  std::string_view kind() const override { return "reference"; }
  absl::Status finish() override;
  size_t scratchBytes() const override { return workspace.bytes.size(); }

private:
  explicit ReferenceDevice(const Artifact &artifact) : artifact(artifact) {}
  const reference::Kernel *find(std::string_view symbol) const;

  const Artifact &artifact;
  const reference::Kernels *kernels = nullptr;
  uint64_t workspaceBytes = 0;
  Workspace workspace;
};
} // namespace

static absl::Status badArtifact(const std::string &message) {
  return withExitCode(absl::InvalidArgumentError(message), ExitCode::BadArtifact);
}

absl::StatusOr<std::unique_ptr<Device>> ReferenceDevice::create(const Artifact &artifact) {
  std::unique_ptr<ReferenceDevice> device(new ReferenceDevice(artifact));
  if (artifact.object().empty())
    return device;
  absl::StatusOr<const reference::Kernels *> kernels = reference::readKernels(artifact.object());
  if (!kernels.ok())
    return withExitCode(kernels.status(), ExitCode::BadArtifact);
  device->kernels = *kernels;
  return device;
}

const reference::Kernel *ReferenceDevice::find(std::string_view symbol) const {
  for (uint32_t i = 0; kernels && kernels->kernels() && i < kernels->kernels()->size(); ++i)
    if (const reference::Kernel *kernel = kernels->kernels()->Get(i); kernel->symbol()->string_view() == symbol)
      return kernel;
  return nullptr;
}

PreparedOrStatus ReferenceDevice::prepare(const artifact::KernelCall &call, std::span<const Operand> buffers) {
  const auto symbol = artifact.plan().kernels()->Get(call.kernel())->symbol()->string_view();
  const reference::Kernel *kernel = find(symbol);
  if (!kernel)
    return badArtifact(str("the plan's bytecode has no kernel '", symbol, "'"));
  const uint32_t number = call.args() ? call.args()->size() : 0;
  if (number != kernel->inputs() + kernel->results())
    return badArtifact(
        str("kernel '", symbol, "' takes ", kernel->inputs() + kernel->results(), " arguments, ", number, " given"));
  std::vector<void *> args;
  for (uint32_t i = 0; i < number; ++i) {
    const Operand &operand = buffers[call.args()->Get(i)];
    if (!takes(*kernel, i, reference::typeOf(operand.dtype), static_cast<uint64_t>(operand.numElements())))
      return badArtifact(str("argument ", i, " of kernel '", symbol, "' is no buffer as it takes"));
    args.push_back(operand.data);
  }
  auto op = std::make_unique<KernelOp>(*kernel, std::move(args), workspace);
  workspaceBytes = std::max(workspaceBytes, op->workspaceBytes());
  return op;
}

PreparedOrStatus ReferenceDevice::prepare(const artifact::Copy &op, std::span<const Operand> buffers) {
  return std::make_unique<CopyOp>(buffers[op.dst()], buffers[op.src()]);
}

PreparedOrStatus ReferenceDevice::prepare(const artifact::Fill &op, std::span<const Operand> buffers) {
  return std::make_unique<FillOp>(buffers[op.dst()], op.value());
}

absl::Status ReferenceDevice::finish() {
  workspace.bytes.resize(workspaceBytes);
  workspace.counted = CountedMemory(MemoryKind::Scratch, workspaceBytes);
  return absl::OkStatus();
}

namespace dgc::rt {
absl::StatusOr<std::unique_ptr<Device>> createReferenceDevice(const Artifact &artifact, int threads, int rank);
} // namespace dgc::rt

absl::StatusOr<std::unique_ptr<Device>> dgc::rt::createReferenceDevice(const Artifact &artifact, int, int) {
  return ReferenceDevice::create(artifact);
}
