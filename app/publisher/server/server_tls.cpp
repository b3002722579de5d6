#include "app/publisher/server/server_tls.h"

#include <openssl/ssl.h>
#include <unistd.h>

#include <boost/asio/ssl/context.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "core/error.h"

namespace campipe {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

ServerTls open_server_tls(const TlsFiles& files) {
  const auto check = [](const ErrorCode& error, const std::string& what, const std::string& file) {
    if (!error) return;
    const bool can_be_read = ::access(file.c_str(), R_OK) == 0;
    throw Error(what + " " + file + " cannot be used: " + (can_be_read ? error.message() : std::strerror(errno)));
  };
  const bool is_mutual = !files.authority.empty();
  auto context =
      std::make_shared<asio::ssl::context>(is_mutual ? asio::ssl::context::tls : asio::ssl::context::tls_server);
  asio::ssl::context& tls = *context;
  ::SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  ::SSL_CTX_set_options(tls.native_handle(), SSL_OP_NO_RENEGOTIATION);
  ErrorCode error;
  // Of a key that is encrypted OpenSSL would ask at the terminal.
  tls.set_password_callback([](std::size_t /*most*/, auto /*purpose*/) { return std::string(); }, error);
  check(error, "the key", files.key);
  tls.use_certificate_chain_file(files.certificate, error);
  check(error, "the certificate", files.certificate);
  tls.use_private_key_file(files.key, asio::ssl::context::pem, error);
  check(error, "the key", files.key);
  if (::SSL_CTX_check_private_key(tls.native_handle()) != 1) {
    throw Error("the key " + files.key + " is not that of the certificate " + files.certificate);
  }
  if (!is_mutual) return context;
  tls.load_verify_file(files.authority, error);
  check(error, "the authority's certificates", files.authority);
  tls.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
  // A resumed session would stand for a certificate that was looked at before.
  ::SSL_CTX_set_session_cache_mode(tls.native_handle(), SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_options(tls.native_handle(), SSL_OP_NO_TICKET);
  return context;
}

void TlsReader::begin(const TlsFiles& files) {
  std::packaged_task<ServerTls()> task([files] { return open_server_tls(files); });
  reading_ = task.get_future();
  begun_ = Clock::now();
  std::thread(std::move(task)).detach();  // nothing waits for it where it takes too long
}

ServerTls TlsReader::take() {
  if (!reading_.valid() || reading_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return nullptr;
  auto read = std::move(reading_);
  reading_ = {};
  return read.get();
}

}  // namespace campipe
