// The names in a folder of checkpoints, DIR:
//   DIR/.dgc-lock                                  while a job writes there
//   DIR/step-000000500/                            a checkpoint:
//     model-00001-of-00004.safetensors               what worker 0 of 4 gives
//     model.safetensors.index.json                   the index of Hugging Face
//     manifest.json                                  what is where
//     .pruned.dgc-tmp                                once was manifest.json: the checkpoint is being removed
//   DIR/.step-000000500.<16 hex digits>.dgc-tmp/   the same while it is written, and for each worker that is done
//     .shard-00001.json                              what it gave
//   DIR/.step-000000500.<16 hex digits>.dgc-old/   what is replaced by another checkpoint of the same step
#pragma once

#include "runtime/base/Disk.h"

#include <optional>

namespace dgc::rt {

inline constexpr std::string_view manifestName = "manifest.json", indexName = "model.safetensors.index.json",
                                  prunedName = ".pruned.dgc-tmp", temporarySuffix = ".dgc-tmp";

/// FOLDER/NAME.
std::string inFolder(const std::string &folder, std::string_view name);

std::string stepName(int64_t step);
std::string temporaryName(int64_t step, std::string_view nonce);
std::string replacedName(int64_t step, std::string_view nonce);
std::string shardName(uint32_t rank, uint32_t world);
std::string markerName(uint32_t rank);

/// The inverses; nothing where a name has another form.
std::optional<int64_t> stepOf(std::string_view name);
std::optional<int64_t> stepOfTemporary(std::string_view name);
std::optional<int64_t> stepOfReplaced(std::string_view name);

/// Whether dgc gives such a name to a file of a checkpoint.
bool isOfCheckpoint(std::string_view name);

/// Whether it names a file in the folder itself: no path, and nothing that cannot be part of one.
bool isPlainName(std::string_view name);

} // namespace dgc::rt
