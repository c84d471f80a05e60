// The seeds of a test of random programs, from the environment.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace dgc::testing {

/// The number in the environment variable, or `otherwise`.
inline uint32_t numberOf(const char *name, uint32_t otherwise) {
  const char *text = std::getenv(name);
  return text ? static_cast<uint32_t>(std::stoul(text)) : otherwise;
}

inline uint32_t currentSeed;

/// From here on a crash names this seed.
inline void nameSeedOnCrash(uint32_t seed) {
  currentSeed = seed;
  for (int each : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    std::signal(each, [](int signal) {
      char text[80];
      int size = std::snprintf(text, sizeof text, "crashed with signal %d at seed %u\n", signal, currentSeed);
      [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text, size);
      std::signal(signal, SIG_DFL);
      ::raise(signal);
    });
}

} // namespace dgc::testing
