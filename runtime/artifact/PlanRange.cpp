// Reads and writes files with plans for several numbers of workers.
#include "runtime/artifact/PlanRange.h"

#include "runtime/artifact/SealedFile.h"
#include "runtime/artifact/Writer.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace dgc;
using namespace dgc::rt;

static_assert(std::endian::native == std::endian::little);

using Entry = PlanRange::Entry;
using Digest = std::array<uint8_t, 32>;

static constexpr char kMagic[] = "DGCRANGE";
static constexpr uint32_t kVersion = 1;
static constexpr uint64_t kAlignment = 64;
static constexpr size_t kHeaderBytes = 16, kEntryBytes = 56;
static_assert(kMaxRangeTableBytes == kHeaderBytes + PlanRange::kMaxPlans * kEntryBytes);

static uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

template <typename T> static T numberAt(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T> static void append(std::vector<uint8_t> &bytes, const T &value) {
  const auto *data = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), data, data + sizeof value);
}

bool dgc::rt::isPlanRange(std::span<const uint8_t> start) {
  return start.size() >= 8 && std::memcmp(start.data(), kMagic, 8) == 0;
}

//===-- The table ----------------------------------------------------------------------------------------------------===//

static absl::Status truncated() {
  return absl::DataLossError("the range of plans is cut off in its table; copy or compile it again");
}

/// The number of plans, which a file that begins with the magic has.
static absl::StatusOr<uint32_t> countOf(std::span<const uint8_t> start) {
  if (start.size() < kHeaderBytes)
    return truncated();
  if (const auto version = numberAt<uint32_t>(start, 8); version != kVersion)
    return absl::DataLossError(str("a range of plans in version ", version,
                                   " of its form, and this program reads version ", kVersion,
                                   ": compile it again, or use the dgc that wrote it"));
  const auto count = numberAt<uint32_t>(start, 12);
  if (count < 1 || count > PlanRange::kMaxPlans)
    return absl::DataLossError(str("the range of plans is damaged: it says that it holds ", count, " plans, and 1 to ",
                                   PlanRange::kMaxPlans, " are accepted; copy or compile it again"));
  return count;
}

/// What is wrong with an entry behind another one, which ends at `end`; empty when nothing is.
static std::string checkEntry(const Entry &entry, uint32_t zero, uint32_t workersBefore, uint64_t end) {
  if (entry.workers <= workersBefore)
    return str("is for ", counted(entry.workers, "worker"), ", and the numbers have to ascend from 1");
  if (zero != 0)
    return str("has ", zero, " where a zero is expected");
  if (entry.offset != aligned(end))
    return str("begins at byte ", entry.offset, ", and what precedes it ends at byte ", end);
  if (entry.bytes < 1 || entry.bytes > kMaxFileBytes)
    return str("has ", entry.bytes, " bytes, and an artifact has 1 to ", kMaxFileBytes);
  return "";
}

/// Reads the table, from the beginning of a file.
static absl::StatusOr<std::vector<Entry>> readTable(std::span<const uint8_t> start) {
  DGC_ASSIGN_OR_RETURN(const uint32_t count, countOf(start));
  uint64_t end = kHeaderBytes + uint64_t{count} * kEntryBytes;
  if (start.size() < end)
    return truncated();
  std::vector<Entry> table(count);
  uint32_t workers = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const std::span<const uint8_t> bytes = start.subspan(kHeaderBytes + i * kEntryBytes, kEntryBytes);
    Entry &entry = table[i];
    entry = {numberAt<uint32_t>(bytes, 0), numberAt<uint64_t>(bytes, 8), numberAt<uint64_t>(bytes, 16), {}};
    std::copy_n(bytes.begin() + 24, 32, entry.digest.begin());
    if (std::string wrong = checkEntry(entry, numberAt<uint32_t>(bytes, 4), workers, end); !wrong.empty())
      return absl::DataLossError(str("the range of plans is damaged: its plan ", i + 1, " of ", count, " ", wrong,
                                     "; copy or compile it again"));
    workers = entry.workers;
    end = entry.offset + entry.bytes;
  }
  return table;
}

static uint64_t endOf(const std::vector<Entry> &table) { return table.back().offset + table.back().bytes; }

/// The file has to end with its last artifact.
static absl::Status checkEnd(const std::vector<Entry> &table, uint64_t size) {
  if (size < endOf(table))
    return absl::DataLossError(str("the range of plans is cut off: it has ", size, " bytes, and its table says ",
                                   endOf(table), "; copy or compile it again"));
  if (size > endOf(table))
    return absl::DataLossError(str("the range of plans is damaged: more bytes follow the ", endOf(table),
                                   " of its table; copy or compile it again"));
  return absl::OkStatus();
}

/// "2, 3 and 4 workers", "1 worker"; some of many.
static std::string spelledSizes(const std::vector<Entry> &table) {
  constexpr size_t kMost = 16;
  std::string text;
  for (size_t i = 0; i < table.size(); ++i) {
    const bool isLast = i + 1 == table.size();
    if (table.size() > kMost && i >= kMost - 2 && !isLast)
      continue;
    const bool isGap = table.size() > kMost && isLast;
    text += str(i == 0 ? "" : isGap ? " .. " : isLast ? " and " : ", ", table[i].workers);
  }
  return text + (table.size() == 1 && table[0].workers == 1 ? " worker" : " workers");
}

absl::Status dgc::rt::refuseRange(std::span<const uint8_t> start) {
  DGC_ASSIGN_OR_RETURN(const std::vector<Entry> table, readTable(start));
  return absl::InvalidArgumentError(
      str("the file is a range of plans, for ", spelledSizes(table),
          ", and one plan is needed: dgc-run takes --nproc N or --elastic MIN:MAX, "
          "dgc-inspect --workers N; other tools need a plan that is compiled for one size"));
}

//===-- Reading ------------------------------------------------------------------------------------------------------===//

PlanRange::PlanRange(PlanRange &&other) noexcept { *this = std::move(other); }

PlanRange &PlanRange::operator=(PlanRange &&other) noexcept {
  std::swap(name, other.name);
  std::swap(fd, other.fd);
  std::swap(isAlone, other.isAlone);
  std::swap(table, other.table);
  std::swap(identity, other.identity);
  std::swap(checked, other.checked);
  return *this;
}

PlanRange::~PlanRange() {
  if (fd >= 0)
    ::close(fd);
}

std::vector<uint32_t> PlanRange::sizes() const {
  std::vector<uint32_t> result;
  for (const Entry &entry : table)
    result.push_back(entry.workers);
  return result;
}

std::string PlanRange::sizesText() const { return spelledSizes(table); }

const Entry *PlanRange::find(uint32_t workers) const {
  auto entry = std::find_if(table.begin(), table.end(), [&](const Entry &each) { return each.workers == workers; });
  return entry == table.end() ? nullptr : &*entry;
}

namespace {
/// Closes a file that nobody has taken.
struct OpenFile {
  int fd;
  explicit OpenFile(int fd) : fd(fd) {}
  OpenFile(const OpenFile &) = delete;
  ~OpenFile() {
    if (fd >= 0)
      ::close(fd);
  }
  int release() { return std::exchange(fd, -1); }
};

/// The first bytes of a file, in which a table has room.
struct Start {
  std::vector<uint8_t> bytes;
  std::vector<Entry> table; // empty: not a range
};
} // namespace

static absl::StatusOr<Start> readStart(int fd) {
  Start start;
  start.bytes.resize(kMaxRangeTableBytes);
  DGC_ASSIGN_OR_RETURN(const size_t size, readFull(fd, start.bytes));
  start.bytes.resize(size);
  if (isPlanRange(start.bytes)) {
    DGC_ASSIGN_OR_RETURN(start.table, readTable(start.bytes));
  }
  return start;
}

/// A sealed copy of a file of which `start` has been read, and its size; no more than one byte beyond what is accepted.
static absl::StatusOr<std::pair<int, uint64_t>> copyRest(int in, const Start &start) {
  const uint64_t most = (start.table.empty() ? kMaxFileBytes : endOf(start.table)) + 1;
  DGC_ASSIGN_OR_RETURN(int copy, memoryFile("dgcx"));
  OpenFile out(copy);
  DGC_RETURN_IF_ERROR(writeAll(out.fd, start.bytes));
  uint64_t rest = 0;
  if (start.bytes.size() < most) {
    DGC_ASSIGN_OR_RETURN(rest, copyFile(in, out.fd, most - start.bytes.size()));
  }
  DGC_RETURN_IF_ERROR(seal(out.fd));
  return std::pair(out.release(), start.bytes.size() + rest);
}

/// An artifact alone: it is checked now, as its size and its digest are asked for. Takes the sealed file.
absl::Status PlanRange::openAlone(int sealed, uint64_t size, const Signers &signers) {
  isAlone = true;
  if (size > kMaxFileBytes) {
    ::close(sealed);
    return withExitCode(absl::DataLossError(str(name, ": the file has more than ", maxArtifactBytes, " bytes")),
                        ExitCode::BadArtifact);
  }
  fd = ::fcntl(sealed, F_DUPFD_CLOEXEC, 0); // for a second load
  DGC_ASSIGN_OR_RETURN(checked, adoptSealed(sealed, size, name, signers));
  if (fd < 0)
    return errnoStatus(errno, str(name, ": cannot keep the file open"));
  std::copy_n(checked->digest().begin(), 32, identity.begin());
  table = {{checked->plan().world_size(), 0, size, identity}};
  return absl::OkStatus();
}

absl::StatusOr<PlanRange> PlanRange::open(const std::string &path, const Signers &signers) {
  OpenFile in(path == "-" ? ::fcntl(0, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.fd < 0)
    return withExitCode(errnoStatus(errno, str("cannot open plan ", path)), ExitCode::BadData);
  PlanRange result;
  result.name = path == "-" ? "standard input" : path;
  auto refused = [&](const absl::Status &status) {
    return withExitCode(annotate(status, result.name),
                        absl::IsDataLoss(status) ? ExitCode::BadArtifact : ExitCode::BadData);
  };
  absl::StatusOr<Start> start = readStart(in.fd);
  if (!start.ok())
    return refused(start.status());
  struct stat file{};
  if (!start->table.empty() && path != "-" && ::fstat(in.fd, &file) == 0 && S_ISREG(file.st_mode)) {
    if (absl::Status status = checkEnd(start->table, static_cast<uint64_t>(file.st_size)); !status.ok())
      return refused(status);
    result.fd = in.release();
  } else {
    auto copy = copyRest(in.fd, *start);
    if (!copy.ok())
      return refused(copy.status());
    auto [sealed, size] = *copy;
    if (start->table.empty()) {
      DGC_RETURN_IF_ERROR(result.openAlone(sealed, size, signers));
      return result;
    }
    result.fd = sealed;
    if (absl::Status status = checkEnd(start->table, size); !status.ok())
      return refused(status);
  }
  result.table = std::move(start->table);
  const artifact::Digest digest = digestOf(start->bytes.data(), kHeaderBytes + result.table.size() * kEntryBytes);
  std::copy_n(digest.bytes()->begin(), 32, result.identity.begin());
  return result;
}

/// A sealed copy of a part of a file.
static absl::StatusOr<int> copyPart(int in, const Entry &entry) {
  DGC_ASSIGN_OR_RETURN(int copy, memoryFile("dgcx"));
  OpenFile out(copy);
  std::vector<uint8_t> chunk(std::min(entry.bytes, uint64_t{1} << 20));
  for (uint64_t done = 0; done < entry.bytes;) {
    const ssize_t n = ::pread(in, chunk.data(), std::min<uint64_t>(chunk.size(), entry.bytes - done),
                              static_cast<off_t>(entry.offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errnoStatus(errno, "cannot read");
    if (n == 0)
      return absl::DataLossError("the file has become shorter since it was opened; copy or compile it again");
    DGC_RETURN_IF_ERROR(writeAll(out.fd, std::span(chunk).first(static_cast<size_t>(n))));
    done += static_cast<uint64_t>(n);
  }
  DGC_RETURN_IF_ERROR(seal(out.fd));
  return out.release();
}

absl::StatusOr<std::unique_ptr<Artifact>> PlanRange::loadEntry(const Entry &entry, const Signers &signers) const {
  if (isAlone) {
    const int again = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (again < 0)
      return errnoStatus(errno, str(name, ": cannot read it again"));
    return adoptSealed(again, entry.bytes, name, signers);
  }
  const std::string text = str(name, ": the plan for ", counted(entry.workers, "worker"));
  absl::StatusOr<int> part = copyPart(fd, entry);
  if (!part.ok())
    return withExitCode(annotate(part.status(), text),
                        absl::IsDataLoss(part.status()) ? ExitCode::BadArtifact : ExitCode::BadData);
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<Artifact> artifact, adoptSealed(*part, entry.bytes, text, signers));
  std::string wrong;
  if (artifact->plan().world_size() != entry.workers)
    wrong = str("the plan there is for ", counted(artifact->plan().world_size(), "worker"));
  else if (!std::equal(entry.digest.begin(), entry.digest.end(), artifact->digest().begin()))
    wrong = "its SHA-256 is not the one of the table";
  if (!wrong.empty())
    return withExitCode(
        absl::DataLossError(str(text, ": the range of plans is damaged: ", wrong, "; copy or compile it again")),
        ExitCode::BadArtifact);
  return artifact;
}

absl::StatusOr<std::unique_ptr<Artifact>> PlanRange::load(uint32_t workers, const Signers &signers) const {
  const Entry *entry = find(workers);
  if (!entry)
    return usageError(str(name, ": there is no plan for ", counted(workers, "worker"), "; the file has ",
                          table.size() == 1 ? "one for " : "plans for ", spelledSizes(table),
                          ": take one of these, or compile for this size as well, as with --mesh data=2:4"));
  const bool isTrusted =
      checked && (signers.empty() || (checked->signer() &&
                                      std::find(signers.begin(), signers.end(), *checked->signer()) != signers.end()));
  return isTrusted ? std::move(checked) : loadEntry(*entry, signers);
}

//===-- Writing ------------------------------------------------------------------------------------------------------===//

namespace {
struct Packed {
  Entry entry;
  std::span<const uint8_t> bytes;
};
} // namespace

/// The entry of an artifact, without its offset.
static absl::StatusOr<Packed> describe(std::span<const uint8_t> bytes) {
  const SignedBytes file = splitSignature(bytes);
  DGC_RETURN_IF_ERROR(checkStructure(file.artifact));
  const artifact::Plan &plan = *artifact::GetPlan(file.artifact.data());
  Packed packed{{plan.world_size(), 0, bytes.size(), {}}, bytes};
  std::copy_n(plan.file_digest()->bytes()->begin(), 32, packed.entry.digest.begin());
  return packed;
}

absl::Status dgc::rt::writeRange(WritableFile &to, const std::vector<std::span<const uint8_t>> &artifacts) {
  if (artifacts.empty() || artifacts.size() > PlanRange::kMaxPlans)
    return absl::InvalidArgumentError(
        str("a range holds 1 to ", PlanRange::kMaxPlans, " plans, not ", artifacts.size()));
  std::vector<Packed> plans;
  for (std::span<const uint8_t> bytes : artifacts) {
    DGC_ASSIGN_OR_RETURN(plans.emplace_back(), describe(bytes));
  }
  auto workersOf = [](const Packed &plan) { return plan.entry.workers; };
  std::ranges::stable_sort(plans, {}, workersOf);
  if (auto twice = std::ranges::adjacent_find(plans, {}, workersOf); twice != plans.end())
    return absl::InvalidArgumentError(str("two plans of the range are for ", counted(workersOf(*twice), "worker")));

  std::vector<uint8_t> table(kMagic, kMagic + 8);
  append(table, kVersion);
  append(table, static_cast<uint32_t>(plans.size()));
  uint64_t end = kHeaderBytes + plans.size() * kEntryBytes;
  for (Packed &plan : plans) {
    plan.entry.offset = aligned(end);
    end = plan.entry.offset + plan.entry.bytes;
    append(table, plan.entry.workers);
    append(table, uint32_t{0});
    append(table, plan.entry.offset);
    append(table, plan.entry.bytes);
    append(table, plan.entry.digest);
  }
  DGC_RETURN_IF_ERROR(to.write(std::as_bytes(std::span(table))));
  uint64_t written = table.size();
  for (const Packed &plan : plans) {
    constexpr std::array<std::byte, kAlignment> zeros{};
    DGC_RETURN_IF_ERROR(to.write(std::span(zeros).first(plan.entry.offset - written)));
    DGC_RETURN_IF_ERROR(to.write(std::as_bytes(plan.bytes)));
    written = plan.entry.offset + plan.entry.bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint8_t>> dgc::rt::packRange(const std::vector<std::span<const uint8_t>> &artifacts) {
  struct InMemory final : WritableFile {
    absl::Status write(std::span<const std::byte> data) override {
      const auto *from = reinterpret_cast<const uint8_t *>(data.data());
      bytes.insert(bytes.end(), from, from + data.size());
      return absl::OkStatus();
    }
    absl::Status sync() override { return absl::OkStatus(); }
    absl::Status close() override { return absl::OkStatus(); }
    std::vector<uint8_t> bytes;
  } file;
  DGC_RETURN_IF_ERROR(writeRange(file, artifacts));
  return std::move(file.bytes);
}
