// The JSON header of a safetensors file.
#pragma once

#include "runtime/checkpoint/Safetensors.h"

namespace dgc::rt {

/// The header of `tensors`, as they follow each other, padded with blanks to a
/// multiple of 8. Names must be distinct and not `__metadata__`.
std::string formatSafetensorsHeader(std::span<const Tensor> tensors, const Metadata &metadata);

/// Reads a header: one object with an entry of dtype, shape and data_offsets
/// for each tensor, and strings in __metadata__. Each name and each key at most
/// once, nothing else. Entry::offset and Entry::bytes are data_offsets, from
/// the end of the header; begin <= end holds, nothing more is known of them.
absl::Status parseSafetensorsHeader(std::string_view text, std::map<std::string, SafetensorsFile::Entry> &entries,
                                    Metadata &metadata);

} // namespace dgc::rt
