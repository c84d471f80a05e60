// SHA-256 of OpenSSL.
#include "runtime/base/Sha256.h"

#include <openssl/evp.h>

using namespace dgc::rt;

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX *)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Sha256::Sha256() : state(std::make_unique<State>()) { EVP_DigestInit_ex(state->context.get(), EVP_sha256(), nullptr); }
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> data) { EVP_DigestUpdate(state->context.get(), data.data(), data.size()); }

std::array<uint8_t, 32> Sha256::finish() {
  std::array<uint8_t, 32> digest;
  EVP_DigestFinal_ex(state->context.get(), digest.data(), nullptr);
  return digest;
}

std::string Sha256::finishHex() {
  static const char digits[] = "0123456789abcdef";
  std::string hex;
  for (uint8_t byte : finish())
    hex += {digits[byte >> 4], digits[byte & 15]};
  return hex;
}

std::string dgc::rt::sha256Of(std::string_view text) {
  Sha256 sha;
  sha.add(text);
  return sha.finishHex();
}
