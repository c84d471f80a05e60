// Formats and joins traces.
#include "runtime/telemetry/Trace.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <set>

using namespace dgc::rt;

static std::string quoted(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

static std::string queueName(uint32_t queue) {
  if (queue < 2)
    return queue == 0 ? "compute" : "communicate";
  return str("queue ", queue);
}

/// A metadata event that names a track.
static std::string nameTrack(std::string_view kind, int rank, uint32_t queue, const std::string &name) {
  return str("{\"ph\":\"M\",\"name\":\"", kind, "\",\"pid\":", rank, ",\"tid\":", queue,
             ",\"args\":{\"name\":", quoted(name), "}}");
}

std::string dgc::rt::formatTrace(std::span<const TraceEvent> events, int rank, std::span<const TraceName> names,
                                 TimeNs origin, std::string_view label) {
  std::string out = "[\n";
  out += nameTrack("process_name", rank, 0, str("worker ", rank));
  out += str(",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":", rank,
             ",\"tid\":0,\"args\":{\"sort_index\":", rank, "}}");
  std::set<uint32_t> queues;
  for (const TraceEvent &event : events)
    queues.insert(event.queue);
  for (uint32_t queue : queues)
    out += ",\n" + nameTrack("thread_name", rank, queue, queueName(queue));

  // What is the same for all events of a name is made once.
  std::vector<std::string> heads, tails;
  for (const TraceName &name : names) {
    heads.push_back(
        str(",\n{\"ph\":\"X\",\"name\":", quoted(name.name), ",\"cat\":", quoted(name.program), ",\"pid\":", rank));
    tails.push_back(str(",\"location\":", quoted(name.location), "}}"));
  }
  char numbers[160];
  for (const TraceEvent &event : events) {
    if (event.name >= names.size())
      continue;
    std::snprintf(numbers, sizeof numbers, ",\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"step\":%lld", event.queue,
                  static_cast<double>(event.begin - origin) * 1e-3, static_cast<double>(event.end - event.begin) * 1e-3,
                  static_cast<long long>(event.step));
    out += heads[event.name];
    out += numbers;
    out += tails[event.name];
  }
  if (!label.empty())
    out += str(",\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":", rank,
               ",\"tid\":0,\"args\":{\"labels\":", quoted(std::string(label)), "}}");
  return out + "\n]\n";
}

/// Appends a part to the whole; each is "[\n" events "\n]\n". False when it is not.
static bool appendPart(std::string_view part, std::string &all) {
  if (!part.starts_with("[\n") || !part.ends_with("\n]\n"))
    return false;
  all += all.empty() ? "[\n" : ",\n";
  all.append(part, 2, part.size() - 5);
  return true;
}

absl::Status dgc::rt::writeTrace(OutputFile &file, std::span<const std::string> parts) {
  std::string all;
  for (const std::string &part : parts)
    if (!part.empty() && !appendPart(part, all))
      return absl::DataLossError("--trace: the part of a worker is not whole");
  all += "\n]\n";
  return annotate(file.replace([&](WritableFile &out) { return out.write(all); }), "--trace");
}
