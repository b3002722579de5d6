#include "app/publisher/server/rtsp/listener.h"

#include <netinet/in.h>

#include "app/config/address.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr int waiting_connections = 128;

[[noreturn]] void fail(const std::string& what, GError* error) {
  const GErrorPtr owner(error);
  throw Error(what + ": " + (error == nullptr ? "unknown error" : error->message));
}

// Null, and why in `error`.
GObjectPtr<GSocket> try_to_listen(GSocketAddress* address, GError** error) {
  const GSocketFamily family = g_socket_address_get_family(address);
  GObjectPtr<GSocket> socket(g_socket_new(family, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, error));
  if (!socket) return nullptr;
  // An address of all of IPv6 stands for IPv4's as well.
  if (family == G_SOCKET_FAMILY_IPV6) g_socket_set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0, nullptr);
  g_socket_set_blocking(socket.get(), FALSE);
  g_socket_set_listen_backlog(socket.get(), waiting_connections);
  if (g_socket_bind(socket.get(), address, TRUE, error) == FALSE) return nullptr;
  if (g_socket_listen(socket.get(), error) == FALSE) return nullptr;
  return socket;
}

GObjectPtr<GSocketAddress> resolve(const std::string& host, std::uint16_t port, const std::string& what) {
  GError* error = nullptr;
  const GObjectPtr<GSocketConnectable> name(G_SOCKET_CONNECTABLE(g_network_address_new(host.c_str(), port)));
  const GObjectPtr<GSocketAddressEnumerator> found(g_socket_connectable_enumerate(name.get()));
  GObjectPtr<GSocketAddress> address(g_socket_address_enumerator_next(found.get(), nullptr, &error));
  if (!address) fail(what, error);
  return address;
}

}  // namespace

GObjectPtr<GSocket> listen_for_rtsp(const std::string& address) {
  const std::string what = "RTSP cannot listen at " + address;
  const auto place = split_listen_address(address);
  if (!place) throw Error(what + ": it is not HOST:PORT");
  GError* error = nullptr;
  if (place->host.empty()) {
    const GObjectPtr<GSocketAddress> any6(g_inet_socket_address_new_from_string("::", place->port));
    if (auto socket = try_to_listen(any6.get(), nullptr)) return socket;  // a machine may be without IPv6
    const GObjectPtr<GSocketAddress> any4(g_inet_socket_address_new_from_string("0.0.0.0", place->port));
    if (auto socket = try_to_listen(any4.get(), &error)) return socket;
  } else if (auto socket = try_to_listen(resolve(place->host, place->port, what).get(), &error)) {
    return socket;
  }
  fail(what, error);
}

std::string local_address(GSocket* socket) {
  const GObjectPtr<GSocketAddress> address(g_socket_get_local_address(socket, nullptr));
  const GTextPtr text(address ? g_socket_connectable_to_string(G_SOCKET_CONNECTABLE(address.get())) : nullptr);
  return text ? text.get() : "";
}

}  // namespace campipe
