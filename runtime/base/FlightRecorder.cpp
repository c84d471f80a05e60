#include "runtime/base/FlightRecorder.h"

#include "runtime/base/Status.h"

#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace dgc::rt {

using flight::Entry;
using flight::Header;

static int64_t timeOfDay() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
}

/// The text with a zero behind it, as much as there is room for.
template <size_t N> static void put(char (&to)[N], const std::string &text) { std::strncpy(to, text.c_str(), N - 1); }

absl::StatusOr<std::unique_ptr<FlightRecorder>> FlightRecorder::create(const std::string &path, const Worker &worker,
                                                                       std::span<const std::string> names,
                                                                       Clock &clock) {
  std::string text;
  for (const std::string &name : names) {
    text += name;
    text += '\n';
  }
  const uint64_t namesAt = flight::kEntriesAt + worker.capacity * sizeof(Entry), bytes = namesAt + text.size();
  ::unlink(path.c_str()); // one who reads the old one keeps it
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return errnoStatus(errno, str("cannot create ", path));
  int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void *memory = error ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (!error && memory == MAP_FAILED)
    error = errno;
  ::close(file);
  if (error) {
    ::unlink(path.c_str());
    return errnoStatus(error, str("cannot write ", path));
  }
  auto *start = static_cast<std::byte *>(memory);
  std::memcpy(start + namesAt, text.data(), text.size());
  for (uint64_t i = 0; i < worker.capacity; ++i)
    new (start + flight::kEntriesAt + i * sizeof(Entry)) Entry{};
  auto *header = new (start) Header{};
  header->version = flight::kVersion;
  header->rank = worker.rank;
  header->world = worker.world;
  header->pid = static_cast<int32_t>(::getpid());
  header->capacity = worker.capacity;
  header->nameBytes = text.size();
  header->beganAt = clock.now();
  header->beganReal = timeOfDay();
  put(header->host, worker.host);
  put(header->plan, worker.plan);
  header->awaited = -1;
  header->exitCode = flight::kNotEnded;
  std::memcpy(header->magic, flight::kMagic, sizeof(header->magic)); // last: without it this is no such file
  return std::unique_ptr<FlightRecorder>(new FlightRecorder(start, bytes, worker.capacity));
}

FlightRecorder::~FlightRecorder() { ::munmap(header, bytes); }

} // namespace dgc::rt
