//===- KernelCache.cpp ----------------------------------------------------===//

#include "compiler/target/KernelCache.h"

#include "runtime/base/Version.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

namespace dgc {

/// What a file ends with.
static llvm::BLAKE3Result<> digestOf(llvm::StringRef object) {
  return llvm::BLAKE3::hash(llvm::ArrayRef(object.bytes_begin(), object.size()));
}

llvm::Expected<std::shared_ptr<KernelCache>> KernelCache::inFolder(llvm::StringRef folder) {
  std::error_code error = llvm::sys::fs::create_directories(folder);
  if (!error && !llvm::sys::fs::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    return llvm::createStringError(error, "cannot make the folder '" + folder + "': " + error.message());
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(folder, status) && (status.permissions() & llvm::sys::fs::others_write))
    return llvm::createStringError(
        std::make_error_code(std::errc::permission_denied),
        "every user of this machine can write into the folder '" + folder +
            "', and what is in it goes into plans as code; name another one, or chmod o-w it");
  auto cache = std::make_shared<KernelCache>();
  cache->folder = folder;
  return cache;
}

KernelCache::~KernelCache() {
  if (folder.empty())
    return;
  llvm::CachePruningPolicy policy; // its intervals: unused for a week, looked for every 20 minutes
  policy.MaxSizeBytes = uint64_t(1) << 30;
  llvm::pruneCache(folder, policy);
}

std::string KernelCache::pathOf(llvm::StringRef hash) const {
  llvm::SmallString<128> path(folder);
  // pruneCache knows its files by this prefix.
  llvm::sys::path::append(path, "llvmcache-dgc-" DGC_VERSION "-llvm-" LLVM_VERSION_STRING "-" + hash);
  return path.str().str();
}

KernelCache::Object KernelCache::find(llvm::StringRef hash) {
  {
    std::scoped_lock lock(mutex);
    if (Object object = objects.lookup(hash); object || folder.empty())
      return object;
  }
  auto file = llvm::MemoryBuffer::getFile(pathOf(hash), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return nullptr;
  constexpr size_t kDigestBytes = sizeof(llvm::BLAKE3Result<>);
  llvm::StringRef bytes = (*file)->getBuffer();
  llvm::StringRef code = bytes.drop_back(std::min(bytes.size(), kDigestBytes));
  llvm::StringRef digest = bytes.drop_front(code.size());
  if (llvm::toStringRef(digestOf(code)) != digest)
    return nullptr;
  auto object = std::make_shared<const llvm::SmallVector<char, 0>>(code.begin(), code.end());
  std::scoped_lock lock(mutex);
  return objects.try_emplace(hash, std::move(object)).first->second;
}

/// As a whole or not at all. llvm::writeToOutput would register the file with the handlers of signals, which threads that
/// compile at a time must not do.
static void writeObject(const std::string &path, llvm::StringRef code) {
  int descriptor;
  llvm::SmallString<128> temporary; // goes as the others do where a process is killed
  if (llvm::sys::fs::createUniqueFile(path + "-%%%%%%%%", descriptor, temporary))
    return;
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << code << llvm::toStringRef(digestOf(code));
  stream.close();
  if (stream.has_error() || llvm::sys::fs::rename(temporary, path))
    (void)llvm::sys::fs::remove(temporary);
  stream.clear_error(); // else its destructor aborts
}

void KernelCache::insert(llvm::StringRef hash, Object object) {
  if (!folder.empty())
    writeObject(pathOf(hash), {object->data(), object->size()});
  std::scoped_lock lock(mutex);
  objects.try_emplace(hash, std::move(object));
}

} // namespace dgc
