// Finds NVIDIA's libraries.
#include "runtime/device/cuda/Library.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <sstream>
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

std::vector<std::string> libraryFolders() {
  std::vector<std::string> folders;
  if (const char *given = std::getenv("DGC_CUDA_LIBS"); given && *given)
    folders.emplace_back(given);
  folders.emplace_back("");
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable); root && *root)
      folders.push_back(str(root, "/lib64"));
  folders.emplace_back("/usr/local/cuda/lib64");
  std::vector<std::string> roots{"/usr/local", "/usr"};
  if (const char *home = std::getenv("HOME"))
    roots.insert(roots.begin(), str(home, "/.local"));
  // The environments of Python that are in use: what is around the interpreters on the PATH.
  const char *path = std::getenv("PATH");
  std::istringstream programs(path ? path : "");
  for (std::string folder; std::getline(programs, folder, ':');)
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

absl::StatusOr<Library> findLibrary(const std::string &what, const std::vector<std::string> &names) {
  for (const std::string &folder : libraryFolders())
    for (const std::string &name : names) {
      std::string path = folder.empty() ? name : str(folder, "/", name);
      if (void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        link_map *map = nullptr;
        if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name)
          path = map->l_name;
        return Library{path, handle};
      }
    }
  std::string list;
  for (const std::string &name : names)
    list += str(list.empty() ? "" : ", ", name);
  return withExitCode(absl::NotFoundError(str(what, " was not found (", list,
                                              "): install the CUDA toolkit or the wheel of pip that has "
                                              "it, or name its folder with --cuda-libs DIR")),
                      ExitCode::Machine);
}

} // namespace dgc::rt::cuda
