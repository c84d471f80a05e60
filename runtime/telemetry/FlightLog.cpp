#include "runtime/telemetry/FlightLog.h"

#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace dgc::rt {

using flight::Entry;
using flight::Header;

std::string flightFileName(uint32_t rank) { return str("flight-", rank); }

std::optional<uint32_t> flightRankOf(std::string_view fileName) {
  uint32_t rank = 0;
  const size_t at = fileName.find('-') + 1;
  std::from_chars(fileName.data() + at, fileName.data() + fileName.size(), rank);
  return fileName == flightFileName(rank) ? std::optional(rank) : std::nullopt;
}

std::string FlightLog::nameOf(const Event &event) const {
  return event.op < names.size() ? str("op ", event.op, ", ", names[event.op]) : std::string("between two ops");
}

std::optional<int64_t> FlightLog::lastSeen() const {
  std::optional<int64_t> seen = sampled;
  if (!events.empty())
    seen = std::max(seen.value_or(0), events.back().real);
  return seen;
}

//===-- Reading ---------------------------------------------------------===//

namespace {
/// The bytes of a file, some of which may be written meanwhile.
class Fields {
public:
  explicit Fields(std::span<const std::byte> bytes) : bytes(bytes) {}
  template <class T> T at(size_t offset) const {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }
  /// A text that ends with a zero, or where its room does.
  std::string text(size_t offset, size_t room) const {
    const auto *begin = reinterpret_cast<const char *>(bytes.data() + offset);
    return printable({begin, ::strnlen(begin, room)});
  }

private:
  std::span<const std::byte> bytes;
};
} // namespace

absl::StatusOr<FlightLog> parseFlightLog(std::span<const std::byte> bytes, const std::string &name) {
  auto damaged = [&](std::string_view why) {
    return absl::InvalidArgumentError(str(name, " is no flight recorder of dgc, or a damaged one: ", why));
  };
  const Fields fields(bytes);
  if (bytes.size() < flight::kEntriesAt || std::memcmp(bytes.data(), flight::kMagic, sizeof flight::kMagic) != 0)
    return damaged("it does not begin as one");
  if (const auto version = fields.at<uint32_t>(offsetof(Header, version)); version != flight::kVersion)
    return damaged(str("its version is ", version, ", and ", flight::kVersion, " can be read"));
  const auto capacity = fields.at<uint64_t>(offsetof(Header, capacity));
  const auto nameBytes = fields.at<uint64_t>(offsetof(Header, nameBytes));
  const uint64_t behind = bytes.size() - flight::kEntriesAt;
  if (capacity == 0 || capacity > behind / sizeof(Entry) || nameBytes != behind - capacity * sizeof(Entry))
    return damaged("its size is not that of what it has");
  FlightLog log;
  log.rank = fields.at<uint32_t>(offsetof(Header, rank));
  log.world = fields.at<uint32_t>(offsetof(Header, world));
  if (log.rank >= log.world)
    return damaged(str("it is of rank ", log.rank, " of ", log.world));
  log.pid = fields.at<int32_t>(offsetof(Header, pid));
  log.host = fields.text(offsetof(Header, host), sizeof(Header::host));
  log.plan = fields.text(offsetof(Header, plan), sizeof(Header::plan));
  const uint64_t namesAt = flight::kEntriesAt + capacity * sizeof(Entry);
  const std::string_view names(reinterpret_cast<const char *>(bytes.data() + namesAt), nameBytes);
  for (size_t begin = 0, end; (end = names.find('\n', begin)) != std::string_view::npos; begin = end + 1)
    log.names.push_back(printable(names.substr(begin, end - begin)));
  // Times differ by less than what 64 bits hold, whatever is in the file.
  const auto origin = static_cast<uint64_t>(fields.at<int64_t>(offsetof(Header, beganReal))) -
                      static_cast<uint64_t>(fields.at<int64_t>(offsetof(Header, beganAt)));
  auto realOf = [&](int64_t time) { return static_cast<int64_t>(static_cast<uint64_t>(time) + origin); };
  log.written = fields.at<uint64_t>(offsetof(Header, written));
  for (uint64_t number = log.written - std::min(log.written, capacity) + 1; number <= log.written && number != 0;
       ++number) {
    const size_t at = flight::kEntriesAt + (number - 1) % capacity * sizeof(Entry);
    if (fields.at<uint64_t>(at + offsetof(Entry, number)) != number)
      continue; // it was being overwritten
    const auto position = fields.at<uint64_t>(at + offsetof(Entry, position));
    log.events.push_back({realOf(fields.at<int64_t>(at + offsetof(Entry, time))), position >> 24, position & 0xffffff});
  }
  if (const auto sampled = fields.at<int64_t>(offsetof(Header, sampledAt)); sampled != 0)
    log.sampled = realOf(sampled);
  if (const auto awaited = fields.at<int32_t>(offsetof(Header, awaited));
      awaited >= 0 && static_cast<uint32_t>(awaited) < log.world)
    log.awaited = static_cast<uint32_t>(awaited);
  if (const auto code = fields.at<int32_t>(offsetof(Header, exitCode)); code != flight::kNotEnded)
    log.exitCode = code;
  return log;
}

absl::StatusOr<std::vector<FlightLog>> readFlightLogs(Disk &disk, const std::string &dir, bool before) {
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> files, disk.list(dir));
  std::vector<FlightLog> logs;
  for (const std::string &file : files) {
    std::string_view name = file;
    if (before && name.ends_with(kFlightBefore))
      name.remove_suffix(kFlightBefore.size());
    else if (before)
      continue;
    if (!flightRankOf(name))
      continue;
    const std::string path = dir + "/" + file;
    DGC_ASSIGN_OR_RETURN(std::string bytes, readFile(disk, path, uint64_t{1} << 28));
    DGC_ASSIGN_OR_RETURN(FlightLog log, parseFlightLog(std::as_bytes(std::span(bytes)), path));
    logs.push_back(std::move(log));
  }
  if (logs.empty())
    return absl::NotFoundError(str("there are no flight recorders", before ? " of the run before" : "", " in ", dir,
                                   "; workers write them beside the checkpoints of a training (dgc-run --checkpoint)"));
  std::sort(logs.begin(), logs.end(), [](const FlightLog &a, const FlightLog &b) { return a.rank < b.rank; });
  return logs;
}

//===-- Telling ---------------------------------------------------------===//

/// "2026-11-27 21:11:03.402123", in UTC.
static std::string textOfTime(int64_t real) {
  const std::time_t seconds = real / 1'000'000'000;
  std::tm parts{};
  if (real < 0 || !gmtime_r(&seconds, &parts))
    return "an unknown time";
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return absl::StrFormat("%s.%06d", text, real % 1'000'000'000 / 1000);
}

namespace {
/// An event of one of several workers.
struct Merged {
  const FlightLog *log;
  FlightLog::Event event;
};
} // namespace

static std::vector<Merged> lastEvents(std::span<const FlightLog> logs, size_t last) {
  std::vector<Merged> all;
  for (const FlightLog &log : logs) {
    const size_t skipped = log.events.size() - std::min(last, log.events.size());
    for (const FlightLog::Event &event : std::span(log.events).subspan(skipped))
      all.push_back({&log, event});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Merged &a, const Merged &b) { return a.event.real < b.event.real; });
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(std::min(last, all.size())));
  return all;
}

/// Workers that were seen last within so long have stopped together, as far as one knows.
static constexpr int64_t kTogether = 500'000'000;

/// The worker that has stopped first: of those that have not ended by themselves, if there are such, the one that was seen least
/// recently, and of several one that waited for nobody. Null where all have ended well.
static const FlightLog *firstToStop(std::span<const FlightLog> logs) {
  const FlightLog *first = nullptr;
  auto isEarlier = [](const FlightLog &a, const FlightLog &b) {
    if (a.exitCode.has_value() != b.exitCode.has_value())
      return !a.exitCode;
    const int64_t seenA = a.lastSeen().value_or(0), seenB = b.lastSeen().value_or(0);
    if (a.awaited.has_value() != b.awaited.has_value() && std::max(seenA, seenB) - std::min(seenA, seenB) < kTogether)
      return !a.awaited;
    return seenA < seenB;
  };
  for (const FlightLog &log : logs)
    if (log.exitCode != 0 && (!first || isEarlier(log, *first)))
      first = &log;
  return first;
}

/// Whether it waits, or waited when an error ended it.
static bool isWaiting(const FlightLog &log) { return log.awaited && log.exitCode != 0; }

static std::string describe(const FlightLog &log) {
  std::string text = str("  rank ", log.rank, "  ", log.host, ", process ", log.pid, ": ");
  text += log.exitCode ? str("ended with ", *log.exitCode) : "has not ended by itself";
  if (const std::optional<int64_t> seen = log.lastSeen())
    text += str("; last seen at ", textOfTime(*seen));
  if (log.events.empty())
    return text + ", before its first op\n";
  const FlightLog::Event &last = log.events.back();
  text += str(", at step ", last.step, ", ", log.nameOf(last));
  // A file may have any times.
  if (const auto since =
          static_cast<int64_t>(static_cast<uint64_t>(*log.lastSeen()) - static_cast<uint64_t>(last.real));
      since >= 1'000'000)
    text += absl::StrFormat(", for %.3f s", static_cast<double>(since) / 1e9);
  if (isWaiting(log))
    text += str(", waiting for rank ", *log.awaited);
  return text + "\n";
}

std::string describeFlight(std::span<const FlightLog> logs, size_t last) {
  const FlightLog &one = logs.front();
  std::string text = str(counted(static_cast<int64_t>(logs.size()), "worker"), " of ", one.world, ", plan ",
                         one.plan.substr(0, 12), "; times are UTC, by the clock of each machine\n");
  std::vector<std::string> waits;
  for (const FlightLog &log : logs) {
    text += describe(log);
    if (isWaiting(log))
      waits.push_back(str("rank ", log.rank, " for rank ", *log.awaited));
  }
  if (!waits.empty())
    text += str("who waited for whom: ", absl::StrJoin(waits, ", "), "\n");
  if (const FlightLog *first = firstToStop(logs)) {
    text += str("first to stop: rank ", first->rank);
    text += first->exitCode ? str(", which ended with ", *first->exitCode, "\n")
                            : std::string(", which was killed, runs still, or is on a machine that went down\n");
  } else {
    text += "all have ended by themselves, with 0\n";
  }
  const std::vector<Merged> events = lastEvents(logs, last);
  if (!events.empty())
    text += str("the last ", counted(static_cast<int64_t>(events.size()), "op"), " that began:\n");
  for (const Merged &each : events)
    text += str("  ", textOfTime(each.event.real), "  rank ", each.log->rank, "  step ", each.event.step, "  ",
                each.log->nameOf(each.event), "\n");
  return text;
}

std::string flightAsJson(std::span<const FlightLog> logs, size_t last) {
  using nlohmann::ordered_json;
  ordered_json root;
  auto eventOf = [](const FlightLog &log, const FlightLog::Event &event) {
    return ordered_json{{"time_ns", event.real}, {"step", event.step}, {"op", event.op}, {"name", log.nameOf(event)}};
  };
  for (const FlightLog &log : logs) {
    ordered_json worker{{"rank", log.rank}, {"world", log.world}, {"host", log.host},
                        {"pid", log.pid},   {"plan", log.plan},   {"ops_begun", log.written}};
    worker["exit_code"] = log.exitCode ? ordered_json(*log.exitCode) : ordered_json();
    worker["waits_for"] = isWaiting(log) ? ordered_json(*log.awaited) : ordered_json();
    worker["last_seen_ns"] = log.lastSeen() ? ordered_json(*log.lastSeen()) : ordered_json();
    worker["last_op"] = log.events.empty() ? ordered_json() : eventOf(log, log.events.back());
    root["workers"].push_back(std::move(worker));
  }
  const FlightLog *first = firstToStop(logs);
  root["first_to_stop"] = first ? ordered_json(first->rank) : ordered_json();
  root["events"] = ordered_json::array();
  for (const Merged &each : lastEvents(logs, last)) {
    ordered_json event = eventOf(*each.log, each.event);
    event["rank"] = each.log->rank;
    root["events"].push_back(std::move(event));
  }
  return root.dump(1) + "\n";
}

} // namespace dgc::rt
