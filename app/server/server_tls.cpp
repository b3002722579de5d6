#include "app/server/server_tls.h"

#include <openssl/ssl.h>

#include "core/error.h"

namespace campipe {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

asio::ssl::context open_server_tls(const TlsConfig& config) {
  const auto check = [](const ErrorCode& error, const std::string& what, const std::string& file) {
    if (error) throw Error(what + " " + file + " cannot be used: " + error.message());
  };
  asio::ssl::context tls(asio::ssl::context::tls_server);
  ::SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  ::SSL_CTX_set_options(tls.native_handle(), SSL_OP_NO_RENEGOTIATION);
  ErrorCode error;
  tls.use_certificate_chain_file(config.certificate, error);
  check(error, "the certificate", config.certificate);
  tls.use_private_key_file(config.key, asio::ssl::context::pem, error);
  check(error, "the key", config.key);
  if (::SSL_CTX_check_private_key(tls.native_handle()) != 1) {
    throw Error("the key " + config.key + " is not that of the certificate " + config.certificate);
  }
  return tls;
}

}  // namespace campipe
