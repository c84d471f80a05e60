// Machine code of kernels that were compiled before, in memory: for programs that compile many models, or one in many
// ways, whose kernels are mostly the same.
//
//   CompileOptions options;
//   options.kernelCache = std::make_shared<KernelCache>();
//
// What is compiled does not depend on what the cache has.

#ifndef DGC_COMPILER_TARGET_KERNELCACHE_H
#define DGC_COMPILER_TARGET_KERNELCACHE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <mutex>

namespace dgc {

/// Object files by a hash of what they were compiled from, the target included. Several threads may use one.
class KernelCache {
public:
  using Object = std::shared_ptr<const llvm::SmallVector<char, 0>>;

  /// Null where there is none.
  Object find(llvm::StringRef hash) const {
    std::scoped_lock lock(mutex);
    return objects.lookup(hash);
  }

  void insert(llvm::StringRef hash, Object object) {
    std::scoped_lock lock(mutex);
    objects.try_emplace(hash, std::move(object));
  }

  size_t size() const {
    std::scoped_lock lock(mutex);
    return objects.size();
  }

private:
  mutable std::mutex mutex;
  llvm::StringMap<Object> objects;
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_KERNELCACHE_H
