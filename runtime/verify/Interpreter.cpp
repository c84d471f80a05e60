// Runs the nests of a kernel, with the buffers that they use.
#include "runtime/verify/LoopNest.h"

#include "runtime/base/Status.h"
#include "runtime/verify/Threads.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::verify;
using reference::Buffer;
using reference::Kernel;
using reference::Nest;
using reference::Opcode;

template <typename V> static uint32_t count(const V *v) { return v ? v->size() : 0; }

/// Instructions of a nest that are worth a thread.
static constexpr double kWorkOfThread = 1 << 16;

/// The buffers that a nest reads or writes.
static std::vector<uint32_t> buffersOf(const Nest &nest) {
  std::vector<uint32_t> result;
  for (uint32_t i = 0; i < count(nest.loads()); ++i)
    result.push_back(nest.loads()->Get(i)->buffer());
  for (uint32_t i = 0; i < count(nest.outputs()); ++i)
    result.push_back(nest.outputs()->Get(i)->access()->buffer());
  for (uint32_t i = 0; i < count(nest.body()); ++i)
    if (const auto &op = *nest.body()->Get(i); static_cast<Opcode>(op.opcode()) == Opcode::LoadAt)
      result.push_back(op.a());
  return result;
}

/// Whether a nest looks at what the buffer of an output had before.
static bool readsBefore(const Nest &nest, uint32_t output) {
  for (uint32_t i = 0; i < count(nest.body()); ++i)
    if (const auto &op = *nest.body()->Get(i); static_cast<Opcode>(op.opcode()) == Opcode::Current && op.a() == output)
      return true;
  const std::vector<uint32_t> used = buffersOf(nest);
  return std::count(used.begin(), used.end(), nest.outputs()->Get(output)->access()->buffer()) > 1;
}

static std::shared_ptr<Tensor> constantOf(const Buffer &buffer) {
  return tensorOf(buffer.type(), buffer.count(), reinterpret_cast<const std::byte *>(buffer.data()->data()));
}

static absl::Status runPart(const NestContext &context, const LoopNest &loops, bool parallel) {
  if (parallel && context.options.functions.has(Law::Conversion) && runContraction(context, loops))
    return absl::OkStatus();
  return runStrips(context, loops);
}

/// The loop whose indices are given to threads: the first one that is long enough, else the longest one; -1: none.
static int64_t splitLoop(const LoopNest &loops, int64_t threads) {
  int64_t result = -1;
  for (size_t i = 0; i < loops.extents.size(); ++i) {
    if (loops.reduces[i] || loops.extents[i] < 2)
      continue;
    if (loops.extents[i] >= 4 * threads)
      return static_cast<int64_t>(i);
    if (result < 0 || loops.extents[i] > loops.extents[static_cast<size_t>(result)])
      result = static_cast<int64_t>(i);
  }
  return result;
}

static absl::Status runNest(const NestContext &context, const LoopNest &loops) {
  const bool parallel = isParallel(context, loops);
  const double work = loops.iterations(true) * loops.iterations(false) * count(context.nest.body());
  const auto threads =
      static_cast<int64_t>(std::clamp(work / kWorkOfThread, 1.0, std::max(1.0, double(context.options.threads))));
  const int64_t split = parallel && threads > 1 ? splitLoop(loops, threads) : -1;
  if (split < 0)
    return runPart(context, loops, parallel);
  const auto loop = static_cast<size_t>(split);
  const int64_t extent = loops.extents[loop], parts = std::min(threads, extent);
  std::vector<absl::Status> statuses(static_cast<size_t>(parts));
  inThreads(parts, static_cast<int>(parts), [&](int64_t part) {
    statuses[static_cast<size_t>(part)] =
        runPart(context, loops.part(loop, extent * part / parts, extent * (part + 1) / parts), true);
  });
  for (absl::Status &each : statuses)
    DGC_RETURN_IF_ERROR(each);
  return absl::OkStatus();
}

namespace {
class KernelRun {
public:
  KernelRun(const Kernel &kernel, std::span<const TensorRef> inputs, const InterpreterOptions &options);
  absl::Status run();
  std::vector<TensorRef> results();

private:
  void prepare(uint32_t buffer, bool isCovered);
  absl::Status nest(uint32_t number);

  const Kernel &kernel;
  std::span<const TensorRef> inputs;
  const InterpreterOptions &options;
  std::vector<uint32_t> lastUses;               // nests, of each buffer
  std::vector<std::shared_ptr<Tensor>> tensors; // results and own buffers that are in use
  NestBuffers buffers;
};
} // namespace

KernelRun::KernelRun(const Kernel &kernel, std::span<const TensorRef> inputs, const InterpreterOptions &options)
    : kernel(kernel), inputs(inputs), options(options), lastUses(count(kernel.buffers())),
      tensors(count(kernel.buffers())) {
  buffers.read.resize(tensors.size());
  buffers.written.resize(tensors.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    buffers.read[i] = inputs[i].get();
  for (uint32_t i = 0; i < count(kernel.nests()); ++i)
    for (uint32_t buffer : buffersOf(*kernel.nests()->Get(i)))
      lastUses[buffer] = i;
}

/// Makes a buffer that is not there. Nobody knows what it has before it is written.
void KernelRun::prepare(uint32_t number, bool isCovered) {
  if (buffers.read[number])
    return;
  const Buffer &buffer = *kernel.buffers()->Get(number);
  tensors[number] = buffer.data() ? constantOf(buffer) : Tensor::uninitialized(buffer.type(), buffer.count());
  if (!buffer.data() && !isCovered)
    makeUndefined(*tensors[number], options.integers);
  buffers.read[number] = tensors[number].get();
  if (!buffer.data())
    buffers.written[number] = tensors[number].get();
}

absl::Status KernelRun::nest(uint32_t number) {
  const Nest &nest = *kernel.nests()->Get(number);
  const std::vector<uint32_t> used = buffersOf(nest);
  const LoopNest loops(nest);
  for (uint32_t i = 0; i < loops.outputs.size(); ++i) {
    const uint32_t buffer = loops.outputs[i].buffer;
    prepare(buffer, !readsBefore(nest, i) && loops.covers(loops.outputs[i], kernel.buffers()->Get(buffer)->count()));
  }
  for (uint32_t buffer : used)
    prepare(buffer, false);
  const NestContext context{kernel, nest, buffers, options};
  if (!loops.isEmpty()) {
    DGC_RETURN_IF_ERROR(runNest(context, loops));
    setDegrees(context, loops);
  }
  for (uint32_t buffer : used)
    if (buffer >= kernel.inputs() + kernel.results() && lastUses[buffer] == number) {
      tensors[buffer].reset();
      buffers.read[buffer] = buffers.written[buffer] = nullptr;
    }
  return absl::OkStatus();
}

absl::Status KernelRun::run() {
  for (uint32_t i = 0; i < count(kernel.nests()); ++i)
    if (absl::Status s = nest(i); !s.ok())
      return rt::annotate(s, rt::str("nest ", i));
  return absl::OkStatus();
}

std::vector<TensorRef> KernelRun::results() {
  std::vector<TensorRef> result;
  for (uint32_t i = 0; i < kernel.results(); ++i) {
    prepare(kernel.inputs() + i, false);
    result.push_back(tensors[kernel.inputs() + i]);
  }
  return result;
}

absl::StatusOr<std::vector<TensorRef>> dgc::verify::interpret(const Kernel &kernel, std::span<const TensorRef> inputs,
                                                              const InterpreterOptions &options) {
  KernelRun run(kernel, inputs, options);
  DGC_RETURN_IF_ERROR(run.run());
  return run.results();
}
