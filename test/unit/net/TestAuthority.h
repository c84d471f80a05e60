// Certificates for tests: an authority, and what it signs, as PEM files.
#pragma once

#include "runtime/net/Tls.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace dgc::rt::test {

class TestAuthority {
public:
  explicit TestAuthority(const std::string &name)
      : folder(::testing::TempDir() + "/dgc-tls-" + name + "-" + std::to_string(getpid())), key(makeKey()),
        certificate(issue(name, key.get(), nullptr, 86400)) {
    std::filesystem::create_directory(folder);
    write(folder + "/ca.pem", certificate.get(), nullptr);
  }
  ~TestAuthority() { std::filesystem::remove_all(folder); }
  TestAuthority(const TestAuthority &) = delete;

  /// A certificate of `name` that ends in so many seconds, which may be in the past, and its key.
  TlsFiles sign(const std::string &name, long seconds = 3600) {
    const Pkey own = makeKey();
    const Certificate signed_ = issue(name, own.get(), this, seconds);
    TlsFiles files{folder + "/" + name + ".pem", folder + "/" + name + ".key", folder + "/ca.pem"};
    write(files.certificate, signed_.get(), nullptr);
    write(files.key, nullptr, own.get());
    return files;
  }
  std::string path() const { return folder + "/ca.pem"; }
  /// A file with the certificates of both.
  std::string together(const TestAuthority &other) const {
    const std::string both = folder + "/both.pem";
    write(both, certificate.get(), nullptr);
    write(both, other.certificate.get(), nullptr, "a");
    return both;
  }

private:
  struct Free {
    void operator()(EVP_PKEY *p) const { EVP_PKEY_free(p); }
    void operator()(X509 *p) const { X509_free(p); }
  };
  using Pkey = std::unique_ptr<EVP_PKEY, Free>;
  using Certificate = std::unique_ptr<X509, Free>;

  static Pkey makeKey() { return Pkey(EVP_EC_gen("P-256")); }
  static Certificate issue(const std::string &name, EVP_PKEY *key, const TestAuthority *issuer, long seconds) {
    Certificate result(X509_new());
    X509_set_version(result.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(result.get()), issuer ? ++issuer->serial : 1);
    X509_gmtime_adj(X509_getm_notBefore(result.get()), std::min(-300L, seconds - 300));
    X509_gmtime_adj(X509_getm_notAfter(result.get()), seconds);
    X509_set_pubkey(result.get(), key);
    X509_NAME *subject = X509_get_subject_name(result.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char *>(name.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(result.get(), issuer ? X509_get_subject_name(issuer->certificate.get()) : subject);
    X509_EXTENSION *basic =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
    X509_add_ext(result.get(), basic, -1);
    X509_EXTENSION_free(basic);
    EXPECT_GT(X509_sign(result.get(), issuer ? issuer->key.get() : key, EVP_sha256()), 0);
    return result;
  }
  static void write(const std::string &path, X509 *certificate, EVP_PKEY *key, const char *mode = "w") {
    FILE *file = fopen(path.c_str(), mode);
    ASSERT_NE(file, nullptr) << path;
    if (certificate)
      PEM_write_X509(file, certificate);
    if (key)
      PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    fclose(file);
  }

  const std::string folder;
  mutable long serial = 1;
  Pkey key;
  Certificate certificate;
};

} // namespace dgc::rt::test
