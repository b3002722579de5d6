#include "app/publisher/server/rtsp/clients.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "app/publisher/server/rtsp/auth.h"
#include "app/publisher/server/rtsp/channel.h"
#include "app/publisher/server/rtsp/feed.h"
#include "app/publisher/server/rtsp/ports.h"
#include "app/publisher/server/rtsp/relays.h"
#include "core/c_callback.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto kept_after_end = 5s;
constexpr int unsent = 256 << 10;      // bytes that wait in the kernel for a connection
constexpr int unanswered_ms = 30'000;  // until a peer that is gone is taken for gone
constexpr guint longest_message = 8U << 10U;

GSocket* socket_of(GstRTSPClient* client) {
  const GstRTSPConnection* connection = gst_rtsp_client_get_connection(client);
  return connection == nullptr ? nullptr : gst_rtsp_connection_get_write_socket(connection);
}

// Null: it has none.
RtspChannel* channel_of(GstRTSPClient* client) {
  GSocket* socket = socket_of(client);
  return socket == nullptr ? nullptr : campipe::channel_of(socket);
}

// What is late is to wait here, where it can be dropped, rather than in the kernel; and the end of a frame does not
// wait for the next one.
void set_up(GSocket* socket) {
  g_socket_set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1, nullptr);
  g_socket_set_option(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent, nullptr);
  g_socket_set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, unanswered_ms, nullptr);
}

// Of the streams that were set up.
std::vector<GObjectPtr<GstRTSPStreamTransport>> transports_of(GstRTSPSessionMedia* session) {
  std::vector<GObjectPtr<GstRTSPStreamTransport>> transports;
  const guint streams = gst_rtsp_media_n_streams(gst_rtsp_session_media_get_media(session));
  for (guint i = 0; i < streams; ++i) {
    GstRTSPStreamTransport* transport = gst_rtsp_session_media_get_transport(session, i);
    if (transport != nullptr) transports.push_back(share(transport));
  }
  return transports;
}

bool has_session(GstRTSPClient* client) {
  GList* sessions = gst_rtsp_client_session_filter(client, nullptr, nullptr);
  const bool any = sessions != nullptr;
  g_list_free_full(sessions, g_object_unref);
  return any;
}

}  // namespace

void end_connection(GstRTSPClient* client) {
  if (RtspChannel* channel = channel_of(client)) channel->end();
}

const RtspLogin* login_of(GstRTSPClient* client) {
  const RtspChannel* channel = channel_of(client);
  return channel == nullptr ? nullptr : channel->login();
}

const Identity* let_in_of(GstRTSPClient* client) {
  const RtspChannel* channel = channel_of(client);
  return channel == nullptr || !channel->let_in() ? nullptr : &*channel->let_in();
}

RtspClients::RtspClients(GstRTSPServer* server, GstRTSPSessionPool* sessions, RtspMediaContext& context, Access& access,
                         const RtspLimits& limits)
    : server_(server), sessions_(sessions), context_(context), access_(access), limits_(limits) {
  restrict_client_ports();
  g_signal_connect(server_, "client-connected", G_CALLBACK(c_callback<&RtspClients::on_connected>), this);
  g_signal_connect(sessions_, "session-removed", G_CALLBACK(c_callback<&RtspClients::on_session_removed>), this);
}

RtspClients::~RtspClients() {
  g_signal_handlers_disconnect_by_data(server_, this);
  g_signal_handlers_disconnect_by_data(sessions_, this);
  for (const auto& [client, connection] : open_) g_signal_handlers_disconnect_by_data(client, this);
}

void RtspClients::on_connected(GstRTSPServer* /*server*/, GstRTSPClient* client, gpointer self) {
  auto& clients = *static_cast<RtspClients*>(self);
  const auto now = Clock::now();
  clients.open_[client] = {share(client), rtsp_network(client), now, now, {}};
  if (GSocket* socket = socket_of(client)) set_up(socket);
  gst_rtsp_client_set_content_length_limit(client, longest_message);
  g_signal_connect(client, "closed", G_CALLBACK(c_callback<&RtspClients::on_closed>), self);
  g_signal_connect(client, "new-session", G_CALLBACK(c_callback<&RtspClients::on_session>), self);
  g_signal_connect(client, "pre-describe-request",
                   G_CALLBACK((c_callback<&RtspClients::before_describe, GST_RTSP_STS_INTERNAL_SERVER_ERROR>)), self);
  g_signal_connect(client, "pre-setup-request",
                   G_CALLBACK((c_callback<&RtspClients::before_setup, GST_RTSP_STS_INTERNAL_SERVER_ERROR>)), self);
  g_signal_connect(client, "play-request", G_CALLBACK(c_callback<&RtspClients::on_play>), self);
  g_signal_connect(client, "pause-request", G_CALLBACK(c_callback<&RtspClients::on_stop>), self);
  g_signal_connect(client, "teardown-request", G_CALLBACK(c_callback<&RtspClients::on_stop>), self);
}

void RtspClients::on_session(GstRTSPClient* client, GstRTSPSession* session, gpointer self) {
  own_session(session, client);
  auto& clients = *static_cast<RtspClients*>(self);
  gst_rtsp_session_set_timeout(session, static_cast<guint>(clients.limits_.silent.count()));
  if (const auto found = clients.open_.find(client); found != clients.open_.end())
    found->second.sessions.push_back({share(session), Clock::now()});
}

template <typename Predicate>
RtspClients::Connection* RtspClients::find_idle(const Predicate& which) {
  const auto value = [](const Connection& connection) {
    return std::pair(!rtsp_identity(connection.client.get()).user.empty(), connection.opened);
  };
  Connection* found = nullptr;
  for (auto& [client, connection] : open_) {
    if (connection.ending || !which(connection) || has_session(client)) continue;
    if (found == nullptr || value(connection) < value(*found)) found = &connection;
  }
  return found;
}

bool RtspClients::make_room_for(const std::string& network) {
  const auto is_from_there = [&](const Connection& connection) { return connection.network == network; };
  const auto count_if = [&](const auto& which) {
    return static_cast<std::size_t>(
        std::ranges::count_if(open_, [&](const auto& entry) { return !entry.second.ending && which(entry.second); }));
  };
  const auto make_room = [&](std::size_t most, const auto& which) {
    if (count_if(which) < most) return true;
    Connection* idle = find_idle(which);
    if (idle == nullptr) return false;
    idle->ending = true;
    end_connection(idle->client.get());
    return true;
  };
  return make_room(limits_.of_address, is_from_there) &&
         make_room(limits_.connections, [](const Connection&) { return true; });
}

// The library would answer that the request is a bad one.
GstRTSPStatusCode RtspClients::before_describe(GstRTSPClient* client, GstRTSPContext* request, gpointer self) {
  auto& clients = *static_cast<RtspClients*>(self);
  if (request->uri == nullptr) return GST_RTSP_STS_OK;  // of "*", which the library refuses
  std::string name = request->uri->abspath;
  if (name.starts_with('/')) name.erase(0, 1);
  if (clients.relay(client, name)) return GST_RTSP_STS_SERVICE_UNAVAILABLE;  // which nobody hears
  const auto stream = clients.context_.rig.stream(name);
  if (!stream || !may_view(clients.access_, rtsp_identity(client), name))
    return GST_RTSP_STS_OK;  // it is refused later
  if (!stream->parameters()) return GST_RTSP_STS_SERVICE_UNAVAILABLE;
  return has_rtsp_form(*stream, name, clients.context_) ? GST_RTSP_STS_OK : GST_RTSP_STS_UNSUPPORTED_MEDIA_TYPE;
}

// A camera of another node. True: the connection goes on with that one, and has ended here.
bool RtspClients::relay(GstRTSPClient* client, const std::string& name) {
  const std::string camera = name.substr(0, name.find('/'));
  RtspChannel* const channel = channel_of(client);
  if (context_.relays == nullptr || channel == nullptr || channel->let_in()) return false;
  const Identity identity = access_.required() ? rtsp_identity(client) : Identity::visitor();
  if (!context_.relays->is_elsewhere(camera) || !may_view(access_, identity, name)) return false;
  auto taken = channel->take_over();
  if (taken) context_.relays->begin(std::move(*taken), {camera, identity, rtsp_address(client)});
  return true;
}

std::size_t RtspClients::sessions_from(const std::string& network) const {
  std::size_t count = 0;
  for (const auto& [client, connection] : open_) {
    if (connection.network == network) count += connection.sessions.size();
  }
  return count;
}

// There are only so many sessions for all (publisher/server/rtsp/server.cpp).
GstRTSPStatusCode RtspClients::before_setup(GstRTSPClient* client, GstRTSPContext* request, gpointer self) {
  const auto& clients = *static_cast<RtspClients*>(self);
  const bool begins = request->session == nullptr;
  if (begins && clients.sessions_from(rtsp_network(client)) >= clients.limits_.of_address)
    return GST_RTSP_STS_SERVICE_UNAVAILABLE;
  return GST_RTSP_STS_OK;
}

void RtspClients::on_closed(GstRTSPClient* client, gpointer self) {
  auto& clients = *static_cast<RtspClients*>(self);
  g_signal_handlers_disconnect_by_data(client, self);
  for (const auto& readers : clients.context_.medias.all()) readers->leave(client);
  // The library sends nothing more over it, but keeps it for as long as the client.
  if (RtspChannel* channel = channel_of(client)) channel->close();
  auto gone = clients.open_.extract(client);
  if (!gone) return;
  Connection& connection = gone.mapped();
  // The library would keep them for a minute, and there are only so many.
  for (const Session& each : connection.sessions) gst_rtsp_session_pool_remove(clients.sessions_, each.session.get());
  clients.closed_.emplace(Clock::now() + (connection.played ? kept_after_end : 0s), std::move(connection.client));
}

void RtspClients::on_play(GstRTSPClient* client, GstRTSPContext* request, gpointer self) {
  auto& clients = *static_cast<RtspClients*>(self);
  const auto readers = readers_of(gst_rtsp_session_media_get_media(request->sessmedia));
  auto transports = transports_of(request->sessmedia);
  GSocket* socket = socket_of(client);
  const auto connection = clients.open_.find(client);
  if (!readers || transports.empty() || socket == nullptr || connection == clients.open_.end()) return;
  connection->second.played = true;
  for (auto& [other, began] : clients.open_) {  // another connection may have
    for (Session& each : began.sessions) {
      if (each.session.get() == request->session) each.played = true;
    }
  }
  readers->leave(request->session);  // PLAY may come again
  readers->join({share(client), share(request->session), std::move(transports), share(socket), rtsp_address(client),
                 rtsp_identity(client)});
  // Whoever comes causes a key frame, where the encoder is ours.
  if (const auto stream = clients.context_.rig.stream(readers->stream())) stream->watch(LiveForm::packets);
}

void RtspClients::on_stop(GstRTSPClient* /*client*/, GstRTSPContext* request, gpointer self) {
  static_cast<RtspClients*>(self)->end_session(request->session);
}

void RtspClients::on_session_removed(GstRTSPSessionPool* /*pool*/, GstRTSPSession* session, gpointer self) {
  auto& clients = *static_cast<RtspClients*>(self);
  clients.end_session(session);
  for (auto& [client, connection] : clients.open_) {
    std::erase_if(connection.sessions, [session](const Session& each) { return each.session.get() == session; });
  }
}

void RtspClients::end_session(const GstRTSPSession* session) const {
  for (const auto& readers : context_.medias.all()) readers->leave(session);
}

void RtspClients::look_after() {
  gst_rtsp_session_pool_cleanup(sessions_);
  forget_closed();
  end_late();
  end_unplayed();
  for (const auto& readers : context_.medias.all()) {
    const auto may_no_more = [&](const RtspReader& reader) {
      return !may_view(access_, reader.identity, readers->stream());
    };
    for (const auto& client : readers->clients(may_no_more)) end_connection(client.get());
  }
}

void RtspClients::forget_closed() { closed_.erase(closed_.begin(), closed_.upper_bound(Clock::now())); }

void RtspClients::end_late() {
  const auto now = Clock::now();
  for (auto& [client, connection] : open_) {
    RtspChannel* channel = channel_of(client);
    // Whoever waits for a password to be checked waits for us.
    if (has_session(client) || (channel != nullptr && channel->holds())) connection.idle_since = now;
    const bool late = channel != nullptr && channel->is_late(limits_.request);
    if (late || now - connection.idle_since > limits_.idle) {
      connection.ending = true;
      end_connection(client);
    }
  }
}

void RtspClients::end_unplayed() {
  const auto latest = Clock::now() - limits_.unplayed;
  std::vector<GObjectPtr<GstRTSPSession>> late;
  for (auto& [client, connection] : open_) {
    const auto before = late.size();
    for (const Session& each : connection.sessions) {
      if (!each.played && each.begun < latest) late.push_back(share(each.session.get()));
    }
    if (late.size() == before || connection.played) continue;
    connection.ending = true;
    end_connection(client);
  }
  for (const auto& session : late) gst_rtsp_session_pool_remove(sessions_, session.get());
}

void RtspClients::close_all() {
  for (auto& [client, connection] : open_) end_connection(client);
}

}  // namespace campipe
