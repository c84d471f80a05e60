// SHA-256 (FIPS 180-4), piece by piece.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dgc::rt {

class Sha256 {
public:
  Sha256();
  ~Sha256();
  void add(std::span<const std::byte> data);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  /// The digest of all that was added; to be called once.
  std::array<uint8_t, 32> finish();
  /// The same as 64 hex digits.
  std::string finishHex();

private:
  struct State;
  std::unique_ptr<State> state;
};

/// The digest of a text as 64 hex digits.
std::string sha256Of(std::string_view text);

} // namespace dgc::rt
