// Reads in a child process.

#include "compiler/import/ChildProcess.h"
#include "compiler/import/Refusals.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/base/Sanitizers.h"
#include "llvm/Support/ErrorHandling.h"
#include <cerrno>
#include <csignal>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

namespace dgc::import {

/// What reading may take, beside a part that grows with the size of the file.
static constexpr rlim_t kMemoryOfReader = rlim_t{1} << 30;

/// What a child ends with.
static constexpr int kDone = 0, kFatal = 1, kRefused = 3;

/// The last error in a child process, and where it goes when the process ends.
struct ChildError {
  std::string text;
  int pipe = -1;
};

static void sendAll(int pipe, StringRef text) {
  while (!text.empty()) {
    const ssize_t count = write(pipe, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return;
    text = text.drop_front(count < 0 ? 0 : static_cast<size_t>(count));
  }
}

/// LLVM calls it where it would abort.
static void sendError(void *error, const char *, bool) {
  auto *last = static_cast<ChildError *>(error);
  sendAll(last->pipe, last->text);
  _exit(kFatal);
}

/// A crash ends this process alone, without a trace, and what it may take is bounded.
static void prepareChild(size_t bytes, uint64_t seconds) {
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
    std::signal(signal, SIG_DFL);
  const rlimit none{0, 0};
  // A reader may ask for more, where a file that it names has more bytes. What a sanitizer maps counts, too.
  for (auto [resource, most] : {std::pair(RLIMIT_DATA, rt::isSanitized ? RLIM_INFINITY : kMemoryOfReader + 64 * bytes),
                                std::pair(RLIMIT_CPU, rlim_t{(rt::isSanitized ? 10 : 1) * seconds + (bytes >> 20)})}) {
    rlimit limit{};
    getrlimit(resource, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, most);
    setrlimit(resource, &limit);
  }
  setrlimit(RLIMIT_CORE, &none);
  close(STDERR_FILENO);
  mallopt(M_PERTURB, 0x5a); // memory that is read before it is written does not pass by chance
}

/// The error with the node or the place that it is about.
static std::string describe(Diagnostic &error) {
  auto named = dyn_cast<NameLoc>(error.getLocation());
  if (named)
    return "node '" + named.getName().str() + "': " + error.str();
  const std::string place = placeOf(error.getLocation());
  return error.str() + (place.empty() ? "" : " (" + place + ")");
}

/// An exception, as protobuf throws where an index is out of bounds, ends the process: what is around the call goes on in the
/// parent alone.
[[noreturn]] static void workInChild(size_t bytes, uint64_t seconds, MLIRContext *context,
                                     llvm::function_ref<bool(llvm::raw_ostream &)> work, int pipe) noexcept {
  prepareChild(bytes, seconds);
  ChildError error{{}, pipe};
  ScopedDiagnosticHandler silence(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error.text = describe(diagnostic);
    return success();
  });
  llvm::remove_fatal_error_handler();
  llvm::install_fatal_error_handler(sendError, &error);
  std::string output;
  llvm::raw_string_ostream stream(output);
  const bool isDone = work(stream);
  sendAll(pipe, isDone ? output : error.text);
  _exit(isDone ? kDone : kRefused);
}

/// Reads what the child sends until it ends.
static std::string receive(int pipe) {
  std::string all;
  char piece[1 << 16];
  for (ssize_t count = 0; (count = ::read(pipe, piece, sizeof piece)) != 0;) {
    if (count > 0)
      all.append(piece, static_cast<size_t>(count));
    else if (errno != EINTR)
      break;
  }
  return all;
}

ChildEnd runInChild(size_t bytes, uint64_t seconds, MLIRContext *context,
                    llvm::function_ref<bool(llvm::raw_ostream &)> work, std::string &output) {
  int ends[2];
  if (pipe(ends) != 0)
    return ChildEnd::NotStarted;
  const pid_t child = fork();
  if (child == 0)
    workInChild(bytes, seconds, context, work, ends[1]);
  close(ends[1]);
  if (child > 0)
    output = receive(ends[0]);
  close(ends[0]);
  if (child < 0)
    return ChildEnd::NotStarted;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kFatal;
  return code == kDone ? ChildEnd::Done : code == kRefused ? ChildEnd::Refused : ChildEnd::Died;
}

} // namespace dgc::import
