// What HTTP and RTSP serve TLS with: 1.2 or newer, without renegotiation.
#pragma once

#include <boost/asio/ssl/context.hpp>

#include "app/config.h"

namespace campipe {

// Throws Error where the certificate or the key cannot be used.
boost::asio::ssl::context open_server_tls(const TlsConfig& config);

}  // namespace campipe
