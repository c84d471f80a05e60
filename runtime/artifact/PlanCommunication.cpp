// Programs of an artifact as lists of communication, one for each worker.
#include "runtime/artifact/PlanCommunication.h"

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Spelling.h"
#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

namespace {
/// Numbers texts; equal ones once.
class Table {
public:
  explicit Table(std::vector<std::string> &texts) : texts(texts) {}
  uint32_t operator[](std::string text) {
    auto [it, isNew] = numbers.try_emplace(std::move(text), static_cast<uint32_t>(texts.size()));
    if (isNew)
      texts.push_back(it->first);
    return it->second;
  }

private:
  std::vector<std::string> &texts;
  std::unordered_map<std::string, uint32_t> numbers;
};

class CommunicationWriter {
public:
  explicit CommunicationWriter(const a::Plan &plan)
      : plan(plan), signatures(result.signatures), places(result.places) {}
  absl::StatusOr<CommunicationPlan> write(std::span<const a::Program *const> programs);

private:
  /// One operation of a program, before it is known whose it is.
  struct Entry {
    Communication communication;
    TransferEnd end;                                // of a transfer
    const std::vector<uint32_t> *groupOf = nullptr; // of a collective: by rank, the group that it is in
    bool isOfLoop = false;                          // where a loop with transfers begins or ends
  };

  /// Stops where there are too many kinds of groups, which is an error in the end.
  std::vector<Entry> entriesOf(const a::Program &program);
  Entry loopEntry(const a::Program &program, uint32_t step, std::string which);
  Entry entryOf(const a::Collective &op, std::string text);
  const std::vector<uint32_t> &groupsAlong(const flatbuffers::Vector<uint32_t> *axes);
  std::string namesOf(const flatbuffers::Vector<uint32_t> *axes) const;

  const a::Plan &plan;
  CommunicationPlan result;
  Table signatures, places;
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> groups; // axes -> by rank, its group
};
} // namespace

static uint32_t count(const a::Program &program) { return program.steps() ? program.steps()->size() : 0; }

static std::string typeName(a::DType type) { return std::string(nameOf(toDType(type))); }

/// Of a buffer that has `parts` equal ones along dimension 0: of one of them.
static std::string transferSignature(const a::Buffer &buffer, uint32_t parts) {
  std::string text = "a transfer of " + typeName(buffer.dtype()) + " [";
  for (uint32_t i = 0; buffer.shape() && i < buffer.shape()->size(); ++i)
    text += str(i ? "x" : "", buffer.shape()->Get(i) / (i ? 1 : parts));
  return text + "]";
}

std::string CommunicationWriter::namesOf(const flatbuffers::Vector<uint32_t> *axes) const {
  std::string text;
  for (uint32_t i = 0; axes && i < axes->size(); ++i)
    text += str(i ? "," : "", plan.mesh()->Get(axes->Get(i))->name()->c_str());
  return text;
}

/// Axes of size 1 do not matter to who belongs together, nor does the order of the axes.
const std::vector<uint32_t> &CommunicationWriter::groupsAlong(const flatbuffers::Vector<uint32_t> *axes) {
  std::vector<uint32_t> key;
  for (uint32_t i = 0; axes && i < axes->size(); ++i)
    if (plan.mesh()->Get(axes->Get(i))->size() > 1)
      key.push_back(axes->Get(i));
  std::sort(key.begin(), key.end());
  auto [it, isNew] = groups.try_emplace(std::move(key));
  if (!isNew)
    return it->second;
  std::vector<uint32_t> &groupOf = it->second;
  groupOf.assign(plan.world_size(), UINT32_MAX);
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
    if (groupOf[rank] != UINT32_MAX)
      continue;
    std::vector<uint32_t> members = meshGroup(plan, axes, rank);
    std::erase_if(members, [&](uint32_t member) { return member >= plan.world_size(); });
    for (uint32_t member : members)
      groupOf[member] = static_cast<uint32_t>(result.groups.size());
    result.groups.push_back(std::move(members));
  }
  return groupOf;
}

/// All that the members must agree in, `text` before it: the operation, the type, where it lies in the shared arena,
/// and how they are numbered.
CommunicationWriter::Entry CommunicationWriter::entryOf(const a::Collective &op, std::string text) {
  text += spelled(op.kind());
  if (infoOf(toCollectiveKind(op.kind())).reduces)
    text += " " + spelled(op.reduction());
  text += str(" of ", typeName(op.dtype()));
  forEachRange(op, [&](const auto &range) {
    text += str(" x ", range.src_count(), " at ", range.src());
    if (range.dst_count() != range.src_count() || range.dst() != range.src())
      text += str(" to x ", range.dst_count(), " at ", range.dst());
  });
  text += " over " + namesOf(op.axes());
  for (uint32_t i = 0; op.permutation() && i < op.permutation()->size(); ++i)
    text += str(i ? "," : " to members ", static_cast<int32_t>(op.permutation()->Get(i)));
  Entry entry;
  entry.communication.kind = Communication::Kind::Collective;
  entry.communication.signature = signatures[std::move(text)];
  entry.groupOf = &groupsAlong(op.axes());
  return entry;
}

/// True where steps of a loop's body send or receive.
static bool hasTransfers(const a::Program &program, uint32_t loop) {
  const a::While &op = *program.steps()->Get(loop)->action_as_While();
  const uint64_t begin = uint64_t{loop} + 1 + op.test_steps(), end = begin + op.body_steps();
  for (uint32_t i = static_cast<uint32_t>(begin); i < std::min<uint64_t>(end, count(program)); ++i)
    if (infoOf(program.steps()->Get(i)->action_type()).kind == ActionKind::Transfer)
      return true;
  return false;
}

CommunicationWriter::Entry CommunicationWriter::loopEntry(const a::Program &program, uint32_t step, std::string which) {
  Entry entry;
  entry.isOfLoop = true;
  entry.communication.kind = Communication::Kind::Collective;
  entry.communication.signature =
      signatures[which + str("a loop of ", program.steps()->Get(step)->action_as_While()->rounds(), " rounds")];
  entry.communication.place = places[str("step ", step, " of '", program.name()->c_str(), "'")];
  return entry;
}

/// What is in a loop is there once. That proves it for all rounds: where a loop has transfers, all workers that have such
/// loops are taken to wait for each other where it begins and where it ends, so one round is followed by the same one of all;
/// and what is sent in a loop is received in one.
std::vector<CommunicationWriter::Entry> CommunicationWriter::entriesOf(const a::Program &program) {
  std::vector<Entry> entries;
  std::vector<std::pair<uint32_t, uint32_t>> loops; // with transfers, that are open: the step, the one behind the last
  // What is communicated in a loop that others go through, too, is so on all sides.
  auto inLoops = [&] { return loops.empty() ? std::string() : str("in ", loops.size(), " loops: "); };
  // A collective that goes on is there twice, and everybody must come to both: more than what is needed.
  std::vector<uint32_t> underWay;
  auto end = [&](uint32_t awaited) {
    entries.push_back(entryOf(*program.steps()->Get(awaited)->action_as_Collective(), "the end of "));
    entries.back().communication.place = places[str("step ", awaited, " of '", program.name()->c_str(), "'")];
    std::erase(underWay, awaited);
  };
  for (uint32_t i = 0; i < count(program) && groups.size() * plan.world_size() <= maxCommunications; ++i) {
    const a::Step &step = *program.steps()->Get(i);
    for (; !loops.empty() && loops.back().second == i; loops.pop_back())
      entries.push_back(loopEntry(program, loops.back().first, "the end of "));
    if (const a::While *loop = step.action_as_While(); loop && hasTransfers(program, i)) {
      entries.push_back(loopEntry(program, i, "the beginning of "));
      loops.emplace_back(i, i + 1 + loop->test_steps() + loop->body_steps());
    }
    for (uint32_t w = 0; step.waits() && w < step.waits()->size(); ++w)
      end(step.waits()->Get(w));
    if (!communicates(infoOf(step.action_type()).kind))
      continue;
    if (step.queue() == 1)
      underWay.push_back(i);
    Entry entry;
    Communication &c = entry.communication;
    auto transfer = [&](Communication::Kind kind, const auto &op) {
      c.kind = kind;
      entry.end = op;
      const uint32_t parts = partsOf(plan, entry.end);
      c.signature = signatures[inLoops() + transferSignature(*program.buffers()->Get(op.buffer()), parts)];
      c.channel = op.channel();
    };
    visitCommunication(step, Overloaded{[&](const a::Collective &op) { entry = entryOf(op, inLoops()); },
                                        [&](const a::Send &op) { transfer(Communication::Kind::Send, op); },
                                        [&](const a::Receive &op) { transfer(Communication::Kind::Receive, op); }});
    c.place = places[str("step ", i, " of '", program.name()->c_str(), "'")];
    entries.push_back(entry);
  }
  for (; !loops.empty(); loops.pop_back())
    entries.push_back(loopEntry(program, loops.back().first, "the end of "));
  for (uint32_t awaited : std::vector<uint32_t>(underWay))
    end(awaited);
  return entries;
}

absl::StatusOr<CommunicationPlan> CommunicationWriter::write(std::span<const a::Program *const> programs) {
  std::map<const a::Program *, std::vector<Entry>> entries; // those of one kind of worker are written once
  uint64_t total = 0;
  for (const a::Program *program : programs) {
    auto [it, isNew] = entries.try_emplace(program);
    if (isNew)
      it->second = entriesOf(*program);
    total += it->second.size();
    if (total + groups.size() * plan.world_size() > maxCommunications)
      return absl::InvalidArgumentError(str("its ", plan.world_size(), " workers communicate more than ",
                                            maxCommunications, " times in a step, which is more than is checked"));
  }
  std::vector<uint32_t> inLoops; // the workers that have loops with transfers
  for (uint32_t rank = 0; rank < programs.size(); ++rank)
    if (std::ranges::any_of(entries[programs[rank]], &Entry::isOfLoop))
      inLoops.push_back(rank);
  const auto loopGroup = static_cast<uint32_t>(result.groups.size());
  if (!inLoops.empty())
    result.groups.push_back(std::move(inLoops));
  for (uint32_t rank = 0; rank < programs.size(); ++rank) {
    std::vector<Communication> &list = result.workers.emplace_back();
    for (const Entry &entry : entries[programs[rank]]) {
      Communication communication = entry.communication;
      if (entry.isOfLoop) {
        communication.group = loopGroup;
        list.push_back(communication);
        continue;
      }
      if (entry.groupOf) {
        communication.group = (*entry.groupOf)[rank];
        list.push_back(communication);
        continue;
      }
      const bool sends = communication.kind == Communication::Kind::Send;
      for (uint32_t peer : sends ? receiversOf(plan, entry.end, rank) : sendersOf(plan, entry.end, rank)) {
        communication.peer = peer;
        list.push_back(communication);
      }
    }
  }
  return std::move(result);
}

absl::StatusOr<CommunicationPlan> dgc::rt::writeDownCommunication(const a::Plan &plan,
                                                                  std::span<const a::Program *const> programs) {
  return CommunicationWriter(plan).write(programs);
}
