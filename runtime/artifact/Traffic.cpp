// Traffic in words.
#include "runtime/artifact/Traffic.h"

static void append(std::string &text, uint64_t count, const char *what, uint64_t bytes) {
  if (count == 0)
    return;
  text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what + (count == 1 ? "" : "s") + " of " +
          std::to_string(bytes) + " B";
}

std::string dgc::rt::describe(const Traffic &traffic) {
  std::string text;
  append(text, traffic.collectives, "collective", traffic.collectiveBytes);
  append(text, traffic.sends, "send", traffic.sentBytes);
  append(text, traffic.receives, "receive", traffic.receivedBytes);
  return text.empty() ? "no communication" : (traffic.isLowerBound ? "at least " : "") + text;
}
