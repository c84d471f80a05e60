// Counts what the programs of a plan communicate.
#include "runtime/artifact/PlanTraffic.h"

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/base/Shape.h"

using namespace dgc::rt;
namespace fb = dgc::artifact;

uint64_t dgc::rt::payloadBytes(const fb::Collective &collective) {
  uint64_t given = 0, received = 0;
  forEachRange(collective, [&](const auto &range) {
    given += range.src_count();
    received += range.dst_count();
  });
  uint64_t size = sizeOf(toDType(collective.dtype()));
  return payloadBytes((given - collective.padding()) * size, (received - collective.padding()) * size);
}

/// The size of the value in a buffer of a program.
static uint64_t bufferBytes(const fb::Program &program, uint32_t index) {
  const fb::Buffer &buffer = *program.buffers()->Get(index);
  return byteSize(toDType(buffer.dtype()), toVector(buffer.shape())).value_or(0);
}

static uint64_t multiplyClamped(uint64_t x, uint64_t y) {
  uint64_t product = 0;
  return __builtin_mul_overflow(x, y, &product) ? UINT64_MAX : product;
}

/// The steps from `begin` to `end`, which run as `runs` says.
static void visitSteps(const fb::Program &program, uint32_t begin, uint32_t end, StepRuns runs,
                       const std::function<void(const fb::Step &, StepRuns)> &visit) {
  for (uint32_t i = begin; i < end; ++i) {
    const fb::Step &step = *program.steps()->Get(i);
    visit(step, runs);
    const fb::While *loop = step.action_as_While();
    if (!loop)
      continue;
    const uint64_t rounds = std::max<uint64_t>(loop->rounds(), 1);
    const uint64_t tests = loop->rounds() == 0 || rounds == UINT64_MAX ? rounds : rounds + 1;
    const bool isLowerBound = runs.isLowerBound || loop->rounds() == 0;
    const uint32_t body = i + 1 + loop->test_steps(), behind = body + loop->body_steps();
    visitSteps(program, i + 1, body, {multiplyClamped(runs.times, tests), isLowerBound}, visit);
    visitSteps(program, body, behind, {multiplyClamped(runs.times, rounds), isLowerBound}, visit);
    i = behind - 1;
  }
}

void dgc::rt::forEachStep(const fb::Program &program, const std::function<void(const fb::Step &, StepRuns)> &visit) {
  visitSteps(program, 0, program.steps() ? program.steps()->size() : 0, {}, visit);
}

Traffic dgc::rt::trafficOf(const fb::Program &program) {
  Traffic traffic;
  forEachStep(program, [&](const fb::Step &step, StepRuns runs) {
    visitCommunication(
        step,
        Overloaded{[&](const fb::Collective &op) {
                     traffic.addCollective(payloadBytes(op), runs.times);
                     traffic.isLowerBound |= runs.isLowerBound;
                   },
                   [&](const fb::Send &op) { traffic.addSend(bufferBytes(program, op.buffer()), runs.times); },
                   [&](const fb::Receive &op) { traffic.addReceive(bufferBytes(program, op.buffer()), runs.times); }});
  });
  return traffic;
}
