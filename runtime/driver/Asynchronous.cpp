#include "runtime/driver/Asynchronous.h"

#include "runtime/base/Status.h"
#include "runtime/checkpoint/ShardedCheckpoint.h"
#include "runtime/driver/Gather.h"
#include "runtime/servers/servers.pb.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace dgc;
using namespace dgc::rt;

std::string dgc::rt::packOutputs(const ProgramRunner &runner) {
  std::string bytes;
  for (const OutputView &view : runner.outputs())
    bytes.append(reinterpret_cast<const char *>(view.memory.data()), view.memory.size());
  return bytes;
}

uint64_t dgc::rt::outputBytes(const ProgramRunner &runner) {
  uint64_t bytes = 0;
  for (const OutputView &view : runner.outputs())
    bytes += view.memory.size();
  return bytes;
}

absl::StatusOr<std::unique_ptr<AsynchronousSteps>>
AsynchronousSteps::create(const Artifact &artifact, Executor &executor, ServerTransport *transport,
                          const RunOptions &options, const WorkerContext &context, Begin begin) {
  std::unique_ptr<AsynchronousSteps> made(
      new AsynchronousSteps(artifact, *executor.program("train"), options, context));
  made->disk = begin.disk;
  if (!transport) {
    DGC_RETURN_IF_ERROR(made->beginChief(begin));
    return made;
  }
  DGC_RETURN_IF_ERROR(made->beginServer(*transport, begin));
  return made;
}

/// Applies what this server had applied behind the checkpoint, and tells the chief.
absl::StatusOr<std::string> AsynchronousSteps::recover(const Begin &begin) {
  servers::Recovered recovered;
  if (options.checkpoint.empty())
    return recovered.SerializeAsString();
  place = {options.checkpoint, static_cast<uint32_t>(context.transport.rank()),
           str("plan ", artifact.digestHex(), ", seed ", begin.seed, ", ", begin.order)};
  if (begin.isNew)
    DGC_RETURN_IF_ERROR(removeUpdateLogs(*disk, place, INT64_MAX));
  std::vector<int64_t> steps;
  DGC_ASSIGN_OR_RETURN(const bool hasOthers,
                       replayUpdates(*disk, place, begin.step, [&](const Update &update) -> absl::Status {
                         if (!shard->applied().has(update.step))
                           steps.push_back(update.step);
                         return shard->restore(update);
                       }));
  for (int64_t step : steps) {
    recovered.add_steps(step);
    const auto outputs = shard->outputs().find(step);
    recovered.add_outputs(outputs == shard->outputs().end() ? "" : outputs->second);
  }
  if (hasOthers && context.serving->notice && place.rank == 1)
    context.serving->notice("updates behind the checkpoint are not taken: they are of another plan, seed or data");
  DGC_ASSIGN_OR_RETURN(auto log, UpdateLog::begin(*disk, place, begin.step));
  shard->setLog(std::move(log));
  return recovered.SerializeAsString();
}

absl::Status AsynchronousSteps::beginServer(ServerTransport &transport, const Begin &begin) {
  DGC_ASSIGN_OR_RETURN(program, UpdateProgram::create(artifact.plan(), runner, transport));
  shard = std::make_unique<UpdateShard>(*program, begin.step);
  DGC_ASSIGN_OR_RETURN(const std::string recovered, recover(begin));
  DGC_RETURN_IF_ERROR(context.gather(context.serving->address).status());
  DGC_RETURN_IF_ERROR(gatherLong(context.gather, context.transport.rank(), recovered).status());
  server = std::make_unique<UpdateServer>(std::move(*context.serving), *shard, context.abort);
  return meet(shard->lastBegun() + 1);
}

/// All servers are there before the first worker comes, and know which steps the others have applied.
absl::Status AsynchronousSteps::meet(int64_t applied) {
  DGC_ASSIGN_OR_RETURN(const std::vector<std::string> all, context.gather(str(applied)));
  for (const std::string &each : all)
    first = std::max<int64_t>(first, std::strtoll(each.c_str(), nullptr, 10));
  return absl::OkStatus();
}

absl::Status AsynchronousSteps::beginChief(const Begin &begin) {
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> addresses, context.gather(""));
  DGC_ASSIGN_OR_RETURN(const std::vector<std::string> texts, gatherLong(context.gather, 0, ""));
  DGC_RETURN_IF_ERROR(meet(0));
  PoolFacts facts;
  facts.planDigest = std::string(reinterpret_cast<const char *>(artifact.digest().data()), artifact.digest().size());
  facts.servers.assign(addresses.begin() + 1, addresses.end());
  facts.seed = begin.seed;
  facts.order = begin.order;
  pool = std::make_unique<WorkerPool>(std::move(*context.serving), std::move(facts), context.abort);
  // What all servers have applied is not computed again.
  std::map<int64_t, size_t> counts;
  std::map<int64_t, std::string> outputs;
  for (const std::string &text : texts) {
    servers::Recovered recovered;
    if (!recovered.ParseFromString(text))
      return absl::InternalError("a server tells what is no message of this dgc");
    for (int i = 0; i < recovered.steps_size(); ++i) {
      ++counts[recovered.steps(i)];
      if (recovered.outputs(i).size() == outputBytes(runner))
        outputs[recovered.steps(i)] = recovered.outputs(i);
    }
  }
  for (auto &[step, bytes] : outputs)
    if (counts[step] + 1 == texts.size())
      pool->skip(step, std::move(bytes));
  return absl::OkStatus();
}

absl::Status AsynchronousSteps::submit(int64_t step, const Cursor &at) {
  return pool ? pool->submit({step, at.epoch, at.step}) : server->awaitBegun(step);
}

absl::Status AsynchronousSteps::collect(int64_t step) {
  if (!pool)
    return server->awaitApplied(step);
  DGC_ASSIGN_OR_RETURN(const std::string bytes, pool->collect(step));
  if (bytes.size() != outputBytes(runner))
    return absl::InternalError(
        str("a worker reports ", bytes.size(), " bytes of step ", step, ", expected are ", outputBytes(runner)));
  size_t at = 0;
  for (const OutputView &view : runner.outputs()) {
    std::memcpy(view.memory.data(), bytes.data() + at, view.memory.size());
    at += view.memory.size();
  }
  return absl::OkStatus();
}

size_t AsynchronousSteps::depth() const {
  const uint64_t staleness = artifact.plan().asynchronous()->staleness();
  return staleness == UINT64_MAX ? SIZE_MAX : static_cast<size_t>(staleness) + 1;
}

absl::Status AsynchronousSteps::cut(int64_t step) {
  if (pool || options.checkpoint.empty() || shard->updateLog()->base() == step)
    return absl::OkStatus();
  shard->forgetOutputs(step);
  DGC_ASSIGN_OR_RETURN(auto log, UpdateLog::begin(*disk, place, step));
  shard->setLog(std::move(log));
  DGC_ASSIGN_OR_RETURN(const std::vector<FoundCheckpoint> found, listCheckpoints(*disk, options.checkpoint));
  return found.empty() ? absl::OkStatus() : removeUpdateLogs(*disk, place, found.front().step);
}

void AsynchronousSteps::finish() {
  if (pool)
    pool->finish();
}

absl::Status AsynchronousSteps::removeLogs() {
  return pool ? absl::OkStatus() : removeUpdateLogs(*disk, place, INT64_MAX);
}

std::string AsynchronousSteps::staleness() const {
  std::string text;
  for (const auto &[missed, updates] : pool ? pool->staleness() : std::map<int64_t, int64_t>())
    text += str(text.empty() ? "" : ", ", missed, ": ", updates);
  return text;
}
