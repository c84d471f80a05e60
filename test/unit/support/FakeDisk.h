// A disk in memory that can fail and crash.
//
// What is written is volatile until the file is synced, and names are volatile
// until their folder is. A crash forgets what is volatile.
#pragma once

#include "runtime/base/Disk.h"

#include <cerrno>
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
  bool hasNoLocks = false; // a file system without them: everybody gets the lock

  /// The power goes. `namesSurvive`: the folder happened to reach the medium
  /// without a sync, as file systems may do.
  void crash(bool namesSurvive) {
    if (namesSurvive)
      durable = live;
    live = durable;
    for (auto &[path, node] : live)
      node->data = node->synced;
    locks.clear();
    ++crashes;
  }

  void put(const std::string &path, const std::string &data) {
    live[path] = durable[path] = std::make_shared<Node>(Node{data, data});
  }
  /// Contents, or nothing where there is no such file.
  const std::string *get(const std::string &path) const {
    auto it = live.find(path);
    return it == live.end() ? nullptr : &it->second->data;
  }
  size_t fileCount() const { return live.size(); }

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot open ", path)));
    auto it = live.find(path);
    if (it == live.end())
      return errnoStatus(ENOENT, str("cannot open ", path));
    return std::make_unique<Reader>(*this, it->second, path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> createNew(const std::string &path, const std::string &shown) override {
    DGC_RETURN_IF_ERROR(step(str("cannot create ", shown)));
    if (live.contains(path))
      return errnoStatus(EEXIST, str("cannot create ", shown));
    auto node = live[path] = std::make_shared<Node>();
    return std::make_unique<Writer>(*this, node, shown);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> openSpecial(const std::string &path) override {
    return errnoStatus(ENOENT, str("cannot open ", path));
  }
  absl::Status rename(const std::string &from, const std::string &to) override {
    DGC_RETURN_IF_ERROR(step(str("cannot rename ", from)));
    auto it = live.find(from);
    if (it == live.end())
      return errnoStatus(ENOENT, str("cannot rename ", from));
    live[to] = it->second;
    live.erase(from);
    return absl::OkStatus();
  }
  absl::Status remove(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot remove ", path)));
    return live.erase(path) ? absl::OkStatus() : errnoStatus(ENOENT, str("cannot remove ", path));
  }
  absl::Status makeDirectory(const std::string &path) override { return step(str("cannot create folder ", path)); }
  absl::Status syncDirectory(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot sync folder ", path)));
    durable = live;
    return absl::OkStatus();
  }
  bool exists(const std::string &path) override { return live.contains(path); }
  bool isOwnFile(const std::string &path) override { return live.contains(path); }
  bool isReplaceable(const std::string &) override { return true; }
  absl::Status checkSpecial(const std::string &) override { return absl::OkStatus(); }
  bool isSame(const std::string &a, const std::string &b) override { return a == b; }
  absl::StatusOr<std::vector<std::string>> list(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot list ", path)));
    std::set<std::string> names;
    for (auto &[name, node] : live)
      if (name.starts_with(path + "/"))
        names.insert(name.substr(path.size() + 1));
    if (names.empty())
      return errnoStatus(ENOENT, str("cannot list ", path));
    return std::vector<std::string>(names.begin(), names.end());
  }
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string &path) override {
    DGC_RETURN_IF_ERROR(step(str("cannot create ", path)));
    if (locks.contains(path) && !hasNoLocks)
      return absl::AlreadyExistsError(str("another job holds ", path));
    locks.insert(path);
    live[path] = std::make_shared<Node>();
    return std::make_unique<Lock>(*this, path);
  }

private:
  struct Node {
    std::string data, synced;
  };

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
        disk.live.erase(path);
    }
    bool excludesOthers() const override { return !disk.hasNoLocks; }
    FakeDisk &disk;
    std::string path;
    int crashes;
  };

  std::map<std::string, std::shared_ptr<Node>> live, durable;
  std::set<std::string> locks; // that are held
  int crashes = 0;
};

} // namespace dgc::rt::test
