#include "app/publisher/server/nodes/certificate.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>

#include "app/config/address.h"

namespace campipe {
namespace {

struct X509Free {
  void operator()(X509* certificate) const { ::X509_free(certificate); }
};

// All of it: a name may hold a NUL.
std::string common_name(X509* certificate) {
  X509_NAME* const subject = ::X509_get_subject_name(certificate);
  const int at = ::X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  const ASN1_STRING* const text = ::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at));
  const auto* bytes = reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text));
  return {bytes, static_cast<std::size_t>(::ASN1_STRING_length(text))};
}

}  // namespace

bool is_certificate_of(SSL* tls, const std::string& node, const std::string& address) {
  const std::unique_ptr<X509, X509Free> certificate(::SSL_get1_peer_certificate(tls));
  if (!certificate || ::SSL_get_verify_result(tls) != X509_V_OK) return false;
  if (!node.empty() && common_name(certificate.get()) == node) return true;
  const auto place = split_listen_address(address);
  if (!place || place->host.empty()) return false;
  if (is_address(place->host)) return ::X509_check_ip_asc(certificate.get(), place->host.c_str(), 0) == 1;
  return ::X509_check_host(certificate.get(), place->host.c_str(), place->host.size(), 0, nullptr) == 1;
}

bool is_node_certificate(SSL* tls, const NodePlaces& places) {
  return std::ranges::any_of(places.nodes,
                             [&](const auto& node) { return is_certificate_of(tls, node.first, node.second.address); });
}

}  // namespace campipe
