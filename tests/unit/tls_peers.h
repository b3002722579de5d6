// A server's certificate, and clients that take their time, for tests of servers.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "app/config/server_config.h"
#include "core/error.h"
#include "tests/unit/peers.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {

// For localhost, in the folder; replaces the one that is there.
inline TlsConfig make_certificate(const TemporaryFolder& folder) {
  const std::string certificate = (folder.path() / "cert.pem").string();
  const std::string key = (folder.path() / "key.pem").string();
  EXPECT_EQ(Program({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                     "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out",
                     certificate, "-keyout", key, "-batch"})
                .wait(),
            0);
  return {certificate, key};
}

// With which a client's TLS begins.
inline std::string client_hello() {
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context(::SSL_CTX_new(::TLS_client_method()),
                                                                    &::SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&::SSL_free)> tls(::SSL_new(context.get()), &::SSL_free);
  BIO* out = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(tls.get(), ::BIO_new(::BIO_s_mem()), out);  // which it owns now
  ::SSL_connect(tls.get());
  std::string bytes(::BIO_ctrl_pending(out), '\0');
  if (::BIO_read(out, bytes.data(), static_cast<int>(bytes.size())) != static_cast<int>(bytes.size()))
    throw Error("no ClientHello");
  return bytes;
}

// One byte after the other, each of them soon enough. True: the other end closed before it had them all.
template <typename Client, typename IsClosed>
bool is_cut_off(Client& client, const std::string& bytes, std::chrono::milliseconds pause, const IsClosed& is_closed) {
  for (const char byte : bytes) {
    if (!client.send(std::string(1, byte)) || is_closed(client, pause)) return true;
  }
  return false;
}

}  // namespace campipe::test
