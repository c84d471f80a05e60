// Finds NVIDIA's libraries.
#include "runtime/device/cuda/Library.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <glob.h>
#include <link.h>
#include <map>
#include <mutex>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace dgc::rt::cuda {

void *Library::find(const char *symbol) const { return ::dlsym(handle, symbol); }

static void addMatches(const std::string &pattern, std::vector<std::string> &folders) {
  glob_t found;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i)
      folders.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
}

/// The parts of a list that is separated by ':', without empty ones.
static std::vector<std::string> split(const char *list) {
  std::vector<std::string> parts;
  std::istringstream text(list ? list : "");
  for (std::string part; std::getline(text, part, ':');)
    if (!part.empty())
      parts.push_back(part);
  return parts;
}

std::vector<std::string> namedFolders() {
  std::vector<std::string> folders;
  for (const std::string &folder : split(std::getenv("DGC_CUDA_LIBS"))) {
    folders.push_back(folder);
    addMatches(folder + "/nvidia/*/lib", folders);
  }
  return folders;
}

std::vector<std::string> libraryFolders() {
  std::vector<std::string> folders = namedFolders();
  folders.emplace_back("");
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable); root && *root)
      folders.push_back(str(root, "/lib64"));
  folders.emplace_back("/usr/local/cuda/lib64");
  std::vector<std::string> roots{"/usr/local", "/usr"};
  if (const char *home = std::getenv("HOME"))
    roots.insert(roots.begin(), str(home, "/.local"));
  // The environments of Python that are in use: what is around the interpreters on the PATH.
  for (const std::string &folder : split(std::getenv("PATH")))
    if (folder.ends_with("/bin") && ::access((folder + "/python3").c_str(), X_OK) == 0)
      if (std::string root = folder.substr(0, folder.size() - 4); std::ranges::find(roots, root) == roots.end())
        roots.push_back(root);
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    roots.insert(roots.begin(), environment);
  for (const std::string &root : roots)
    for (const char *packages : {"site-packages", "dist-packages"})
      addMatches(str(root, "/lib/python3*/", packages, "/nvidia/*/lib"), folders);
  return folders;
}

/// Opens a library that may not be there; its path becomes that of the loader.
static void *open(std::string &path) {
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  link_map *map = nullptr;
  if (handle && ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name)
    path = map->l_name;
  return handle;
}

static absl::Status notFound(const std::string &what, const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += str(list.empty() ? "" : ", ", name);
  return withExitCode(absl::NotFoundError(str(what, " was not found (", list,
                                              "): install the CUDA toolkit or the wheel of pip that has "
                                              "it, or name its folder with --cuda-libs DIR")),
                      ExitCode::Machine);
}

absl::StatusOr<Library> findLibrary(const std::string &what, const std::vector<std::string> &names) {
  for (const std::string &folder : libraryFolders())
    for (const std::string &name : names) {
      std::string path = folder.empty() ? name : str(folder, "/", name);
      if (void *handle = open(path))
        return Library{path, handle};
    }
  return notFound(what, names);
}

//===-- cuDNN -----------------------------------------------------------===//

static constexpr char kCudnn[] = "libcudnn.so.9";

/// libcudnn.so.9 opens its parts when they are needed, by name, so that one of another version may be found first, in
/// $LD_LIBRARY_PATH: they are opened before, those first that others need.
static void *openCudnnIn(std::string &path) {
  const char *loader = std::getenv("LD_LIBRARY_PATH");
  if (size_t end = path.rfind('/'); end != std::string::npos && loader && *loader)
    for (const char *part :
         {"graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled", "engines_runtime_compiled"})
      ::dlopen(str(path.substr(0, end), "/libcudnn_", part, ".so.9").c_str(), RTLD_LAZY | RTLD_LOCAL);
  return open(path);
}

/// What the cuDNN at `path` says of its version; 0: there is none. It is asked in a process of its own, as parts of it
/// would stay, and be taken for those of another one.
static size_t askCudnn(std::string path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return 0;
  size_t version = 0;
  pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(30);
    void *handle = openCudnnIn(path);
    if (auto ask = reinterpret_cast<size_t (*)()>(handle ? ::dlsym(handle, "cudnnGetVersion") : nullptr))
      version = ask();
    [[maybe_unused]] ssize_t written = ::write(ends[1], &version, sizeof version);
    ::_exit(0);
  }
  ::close(ends[1]);
  if (pid > 0) {
    ssize_t bytes;
    while ((bytes = ::read(ends[0], &version, sizeof version)) < 0 && errno == EINTR) {
    }
    if (bytes != sizeof version)
      version = 0;
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  return version;
}

static size_t versionOfCudnn(const std::string &path) {
  static std::mutex mutex;
  static std::map<std::string, size_t> known;
  std::scoped_lock lock(mutex);
  auto [entry, isNew] = known.try_emplace(path, 0);
  if (isNew)
    entry->second = askCudnn(path);
  return entry->second;
}

absl::StatusOr<Library> findCudnn() {
  for (const std::string &folder : namedFolders())
    if (std::string path = str(folder, "/", kCudnn); ::access(path.c_str(), R_OK) == 0)
      if (void *handle = openCudnnIn(path))
        return Library{path, handle};
  std::vector<std::string> candidates;
  for (const std::string &folder : libraryFolders()) {
    std::string path = folder.empty() ? kCudnn : str(folder, "/", kCudnn);
    if (!folder.empty() && ::access(path.c_str(), R_OK) != 0)
      continue;
    std::error_code ignored;
    if (std::ranges::none_of(candidates, [&](const std::string &candidate) {
          return std::filesystem::equivalent(candidate, path, ignored);
        }))
      candidates.push_back(path);
  }
  std::string best = candidates[0]; // that of the loader, if it has one
  size_t newest = 0;
  for (const std::string &candidate : candidates)
    if (size_t version = candidates.size() > 1 ? versionOfCudnn(candidate) : 1; version > newest) {
      newest = version;
      best = candidate;
    }
  if (void *handle = openCudnnIn(best))
    return Library{best, handle};
  return notFound("cuDNN", {kCudnn});
}

} // namespace dgc::rt::cuda
