#include "runtime/base/Sandbox.h"

#include "runtime/base/Status.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dgc::rt {
namespace {

// Landlock as in linux/landlock.h: the headers of a distribution are often older than its kernel.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr int kVersionFlag = 1, kPathBeneath = 1;
struct RulesetAttributes {
  uint64_t files = 0, network = 0, scoped = 0;
};
struct __attribute__((packed)) PathRule {
  uint64_t allowed;
  int32_t parent;
};

enum FileRight : uint64_t {
  kExecute = 1 << 0,
  kWriteFile = 1 << 1,
  kRemoveFolder = 1 << 4,
  kRemoveFile = 1 << 5,
  kMakeDevice = 1 << 6,
  kMakeFolder = 1 << 7,
  kMakeFile = 1 << 8,
  kMakeSocket = 1 << 9,
  kMakePipe = 1 << 10,
  kMakeBlockDevice = 1 << 11,
  kMakeLink = 1 << 12,
  kRefer = 1 << 13,        // since version 2
  kTruncate = 1 << 14,     // 3
  kDeviceControl = 1 << 15 // 5
};
constexpr uint64_t kSignals = 1 << 1; // of RulesetAttributes::scoped, since version 6
/// What is granted in a folder, and of a file.
constexpr uint64_t kInFolder =
    kWriteFile | kRemoveFolder | kRemoveFile | kMakeFolder | kMakeFile | kMakeLink | kRefer | kTruncate;
constexpr uint64_t kOfFile = kWriteFile | kTruncate;

uint64_t handledBy(int version) {
  uint64_t rights = kExecute | kWriteFile | kRemoveFolder | kRemoveFile | kMakeDevice | kMakeFolder | kMakeFile |
                    kMakeSocket | kMakePipe | kMakeBlockDevice | kMakeLink;
  if (version >= 2)
    rights |= kRefer;
  if (version >= 3)
    rights |= kTruncate;
  if (version >= 5)
    rights |= kDeviceControl;
  return rights;
}

absl::Status allow(int ruleset, const std::string &path, uint64_t rights, int kind = 0) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC | kind);
  if (fd < 0)
    return absl::OkStatus(); // what is not there cannot be written, and the error of the run says so
  const PathRule rule{rights, fd};
  const bool isAdded = syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) == 0;
  const int error = errno;
  close(fd);
  return isAdded ? absl::OkStatus() : errnoStatus(error, str("cannot allow writing to ", path));
}

absl::Status restrictFiles(const SandboxRules &rules, int version) {
  RulesetAttributes attributes;
  attributes.files = handledBy(version);
  attributes.scoped = version >= 6 ? kSignals : 0;
  const size_t size = version >= 6 ? sizeof(attributes) : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
  const int ruleset = static_cast<int>(syscall(kCreateRuleset, &attributes, size, 0));
  if (ruleset < 0)
    return errnoStatus(errno, "cannot use Landlock");
  absl::Status status = allow(ruleset, "/dev/null", kOfFile & attributes.files);
  for (const std::string &folder : rules.folders)
    status.Update(allow(ruleset, folder, kInFolder & attributes.files, O_DIRECTORY));
  for (const std::string &file : rules.files)
    status.Update(allow(ruleset, file, kOfFile & attributes.files));
  if (status.ok() && syscall(kRestrictSelf, ruleset, 0) != 0)
    status = errnoStatus(errno, "cannot use Landlock");
  close(ruleset);
  return status;
}

#ifdef __x86_64__
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0; // no filter
#endif

/// Refused in every process: what starts programs, reaches into other processes or into the kernel, or changes what Landlock
/// does not look at.
constexpr int kRefused[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_pidfd_send_signal,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_tkill,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_userfaultfd,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_open_by_handle_at,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_personality,
    SYS_acct,
    SYS_quotactl,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_syslog,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_utimensat,
#ifdef __x86_64__
    SYS_fork,
    SYS_vfork,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
};
constexpr int kRefusedWithoutNetwork[] = {SYS_socket, SYS_connect, SYS_bind, SYS_listen};

/// A filter of system calls, in the code of the kernel.
class Filter {
public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    jumpUnless(BPF_JEQ, kArchitecture, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#ifdef __x86_64__
    refuseIf(BPF_JGE, 0x40000000, EPERM); // the calls of x32
#endif
  }
  void refuse(int call, int error = EPERM) { refuseIf(BPF_JEQ, static_cast<uint32_t>(call), error); }
  /// Refuses a call whose argument is, or with `isOther` is not, `value` in its bits of `mask`.
  void refuseArgument(int call, int argument, uint32_t mask, uint32_t value, bool isOther) {
    // Six instructions: those behind the first are jumped over by other calls.
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 5);
    load(static_cast<uint32_t>(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(argument)));
    add(BPF_ALU | BPF_AND | BPF_K, mask);
    add(BPF_JMP | BPF_JEQ | BPF_K, value, isOther ? 1 : 0, isOther ? 0 : 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    load(offsetof(seccomp_data, nr));
  }
  /// For all threads of the process.
  absl::Status install() {
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
      return errnoStatus(errno, "cannot use seccomp");
    return absl::OkStatus();
  }

private:
  void add(int operation, uint32_t value, uint8_t ifTrue = 0, uint8_t ifFalse = 0) {
    code.push_back({static_cast<uint16_t>(operation), ifTrue, ifFalse, value});
  }
  void load(uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void refuseIf(int comparison, uint32_t value, int error) {
    add(BPF_JMP | comparison | BPF_K, value, 0, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error));
  }
  void jumpUnless(int comparison, uint32_t value, uint32_t otherwise) {
    add(BPF_JMP | comparison | BPF_K, value, 1, 0);
    add(BPF_RET | BPF_K, otherwise);
  }

  std::vector<sock_filter> code;
};

absl::Status restrictCalls(int landlock) {
  Filter filter;
  for (int call : kRefused)
    filter.refuse(call);
  if (landlock < 3) {
    filter.refuse(SYS_truncate);
  }
  // Processes; threads are made by clone(), whose flags can be looked at, which those of clone3() cannot.
  filter.refuse(SYS_clone3, ENOSYS);
  filter.refuseArgument(SYS_clone, 0, CLONE_THREAD, 0, false);
  const auto self = static_cast<uint32_t>(getpid());
  filter.refuseArgument(SYS_kill, 0, ~uint32_t{0}, self, true);
  filter.refuseArgument(SYS_tgkill, 0, ~uint32_t{0}, self, true);
  constexpr uint32_t kInsertIntoTerminal = 0x5412, kTerminalLinux = 0x541c; // TIOCSTI, TIOCLINUX
  filter.refuseArgument(SYS_ioctl, 1, ~uint32_t{0}, kInsertIntoTerminal, false);
  filter.refuseArgument(SYS_ioctl, 1, ~uint32_t{0}, kTerminalLinux, false);
  return filter.install();
}

} // namespace

std::string SandboxSupport::missing() const {
  std::string text = landlock > 0 ? "" : "Landlock";
  if (!seccomp)
    text += str(text.empty() ? "" : " and ", "seccomp");
  return text;
}

SandboxSupport sandboxSupport() {
  SandboxSupport result;
  const long version = syscall(kCreateRuleset, nullptr, 0, kVersionFlag);
  result.landlock = version > 0 ? static_cast<int>(version) : 0;
  uint32_t action = SECCOMP_RET_ERRNO;
  result.seccomp = kArchitecture != 0 && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
  return result;
}

absl::Status enterSandbox(const SandboxRules &rules) {
  const SandboxSupport support = sandboxSupport();
  // What is executed gets no more rights than this process; without that nobody may restrict itself.
  if ((support.landlock > 0 || support.seccomp) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return errnoStatus(errno, "cannot give up rights");
  if (support.landlock > 0)
    DGC_RETURN_IF_ERROR(restrictFiles(rules, support.landlock));
  return support.seccomp ? restrictCalls(support.landlock) : absl::OkStatus();
}

absl::Status closeNetwork() {
  if (!sandboxSupport().seccomp)
    return absl::OkStatus();
  Filter filter;
  for (int call : kRefusedWithoutNetwork)
    filter.refuse(call);
  return filter.install();
}

} // namespace dgc::rt
