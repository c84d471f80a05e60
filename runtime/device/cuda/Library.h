// Where NVIDIA's libraries are on this machine.
#pragma once

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace dgc::rt::cuda {

struct Library {
  std::string path; // as the loader names it
  void *handle = nullptr;

  /// Null when it has no such function.
  void *find(const char *symbol) const;
};

/// The folders that $DGC_CUDA_LIBS (--cuda-libs) names, separated by ':', each with those of the wheels of pip below it.
std::vector<std::string> namedFolders();

/// The folders that are looked through, in order: those that are named, "" for the path of the loader, those of a
/// toolkit, those of the wheels of pip.
std::vector<std::string> libraryFolders();

/// The first of `names` ("libcublasLt.so.13") in the first folder that has one. It stays open. Not found: an error of
/// ExitCode::Machine that says what was looked for and what would help.
absl::StatusOr<Library> findLibrary(const std::string &what, const std::vector<std::string> &names);

/// The first cuDNN in the folders that are named; else the newest of all that are there.
absl::StatusOr<Library> findCudnn();

} // namespace dgc::rt::cuda
