// Machine code of kernels that were compiled before, in memory or also in a folder: for programs that compile many models,
// or one in many ways, whose kernels are mostly the same.
//
//   CompileOptions options;
//   options.kernelCache = std::make_shared<KernelCache>();
//
// What is compiled does not depend on what the cache has.

#ifndef DGC_COMPILER_TARGET_KERNELCACHE_H
#define DGC_COMPILER_TARGET_KERNELCACHE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <mutex>
#include <string>

namespace dgc {

/// Object files by a hash of what they were compiled from, the target included. Several threads may use one.
class KernelCache {
public:
  using Object = std::shared_ptr<const llvm::SmallVector<char, 0>>;

  KernelCache() = default;
  /// Keeps objects in files of the folder as well, which is made if need be, for later processes and those beside this one.
  /// Takes files of the same versions of dgc and LLVM only, and none that is damaged; what cannot be written is not kept.
  /// Builds of one version that generate other code need a folder each.
  static llvm::Expected<std::shared_ptr<KernelCache>> inFolder(llvm::StringRef folder);
  /// Bounds the folder: files that were not used for a week go, and the oldest of more than 1 GiB.
  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  /// Null where there is none.
  Object find(llvm::StringRef hash);
  void insert(llvm::StringRef hash, Object object);

  /// Of objects in memory.
  size_t size() const {
    std::scoped_lock lock(mutex);
    return objects.size();
  }

private:
  std::string pathOf(llvm::StringRef hash) const;

  std::string folder; // or empty
  mutable std::mutex mutex;
  llvm::StringMap<Object> objects;
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_KERNELCACHE_H
