// The command line of dgc-run.
#include "tools/dgc-run/Flags.h"

#include "test/unit/readers/Reader.h"

namespace dgc::rt::test {
namespace {

/// A line for each argument.
bool read(std::span<const uint8_t> bytes) {
  std::vector<std::string> arguments{"dgc-run"};
  for (std::string_view text = textOf(bytes); !text.empty();) {
    const std::string_view line = text.substr(0, text.find('\n'));
    arguments.emplace_back(std::string(line).c_str()); // an argument ends at a zero
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  tool::Flags flags;
  return !tool::parseFlags(static_cast<int>(arguments.size()), pointers.data(), flags);
}

const RegisteredReader reader("command_line", read);

} // namespace
} // namespace dgc::rt::test
