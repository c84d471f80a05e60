// Two network namespaces that model two machines with a cable between them.
#pragma once

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace dgc::rt::test {

/// The commands are the ones below, with names of this process alone.
inline bool shell(const std::string &command) {
  const std::string silent = command + " >/dev/null 2>&1";
  return system(silent.c_str()) == 0; // NOLINT(bugprone-command-processor): no text from outside
}

/// Two namespaces joined by a pair of interfaces; gone with the object.
class TwoHosts {
public:
  TwoHosts() {
    for (int h = 0; h < 2; ++h)
      if (!shell("ip netns add " + name(h)))
        return;
    std::string ends[2] = {"dgcA" + id, "dgcB" + id};
    bool ok =
        shell("ip link add " + ends[0] + " netns " + name(0) + " type veth peer name " + ends[1] + " netns " + name(1));
    for (int h = 0; h < 2; ++h) {
      std::string in = "ip -n " + name(h) + " ";
      device[h] = ends[h];
      ok = ok && shell(in + "link set lo up") &&
           shell(in + "addr add 10.79.79." + std::to_string(h + 1) + "/24 dev " + ends[h]) &&
           shell(in + "link set " + ends[h] + " up");
    }
    // The kernel takes up to a second to call a new link running.
    for (int h = 0; h < 2 && ok; ++h)
      for (int i = 0; !(ok = shell("ip -n " + name(h) + " link show " + device[h] + " | grep -q 'state UP'")) && i < 30;
           ++i)
        usleep(100'000);
    usable = ok;
  }
  ~TwoHosts() {
    for (int h = 0; h < 2; ++h)
      shell("ip netns del " + name(h));
  }
  /// Moves the calling process to host `h`.
  bool enter(int h) const {
    std::string path = "/run/netns/" + name(h);
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
    if (fd >= 0)
      close(fd);
    // UCX reads the interfaces from /sys, which shows those of the namespace
    // that it was mounted in.
    return ok && unshare(CLONE_NEWNS) == 0 && mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
           mount("dgc", "/sys", "sysfs", 0, nullptr) == 0;
  }

  bool usable = false;
  std::string device[2];

  /// Cuts the cable.
  bool cut() const { return shell("ip -n " + name(0) + " link set " + device[0] + " down"); }
  static std::string address(int h) { return "10.79.79." + std::to_string(h + 1); }
  static const char *skipReason() {
    return "network namespaces are not allowed here (ip netns add and a pair of veth interfaces need CAP_NET_ADMIN and "
           "iproute2)";
  }

  /// The namespace of host `h`, for ip.
  std::string name(int h) const { return "dgc-" + id + "-" + std::to_string(h); }

private:
  std::string id = std::to_string(getpid() % 100000);
};

} // namespace dgc::rt::test
