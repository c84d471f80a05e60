// Counts what the programs of a plan communicate.
#include "runtime/artifact/PlanTraffic.h"

#include "runtime/artifact/Mesh.h"
#include "runtime/base/Shape.h"

using namespace dgc::rt;
namespace fb = dgc::artifact;

uint64_t dgc::rt::payloadBytes(const fb::Collective &collective) {
  uint64_t given = collective.src_count(), received = collective.dst_count();
  for (uint32_t i = 0; collective.more() && i < collective.more()->size(); ++i) {
    given += collective.more()->Get(i)->src_count();
    received += collective.more()->Get(i)->dst_count();
  }
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
    const fb::Step &step = *program.steps()->Get(i);
    if (const fb::Collective *collective = step.action_as_Collective())
      traffic.addCollective(payloadBytes(*collective));
    else if (const fb::Send *send = step.action_as_Send())
      traffic.addSend(bufferBytes(program, send->buffer()));
    else if (const fb::Receive *receive = step.action_as_Receive())
      traffic.addReceive(bufferBytes(program, receive->buffer()));
  }
  return traffic;
}
