// Segments as sealed memfds, which the others open through /proc/<pid>/fd or, where a sandbox forbids that, are given.
#include "runtime/collective/SharedMemory.h"
#include "runtime/base/Status.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace dgc::rt {
namespace {

/// What an announcement holds, as bytes of this machine.
struct Announcement {
  uint64_t magic = SegmentHeader::kMagic;
  int64_t pid = 0;
  int64_t fd = 0;
  SegmentLayout layout;
  std::array<uint8_t, 16> name{}, nonce{};
};

/// Of the socket at which a process gives its segment.
std::string socketOf(const std::array<uint8_t, 16> &name) {
  return absl::StrCat("dgc-segment.", absl::BytesToHexString(
                                          absl::string_view(reinterpret_cast<const char *>(name.data()), name.size())));
}

std::string encode(const Announcement &a) { return std::string(reinterpret_cast<const char *>(&a), sizeof(a)); }

absl::StatusOr<Announcement> decode(const std::string &bytes) {
  Announcement a;
  if (bytes.size() != sizeof(a))
    return absl::InvalidArgumentError(
        absl::StrCat("announcement of a shared segment has ", bytes.size(), " bytes, expected ", sizeof(a)));
  std::memcpy(&a, bytes.data(), sizeof(a));
  if (a.magic != SegmentHeader::kMagic)
    return absl::InvalidArgumentError("announcement of a shared segment is of another version");
  return a;
}

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// How long a process may take to give its segment; for the header, without which errors are less exact, it is waited less.
constexpr int kGiveSeconds = 60, kHeaderSeconds = 2;

/// Maps the first `bytes` of the announced file, after checking that it is the
/// announced one and can no longer shrink.
absl::StatusOr<std::byte *> mapAnnounced(const Announcement &a, uint64_t bytes, int protection) {
  std::string path = absl::StrCat("/proc/", a.pid, "/fd/", a.fd);
  auto problem = [&](std::string_view what) {
    return absl::FailedPreconditionError(absl::StrCat("shared segment of process ", a.pid, ": ", std::string(what)));
  };
  bool writable = protection & PROT_WRITE;
  Socket file(open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK));
  const int error = errno;
  if (!file) // a sandbox keeps processes from what others have open; they give it themselves
    if (absl::StatusOr<Socket> socket = connectLocally(socketOf(a.name), writable ? kGiveSeconds : kHeaderSeconds);
        socket.ok())
      file = receiveDescriptor(*socket);
  if (!file)
    return errnoStatus(error, absl::StrCat("cannot open the shared segment ", path));
  struct stat info;
  if (fstat(file.fd(), &info) != 0 || !S_ISREG(info.st_mode))
    return problem("is not a file");
  if (info.st_uid != geteuid())
    return problem("belongs to another user");
  if (fcntl(file.fd(), F_GET_SEALS) != kSeals)
    return problem("is not sealed");
  if (static_cast<uint64_t>(info.st_size) != a.layout.totalBytes())
    return problem("has another size than announced");
  void *memory = mmap(nullptr, bytes, protection, MAP_SHARED, file.fd(), 0);
  if (memory == MAP_FAILED)
    return errnoStatus(errno, "cannot map a shared segment");
  auto *header = static_cast<const SegmentHeader *>(memory);
  if (header->magic != SegmentHeader::kMagic || header->nonce != a.nonce) {
    munmap(memory, bytes);
    return problem("is not the one that was announced");
  }
  return static_cast<std::byte *>(memory);
}

/// Takes the pages that every step uses, so that no step pays for it. The
/// mailboxes of unused channels stay without memory.
absl::Status populate(std::byte *memory, const SegmentLayout &layout) {
  uint64_t head = wholePages(layout.mailboxesAt());
  uint64_t tail = layout.totalBytes() - layout.arenaAt();
  if (madvise(memory, head, MADV_POPULATE_WRITE) == 0 &&
      (tail == 0 || madvise(memory + layout.arenaAt(), tail, MADV_POPULATE_WRITE) == 0))
    return absl::OkStatus();
  if (errno == EINVAL) // a kernel before 5.14: the pages come as they are used
    return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot get ", layout.totalBytes(), " bytes of shared memory: ", std::strerror(errno)));
}

} // namespace

std::string sharedMemoryHostId() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat ns = {};
  stat("/proc/self/ns/pid", &ns);
  struct stat network = {};
  stat("/proc/self/ns/net", &network);
  return absl::StrCat(boot, "/", ns.st_ino, "/", network.st_ino, "/", geteuid());
}

absl::StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::create(int rank, int worldSize,
                                                                     const TransportOptions &options) {
  std::unique_ptr<SharedSegment> s(new SharedSegment);
  s->rank = rank;
  s->options = options;
  s->layout = {static_cast<uint32_t>(worldSize), options.channels, options.sharedBytes};
  uint64_t total = s->layout.totalBytes();
  s->fd = memfd_create("dgc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (s->fd < 0)
    return errnoStatus(errno, "cannot make a shared segment");
  if (fchmod(s->fd, 0600) != 0 || ftruncate(s->fd, static_cast<off_t>(total)) != 0 ||
      fcntl(s->fd, F_ADD_SEALS, kSeals) != 0)
    return errnoStatus(errno, absl::StrCat("cannot make a shared segment of ", total, " bytes"));
  void *memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
  if (memory == MAP_FAILED)
    return errnoStatus(errno, absl::StrCat("cannot map a shared segment of ", total, " bytes"));
  s->memory = static_cast<std::byte *>(memory);
  DGC_RETURN_IF_ERROR(populate(s->memory, s->layout));
  s->counted = CountedMemory(MemoryKind::Communication, s->layout.residentBytes());
  auto *header = new (memory) SegmentHeader;
  header->rank = rank;
  header->worldSize = worldSize;
  Announcement a;
  for (std::array<uint8_t, 16> *random : {&header->nonce, &a.name})
    if (getrandom(random->data(), random->size(), 0) != static_cast<ssize_t>(random->size()))
      return errnoStatus(errno, "cannot get random bytes");
  DGC_ASSIGN_OR_RETURN(
      s->server, LocalServer::start(socketOf(a.name), [fd = s->fd](const Socket &to) { sendDescriptor(to, fd); }));
  a.pid = getpid();
  a.fd = s->fd;
  a.layout = s->layout;
  a.nonce = header->nonce;
  s->announced = encode(a);
  return s;
}

SharedSegment::~SharedSegment() {
  server.reset(); // gives the descriptor that is closed here
  if (memory)
    munmap(memory, layout.totalBytes());
  if (fd >= 0)
    close(fd);
}

ProgressWord &SharedSegment::progress() { return reinterpret_cast<SegmentHeader *>(memory)->progress; }

WaitRecord &SharedSegment::waits() { return reinterpret_cast<SegmentHeader *>(memory)->waits; }

absl::StatusOr<std::unique_ptr<Transport>> SharedSegment::connect(std::span<const std::string> announcements,
                                                                  Abort &abort) && {
  struct Mappings {
    std::vector<std::byte *> segments;
    uint64_t bytes;
    CountedMemory counted; // of the own segment
    std::unique_ptr<LocalServer> server;
    int fd = -1;
    ~Mappings() {
      server.reset();
      for (std::byte *s : segments)
        munmap(s, bytes);
      if (fd >= 0)
        close(fd);
    }
  };
  auto mappings = std::make_shared<Mappings>();
  mappings->bytes = layout.totalBytes();
  mappings->counted = std::move(counted);
  for (size_t r = 0; r < announcements.size(); ++r) {
    if (static_cast<int>(r) == rank) {
      mappings->segments.push_back(std::exchange(memory, nullptr));
      mappings->fd = std::exchange(fd, -1); // others may still open it
      mappings->server = std::move(server);
      continue;
    }
    absl::StatusOr<Announcement> a = decode(announcements[r]);
    if (!a.ok())
      return annotate(a.status(), absl::StrCat("rank ", r));
    if (a->layout.totalBytes() != layout.totalBytes() || a->layout.arenaBytes != layout.arenaBytes)
      return absl::FailedPreconditionError(absl::StrCat("rank ", r, " has a shared arena of ", a->layout.arenaBytes,
                                                        " bytes, rank ", rank, " one of ", layout.arenaBytes));
    absl::StatusOr<std::byte *> segment = mapAnnounced(*a, layout.totalBytes(), PROT_READ | PROT_WRITE);
    if (!segment.ok())
      return annotate(segment.status(), absl::StrCat("rank ", r));
    mappings->segments.push_back(*segment);
    DGC_RETURN_IF_ERROR(populate(*segment, layout));
  }
  MappedJob job;
  job.layout = layout;
  job.segments = mappings->segments;
  job.owner = mappings;
  return createMappedTransport("shared-memory", rank, std::move(job), options, abort);
}

absl::StatusOr<std::shared_ptr<const SegmentHeader>> mapSegmentHeader(const std::string &announcement) {
  DGC_ASSIGN_OR_RETURN(Announcement a, decode(announcement));
  DGC_ASSIGN_OR_RETURN(std::byte * memory, mapAnnounced(a, sizeof(SegmentHeader), PROT_READ));
  return std::shared_ptr<const SegmentHeader>(
      reinterpret_cast<const SegmentHeader *>(memory),
      [memory](const SegmentHeader *) { munmap(memory, sizeof(SegmentHeader)); });
}

} // namespace dgc::rt
