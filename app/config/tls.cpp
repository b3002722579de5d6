#include "app/config/tls.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <memory>

#include "app/config/report.h"

namespace campipe {
namespace {

struct Unloading {
  void operator()(gnutls_datum_t* data) const {
    ::gnutls_memset(data->data, 0, data->size);  // it may be a private key
    ::gnutls_free(data->data);
    delete data;
  }
};
struct Freeing {
  void operator()(gnutls_certificate_credentials_t credentials) const {
    ::gnutls_certificate_free_credentials(credentials);
  }
  void operator()(gnutls_x509_privkey_t key) const { ::gnutls_x509_privkey_deinit(key); }
};

struct FreeingContext {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
};

struct TlsProblem {
  std::string what;  // completes "the file 'x' …"; empty: there is no problem
  bool of_key = false;
};

using Data = std::unique_ptr<gnutls_datum_t, Unloading>;

int load(const std::string& file, Data& data) {
  auto loaded = std::make_unique<gnutls_datum_t>();
  const int error = ::gnutls_load_file(file.c_str(), loaded.get());
  if (error >= 0) data.reset(loaded.release());
  return error;
}

std::string because(const std::string& what, int error) { return what + ": " + ::gnutls_strerror(error); }

TlsProblem check_key(const gnutls_datum_t& data) {
  gnutls_x509_privkey_t made = nullptr;
  int error = ::gnutls_x509_privkey_init(&made);
  const std::unique_ptr<std::remove_pointer_t<gnutls_x509_privkey_t>, Freeing> key(made);
  if (error >= 0) error = ::gnutls_x509_privkey_import2(made, &data, GNUTLS_X509_FMT_PEM, nullptr, 0);
  if (error == GNUTLS_E_DECRYPTION_FAILED)
    return {"is encrypted, and campipe asks for no password at its start; store the key without one", true};
  return {error < 0 ? because("is no private key (PEM)", error) : "", true};
}

// The web server uses OpenSSL, which refuses more: keys that are too short, by the machine's policy.
TlsProblem check_for_web(const std::string& certificate, const std::string& key) {
  const std::unique_ptr<SSL_CTX, FreeingContext> context(::SSL_CTX_new(::TLS_server_method()));
  const auto refused = [] {
    const char* reason = ::ERR_reason_error_string(::ERR_peek_last_error());
    return std::string("cannot be used: OpenSSL reports '") + (reason != nullptr ? reason : "no reason") + "'";
  };
  ::ERR_clear_error();
  if (!context || ::SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1) return {refused()};
  if (::SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) return {refused(), true};
  return {};
}

TlsProblem check_certificate(const std::string& certificate, const std::string& key) {
  Data certificate_data;
  Data key_data;
  if (const int error = load(certificate, certificate_data); error < 0) return {because("cannot be read", error)};
  if (const int error = load(key, key_data); error < 0) return {because("cannot be read", error), true};
  if (TlsProblem problem = check_key(*key_data); !problem.what.empty()) return problem;
  gnutls_certificate_credentials_t made = nullptr;
  int error = ::gnutls_certificate_allocate_credentials(&made);
  const std::unique_ptr<std::remove_pointer_t<gnutls_certificate_credentials_t>, Freeing> credentials(made);
  if (error >= 0)
    error = ::gnutls_certificate_set_x509_key_mem(made, certificate_data.get(), key_data.get(), GNUTLS_X509_FMT_PEM);
  if (error == GNUTLS_E_CERTIFICATE_KEY_MISMATCH) return {"does not belong to the certificate", true};
  if (error < 0) return {because("has no certificates (PEM)", error)};
  return check_for_web(certificate, key);
}

bool can_be_read(const std::string& file) { return ::access(file.c_str(), R_OK) == 0; }

}  // namespace

void check_pair(const std::string& certificate, const YamlNode& certificate_node, const std::string& key,
                const YamlNode& key_node, Report& report) {
  const auto looked = report.ask_disk([certificate, key] {
    return can_be_read(certificate) && can_be_read(key) ? check_certificate(certificate, key) : TlsProblem();
  });
  const TlsProblem problem = looked.value_or(TlsProblem{Report::does_not_answer});
  if (problem.what.empty()) return;
  const YamlNode& node = problem.of_key ? key_node : certificate_node;
  report.not_now(node, "the file " + shown(node) + " " + problem.what);
}

}  // namespace campipe
