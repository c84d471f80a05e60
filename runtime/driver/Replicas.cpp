#include "runtime/driver/Replicas.h"

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/VariableParts.h"
#include "runtime/base/Status.h"

#include "absl/strings/numbers.h"

#include <algorithm>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

/// Room for RunProgress as text: its numbers, and two of each metric of an epoch.
static size_t textCapacityOf(const artifact::Plan &plan) {
  constexpr size_t kFixed = 4096, kOfElement = 64;
  size_t elements = 0;
  for (uint32_t p = 0; plan.programs() && p < plan.programs()->size(); ++p) {
    const artifact::Program &program = *plan.programs()->Get(p);
    for (uint32_t i = 0; program.outputs() && i < program.outputs()->size(); ++i)
      if (const artifact::Output &output = *program.outputs()->Get(i); output.role() == artifact::OutputRole::Metric) {
        size_t of = 1;
        for (const int64_t size : toVector(output.global_shape()))
          of *= static_cast<size_t>(size);
        elements += of;
      }
  }
  return (kFixed + kOfElement * elements + 63) / 64 * 64;
}

static std::vector<uint64_t> shareBytesOf(const artifact::Plan &plan, const Shares &shares) {
  std::vector<uint64_t> bytes(plan.world_size());
  for (const Shares::Given &each : shares.given())
    bytes[each.rank] += each.bytes;
  return bytes;
}

/// Where the copies begin in the shared arena.
static uint64_t stagingAt(const artifact::Plan &plan) { return (plan.shared_bytes() + 63) / 64 * 64; }

Replicas::Cut::Cut(const artifact::Plan &plan)
    : plan(plan), world(plan.world_size()), shares(plan), shareBytes(shareBytesOf(plan, shares)),
      textCapacity(textCapacityOf(plan)) {}

size_t Replicas::Cut::messageBytes(uint32_t of) const { return sizeof(Header) + textCapacity + shareBytes[of]; }

std::string Replicas::Cut::nameOf(const Shares::Given &given) const {
  return partsOf(*plan.variables()->Get(given.variable))[given.part].name;
}

/// The block of a variable that a rank has, without its stacked dimensions.
static Slice blockOfParts(const artifact::Plan &plan, const artifact::Variable &variable, uint32_t rank) {
  Slice slice = localSlice(plan, variable, rank);
  const auto stacked = static_cast<int64_t>(countStackedDims(variable));
  slice.offsets.erase(slice.offsets.begin(), slice.offsets.begin() + stacked);
  slice.sizes.erase(slice.sizes.begin(), slice.sizes.begin() + stacked);
  if (!slice.block.empty())
    slice.block.erase(slice.block.begin(), slice.block.begin() + stacked);
  return slice;
}

Slice Replicas::Cut::blockOf(const Shares::Given &given) const {
  return blockOfParts(plan, *plan.variables()->Get(given.variable), given.rank);
}

size_t Replicas::Cut::mostBytes() const {
  return sizeof(Header) + textCapacity + *std::max_element(shareBytes.begin(), shareBytes.end());
}

uint64_t Replicas::stagingBytes(const artifact::Plan &plan) {
  return stagingAt(plan) - plan.shared_bytes() + Cut(plan).mostBytes();
}

/// The step, the cursor and the seed, the plan, who made it, and KEY=VALUE; each in a line.
static std::string textOf(const RunProgress &progress) {
  const RunState &state = progress.state;
  std::string text = str(state.step, " ", state.cursor.epoch, " ", state.cursor.step, " ", state.seed, "\n",
                         state.planDigest, "\n", state.producer, "\n");
  for (const auto &[key, value] : progress.extra)
    text += str(key, "=", value, "\n");
  return text;
}

static std::optional<RunProgress> progressOf(std::string_view text) {
  auto line = [&] {
    const size_t end = text.find('\n');
    const std::string_view found = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return std::string(found);
  };
  RunProgress progress;
  RunState &state = progress.state;
  std::string numbers = line() + " ";
  auto number = [&](auto &value) {
    const size_t end = numbers.find(' ');
    const bool isNumber = end != std::string::npos && absl::SimpleAtoi(numbers.substr(0, end), &value);
    numbers.erase(0, end == std::string::npos ? end : end + 1);
    return isNumber;
  };
  if (!number(state.step) || !number(state.cursor.epoch) || !number(state.cursor.step) || !number(state.seed))
    return std::nullopt;
  state.planDigest = line();
  state.producer = line();
  while (!text.empty()) {
    const std::string entry = line();
    const size_t equal = entry.find('=');
    if (equal == std::string::npos)
      return std::nullopt;
    progress.extra[entry.substr(0, equal)] = entry.substr(equal + 1);
  }
  return progress;
}

absl::StatusOr<const Replicas::Cut *> Replicas::cutFor(uint32_t world) {
  std::unique_ptr<Cut> &cut = cuts[world];
  if (!cut) {
    DGC_ASSIGN_OR_RETURN(const artifact::Plan *plan, planOf(world));
    cut = std::make_unique<Cut>(*plan);
  }
  return cut.get();
}

/// The step of a message, or -1.
static int64_t stepOf(const std::vector<std::byte> &message) {
  int64_t step;
  std::memcpy(&step, message.data(), sizeof step);
  return step;
}

static void invalidate(std::vector<std::byte> &message) {
  const int64_t none = -1;
  std::memcpy(message.data(), &none, sizeof none);
}

bool Replicas::Generation::holdsAny() const {
  return std::any_of(slots.begin(), slots.end(),
                     [](const Slot &slot) { return stepOf(slot.own) >= 0 || stepOf(slot.other) >= 0; });
}

absl::Status Replicas::begin(uint32_t rank, uint32_t world, uint32_t generation) {
  if (!generations.empty() && now().number == generation)
    return absl::OkStatus();
  std::erase_if(generations, [](const Generation &each) { return !each.holdsAny(); });
  DGC_ASSIGN_OR_RETURN(const Cut *cut, cutFor(world));
  Generation &next = generations.emplace_back(Generation{generation, cut, rank, {}});
  for (Slot &slot : next.slots) {
    slot.own.resize(cut->messageBytes(rank)); // its pages are there before the first step that is copied
    slot.other.resize(cut->messageBytes(before(rank)));
    invalidate(slot.own);
    invalidate(slot.other);
  }
  return absl::OkStatus();
}

absl::Status Replicas::attach(Executor &executor, Transport &transport) {
  this->executor = &executor;
  this->transport = &transport;
  last = -1;
  Generation &mine = generations.back();
  const artifact::Plan &plan = mine.cut->plan;
  share = shareOf(plan, executor, mine.rank);
  views.clear();
  for (VariableView &view : partsOf(executor.variables())) {
    std::string name = view.name;
    views.insert({std::move(name), std::move(view)});
  }
  const std::span<std::byte> arena = transport.sharedArena();
  const uint64_t at = stagingAt(plan);
  const size_t bytes = mine.cut->messageBytes(mine.rank);
  if (arena.size() < at + bytes)
    return absl::InternalError("the shared arena has no room for copies");
  send.reset();
  receives = {};
  if (mine.cut->world == 1)
    return absl::OkStatus();
  DGC_ASSIGN_OR_RETURN(send,
                       transport.prepareSend(kChannel, static_cast<int>(behind(mine.rank)), arena.subspan(at, bytes)));
  for (size_t i = 0; i < mine.slots.size(); ++i) {
    DGC_ASSIGN_OR_RETURN(receives[i],
                         transport.prepareReceive(kChannel, static_cast<int>(before(mine.rank)), mine.slots[i].other));
  }
  return absl::OkStatus();
}

void Replicas::detach() {
  executor = nullptr;
  transport = nullptr;
  share.clear();
  views.clear();
  send.reset();
  receives = {};
}

/// Gives a message its step last: until then it is not whole.
absl::Status Replicas::fill(std::span<std::byte> message, const RunProgress &progress) const {
  const std::string text = textOf(progress);
  const size_t textCapacity = now().cut->textCapacity;
  if (text.size() > textCapacity)
    return absl::InternalError(str("what a run has beside variables takes ", text.size(), " bytes"));
  std::memcpy(message.data() + sizeof(Header), text.data(), text.size());
  size_t at = sizeof(Header) + textCapacity;
  std::vector<std::byte> block;
  for (const VariableView &view : share) {
    const std::span<const std::byte> elements = elementsOf(view, block);
    if (elements.size() > message.size() - at)
      return absl::InternalError("a share is larger than planned");
    std::memcpy(message.data() + at, elements.data(), elements.size());
    at += elements.size();
  }
  const Header header{progress.state.step, text.size()};
  std::memcpy(message.data(), &header, sizeof header);
  return absl::OkStatus();
}

absl::Status Replicas::take(const RunProgress &progress) {
  DGC_RETURN_IF_ERROR(executor->downloadVariables());
  // All have the copies of before: those that are older may be written over.
  DGC_RETURN_IF_ERROR(transport->barrier());
  if (last >= 0)
    generations.erase(generations.begin(), std::prev(generations.end()));
  Generation &mine = generations.back();
  const size_t next = 1 - mine.current;
  Slot &slot = mine.slots[next];
  invalidate(slot.own);
  invalidate(slot.other);
  const artifact::Plan &plan = mine.cut->plan;
  const std::span<std::byte> staging =
      transport->sharedArena().subspan(stagingAt(plan), mine.cut->messageBytes(mine.rank));
  DGC_RETURN_IF_ERROR(fill(staging, progress));
  std::memcpy(slot.own.data(), staging.data(), staging.size());
  if (send) {
    // A send may wait until it is received: every other rank receives first.
    PreparedCollective &receive = *receives[next];
    absl::Status status = (mine.rank % 2 == 0 ? *send : receive).run();
    if (status.ok())
      status = (mine.rank % 2 == 0 ? receive : *send).run();
    if (!status.ok()) {
      invalidate(slot.other); // it may have come in part
      return status;
    }
  }
  mine.current = next;
  last = progress.state.step;
  return absl::OkStatus();
}

std::vector<HeldCopies> Replicas::holdings() const {
  std::vector<HeldCopies> held;
  for (const Generation &each : generations) {
    HeldCopies &copies = held.emplace_back(HeldCopies{each.number, each.cut->world, each.rank});
    for (size_t i = 0; i < each.slots.size(); ++i) {
      const Slot &slot = each.slots[i];
      copies.own[i] = stepOf(slot.own);
      copies.other[i] = stepOf(slot.other);
      const std::vector<std::byte> *message = each.rank == 0 ? &slot.own : copies.before() == 0 ? &slot.other : nullptr;
      Header header;
      if (message)
        std::memcpy(&header, message->data(), sizeof header);
      if (header.step >= 0 && header.textBytes <= each.cut->textCapacity)
        copies.texts[i].assign(reinterpret_cast<const char *>(message->data() + sizeof(Header)), header.textBytes);
    }
  }
  std::erase_if(held, [](const HeldCopies &each) { return !each.any(); });
  return held;
}

absl::StatusOr<std::optional<Replicas::Found>> Replicas::find(const GatherBytes &gather) {
  DGC_ASSIGN_OR_RETURN(const std::vector<std::string> all, gather(toText(holdings())));
  DGC_ASSIGN_OR_RETURN(const std::optional<WholeCopy> whole, newestWhole(all));
  if (!whole)
    return std::optional<Found>();
  std::optional<RunProgress> progress = progressOf(whole->text);
  if (!progress || progress->state.step != whole->step)
    return absl::InternalError("a copy says of its run what is no such text");
  std::erase_if(generations, [&](const Generation &each) {
    return each.number < whole->generation && &each != &generations.back();
  });
  if (Generation &mine = generations.back(); mine.number == whole->generation) {
    // The next copy does not take the place of this one.
    auto has = [&](const Slot &slot) {
      return (stepOf(slot.own) == whole->step) + (stepOf(slot.other) == whole->step);
    };
    mine.current = has(mine.slots[1]) > has(mine.slots[0]) ? 1 : 0;
  }
  return Found{*whole, *std::move(progress)};
}

absl::Status Replicas::restore(const Found &found) {
  // What is not in the copies begins anew; what is loaded replaces the rest.
  DGC_RETURN_IF_ERROR(executor->initializeVariables([](const VariableView &) { return absl::OkStatus(); }));
  DGC_ASSIGN_OR_RETURN(const Cut *cut, cutFor(found.copy.world));
  const std::vector<std::set<uint32_t>> needers = needersOf(*cut);
  for (uint32_t of = 0; of < cut->world; ++of)
    DGC_RETURN_IF_ERROR(give(of, *cut, found.copy, needers[of]));
  return absl::OkStatus();
}

/// What two blocks of a tensor have in common; none where that is nothing.
static std::optional<Slice> overlapOf(const Slice &a, const Slice &b) {
  Slice both;
  if (a.sizes.size() != b.sizes.size())
    return std::nullopt;
  for (size_t d = 0; d < a.sizes.size(); ++d) {
    const int64_t first = std::max(a.offsets[d], b.offsets[d]);
    const int64_t end = std::min(a.offsets[d] + a.sizes[d], b.offsets[d] + b.sizes[d]);
    if (end <= first)
      return std::nullopt;
    both.offsets.push_back(first);
    both.sizes.push_back(end - first);
  }
  return both;
}

/// The box within a block.
static Slice within(const Slice &box, const Slice &block) {
  Slice inner{{}, box.sizes};
  for (size_t d = 0; d < box.offsets.size(); ++d)
    inner.offsets.push_back(box.offsets[d] - block.offsets[d]);
  return inner;
}

/// By rank of the copy: who of this epoch needs some of its share.
std::vector<std::set<uint32_t>> Replicas::needersOf(const Cut &cut) const {
  const artifact::Plan &plan = now().cut->plan;
  std::map<std::string, std::vector<std::pair<uint32_t, Slice>>> given; // ranks and blocks, by the name of the part
  for (const Shares::Given &each : cut.shares.given())
    given[cut.nameOf(each)].emplace_back(each.rank, cut.blockOf(each));
  std::vector<std::set<uint32_t>> needers(cut.world);
  for (uint32_t v = 0; plan.variables() && v < plan.variables()->size(); ++v) {
    const artifact::Variable &variable = *plan.variables()->Get(v);
    const std::vector<VariablePart> parts = partsOf(variable);
    for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
      if (!belongs(variable.group(), groupOf(plan, rank)))
        continue;
      const Slice own = blockOfParts(plan, variable, rank);
      for (const VariablePart &part : parts)
        if (const auto blocks = given.find(part.name); blocks != given.end())
          for (const auto &[of, block] : blocks->second)
            if (overlapOf(block, own))
              needers[of].insert(rank);
    }
  }
  return needers;
}

absl::Status Replicas::give(uint32_t of, const Cut &cut, const WholeCopy &copy, std::set<uint32_t> needers) {
  const artifact::Plan &plan = now().cut->plan;
  const uint32_t rank = now().rank, holder = copy.holders[of];
  const uint64_t bytes = cut.shareBytes[of];
  needers.insert(holder);
  if (!needers.contains(rank) || bytes == 0)
    return absl::OkStatus();
  const std::byte *held = nullptr;
  if (rank == holder)
    for (const Generation &each : generations)
      for (const Slot &slot : each.slots) {
        const std::vector<std::byte> &message = of == each.rank ? slot.own : slot.other;
        const bool isOf = of == each.rank || of == (each.rank + each.cut->world - 1) % each.cut->world;
        if (each.number == copy.generation && isOf && stepOf(message) == copy.step)
          held = message.data() + sizeof(Header) + cut.textCapacity;
      }
  if (needers.size() == 1)
    return unpackShare(of, cut, held);
  CollectiveDesc desc;
  desc.origin = str("the copy of rank ", of);
  desc.kind = CollectiveKind::Broadcast;
  desc.dtype = DType::U8;
  desc.group.assign(needers.begin(), needers.end());
  desc.root = static_cast<uint32_t>(std::distance(needers.begin(), needers.find(holder)));
  desc.src = desc.dst = stagingAt(plan);
  std::byte *staging = transport->sharedArena().data() + desc.src;
  const uint64_t room = now().cut->mostBytes();
  std::vector<std::byte> received(held ? 0 : bytes);
  // In pieces, as a share of fewer workers is larger than one of this plan.
  std::unique_ptr<PreparedCollective> broadcast;
  for (uint64_t at = 0; at < bytes; at += desc.srcCount) {
    if (const uint64_t count = std::min(room, bytes - at); count != desc.srcCount) {
      desc.srcCount = desc.dstCount = count;
      DGC_ASSIGN_OR_RETURN(broadcast, transport->prepare(desc));
    }
    if (held)
      std::memcpy(staging, held + at, desc.srcCount);
    DGC_RETURN_IF_ERROR(broadcast->run());
    if (!held)
      std::memcpy(received.data() + at, staging, desc.srcCount);
  }
  return unpackShare(of, cut, held ? held : received.data());
}

/// Takes what this worker holds of a share.
absl::Status Replicas::unpackShare(uint32_t of, const Cut &cut, const std::byte *variables) {
  for (const Shares::Given &each : cut.shares.given()) {
    if (each.rank != of)
      continue;
    const std::byte *from = variables;
    variables += each.bytes;
    const auto found = views.find(cut.nameOf(each));
    if (found == views.end())
      continue;
    const VariableView &view = found->second;
    const Slice block = cut.blockOf(each);
    const std::optional<Slice> both = overlapOf(block, view.slice);
    if (!both)
      continue;
    const size_t elementBytes = sizeOf(view.dtype);
    std::vector<std::byte> elements(static_cast<size_t>(both->numElements()) * elementBytes);
    copySliceOut(from, block.sizes, within(*both, block), elementBytes, elements.data());
    copySliceIn(elements.data(), view.slice.extents(), within(*both, view.slice), elementBytes, view.memory.data());
    DGC_RETURN_IF_ERROR(executor->upload(view));
  }
  return absl::OkStatus();
}

void Replicas::forget() {
  for (Generation &each : generations)
    for (Slot &slot : each.slots) {
      invalidate(slot.own);
      invalidate(slot.other);
    }
}
