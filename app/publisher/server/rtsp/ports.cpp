#include "app/publisher/server/rtsp/ports.h"

#include <gst/rtsp-server/rtsp-server.h>

#include <algorithm>
#include <array>
#include <string>

#include "app/publisher/server/rtsp/auth.h"
#include "app/publisher/server/rtsp/gst_handles.h"
#include "core/c_callback.h"

namespace campipe {
namespace {

constexpr int first_of_players = 1024;  // what is below is for services
constexpr int no_port = -1;             // the library's word for one that is not given

// The library's own. A signal before SETUP could refuse, too, but then the library keeps the session for ever (1.22).
gboolean (*configure_transport)(GstRTSPClient*, GstRTSPContext*, GstRTSPTransport*) = nullptr;

bool is_of_player(int port) { return port >= first_of_players && port <= G_MAXUINT16; }

bool is_of_this_machine(const std::string& address) {
  const GObjectPtr<GInetAddress> ip(g_inet_address_new_from_string(address.c_str()));
  if (!ip) return false;
  const GObjectPtr<GSocket> socket(
      g_socket_new(g_inet_address_get_family(ip.get()), G_SOCKET_TYPE_DATAGRAM, G_SOCKET_PROTOCOL_UDP, nullptr));
  const GObjectPtr<GSocketAddress> any_port(g_inet_socket_address_new(ip.get(), 0));
  return socket && g_socket_bind(socket.get(), any_port.get(), FALSE, nullptr) != FALSE;
}

bool is_of_media(GstRTSPStream* stream, int port) {
  constexpr std::array families{G_SOCKET_FAMILY_IPV4, G_SOCKET_FAMILY_IPV6};
  return std::ranges::any_of(families, [&](GSocketFamily family) {
    GstRTSPRange ports{};
    gst_rtsp_stream_get_server_port(stream, &ports, family);
    return port == ports.min || port == ports.max;
  });
}

gboolean check_transport(GstRTSPClient* client, GstRTSPContext* setup, GstRTSPTransport* transport) {
  if (transport->lower_transport != GST_RTSP_LOWER_TRANS_UDP) return configure_transport(client, setup, transport);
  const int rtp = transport->client_port.min;
  const int rtcp = transport->client_port.max;
  if (!is_of_player(rtp) || (rtcp != no_port && !is_of_player(rtcp))) return FALSE;
  // This gives the media its own ports.
  if (configure_transport(client, setup, transport) == FALSE) return FALSE;
  const bool is_loop = is_of_media(setup->stream, rtp) || is_of_media(setup->stream, rtcp);
  return is_loop && is_of_this_machine(rtsp_address(client)) ? FALSE : TRUE;
}

}  // namespace

void restrict_client_ports() {
  static const bool done = [] {
    auto* table = static_cast<GstRTSPClientClass*>(g_type_class_ref(GST_TYPE_RTSP_CLIENT));  // for ever
    configure_transport = table->configure_client_transport;
    table->configure_client_transport = c_callback<check_transport, FALSE>;
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace campipe
