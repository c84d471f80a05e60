// What the writer and the reader of manifests agree on.
#pragma once

#include <cstdint>
#include <string_view>

namespace dgc::rt {

inline constexpr std::string_view manifestFormat = "dgc checkpoint";
inline constexpr uint64_t manifestVersion = 1;
inline constexpr uint64_t mostManifestBytes = uint64_t{256} << 20;

/// Around the 64 digits of the digest, to the end of the text.
inline constexpr std::string_view digestBegin = ",\n\"sha256\": \"", digestEnd = "\"\n}\n";

} // namespace dgc::rt
