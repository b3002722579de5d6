#include "app/publisher/server/rtsp/door.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <boost/asio/ssl/context.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "app/publisher/server/login_limit.h"
#include "app/publisher/server/rtsp/auth.h"
#include "app/publisher/server/rtsp/channel.h"
#include "core/c_callback.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

constexpr int most_accepted = 16;           // before those that are there have their turn
constexpr guint pause_after_failure = 200;  // ms

}  // namespace

RtspDoor::RtspDoor(GSocket* listener, GstRTSPServer* server, RtspClients& clients, RtspLogins& logins,
                   GMainContext* context, ServerTls tls)
    : listener_(listener),
      server_(server),
      clients_(clients),
      logins_(logins),
      context_(context),
      tls_(std::move(tls)) {
  wait_for(g_socket_create_source(listener_, G_IO_IN, nullptr),
           G_SOURCE_FUNC((c_callback<&RtspDoor::on_connections, G_SOURCE_CONTINUE>)));
}

void RtspDoor::wait_for(GSource* source, GSourceFunc call) {
  stop_waiting();
  waiting_.reset(source);
  g_source_set_callback(source, call, this, nullptr);
  g_source_attach(source, context_);
}

void RtspDoor::stop_waiting() {
  if (waiting_) g_source_destroy(waiting_.get());
  waiting_.reset();
}

gboolean RtspDoor::on_connections(GSocket* /*listener*/, GIOCondition /*condition*/, gpointer self) {
  return static_cast<RtspDoor*>(self)->take_in();
}

gboolean RtspDoor::on_pause_over(gpointer self) {
  auto& door = *static_cast<RtspDoor*>(self);
  door.wait_for(g_socket_create_source(door.listener_, G_IO_IN, nullptr),
                G_SOURCE_FUNC((c_callback<&RtspDoor::on_connections, G_SOURCE_CONTINUE>)));
  return G_SOURCE_REMOVE;
}

gboolean RtspDoor::take_in() {
  for (int i = 0; i < most_accepted; ++i) {
    const int fd = ::accept4(g_socket_get_fd(listener_), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      welcome(fd);
      continue;
    }
    if (errno == EAGAIN) return G_SOURCE_CONTINUE;
    if (errno == ECONNABORTED || errno == EINTR) continue;
    pause(errno);
    return G_SOURCE_REMOVE;
  }
  return G_SOURCE_CONTINUE;
}

// The connection waits, and would wake us again and again.
void RtspDoor::pause(int error) {
  if (!std::exchange(logged_, true)) spdlog::warn("rtsp: a connection cannot be taken: {}", std::strerror(error));
  wait_for(g_timeout_source_new(pause_after_failure), c_callback<&RtspDoor::on_pause_over, G_SOURCE_REMOVE>);
}

void RtspDoor::let_in(UniqueFd connection, Identity identity, const std::string& address) {
  GObjectPtr<GSocket> socket(g_socket_new_from_fd(connection.get(), nullptr));
  if (!socket) return;
  static_cast<void>(connection.release());
  if (!clients_.make_room_for(network_of(address))) return;
  put_channel(socket.get(), nullptr, [](std::string_view) { return nullptr; }).let_in(std::move(identity));
  gst_rtsp_server_transfer_connection(server_, socket.release(), address.c_str(), 0, nullptr);
}

void RtspDoor::welcome(int fd) {
  UniqueFd owner(fd);
  GObjectPtr<GSocket> socket(g_socket_new_from_fd(fd, nullptr));
  if (!socket) return;
  static_cast<void>(owner.release());
  const GObjectPtr<GSocketAddress> address(g_socket_get_remote_address(socket.get(), nullptr));
  if (!address || !G_IS_INET_SOCKET_ADDRESS(address.get())) return;  // it is gone already
  auto* inet = G_INET_SOCKET_ADDRESS(address.get());
  const GTextPtr ip(g_inet_address_to_string(g_inet_socket_address_get_address(inet)));
  const std::string from = without_mapping(ip.get());
  if (!clients_.make_room_for(network_of(from))) {
    spdlog::debug("rtsp: {} has too many connections", ip.get());
    return;
  }
  put_channel(socket.get(), tls_ ? tls_->native_handle() : nullptr,
              [&logins = logins_, from](std::string_view message) { return logins.check(message, from); });
  gst_rtsp_server_transfer_connection(server_, socket.release(), ip.get(), g_inet_socket_address_get_port(inet),
                                      nullptr);
}

}  // namespace campipe
