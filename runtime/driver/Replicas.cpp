#include "runtime/driver/Replicas.h"

#include "runtime/artifact/Groups.h"
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

uint64_t Replicas::stagingBytes(const artifact::Plan &plan) {
  const std::vector<uint64_t> bytes = shareBytesOf(plan, Shares(plan));
  return stagingAt(plan) - plan.shared_bytes() + sizeof(Header) + textCapacityOf(plan) +
         *std::max_element(bytes.begin(), bytes.end());
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

Replicas::Replicas(const artifact::Plan &plan, uint32_t rank)
    : plan(plan), rank(rank), world(plan.world_size()), shares(plan), shareBytes(shareBytesOf(plan, shares)),
      textCapacity(textCapacityOf(plan)), needs(world) {
  for (Slot &slot : slots) {
    slot.own.resize(messageBytes(rank)); // its pages are there before the first step that is copied
    slot.other.resize(messageBytes(before(rank)));
  }
  forget();
  std::map<std::pair<uint32_t, std::vector<int64_t>>, std::set<uint32_t>> givers; // of a block of a variable
  for (const Shares::Given &each : shares.given())
    givers[{each.variable, each.offsets}].insert(each.rank);
  for (uint32_t of = 0; of < world; ++of) {
    std::set<uint32_t> from;
    for (uint32_t v = 0; plan.variables() && v < plan.variables()->size(); ++v)
      if (const artifact::Variable &variable = *plan.variables()->Get(v); belongs(variable.group(), groupOf(plan, of)))
        if (auto found = givers.find({v, localSlice(plan, variable, of).offsets}); found != givers.end())
          from.insert(found->second.begin(), found->second.end());
    for (uint32_t each : from)
      needs[each].push_back(of);
  }
}

absl::Status Replicas::attach(Executor &executor, Transport &transport) {
  this->executor = &executor;
  this->transport = &transport;
  last = -1;
  share = shareOf(plan, executor, rank);
  views.clear();
  for (const VariableView &view : executor.variables()) {
    uint32_t v = 0;
    while (plan.variables()->Get(v) != view.variable)
      ++v;
    for (uint32_t part = 0; VariableView &each : partsOf(view))
      views.insert({{v, part++}, std::move(each)});
  }
  const std::span<std::byte> arena = transport.sharedArena();
  const uint64_t at = stagingAt(plan);
  if (arena.size() < at + messageBytes(rank))
    return absl::InternalError("the shared arena has no room for copies");
  DGC_ASSIGN_OR_RETURN(
      send, transport.prepareSend(kChannel, static_cast<int>(behind(rank)), arena.subspan(at, messageBytes(rank))));
  for (size_t i = 0; i < slots.size(); ++i) {
    DGC_ASSIGN_OR_RETURN(receives[i],
                         transport.prepareReceive(kChannel, static_cast<int>(before(rank)), slots[i].other));
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
  if (text.size() > textCapacity)
    return absl::InternalError(str("what a run has beside variables takes ", text.size(), " bytes"));
  std::memcpy(message.data() + sizeof(Header), text.data(), text.size());
  size_t at = variablesAt();
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

absl::Status Replicas::take(const RunProgress &progress) {
  DGC_RETURN_IF_ERROR(executor->downloadVariables());
  // All have the copies of before: those that are older may be written over.
  DGC_RETURN_IF_ERROR(transport->barrier());
  const size_t next = 1 - current;
  Slot &slot = slots[next];
  invalidate(slot.own);
  invalidate(slot.other);
  const std::span<std::byte> staging = transport->sharedArena().subspan(stagingAt(plan), messageBytes(rank));
  DGC_RETURN_IF_ERROR(fill(staging, progress));
  std::memcpy(slot.own.data(), staging.data(), staging.size());
  // A send may wait until it is received: every other rank receives first.
  PreparedCollective &receive = *receives[next];
  absl::Status status = (rank % 2 == 0 ? *send : receive).run();
  if (status.ok())
    status = (rank % 2 == 0 ? receive : *send).run();
  if (!status.ok()) {
    invalidate(slot.other); // it may have come in part
    return status;
  }
  current = next;
  last = progress.state.step;
  return absl::OkStatus();
}

/// The steps of the copies: of the own share, and of that of the rank before. Behind them, for the two of rank 0's share,
/// where this rank has that, their length and the text.
std::string Replicas::holdings() const {
  std::string held;
  auto add = [&](int64_t number) { held.append(reinterpret_cast<const char *>(&number), sizeof number); };
  for (const Slot &slot : slots)
    add(stepOf(slot.own));
  for (const Slot &slot : slots)
    add(stepOf(slot.other));
  for (const Slot &slot : slots) {
    const std::vector<std::byte> *message = rank == 0 ? &slot.own : before(rank) == 0 ? &slot.other : nullptr;
    Header header;
    if (message)
      std::memcpy(&header, message->data(), sizeof header);
    const bool isWhole = header.step >= 0 && header.textBytes <= textCapacity;
    add(isWhole ? static_cast<int64_t>(header.textBytes) : 0);
    if (isWhole)
      held.append(reinterpret_cast<const char *>(message->data() + sizeof(Header)), header.textBytes);
  }
  return held;
}

namespace {
/// What Replicas::holdings() says.
struct Holdings {
  std::array<int64_t, 2> own{-1, -1}, other{-1, -1};
  std::array<std::string, 2> texts;

  static std::optional<Holdings> read(std::string_view held) {
    Holdings result;
    auto number = [&](int64_t &value) {
      if (held.size() < sizeof value)
        return false;
      std::memcpy(&value, held.data(), sizeof value);
      held.remove_prefix(sizeof value);
      return true;
    };
    for (std::array<int64_t, 2> *steps : {&result.own, &result.other})
      for (int64_t &step : *steps)
        if (!number(step))
          return std::nullopt;
    for (std::string &text : result.texts) {
      int64_t bytes = 0;
      if (!number(bytes) || bytes < 0 || static_cast<uint64_t>(bytes) > held.size())
        return std::nullopt;
      text = held.substr(0, static_cast<size_t>(bytes));
      held.remove_prefix(static_cast<size_t>(bytes));
    }
    return result;
  }
  static std::optional<size_t> slotOf(const std::array<int64_t, 2> &steps, int64_t step) {
    const auto found = std::find(steps.begin(), steps.end(), step);
    return found == steps.end() ? std::nullopt : std::optional<size_t>(found - steps.begin());
  }
};
} // namespace

absl::StatusOr<std::optional<Replicas::Found>> Replicas::find(const GatherBytes &gather) {
  DGC_ASSIGN_OR_RETURN(const std::vector<std::string> all, gather(holdings()));
  std::vector<Holdings> held;
  std::set<int64_t, std::greater<>> steps;
  for (const std::string &each : all) {
    std::optional<Holdings> read = Holdings::read(each);
    if (!read)
      return absl::InternalError("a worker says of its copies what is no such text");
    steps.insert(read->own.begin(), read->own.end());
    steps.insert(read->other.begin(), read->other.end());
    held.push_back(*std::move(read));
  }
  steps.erase(-1);
  for (const int64_t step : steps) {
    Found found;
    for (uint32_t of = 0; of < world; ++of)
      if (Holdings::slotOf(held[of].own, step))
        found.holders.push_back(of);
      else if (Holdings::slotOf(held[behind(of)].other, step))
        found.holders.push_back(behind(of));
    if (found.holders.size() < world)
      continue;
    const Holdings &first = held[found.holders[0]];
    const size_t slot = *Holdings::slotOf(found.holders[0] == 0 ? first.own : first.other, step);
    std::optional<RunProgress> progress = progressOf(first.texts[slot]);
    if (!progress || progress->state.step != step)
      return absl::InternalError("a copy says of its run what is no such text");
    found.progress = *std::move(progress);
    // The next copy does not take the place of this one.
    auto has = [&](const Slot &slot) { return (stepOf(slot.own) == step) + (stepOf(slot.other) == step); };
    current = has(slots[1]) > has(slots[0]) ? 1 : 0;
    return found;
  }
  return std::optional<Found>();
}

absl::Status Replicas::restore(const Found &found) {
  // What is not in the copies begins anew; what is loaded replaces the rest.
  DGC_RETURN_IF_ERROR(executor->initializeVariables([](const VariableView &) { return absl::OkStatus(); }));
  for (uint32_t of = 0; of < world; ++of)
    DGC_RETURN_IF_ERROR(give(of, found));
  return absl::OkStatus();
}

/// Brings the share of a rank from the one that has it to those that need it.
absl::Status Replicas::give(uint32_t of, const Found &found) {
  const uint32_t holder = found.holders[of];
  std::vector<uint32_t> group = needs[of];
  if (!std::count(group.begin(), group.end(), holder)) {
    group.push_back(holder);
    std::sort(group.begin(), group.end());
  }
  if (!std::count(group.begin(), group.end(), rank) || shareBytes[of] == 0)
    return absl::OkStatus();
  const std::byte *held = nullptr;
  if (rank == holder)
    for (const Slot &slot : slots) {
      const std::vector<std::byte> &message = of == rank ? slot.own : slot.other;
      if (stepOf(message) == found.progress.state.step)
        held = message.data() + variablesAt();
    }
  if (group.size() == 1)
    return unpackShare(of, held);
  CollectiveDesc desc;
  desc.origin = str("the copy of rank ", of);
  desc.kind = CollectiveKind::Broadcast;
  desc.dtype = DType::U8;
  desc.group = group;
  desc.root = static_cast<uint32_t>(std::find(group.begin(), group.end(), holder) - group.begin());
  desc.src = desc.dst = stagingAt(plan);
  desc.srcCount = desc.dstCount = shareBytes[of];
  DGC_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedCollective> broadcast, transport->prepare(desc));
  std::byte *staging = transport->sharedArena().data() + desc.src;
  if (held)
    std::memcpy(staging, held, shareBytes[of]);
  DGC_RETURN_IF_ERROR(broadcast->run());
  return unpackShare(of, held ? held : staging);
}

/// Takes what this worker holds of the share of a rank.
absl::Status Replicas::unpackShare(uint32_t of, const std::byte *variables) {
  for (const Shares::Given &each : shares.given()) {
    if (each.rank != of)
      continue;
    const std::byte *from = variables;
    variables += each.bytes;
    const auto found = views.find({each.variable, each.part});
    if (found == views.end() || localSlice(plan, *found->second.variable, rank).offsets != each.offsets)
      continue;
    const VariableView &view = found->second;
    if (view.slice.block.empty())
      std::memcpy(view.memory.data(), from, each.bytes);
    else
      unpack(from, view.slice, sizeOf(view.dtype), view.memory.data());
    DGC_RETURN_IF_ERROR(executor->upload(view));
  }
  return absl::OkStatus();
}

void Replicas::forget() {
  for (Slot &slot : slots) {
    invalidate(slot.own);
    invalidate(slot.other);
  }
}
