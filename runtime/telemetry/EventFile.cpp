// Frames records, and names their files.
#include "runtime/telemetry/EventFile.h"

#include "runtime/base/Status.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <unistd.h>

using namespace dgc::rt;

static constexpr std::string_view namePrefix = "events.out.tfevents.";
static constexpr size_t secondsDigits = 10;
static constexpr int64_t lastSeconds = 9'999'999'999; // that have so many digits

/// By byte, of the polynomial 0x1edc6f41 with its bits reversed.
static constexpr std::array<uint32_t, 256> crcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
    table[i] = crc;
  }
  return table;
}();

uint32_t dgc::rt::crc32c(std::string_view data) {
  uint32_t crc = 0xffffffff;
  for (char c : data)
    crc = (crc >> 8) ^ crcTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

static void appendNumber(uint64_t value, size_t bytes, std::string &out) {
  for (size_t i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> 8 * i);
}

/// As the records have it: so that the CRC of data with CRCs in it is none of these.
static void appendMaskedCrc(std::string_view data, std::string &out) {
  const uint32_t crc = crc32c(data);
  appendNumber(((crc >> 15) | (crc << 17)) + 0xa282ead8, 4, out);
}

void dgc::rt::appendRecord(std::string_view data, std::string &out) {
  const size_t begin = out.size();
  appendNumber(data.size(), 8, out);
  appendMaskedCrc(std::string(out, begin), out);
  out += data;
  appendMaskedCrc(data, out);
}

/// The seconds in the name of an event file; 0: it is none.
static int64_t secondsOf(const std::string &name) {
  if (!name.starts_with(namePrefix) || name.size() < namePrefix.size() + secondsDigits)
    return 0;
  int64_t seconds = 0;
  const char *first = name.data() + namePrefix.size(), *last = first + secondsDigits;
  auto [end, error] = std::from_chars(first, last, seconds);
  return error == std::errc() && end == last ? seconds : 0;
}

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::create(Disk &disk, const std::string &folder, int64_t seconds) {
  DGC_RETURN_IF_ERROR(disk.makeDirectory(folder));
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> names, disk.list(folder));
  for (const std::string &name : names)
    seconds = std::max(seconds, std::min(secondsOf(name) + 1, lastSeconds));
  for (int n = 0;; ++n) {
    const std::string name = str(namePrefix, std::string(absl::StrFormat("%010d", seconds)), ".", hostName(), ".",
                                 ::getpid(), ".", n, ".dgc");
    const std::string path = (std::filesystem::path(folder) / name).string();
    auto created = disk.createNew(path, path);
    if (created.ok())
      return std::unique_ptr<EventFile>(new EventFile(*std::move(created)));
    if (!absl::IsAlreadyExists(created.status()) || n == 8)
      return created.status();
  }
}

absl::Status EventFile::flush() {
  if (status.ok() && !held.empty())
    status = file->write(held);
  held.clear();
  return status;
}
