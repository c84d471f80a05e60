// Reads event files of TensorBoard as it does, without the code that writes them but for the CRC, which has a test of its own.
#pragma once

#include "runtime/telemetry/EventFile.h"

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt::test {

/// A number, little endian.
inline uint64_t numberAt(std::string_view data, size_t offset, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i)
    value |= uint64_t{static_cast<uint8_t>(data[offset + i])} << 8 * i;
  return value;
}

/// Whether the CRC at an offset, unmasked, is that of some data.
inline bool hasCrc(std::string_view file, size_t offset, std::string_view data) {
  const auto rotated = static_cast<uint32_t>(numberAt(file, offset, 4)) - 0xa282ead8;
  return ((rotated >> 17) | (rotated << 15)) == crc32c(data);
}

/// The records that are whole; `rest` gets the bytes behind them.
inline std::vector<std::string> readRecords(std::string_view file, std::string_view &rest) {
  std::vector<std::string> records;
  for (rest = file; rest.size() >= 16; rest.remove_prefix(records.back().size() + 16)) {
    const uint64_t size = numberAt(rest, 0, 8);
    if (!hasCrc(rest, 8, rest.substr(0, 8)) || size > rest.size() - 16 ||
        !hasCrc(rest, 12 + size, rest.substr(12, size)))
      break;
    records.emplace_back(rest.substr(12, size));
  }
  return records;
}

/// The fields of a message by their numbers: bytes of each, 8 of a varint.
inline std::multimap<int, std::string> readMessage(std::string_view data) {
  std::multimap<int, std::string> fields;
  auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(data.at(0));
      data.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80)
        return value;
    }
  };
  while (!data.empty()) {
    const uint64_t key = varint();
    std::string bytes;
    if ((key & 7) == 0) {
      const uint64_t value = varint();
      bytes.assign(reinterpret_cast<const char *>(&value), 8);
    } else {
      const uint64_t size = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : varint();
      bytes = data.substr(0, size);
      data.remove_prefix(size);
    }
    fields.emplace(static_cast<int>(key >> 3), bytes);
  }
  return fields;
}

template <typename T> T valueOf(const std::multimap<int, std::string> &fields, int number) {
  T value{};
  if (auto found = fields.find(number); found != fields.end())
    std::memcpy(&value, found->second.data(), sizeof value);
  return value;
}

inline std::string bytesOf(const std::multimap<int, std::string> &fields, int number) {
  auto found = fields.find(number);
  return found == fields.end() ? "" : found->second;
}

struct ReadHistogram {
  double min = 0, max = 0, num = 0, sum = 0, squares = 0;
  std::vector<double> limits, buckets;
};

/// Numbers one after the other.
inline std::vector<double> readDoubles(const std::string &data) {
  std::vector<double> values(data.size() / 8);
  std::memcpy(values.data(), data.data(), values.size() * 8);
  return values;
}

inline ReadHistogram readHistogram(std::string_view data) {
  const auto fields = readMessage(data);
  return {valueOf<double>(fields, 1),     valueOf<double>(fields, 2), valueOf<double>(fields, 3),
          valueOf<double>(fields, 4),     valueOf<double>(fields, 5), readDoubles(bytesOf(fields, 6)),
          readDoubles(bytesOf(fields, 7))};
}

struct ReadEvent {
  double wallTime = 0;
  int64_t step = 0;
  std::string version;
  std::optional<int64_t> session; // its status
  std::map<std::string, float> scalars;
  std::map<std::string, std::string> texts;
  std::map<std::string, ReadHistogram> histograms;
  std::string graph;
};

inline ReadEvent readEvent(std::string_view data) {
  const auto fields = readMessage(data);
  ReadEvent event{valueOf<double>(fields, 1), valueOf<int64_t>(fields, 2), bytesOf(fields, 3), {}, {}, {}, {},
                  bytesOf(fields, 4)};
  if (fields.contains(7))
    event.session = valueOf<int64_t>(readMessage(bytesOf(fields, 7)), 1);
  const auto summary = readMessage(bytesOf(fields, 5));
  for (auto [at, end] = summary.equal_range(1); at != end; ++at) {
    const auto value = readMessage(at->second);
    const std::string tag = bytesOf(value, 1);
    if (value.contains(2))
      event.scalars[tag] = valueOf<float>(value, 2);
    if (value.contains(5))
      event.histograms[tag] = readHistogram(bytesOf(value, 5));
    const auto tensor = readMessage(bytesOf(value, 8));
    if (bytesOf(readMessage(bytesOf(readMessage(bytesOf(value, 9)), 1)), 1) == "text" &&
        valueOf<int64_t>(tensor, 1) == 7)
      event.texts[tag] = bytesOf(tensor, 8);
  }
  return event;
}

/// All events that are whole.
inline std::vector<ReadEvent> readEvents(std::string_view file, std::string_view *behind = nullptr) {
  std::string_view rest;
  std::vector<ReadEvent> events;
  for (const std::string &record : readRecords(file, rest))
    events.push_back(readEvent(record));
  if (behind)
    *behind = rest;
  return events;
}

} // namespace dgc::rt::test
