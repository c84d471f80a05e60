// Copies an artifact into sealed memory and checks it there.
#include "runtime/artifact/Reader.h"

#include "runtime/artifact/Check.h"
#include "runtime/artifact/DeviceTraits.h"
#include "runtime/artifact/PlanCheck.h"
#include "runtime/artifact/PlanRange.h"
#include "runtime/artifact/SealedFile.h"
#include "runtime/artifact/Spelling.h"
#include "runtime/artifact/Structure.h"
#include "runtime/artifact/Writer.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace dgc;
using namespace dgc::rt;

absl::StatusOr<int> dgc::rt::sealedCopy(std::span<const std::byte> bytes, const char *name) {
  DGC_ASSIGN_OR_RETURN(int fd, memoryFile(name));
  absl::Status s = writeAll(fd, {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  if (s.ok())
    s = seal(fd);
  if (s.ok())
    return fd;
  ::close(fd);
  return s;
}

/// Checks the digests: of the whole file first, which covers everything.
static absl::Status checkDigests(std::span<const uint8_t> bytes) {
  const artifact::Plan &plan = *artifact::GetPlan(bytes.data());
  const artifact::Digest *stored = plan.file_digest();
  size_t offset = static_cast<size_t>(reinterpret_cast<const uint8_t *>(stored) - bytes.data());
  artifact::Digest actual = digestOfFile(bytes.data(), bytes.size(), offset);
  if (std::memcmp(stored, &actual, sizeof actual) != 0)
    return absl::DataLossError("the file is damaged: its content does not "
                               "match its SHA-256; copy or compile it again");
  if (plan.verified()) {
    actual = digestOfRecord(bytes);
    if (std::memcmp(plan.verified()->digest(), &actual, sizeof actual) != 0)
      return absl::DataLossError("the record of the exact check does not belong to this plan, which was changed "
                                 "after the check: compile it again");
  }
  for (uint32_t i = 0; plan.sections() && i < plan.sections()->size(); ++i) {
    const artifact::Section &section = *plan.sections()->Get(i);
    actual = digestOf(section.data()->data(), section.data()->size());
    if (std::memcmp(section.digest(), &actual, sizeof actual) != 0)
      return absl::DataLossError(str("section '", section.name()->c_str(), "' does not match its SHA-256"));
  }
  return absl::OkStatus();
}

static absl::Status checkAll(std::span<const uint8_t> bytes) {
  DGC_RETURN_IF_ERROR(checkStructure(bytes));
  DGC_RETURN_IF_ERROR(checkDigests(bytes));
  const artifact::Plan &plan = *artifact::GetPlan(bytes.data());
  DGC_RETURN_IF_ERROR(checkPlan(plan));
  return checkCommunication(plan);
}

/// One line without control characters: names in the message come from the
/// file.
static std::string printable(absl::string_view text) {
  std::string result(text.substr(0, 1000));
  for (char &c : result)
    if (static_cast<unsigned char>(c) < 32 || c == 127)
      c = '?';
  return result;
}

absl::StatusOr<std::unique_ptr<Artifact>> dgc::rt::adoptSealed(int fd, uint64_t size, std::string_view name,
                                                               const Signers &signers) {
  std::unique_ptr<Artifact> result(new Artifact());
  result->fd = fd;
  if (size) {
    void *memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
      return errnoStatus(errno, str(name, ": cannot map"));
    result->mapped = {static_cast<const uint8_t *>(memory), size};
  }
  if (isPlanRange(result->mapped))
    return withExitCode(annotate(refuseRange(result->mapped), name), ExitCode::BadArtifact);
  const SignedBytes file = splitSignature(result->mapped);
  result->bytes = file.artifact;
  if (file.signature)
    result->signedBy = file.signature->key;
  absl::Status s = checkSignature(file, signers);
  if (s.ok())
    s = checkAll(result->bytes);
  if (!s.ok())
    return withExitCode(absl::Status(s.code(), str(name, ": ", printable(s.message()))), ExitCode::BadArtifact);
  std::span<const std::byte> constants = result->constants();
  if (reinterpret_cast<uintptr_t>(constants.data()) % 64) {
    size_t rounded = (constants.size() + 63) & ~size_t{63};
    result->alignedConstants.reset(static_cast<std::byte *>(std::aligned_alloc(64, rounded)));
    if (!result->alignedConstants)
      return absl::ResourceExhaustedError(str(name, ": no memory for ", rounded, " bytes of constants"));
    std::memcpy(result->alignedConstants.get(), constants.data(), constants.size());
  }
  return result;
}

Artifact::~Artifact() {
  if (!mapped.empty())
    ::munmap(const_cast<uint8_t *>(mapped.data()), mapped.size());
  ::close(fd);
}

std::span<const uint8_t, 32> Artifact::digest() const {
  return std::span<const uint8_t, 32>(reinterpret_cast<const uint8_t *>(plan().file_digest()), 32);
}

std::string Artifact::digestHex() const { return spelled(*plan().file_digest()); }

std::span<const std::byte> Artifact::section(int32_t index) const {
  if (index < 0)
    return {};
  const auto *data = plan().sections()->Get(static_cast<uint32_t>(index))->data();
  return {reinterpret_cast<const std::byte *>(data->data()), data->size()};
}

std::span<const std::byte> Artifact::object() const { return section(plan().object_section()); }

std::span<const std::byte> Artifact::semantics() const {
  const bool isObject = traitsOf(plan(), -1).kernels == KernelForm::Bytecode;
  return isObject ? object() : section(plan().semantics_section());
}

std::span<const std::byte> Artifact::constants() const {
  std::span<const std::byte> data = section(plan().constant_section());
  return alignedConstants ? std::span(alignedConstants.get(), data.size()) : data;
}

std::span<const std::byte> Artifact::initialValues() const { return section(plan().initial_section()); }

const artifact::Program *Artifact::program(std::string_view name) const {
  for (uint32_t i = 0; plan().programs() && i < plan().programs()->size(); ++i)
    if (plan().programs()->Get(i)->name()->string_view() == name)
      return plan().programs()->Get(i);
  return nullptr;
}

absl::StatusOr<std::unique_ptr<Artifact>> dgc::rt::loadBytes(std::span<const uint8_t> bytes, std::string_view name,
                                                             const Signers &signers) {
  if (bytes.size() > kMaxFileBytes)
    return withExitCode(annotate(checkStructure(bytes), name), ExitCode::BadArtifact);
  DGC_ASSIGN_OR_RETURN(int fd, sealedCopy(std::as_bytes(bytes), "dgcx"));
  return adoptSealed(fd, bytes.size(), name, signers);
}

/// Copies the open file `in` to `out`: all of an artifact, with a byte more than is accepted where it is too large, or
/// the beginning of a range.
static absl::StatusOr<uint64_t> copyArtifact(int in, int out) {
  std::vector<uint8_t> start(kMaxRangeTableBytes);
  DGC_ASSIGN_OR_RETURN(const size_t size, readFull(in, start));
  start.resize(size);
  DGC_RETURN_IF_ERROR(writeAll(out, start));
  if (size < kMaxRangeTableBytes || isPlanRange(start))
    return size;
  DGC_ASSIGN_OR_RETURN(const uint64_t rest, copyFile(in, out, kMaxFileBytes + 1 - size));
  return size + rest;
}

absl::StatusOr<std::unique_ptr<Artifact>> dgc::rt::load(const std::string &path, const Signers &signers) {
  int in = path == "-" ? ::dup(0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (in < 0)
    return withExitCode(errnoStatus(errno, str("cannot open plan ", path)), ExitCode::BadData);
  absl::StatusOr<int> out = memoryFile("dgcx");
  if (!out.ok()) {
    ::close(in);
    return out.status();
  }
  absl::StatusOr<uint64_t> size = copyArtifact(in, *out);
  ::close(in);
  absl::Status s = size.status();
  if (s.ok() && *size > kMaxFileBytes)
    s = withExitCode(absl::DataLossError(str("the file has more than ", maxArtifactBytes, " bytes")),
                     ExitCode::BadArtifact);
  if (s.ok())
    s = seal(*out);
  if (!s.ok()) {
    ::close(*out);
    return withExitCode(annotate(s, path), ExitCode::BadData);
  }
  return adoptSealed(*out, *size, path == "-" ? "standard input" : path, signers);
}
