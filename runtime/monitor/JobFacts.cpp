// Counts what the training program of each worker will do.
#include "runtime/monitor/JobFacts.h"

#include "runtime/artifact/Actions.h"
#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/PlanTraffic.h"
#include "runtime/artifact/Spelling.h"
#include "runtime/base/Shape.h"
#include "runtime/executor/PlannedMemory.h"
#include "runtime/telemetry/PlanSummary.h"

using namespace dgc;
using namespace dgc::rt;
namespace fb = dgc::artifact;

static std::string text(const flatbuffers::String *value) { return value ? value->str() : ""; }

static double elements(const fb::Buffer &buffer) {
  double count = 1;
  for (int64_t extent : toVector(buffer.shape()))
    count *= static_cast<double>(extent);
  return count;
}

static double flopsOf(const fb::Matmul &op) {
  return 2.0 * static_cast<double>(op.batch()) * static_cast<double>(op.m()) * static_cast<double>(op.n()) *
         static_cast<double>(op.k());
}

/// Each element of the activations on the side of the results meets the weights of its channel.
static double flopsOf(const fb::Program &program, const fb::Convolution &op) {
  const fb::Buffer &weights = *program.buffers()->Get(op.weights());
  const auto shape = toVector(weights.shape());
  const int64_t channels = shape.empty() ? 1 : op.weights_out_first() ? shape.front() : shape.back();
  return 2 * elements(*program.buffers()->Get(op.dst())) * elements(weights) / static_cast<double>(channels);
}

/// Two products of queries and keys; five in the gradient. With `causal` half of them count.
static double flopsOf(const fb::Program &program, const fb::Attention &op) {
  const auto query = toVector(program.buffers()->Get(op.query())->shape());
  const auto key = toVector(program.buffers()->Get(op.key())->shape());
  const auto value = toVector(program.buffers()->Get(op.value())->shape());
  if (query.size() != 3 || key.size() != 3 || value.size() != 3)
    return 0;
  const double pairs = static_cast<double>(query[0]) * static_cast<double>(query[1]) * static_cast<double>(key[1]);
  const double forward = 2 * pairs * static_cast<double>(query[2] + value[2]);
  return forward * (op.backward() ? 2.5 : 1) * (op.causal() ? 0.5 : 1);
}

static double flopsOf(const fb::Plan &plan, const fb::Program &program) {
  double flops = 0;
  forEachStep(program, [&](const fb::Step &step, StepRuns runs) {
    double each = 0;
    if (const fb::KernelCall *call = step.action_as_KernelCall())
      each = static_cast<double>(plan.kernels()->Get(call->kernel())->flops());
    else if (const fb::Matmul *product = step.action_as_Matmul())
      each = flopsOf(*product);
    else if (const fb::Convolution *convolution = step.action_as_Convolution())
      each = flopsOf(program, *convolution);
    else if (const fb::Attention *attention = step.action_as_Attention())
      each = flopsOf(program, *attention);
    flops += each * static_cast<double>(runs.times);
  });
  return flops;
}

static void addTraffic(const fb::Collective &op, uint64_t times, std::map<std::string, JobFacts::Bytes> &traffic) {
  uint64_t given = 0, received = 0;
  forEachRange(op, [&](const auto &range) {
    given += range.src_count();
    received += range.dst_count();
  });
  const uint64_t size = sizeOf(toDType(op.dtype())), padding = op.padding();
  JobFacts::Bytes &bytes = traffic[spelled(op.kind())];
  bytes.sent += times * size * (given - std::min(given, padding));
  bytes.received += times * size * (received - std::min(received, padding));
}

static std::map<std::string, JobFacts::Bytes> trafficByKind(const fb::Program &program) {
  std::map<std::string, JobFacts::Bytes> traffic;
  auto bytesOf = [&](uint32_t buffer) {
    const fb::Buffer &value = *program.buffers()->Get(buffer);
    return byteSize(toDType(value.dtype()), toVector(value.shape())).value_or(0);
  };
  forEachStep(program, [&](const fb::Step &step, StepRuns runs) {
    visitCommunication(
        step,
        Overloaded{[&](const fb::Collective &op) { addTraffic(op, runs.times, traffic); },
                   [&](const fb::Send &op) { traffic["send"].sent += runs.times * bytesOf(op.buffer()); },
                   [&](const fb::Receive &op) { traffic["receive"].received += runs.times * bytesOf(op.buffer()); }});
  });
  return traffic;
}

JobFacts dgc::rt::factsOf(const fb::Plan &plan, const std::string &digest) {
  JobFacts facts;
  facts.model = text(plan.model());
  facts.producer = text(plan.producer());
  facts.digest = digest;
  facts.workersText = workersText(plan);
  facts.summary = summarize(plan);
  facts.globalBatch = plan.global_batch();
  for (uint32_t i = 0; plan.options() && i < plan.options()->size(); ++i) {
    const fb::CompilerOption &option = *plan.options()->Get(i);
    facts.options.emplace_back(text(option.name()), text(option.value()));
  }
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
    JobFacts::Worker worker;
    worker.plannedBytes = plannedMemory(plan, groupOf(plan, rank)).total();
    if (const fb::Program *train = programOf(plan, "train", rank)) {
      worker.traffic = trafficByKind(*train);
      facts.flopsPerStep += flopsOf(plan, *train);
    }
    facts.workers.push_back(std::move(worker));
  }
  return facts;
}
