// Serializes a plan and fills in its digests.
#include "runtime/artifact/Writer.h"

#include "runtime/base/Status.h"

#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <memory>

using namespace dgc;
using namespace dgc::rt;

namespace {
class Sha256 {
public:
  Sha256() : context(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  }
  void add(const uint8_t *data, size_t size) {
    EVP_DigestUpdate(context.get(), data, size);
  }
  artifact::Digest finish() {
    std::array<uint8_t, 32> bytes;
    EVP_DigestFinal_ex(context.get(), bytes.data(), nullptr);
    return artifact::Digest(flatbuffers::span<const uint8_t, 32>(bytes));
  }

private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX *)> context;
};
} // namespace

artifact::Digest dgc::rt::digestOf(const uint8_t *data, size_t size) {
  Sha256 sha;
  sha.add(data, size);
  return sha.finish();
}

artifact::Digest dgc::rt::digestOfFile(const uint8_t *data, size_t size,
                                       size_t offset) {
  constexpr size_t n = sizeof(artifact::Digest);
  const uint8_t zeros[n] = {};
  Sha256 sha;
  sha.add(data, offset);
  sha.add(zeros, n);
  sha.add(data + offset + n, size - offset - n);
  return sha.finish();
}

absl::StatusOr<std::vector<uint8_t>> dgc::rt::finishPlan(artifact::PlanT plan) {
  size_t payload = 0;
  for (std::unique_ptr<artifact::SectionT> &section : plan.sections) {
    section->digest = std::make_unique<artifact::Digest>(
        digestOf(section->data.data(), section->data.size()));
    payload += section->data.size();
  }
  // FlatBuffers addresses 2 GiB and asserts beyond; leave room for the rest.
  if (payload > (size_t{1} << 31) - (size_t{1} << 28))
    return absl::ResourceExhaustedError(
        str("the plan holds ", payload,
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
  std::vector<uint8_t> bytes(builder.GetBufferPointer(),
                             builder.GetBufferPointer() + builder.GetSize());
  artifact::Digest *field =
      artifact::GetMutablePlan(bytes.data())->mutable_file_digest();
  size_t offset =
      static_cast<size_t>(reinterpret_cast<uint8_t *>(field) - bytes.data());
  artifact::Digest digest = digestOfFile(bytes.data(), bytes.size(), offset);
  std::memcpy(bytes.data() + offset, &digest, sizeof digest);
  return bytes;
}
