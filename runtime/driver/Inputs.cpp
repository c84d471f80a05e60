// Binds the inputs of programs to the data set.
#include "runtime/driver/Inputs.h"

#include "runtime/artifact/Mesh.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::rt;

std::vector<InputSpec> dgc::rt::inputSpecs(const artifact::Plan &plan, const ProgramRunner &runner) {
  std::vector<InputSpec> specs;
  for (const InputView &view : runner.inputs())
    if (view.role == artifact::InputRole::Data)
      specs.push_back({view.name, view.dtype, view.globalShape, view.batchDim, view.slice.offsets, view.slice.sizes,
                       view.slice.block});
  for (const artifact::Program *program : *plan.programs()) {
    if (program->name()->string_view() != runner.name() || !program->inputs())
      continue;
    for (const artifact::Input *input : *program->inputs()) {
      auto known = [&](const InputSpec &spec) { return spec.name == input->name()->str(); };
      if (input->role() != artifact::InputRole::Data || input->batch_dim() < 0 ||
          std::any_of(specs.begin(), specs.end(), known))
        continue;
      std::vector<int64_t> shape = toVector(input->global_shape()), none = shape;
      none[static_cast<size_t>(input->batch_dim())] = 0;
      specs.push_back({input->name()->str(), toDType(program->buffers()->Get(input->buffer())->dtype()), shape,
                       input->batch_dim(), std::vector<int64_t>(shape.size(), 0), none});
    }
  }
  return specs;
}

/// Where the feed puts the inputs of these specs; null for those without rows.
static std::vector<std::byte *> destinations(const ProgramRunner &runner, size_t specs) {
  std::vector<std::byte *> pointers;
  for (const InputView &view : runner.inputs())
    if (view.role == artifact::InputRole::Data)
      pointers.push_back(view.memory.data());
  pointers.resize(specs, nullptr);
  return pointers;
}

/// Whether the programs of this name, one of each group, are told how many examples are real.
static bool takesValidCount(const artifact::Plan &plan, std::string_view name) {
  for (const artifact::Program *program : *plan.programs())
    if (program->name()->string_view() == name && program->inputs())
      for (const artifact::Input *input : *program->inputs())
        if (input->role() == artifact::InputRole::ValidCount)
          return true;
  return false;
}

bool dgc::rt::hasMeans(const artifact::Plan &plan, std::string_view name) {
  for (const artifact::Program *program : *plan.programs())
    if (program->name()->string_view() == name && program->outputs())
      for (const artifact::Output *output : *program->outputs())
        if (output->role() != artifact::OutputRole::Prediction)
          return true;
  return false;
}

double dgc::rt::tokensPerSample(const artifact::Plan &plan, std::string_view name) {
  for (const artifact::Program *program : *plan.programs())
    if (program->name()->string_view() == name && program->inputs())
      for (const artifact::Input *input : *program->inputs())
        if (input->name()->string_view() == "tokens" && input->batch_dim() >= 0) {
          double tokens = 1;
          for (int64_t extent : toVector(input->global_shape()))
            tokens *= static_cast<double>(extent);
          return tokens / static_cast<double>(input->global_shape()->Get(static_cast<uint32_t>(input->batch_dim())));
        }
  return 0;
}

std::string dgc::rt::wholeBatchesOnly(const artifact::Plan &plan, std::string_view name) {
  for (const artifact::Program *program : *plan.programs())
    if (program->name()->string_view() == name && program->whole_batches() && program->whole_batches()->size())
      return program->whole_batches()->str();
  // Of predictions the padding is cut off; from a mean nothing could take it.
  if (hasMeans(plan, name) && !takesValidCount(plan, name))
    return "it has no input of the role 'valid_count', which says how many examples are real";
  return "";
}

absl::StatusOr<FedProgram> dgc::rt::bindInputs(const artifact::Plan &plan, ProgramRunner &runner, Dataset *dataset,
                                               const BindOptions &options) {
  FedProgram program;
  program.runner = &runner;
  if (!dataset)
    return usageError(str("program '", runner.name(), "' reads data: give the folder with --data DIR"));
  FeedOptions feed;
  feed.globalBatch = static_cast<int64_t>(plan.global_batch());
  feed.seed = options.seed;
  feed.shuffle = options.shuffle;
  feed.lastBatch = options.lastBatch;
  std::vector<InputSpec> specs = inputSpecs(plan, runner);
  DGC_ASSIGN_OR_RETURN(Feed bound, Feed::create(*dataset, options.split, specs, feed));
  if (options.lastBatch == LastBatch::Weight && bound.samples() % feed.globalBatch != 0)
    if (std::string why = wholeBatchesOnly(plan, runner.name()); !why.empty())
      return usageError(str("program '", runner.name(), "' takes whole batches of ", feed.globalBatch, " only: ", why,
                            ". The ", options.split, " data has ", bound.samples(),
                            " samples, so that the last batch is not full: ", options.wayOut,
                            "compile with a --batch that divides ", bound.samples(), ", or give a data set that ",
                            feed.globalBatch, " divides"));
  program.feed = std::move(bound);
  program.inputs = destinations(runner, specs.size());
  return program;
}

std::string dgc::rt::describeOrder(const Feed &feed, const artifact::Plan &plan, const RunOptions &options,
                                   uint64_t seed) {
  return str(counted(feed.samples(), "sample"), " in batches of ", plan.global_batch(), ", the last one ",
             options.lastBatch == LastBatch::Drop ? "dropped" : "weighted", ", shuffle ",
             options.shuffle ? "on" : "off", ", seed ", seed);
}
