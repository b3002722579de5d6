#include "app/publisher/server/nodes/certificate.h"

#include <openssl/x509.h>

#include <memory>

namespace campipe {
namespace {

struct X509Free {
  void operator()(X509* certificate) const { ::X509_free(certificate); }
};

}  // namespace

// It may hold a NUL, behind which OpenSSL's own function for this would not look.
std::string certified_name(SSL* tls) {
  const std::unique_ptr<X509, X509Free> certificate(::SSL_get1_peer_certificate(tls));
  if (!certificate || ::SSL_get_verify_result(tls) != X509_V_OK) return {};
  X509_NAME* const subject = ::X509_get_subject_name(certificate.get());
  const int at = ::X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  const ASN1_STRING* const text = ::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at));
  const auto* bytes = reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text));
  return {bytes, static_cast<std::size_t>(::ASN1_STRING_length(text))};
}

}  // namespace campipe
