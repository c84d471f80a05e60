// A disk in memory that can fail and crash.
//
// What is written is volatile until the file is synced, and names are volatile
// until their folder is. A crash forgets what is volatile.
#pragma once

#include "runtime/base/Disk.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace dgc::rt::test {

class FakeDisk : public Disk {
public:
  /// Counts operations that could fail; `failAt` and later ones (or only that
  /// one) fail with `error`. An operation that fails half way has half its
  /// effect: a write keeps half of its bytes.
  int operations = 0;
  int failAt = -1;
  bool failAfterwards = false;
  int error = EIO;
  bool hasNoLocks = false;   // a file system without them: everybody gets the lock
  bool needsFolders = false; // as a real disk does; else the folder of a file is there when the file is

  /// The power goes. `namesSurvive`: the folders happened to reach the medium
  /// without a sync, as file systems may do.
  void crash(bool namesSurvive) {
    crash([=] { return namesSurvive; });
  }
  /// The same, decided for each change of a folder alone.
  void crash(const std::function<bool()> &nameSurvives) {
    root->crash(nameSurvives);
    kill();
  }
  /// The process dies, and the disk does not.
  void kill() {
    locks.clear();
    ++crashes;
  }

  void put(const std::string &path, const std::string &data) {
    Node &folder = *makeFolder(folderOf(path));
    folder.live[nameOf(path)] = folder.durable[nameOf(path)] = std::make_shared<Node>(Node{data, data});
  }
  /// Contents, or nothing where there is no such file.
  const std::string *get(const std::string &path) const {
    auto node = find(path);
    return node && !node->isFolder ? &node->data : nullptr;
  }
  size_t fileCount() const { return root->fileCount(); }

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot open ", path)));
    auto node = find(path);
    if (!node || node->isFolder)
      return errnoStatus(node ? EISDIR : ENOENT, str("cannot open ", path));
    return std::make_unique<Reader>(*this, node, path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> createNew(const std::string &path, const std::string &shown) override {
    DGC_RETURN_IF_ERROR(step(str("cannot create ", shown)));
    auto folder = needsFolders ? find(folderOf(path)) : makeFolder(folderOf(path));
    if (!folder || folder->live.contains(nameOf(path)))
      return errnoStatus(folder ? EEXIST : ENOENT, str("cannot create ", shown));
    auto node = std::make_shared<Node>();
    folder->change([name = nameOf(path), node](Names &names) { names[name] = node; });
    return std::make_unique<Writer>(*this, node, shown);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> openSpecial(const std::string &path) override {
    return errnoStatus(ENOENT, str("cannot open ", path));
  }
  absl::Status rename(const std::string &from, const std::string &to) override {
    DGC_RETURN_IF_ERROR(step(str("cannot rename ", from, " to ", to)));
    auto node = find(from), replaced = find(to), folder = find(folderOf(to));
    int wrong = !node                                               ? ENOENT
                : folder != find(folderOf(from))                    ? EXDEV
                : replaced && replaced->isFolder && !node->isFolder ? EISDIR
                : replaced && !replaced->isFolder && node->isFolder ? ENOTDIR
                : replaced && !replaced->live.empty()               ? ENOTEMPTY
                                                                    : 0;
    if (wrong)
      return errnoStatus(wrong, str("cannot rename ", from, " to ", to));
    find(folderOf(from))->change([node, old = nameOf(from), now = nameOf(to)](Names &names) {
      names.erase(old);
      names[now] = node;
    });
    return absl::OkStatus();
  }
  absl::Status remove(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot remove ", path)));
    auto node = find(path);
    if (!node || !node->live.empty())
      return errnoStatus(node ? ENOTEMPTY : ENOENT, str("cannot remove ", path));
    find(folderOf(path))->change([name = nameOf(path)](Names &names) { names.erase(name); });
    return absl::OkStatus();
  }
  absl::Status makeDirectory(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot create folder ", path)));
    makeFolder(path, /*isDurable=*/false);
    return absl::OkStatus();
  }
  absl::Status syncDirectory(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot sync folder ", path)));
    auto folder = find(path);
    if (!folder)
      return errnoStatus(ENOENT, str("cannot sync folder ", path));
    folder->durable = folder->live;
    folder->changes.clear();
    return absl::OkStatus();
  }
  bool exists(const std::string &path) override { return find(path) != nullptr; }
  bool isOwnFile(const std::string &path) override { return find(path) && !find(path)->isFolder; }
  bool isOwnFolder(const std::string &path) override { return find(path) && find(path)->isFolder; }
  bool isReplaceable(const std::string &) override { return true; }
  absl::Status checkSpecial(const std::string &) override { return absl::OkStatus(); }
  bool isSame(const std::string &a, const std::string &b) override { return a == b; }
  absl::StatusOr<std::vector<std::string>> list(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot list ", path)));
    auto folder = find(path);
    if (!folder || !folder->isFolder)
      return errnoStatus(folder ? ENOTDIR : ENOENT, str("cannot list ", path));
    std::vector<std::string> names;
    for (auto &[name, node] : folder->live)
      names.push_back(name);
    return names;
  }
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot create ", path)));
    if (locks.contains(path) && !hasNoLocks)
      return absl::AlreadyExistsError(str("another job holds ", path));
    locks.insert(path);
    makeFolder(folderOf(path))->change([name = nameOf(path), node = std::make_shared<Node>()](Names &names) {
      names[name] = node;
    });
    return std::make_unique<Lock>(*this, path);
  }

private:
  struct Node;
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  struct Node {
    std::string data, synced; // of a file
    bool isFolder = false;
    Names live = {}, durable = {};                          // of a folder
    std::vector<std::function<void(Names &)>> changes = {}; // from the one to the other

    void change(std::function<void(Names &)> f) {
      f(live);
      changes.push_back(std::move(f));
    }
    void crash(const std::function<bool()> &nameSurvives) {
      data = synced;
      for (auto &f : changes)
        if (nameSurvives())
          f(durable);
      changes.clear();
      live = durable;
      for (auto &[name, node] : live)
        node->crash(nameSurvives);
    }
    size_t fileCount() const {
      size_t count = isFolder ? 0 : 1;
      for (auto &[name, node] : live)
        count += node->fileCount();
      return count;
    }
  };

  static std::string folderOf(const std::string &path) {
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
  }
  static std::string nameOf(const std::string &path) { return path.substr(path.rfind('/') + 1); }

  /// What has a path, or null. `make` is called for a folder and a name that it lacks.
  template <typename F> std::shared_ptr<Node> walk(const std::string &path, F make) const {
    std::shared_ptr<Node> node = root;
    for (size_t at = 0, end; node && at <= path.size(); at = end + 1) {
      end = std::min(path.find('/', at), path.size());
      std::string name = path.substr(at, end - at);
      if (name.empty() || name == ".")
        continue;
      auto child = node->live.find(name);
      node = child != node->live.end() ? child->second : make(*node, name);
    }
    return node;
  }
  std::shared_ptr<Node> find(const std::string &path) const {
    return walk(path, [](Node &, const std::string &) { return std::shared_ptr<Node>(); });
  }
  std::shared_ptr<Node> makeFolder(const std::string &path, bool isDurable = true) {
    return walk(path, [&](Node &folder, const std::string &name) {
      auto made = std::make_shared<Node>(Node{"", "", true});
      folder.change([=](Names &names) { names[name] = made; });
      if (isDurable)
        folder.durable[name] = made;
      return made;
    });
  }

  bool fails() {
    int now = operations++;
    return failAt >= 0 && (now == failAt || (failAfterwards && now > failAt));
  }
  absl::Status step(const std::string &what) { return fails() ? errnoStatus(error, what) : absl::OkStatus(); }

  struct Reader : ReadableFile {
    Reader(FakeDisk &disk, std::shared_ptr<Node> node, std::string path)
        : disk(disk), node(std::move(node)), path(std::move(path)) {}
    uint64_t size() const override { return node->data.size(); }
    absl::Status readAt(uint64_t offset, std::span<std::byte> out) override {
      DGC_RETURN_IF_ERROR(disk.step(str("cannot read ", path)));
      if (offset > node->data.size() || out.size() > node->data.size() - offset)
        return absl::OutOfRangeError(str("cannot read ", path, ": it ends"));
      std::copy_n(node->data.data() + offset, out.size(), reinterpret_cast<char *>(out.data()));
      return absl::OkStatus();
    }
    FakeDisk &disk;
    std::shared_ptr<Node> node;
    std::string path;
  };
  struct Writer : WritableFile {
    Writer(FakeDisk &disk, std::shared_ptr<Node> node, std::string path)
        : disk(disk), node(std::move(node)), path(std::move(path)) {}
    absl::Status write(std::span<const std::byte> data) override {
      bool bad = disk.fails();
      node->data.append(reinterpret_cast<const char *>(data.data()), bad ? data.size() / 2 : data.size());
      return bad ? errnoStatus(disk.error, str("cannot write ", path)) : absl::OkStatus();
    }
    absl::Status sync() override {
      DGC_RETURN_IF_ERROR(disk.step(str("cannot sync ", path)));
      node->synced = node->data;
      return absl::OkStatus();
    }
    absl::Status close() override { return disk.step(str("cannot close ", path)); }
    FakeDisk &disk;
    std::shared_ptr<Node> node;
    std::string path;
  };

  /// Of a process that is dead nothing is removed, and its lock is gone.
  struct Lock : FileLock {
    Lock(FakeDisk &disk, std::string path) : disk(disk), path(std::move(path)), crashes(disk.crashes) {}
    ~Lock() override {
      if (crashes != disk.crashes)
        return;
      disk.locks.erase(path);
      if (!disk.failAfterwards || disk.failAt < 0 || disk.operations <= disk.failAt)
        disk.find(folderOf(path))->change([name = nameOf(path)](Names &names) { names.erase(name); });
    }
    bool excludesOthers() const override { return !disk.hasNoLocks; }
    FakeDisk &disk;
    std::string path;
    int crashes;
  };

  std::shared_ptr<Node> root = std::make_shared<Node>(Node{"", "", true});
  std::set<std::string> locks; // that are held
  int crashes = 0;
};

} // namespace dgc::rt::test
