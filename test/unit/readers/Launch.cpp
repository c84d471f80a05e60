// What starts a process: its environment, addresses.
#include "runtime/cluster/Identity.h"
#include "runtime/net/Address.h"
#include "test/unit/readers/Reader.h"

#include <charconv>
#include <map>

namespace dgc::rt::test {
namespace {

std::optional<int> numberOf(const std::string &text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && number >= 0 ? std::optional(number) : std::nullopt;
}

/// A line NAME=VALUE for each variable; names of flags begin with --.
bool readEnvironment(std::span<const uint8_t> bytes) {
  std::map<std::string, std::string, std::less<>> values;
  for (std::string_view text = textOf(bytes); !text.empty();) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t equal = line.find('=');
    if (equal != std::string_view::npos) // values of an environment end at a zero
      values[std::string(line.substr(0, equal))] = std::string(line.substr(equal + 1)).c_str();
  }
  IdentityFlags flags;
  if (auto it = values.find("--rank"); it != values.end())
    flags.rank = numberOf(it->second);
  if (auto it = values.find("--world-size"); it != values.end())
    flags.worldSize = numberOf(it->second);
  if (auto it = values.find("--coordinator"); it != values.end())
    flags.coordinator = it->second;
  const auto identity = resolveIdentity(flags, [&](const char *name) {
    auto it = values.find(name);
    return it == values.end() ? nullptr : it->second.c_str();
  });
  if (!identity.ok() || !*identity)
    return false;
  const Identity &who = **identity;
  require(who.worldSize >= 1 && who.rank >= 0 && (who.rank < who.worldSize || who.isEvaluator),
          "a rank is below the number of workers");
  require(who.chiefs >= 0 && who.servers >= 0 && who.chiefs + who.servers <= who.worldSize,
          "chiefs and servers are among the workers");
  return true;
}

bool readAddress(std::span<const uint8_t> bytes) {
  const std::string text(textOf(bytes));
  parseAddress(text, "--listen", 29400).status().IgnoreError();
  const auto address = parseAddress(text, "--coordinator");
  if (!address.ok())
    return false;
  const auto again = parseAddress(address->text(), "--coordinator");
  require(again.ok() && again->host == address->host && again->port == address->port,
          "an address is read as it is written");
  return true;
}

const RegisteredReader environment("environment", readEnvironment), address("address", readAddress);

} // namespace
} // namespace dgc::rt::test
