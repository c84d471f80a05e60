#include "runtime/servers/UpdateLog.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Sha256.h"
#include "runtime/servers/servers.pb.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>

namespace dgc::rt {
namespace {
/// In front of the bytes of a record.
struct RecordHead {
  uint64_t length;
  std::array<uint8_t, 8> digest;
};
static_assert(sizeof(RecordHead) == 16);

/// Protocol buffers are below 2 GiB.
constexpr uint64_t kMostRecord = uint64_t{1} << 31;

RecordHead headOf(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  const auto whole = digest.finish();
  RecordHead head{bytes.size(), {}};
  std::copy_n(whole.begin(), head.digest.size(), head.digest.begin());
  return head;
}

std::string recordOf(std::string_view bytes) {
  const RecordHead head = headOf(bytes);
  std::string record(reinterpret_cast<const char *>(&head), sizeof head);
  record.append(bytes);
  return record;
}

struct LogName {
  int64_t base;
  int number;
  std::string path;
};

std::string nameOf(const UpdateLogPlace &place, int64_t base, int number) {
  char name[80];
  std::snprintf(name, sizeof name, "updates-%05u-%09lld-%04d.log", place.rank, static_cast<long long>(base), number);
  return name;
}

/// The logs of this server, in the order in which they were written.
absl::StatusOr<std::vector<LogName>> listLogs(Disk &disk, const UpdateLogPlace &place) {
  std::vector<LogName> logs;
  if (!disk.exists(place.folder))
    return logs;
  DGC_ASSIGN_OR_RETURN(std::vector<std::string> names, disk.list(place.folder));
  for (const std::string &name : names) {
    unsigned rank = 0;
    long long base = 0;
    int number = 0;
    if (std::sscanf(name.c_str(), "updates-%5u-%lld-%d.log", &rank, &base, &number) == 3 && rank == place.rank &&
        name == nameOf(place, base, number))
      logs.push_back({base, number, str(place.folder, "/", name)});
  }
  std::sort(logs.begin(), logs.end(), [](const LogName &a, const LogName &b) { return a.number < b.number; });
  return logs;
}

/// Reads the records of a file one after the other.
class RecordReader {
public:
  explicit RecordReader(ReadableFile &file) : file(file) {}
  /// Nothing at the end, or where what follows is no whole record.
  absl::StatusOr<std::optional<std::string>> next() {
    RecordHead head;
    if (file.size() - at < sizeof head)
      return std::nullopt;
    DGC_RETURN_IF_ERROR(file.readAt(at, std::as_writable_bytes(std::span(&head, 1))));
    if (head.length > kMostRecord || head.length > file.size() - at - sizeof head)
      return std::nullopt;
    std::string bytes(head.length, '\0');
    DGC_RETURN_IF_ERROR(file.readAt(at + sizeof head, std::as_writable_bytes(std::span(bytes))));
    if (headOf(bytes).digest != head.digest)
      return std::nullopt;
    at += sizeof head + bytes.size();
    return bytes;
  }

private:
  ReadableFile &file;
  uint64_t at = 0;
};

/// False: it is of another run.
absl::StatusOr<bool> replayLog(Disk &disk, const UpdateLogPlace &place, const std::string &path,
                               const std::function<absl::Status(const Update &)> &apply) {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, disk.open(path));
  RecordReader reader(*file);
  DGC_ASSIGN_OR_RETURN(std::optional<std::string> run, reader.next());
  if (!run) // the server died as it began
    return true;
  if (*run != place.run)
    return false;
  while (true) {
    DGC_ASSIGN_OR_RETURN(std::optional<std::string> bytes, reader.next());
    if (!bytes)
      return true;
    servers::LoggedUpdate logged;
    if (!logged.ParseFromString(*bytes))
      return badData(str(path, " has a record that is none of this dgc"));
    DGC_RETURN_IF_ERROR(apply({logged.step(), logged.valid(), logged.received(), logged.outputs()}));
  }
}
} // namespace

absl::StatusOr<std::unique_ptr<UpdateLog>> UpdateLog::begin(Disk &disk, const UpdateLogPlace &place, int64_t base) {
  DGC_ASSIGN_OR_RETURN(const std::vector<LogName> logs, listLogs(disk, place));
  // A server that came back from an older checkpoint goes on behind logs of newer ones.
  const int number = logs.empty() ? 0 : logs.back().number + 1;
  const std::string path = str(place.folder, "/", nameOf(place, base, number));
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, disk.createNew(path, path));
  DGC_RETURN_IF_ERROR(file->write(recordOf(place.run)));
  DGC_RETURN_IF_ERROR(file->sync());
  DGC_RETURN_IF_ERROR(disk.syncDirectory(place.folder));
  return std::unique_ptr<UpdateLog>(new UpdateLog(std::move(file), base));
}

absl::Status UpdateLog::add(const Update &update) {
  servers::LoggedUpdate logged;
  logged.set_step(update.step);
  logged.set_valid(update.valid);
  logged.set_received(update.received);
  logged.set_outputs(update.outputs);
  if (logged.ByteSizeLong() >= kMostRecord)
    return absl::ResourceExhaustedError(str("the update of step ", update.step, " has ", logged.ByteSizeLong(),
                                            " bytes, and a record of the log less than ", kMostRecord,
                                            ": use more servers, or no --checkpoint"));
  return file->write(recordOf(logged.SerializeAsString()));
}

absl::StatusOr<bool> replayUpdates(Disk &disk, const UpdateLogPlace &place, int64_t base,
                                   const std::function<absl::Status(const Update &)> &apply) {
  DGC_ASSIGN_OR_RETURN(const std::vector<LogName> logs, listLogs(disk, place));
  // Without what lies between a checkpoint and the first log nothing fits.
  const bool isWhole = std::any_of(logs.begin(), logs.end(), [&](const LogName &each) { return each.base == base; });
  bool hasOthers = false;
  for (const LogName &each : logs) {
    if (!isWhole || each.base < base)
      continue;
    DGC_ASSIGN_OR_RETURN(const bool isOfRun, replayLog(disk, place, each.path, apply));
    hasOthers |= !isOfRun;
  }
  return hasOthers;
}

absl::Status removeUpdateLogs(Disk &disk, const UpdateLogPlace &place, int64_t base) {
  DGC_ASSIGN_OR_RETURN(const std::vector<LogName> logs, listLogs(disk, place));
  for (const LogName &each : logs)
    if (each.base < base)
      DGC_RETURN_IF_ERROR(disk.remove(each.path));
  return absl::OkStatus();
}

} // namespace dgc::rt
