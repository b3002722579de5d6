#include "app/server/rtsp_clients.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>

#include <vector>

#include "app/server/rtsp_auth.h"
#include "app/server/rtsp_feed.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_clients = 1000;
constexpr auto longest_idle = 15s;  // without a session
constexpr auto kept_after_end = 5s;
constexpr int unsent = 256 << 10;      // bytes that wait in the kernel for a connection
constexpr int unanswered_ms = 30'000;  // until a peer that is gone is taken for gone
constexpr guint longest_message = 8U << 10U;

GSocket* socket_of(GstRTSPClient* client) {
  const GstRTSPConnection* connection = gst_rtsp_client_get_connection(client);
  return connection == nullptr ? nullptr : gst_rtsp_connection_get_write_socket(connection);
}

// What is late is to wait here, where it can be dropped, rather than in the kernel; and the end of a picture does not
// wait for the next one.
void set_up(GSocket* socket) {
  g_socket_set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1, nullptr);
  g_socket_set_option(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent, nullptr);
  g_socket_set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, unanswered_ms, nullptr);
}

bool has_session(GstRTSPClient* client) {
  GList* sessions = gst_rtsp_client_session_filter(client, nullptr, nullptr);
  const bool any = sessions != nullptr;
  g_list_free_full(sessions, g_object_unref);
  return any;
}

}  // namespace

RtspClients::RtspClients(GstRTSPServer* server, GstRTSPSessionPool* sessions, RtspMediaContext& context, Access& access)
    : server_(server), sessions_(sessions), context_(context), access_(access) {
  g_signal_connect(server_, "client-connected", G_CALLBACK(on_connected), this);
  g_signal_connect(sessions_, "session-removed", G_CALLBACK(on_session_removed), this);
}

RtspClients::~RtspClients() {
  g_signal_handlers_disconnect_by_data(server_, this);
  g_signal_handlers_disconnect_by_data(sessions_, this);
  for (const auto& [client, since] : idle_since_) g_signal_handlers_disconnect_by_data(client, this);
}

void RtspClients::on_connected(GstRTSPServer* /*server*/, GstRTSPClient* client, gpointer self) {
  auto& clients = *static_cast<RtspClients*>(self);
  if (clients.idle_since_.size() >= most_clients) {
    spdlog::warn("rtsp: {} is sent away: there are {} clients", rtsp_address(client), most_clients);
    // At once is too early: the server is about to take it in.
    clients.idle_since_[client] = Clock::time_point::min();
  } else {
    clients.idle_since_[client] = Clock::now();
  }
  clients.owned_[client] = share(client);
  if (GSocket* socket = socket_of(client)) set_up(socket);
  gst_rtsp_client_set_content_length_limit(client, longest_message);
  g_signal_connect(client, "closed", G_CALLBACK(on_closed), self);
  g_signal_connect(client, "pre-describe-request", G_CALLBACK(before_describe), self);
  g_signal_connect(client, "play-request", G_CALLBACK(on_play), self);
  g_signal_connect(client, "pause-request", G_CALLBACK(on_stop), self);
  g_signal_connect(client, "teardown-request", G_CALLBACK(on_stop), self);
}

// The library would say that the request is a bad one.
GstRTSPStatusCode RtspClients::before_describe(GstRTSPClient* client, GstRTSPContext* request, gpointer self) {
  const auto& clients = *static_cast<RtspClients*>(self);
  const std::string name = std::string(request->uri->abspath).substr(1);
  const auto stream = clients.context_.rig.stream(name);
  if (!stream || !may_view(clients.access_, rtsp_user(client), name)) return GST_RTSP_STS_OK;  // it is said later
  const auto parameters = stream->parameters();
  if (!parameters) return GST_RTSP_STS_SERVICE_UNAVAILABLE;
  return rtsp_pipeline(*parameters).empty() ? GST_RTSP_STS_UNSUPPORTED_MEDIA_TYPE : GST_RTSP_STS_OK;
}

void RtspClients::on_closed(GstRTSPClient* client, gpointer self) {
  auto& clients = *static_cast<RtspClients*>(self);
  g_signal_handlers_disconnect_by_data(client, self);
  clients.idle_since_.erase(client);
  clients.closed_[client] = Clock::now();
  for (const auto& readers : clients.context_.medias.all()) readers->leave(client);
}

void RtspClients::on_play(GstRTSPClient* client, GstRTSPContext* request, gpointer self) {
  auto& clients = *static_cast<RtspClients*>(self);
  const auto readers = readers_of(gst_rtsp_session_media_get_media(request->sessmedia));
  GstRTSPStreamTransport* transport = gst_rtsp_session_media_get_transport(request->sessmedia, 0);
  GSocket* socket = socket_of(client);
  if (!readers || transport == nullptr || socket == nullptr) return;
  readers->leave(request->session);  // PLAY may come again
  readers->join({share(client), share(request->session), share(transport), share(socket), rtsp_address(client),
                 rtsp_user(client)});
  // Whoever comes causes a key frame, where the encoder is ours.
  if (const auto stream = clients.context_.rig.stream(readers->stream())) stream->watch(LiveForm::packets);
}

void RtspClients::on_stop(GstRTSPClient* /*client*/, GstRTSPContext* request, gpointer self) {
  static_cast<RtspClients*>(self)->end_session(request->session);
}

void RtspClients::on_session_removed(GstRTSPSessionPool* /*pool*/, GstRTSPSession* session, gpointer self) {
  static_cast<RtspClients*>(self)->end_session(session);
}

void RtspClients::end_session(const GstRTSPSession* session) const {
  for (const auto& readers : context_.medias.all()) readers->leave(session);
}

void RtspClients::look_after() {
  gst_rtsp_session_pool_cleanup(sessions_);
  const auto now = Clock::now();
  std::erase_if(closed_, [&](const auto& entry) {
    const bool over = entry.second < now - kept_after_end;
    if (over) owned_.erase(entry.first);
    return over;
  });
  std::vector<GObjectPtr<GstRTSPClient>> to_close;
  for (auto& [client, since] : idle_since_) {
    if (since != Clock::time_point::min() && has_session(client)) since = now;
    if (since < now - longest_idle) to_close.push_back(share(client));
  }
  for (const auto& readers : context_.medias.all()) {
    for (auto& client : readers->clients()) {
      if (!may_view(access_, rtsp_user(client.get()), readers->stream())) to_close.push_back(std::move(client));
    }
  }
  for (const auto& client : to_close) gst_rtsp_client_close(client.get());
}

void RtspClients::close_all() {
  std::vector<GObjectPtr<GstRTSPClient>> all;
  for (const auto& [client, since] : idle_since_) all.push_back(share(client));
  for (const auto& client : all) gst_rtsp_client_close(client.get());
}

}  // namespace campipe
