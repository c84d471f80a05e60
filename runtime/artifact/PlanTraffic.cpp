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

Traffic dgc::rt::trafficOf(const fb::Program &program) {
  Traffic traffic;
  for (uint32_t i = 0; program.steps() && i < program.steps()->size(); ++i) {
    visitCommunication(
        *program.steps()->Get(i),
        Overloaded{[&](const fb::Collective &op) { traffic.addCollective(payloadBytes(op)); },
                   [&](const fb::Send &op) { traffic.addSend(bufferBytes(program, op.buffer())); },
                   [&](const fb::Receive &op) { traffic.addReceive(bufferBytes(program, op.buffer())); }});
  }
  return traffic;
}
