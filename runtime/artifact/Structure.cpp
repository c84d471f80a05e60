// The structural check of an artifact.
#include "runtime/artifact/Structure.h"

#include "runtime/artifact/dgcx_generated.h"
#include "runtime/base/Status.h"

#include "flatbuffers/minireflect.h"

#include <algorithm>
#include <utility>
#include <vector>

using namespace dgc;
using namespace dgc::rt;
using flatbuffers::TypeTable;

namespace {
/// Visits every object of a verified buffer and notes the bytes it owns. Stops
/// as soon as the objects have more bytes than the file.
class AliasChecker {
public:
  explicit AliasChecker(std::span<const uint8_t> bytes) : bytes(bytes) {}

  absl::Status run() {
    const uint8_t *root = deref(bytes.data());
    if (!table(root, artifact::PlanTypeTable()))
      return aliased();
    std::sort(owned.begin(), owned.end());
    for (size_t i = 1; i < owned.size(); ++i)
      if (owned[i].first < owned[i - 1].second)
        return aliased();
    return absl::OkStatus();
  }

private:
  using Offset = uint32_t;

  static const uint8_t *deref(const uint8_t *p) { return p + flatbuffers::ReadScalar<Offset>(p); }

  static absl::Status aliased() {
    return absl::DataLossError("objects overlap or have an unknown type: not a file that dgc wrote");
  }

  /// Notes that [p, p + size) belongs to an object; false when over budget.
  bool own(const uint8_t *p, uint64_t size) {
    uint64_t begin = static_cast<uint64_t>(p - bytes.data());
    spent += size;
    owned.emplace_back(begin, begin + size);
    return spent <= bytes.size();
  }

  bool vectorOf(const uint8_t *p, uint64_t elementBytes) {
    return own(p, 4 + elementBytes * flatbuffers::ReadScalar<Offset>(p));
  }

  bool table(const uint8_t *p, const TypeTable *type) {
    const uint8_t *vtable = p - flatbuffers::ReadScalar<flatbuffers::soffset_t>(p);
    uint16_t vtableBytes = flatbuffers::ReadScalar<uint16_t>(vtable);
    if (!own(p, flatbuffers::ReadScalar<uint16_t>(vtable + 2)))
      return false;
    const uint8_t *previous = nullptr; // the type of a union is the field before
    for (size_t i = 0; i < type->num_elems; ++i) {
      size_t slot = 4 + 2 * i;
      uint16_t at = slot < vtableBytes ? flatbuffers::ReadScalar<uint16_t>(vtable + slot) : 0;
      const uint8_t *value = at ? p + at : nullptr;
      if (value && !field(value, type, type->type_codes[i], previous))
        return false;
      previous = value;
    }
    return true;
  }

  bool field(const uint8_t *p, const TypeTable *type, flatbuffers::TypeCode code, const uint8_t *unionType) {
    const TypeTable *ref = code.sequence_ref >= 0 ? type->type_refs[code.sequence_ref]() : nullptr;
    auto base = static_cast<flatbuffers::ElementaryType>(code.base_type);
    if (code.is_repeating)
      return vector(deref(p), base, ref);
    if (base == flatbuffers::ET_STRING)
      return own(deref(p), 5 + flatbuffers::ReadScalar<Offset>(deref(p)));
    if (base != flatbuffers::ET_SEQUENCE || !ref || ref->st == flatbuffers::ST_STRUCT ||
        ref->st == flatbuffers::ST_ENUM)
      return true; // lies inside the table
    if (ref->st == flatbuffers::ST_TABLE)
      return table(deref(p), ref);
    // A union. Its alternatives count from NONE, which stands for nothing.
    uint8_t alternative = unionType ? *unionType : 0;
    if (alternative == 0 || alternative >= ref->num_elems)
      return false;
    int ordinal = ref->type_codes[alternative].sequence_ref;
    return ordinal >= 0 && table(deref(p), ref->type_refs[ordinal]());
  }

  bool vector(const uint8_t *p, flatbuffers::ElementaryType base, const TypeTable *ref) {
    if (!vectorOf(p, flatbuffers::InlineSize(base, ref)))
      return false;
    Offset n = flatbuffers::ReadScalar<Offset>(p);
    const uint8_t *element = p + 4;
    if (base == flatbuffers::ET_STRING) {
      for (Offset i = 0; i < n; ++i, element += 4)
        if (!own(deref(element), 5 + flatbuffers::ReadScalar<Offset>(deref(element))))
          return false;
    } else if (base == flatbuffers::ET_SEQUENCE && ref->st == flatbuffers::ST_TABLE) {
      for (Offset i = 0; i < n; ++i, element += 4)
        if (!table(deref(element), ref))
          return false;
    }
    return true;
  }

  std::span<const uint8_t> bytes;
  uint64_t spent = 0;
  std::vector<std::pair<uint64_t, uint64_t>> owned;
};
} // namespace

absl::Status dgc::rt::checkStructure(std::span<const uint8_t> bytes) {
  if (bytes.size() > maxArtifactBytes)
    return absl::DataLossError(
        str("the file has ", bytes.size(), " bytes; at most ", maxArtifactBytes, " are accepted"));
  if (bytes.size() < 64)
    return absl::DataLossError(
        str("the file has only ", bytes.size(), " bytes: truncated, or not an artifact of dgc-compile"));
  if (!artifact::PlanBufferHasIdentifier(bytes.data()))
    return absl::DataLossError("not an artifact of dgc-compile: the "
                               "identifier DGCX is missing");
  // A table takes at least a 4-byte header and the 4-byte offset to it.
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), /*max_depth=*/12, static_cast<uint32_t>(bytes.size() / 8));
  if (!artifact::VerifyPlanBuffer(verifier))
    return absl::DataLossError("the file is truncated or damaged: an offset leads outside of it");
  return AliasChecker(bytes).run();
}
