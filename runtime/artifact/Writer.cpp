// Serializes a plan and fills in its digests.
#include "runtime/artifact/Writer.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

using namespace dgc;
using namespace dgc::rt;

static artifact::Digest digest(Sha256 &sha) {
  std::array<uint8_t, 32> bytes = sha.finish();
  return artifact::Digest(flatbuffers::span<const uint8_t, 32>(bytes));
}

artifact::Digest dgc::rt::digestOf(const uint8_t *data, size_t size) {
  Sha256 sha;
  sha.add(std::as_bytes(std::span(data, size)));
  return digest(sha);
}

artifact::Digest dgc::rt::digestOfFile(const uint8_t *data, size_t size, size_t offset) {
  constexpr size_t n = sizeof(artifact::Digest);
  const std::byte zeros[n] = {};
  Sha256 sha;
  sha.add(std::as_bytes(std::span(data, offset)));
  sha.add(zeros);
  sha.add(std::as_bytes(std::span(data + offset + n, size - offset - n)));
  return digest(sha);
}

/// Serializes a plan but for the digest of the file, which is zeros.
static absl::StatusOr<std::vector<uint8_t>> serialize(artifact::PlanT &plan) {
  size_t payload = 0;
  for (std::unique_ptr<artifact::SectionT> &section : plan.sections) {
    section->digest = std::make_unique<artifact::Digest>(digestOf(section->data.data(), section->data.size()));
    payload += section->data.size();
  }
  // FlatBuffers addresses 2 GiB and asserts beyond; leave room for the rest.
  if (payload > (size_t{1} << 31) - (size_t{1} << 28))
    return absl::ResourceExhaustedError(str("the plan holds ", payload,
                                            " bytes of code and constants; an artifact takes at most 1.75 "
                                            "GiB. Read large constants from a file (variables with a file "
                                            "initializer)"));
  plan.format = artifactFormat;
  plan.file_digest = std::make_unique<artifact::Digest>();
  for (std::unique_ptr<artifact::KernelT> &kernel : plan.kernels)
    if (!kernel->digest)
      kernel->digest = std::make_unique<artifact::Digest>();
  flatbuffers::FlatBufferBuilder builder(payload + (size_t{1} << 16));
  artifact::FinishPlanBuffer(builder, artifact::Plan::Pack(builder, &plan));
  return std::vector<uint8_t>(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
}

static size_t offsetIn(std::span<const uint8_t> bytes, const artifact::Digest *field) {
  return static_cast<size_t>(reinterpret_cast<const uint8_t *>(field) - bytes.data());
}

/// Fills in the digest of the file.
static void seal(std::vector<uint8_t> &bytes) {
  const size_t offset = offsetIn(bytes, artifact::GetPlan(bytes.data())->file_digest());
  const artifact::Digest digest = digestOfFile(bytes.data(), bytes.size(), offset);
  std::memcpy(bytes.data() + offset, &digest, sizeof digest);
}

absl::StatusOr<std::vector<uint8_t>> dgc::rt::finishPlan(artifact::PlanT plan) {
  DGC_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, serialize(plan));
  seal(bytes);
  return bytes;
}

artifact::Digest dgc::rt::digestOfRecord(std::span<const uint8_t> bytes) {
  const artifact::Plan &plan = *artifact::GetPlan(bytes.data());
  constexpr size_t n = sizeof(artifact::Digest);
  const std::byte zeros[n] = {};
  const std::span<const std::byte> all = std::as_bytes(bytes);
  Sha256 sha;
  size_t next = 0;
  const auto [first, second] =
      std::minmax({offsetIn(bytes, plan.file_digest()), offsetIn(bytes, plan.verified()->digest())});
  for (size_t field : {first, second}) {
    if (field > next)
      sha.add(all.subspan(next, field - next));
    sha.add(std::span(zeros).last(field + n - std::max(field, next))); // the fields of a hostile file may overlap
    next = field + n;
  }
  sha.add(all.subspan(next));
  return digest(sha);
}

absl::StatusOr<std::vector<uint8_t>> dgc::rt::withRecord(const artifact::Plan &plan, artifact::VerifiedT record) {
  artifact::PlanT copy;
  plan.UnPackTo(&copy);
  copy.verified = std::make_unique<artifact::VerifiedT>(std::move(record));
  copy.verified->digest = std::make_unique<artifact::Digest>();
  DGC_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, serialize(copy));
  const size_t offset = offsetIn(bytes, artifact::GetPlan(bytes.data())->verified()->digest());
  const artifact::Digest digest = digestOfRecord(bytes);
  std::memcpy(bytes.data() + offset, &digest, sizeof digest);
  seal(bytes);
  return bytes;
}
