#include "app/publisher/server/rtsp/readers.h"

#include <algorithm>

#include "core/c_callback.h"
#include "core/utc_text.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

// Players give up a stream over UDP that is silent for five seconds: then rather a frame that is not whole.
constexpr auto longest_wait = 4s;
constexpr std::size_t history_length = 8;    // of cut_late(), which is called each 250 ms: two seconds
constexpr std::uint64_t always_allowed = 8;  // packets of lists that may be on their way at any rate

using Count = std::shared_ptr<std::atomic<std::uint64_t>>;

gboolean count_buffer(GstBuffer* /*buffer*/, guint8 /*channel*/, gpointer count) {
  static_cast<Count*>(count)->get()->fetch_add(1);
  return TRUE;
}

gboolean count_list(GstBufferList* /*list*/, guint8 /*channel*/, gpointer count) {
  static_cast<Count*>(count)->get()->fetch_add(1);
  return TRUE;
}

template <typename T>
void delete_as(gpointer thing) {
  delete static_cast<T*>(thing);
}

bool takes_more(GSocket* socket) { return (g_socket_condition_check(socket, G_IO_OUT) & G_IO_OUT) != 0; }

}  // namespace

void RtspReaders::Progress::add() {
  sent_.fetch_add(1);
  const std::lock_guard lock(mutex_);
  if (session_) gst_rtsp_session_touch(session_.get());
}

void RtspReaders::Progress::forget_session() {
  GObjectPtr<GstRTSPSession> session;
  const std::lock_guard lock(mutex_);
  session.swap(session_);
}

void RtspReaders::start(Meter& meter, GstRTSPStream* stream) {
  if (meter.transport) return;
  GstRTSPTransport* transport = nullptr;
  gst_rtsp_transport_new(&transport);
  transport->trans = GST_RTSP_TRANS_RTP;
  transport->profile = GST_RTSP_PROFILE_AVP;
  transport->lower_transport = GST_RTSP_LOWER_TRANS_TCP;
  transport->interleaved = {0, 1};
  meter.transport.reset(gst_rtsp_stream_transport_new(stream, transport));
  gst_rtsp_stream_transport_set_callbacks(meter.transport.get(), c_callback<count_buffer, FALSE>,
                                          c_callback<count_buffer, FALSE>, new Count(meter.count),
                                          c_callback<delete_as<Count>>);
  gst_rtsp_stream_transport_set_list_callbacks(meter.transport.get(), c_callback<count_list, FALSE>,
                                               c_callback<count_list, FALSE>, new Count(meter.count),
                                               c_callback<delete_as<Count>>);
  gst_rtsp_stream_transport_set_active(meter.transport.get(), TRUE);
}

void RtspReaders::stop(Meter& meter) {
  if (!meter.transport) return;
  gst_rtsp_stream_transport_set_active(meter.transport.get(), FALSE);
  // Unlike the others, these would be forgotten with what they were given (seen with GStreamer 1.22).
  gst_rtsp_stream_transport_set_list_callbacks(meter.transport.get(), nullptr, nullptr, nullptr, nullptr);
  meter.transport.reset();
}

RtspReaders::Track RtspReaders::track_of(GstRTSPStreamTransport* transport, const RtspReader& reader) {
  Track track;
  track.stream = gst_rtsp_stream_get_index(gst_rtsp_stream_transport_get_stream(transport));
  track.transport = share(transport);
  const GstRTSPTransport* form = gst_rtsp_stream_transport_get_transport(transport);
  if (form->lower_transport == GST_RTSP_LOWER_TRANS_TCP) {
    track.progress = std::make_shared<Progress>(reader.session.get());
    gst_rtsp_stream_transport_set_keepalive(
        transport, c_callback<[](gpointer data) { static_cast<std::shared_ptr<Progress>*>(data)->get()->add(); }>,
        new std::shared_ptr<Progress>(track.progress), c_callback<delete_as<std::shared_ptr<Progress>>>);
  } else if (form->destination != nullptr) {
    track.ip.reset(g_inet_address_new_from_string(form->destination));
    track.ports = form->client_port;
  }
  return track;
}

bool RtspReaders::gets(const Player& player, bool audio) {
  const std::size_t stream = audio ? 1 : 0;
  return std::ranges::count(player.tracks, stream, &Track::stream) > 0;
}

void RtspReaders::set_active(const Player& player, bool active) {
  for (const Track& track : player.tracks)
    gst_rtsp_stream_transport_set_active(track.transport.get(), active ? TRUE : FALSE);
}

void RtspReaders::join(RtspReader reader) {
  Player player;
  for (const auto& transport : reader.transports) player.tracks.push_back(track_of(transport.get(), reader));
  player.tcp = player.tracks.at(0).progress != nullptr;
  player.waits_since = Clock::now();
  player.since_utc = utc_now_ns();
  player.reader = std::move(reader);
  const std::lock_guard lock(mutex_);
  for (const Track& track : player.tracks) {
    if (track.progress) start(meters_.at(track.stream), gst_rtsp_stream_transport_get_stream(track.transport.get()));
  }
  set_active(player, false);
  players_.push_back(std::move(player));
}

template <typename Predicate>
void RtspReaders::leave_if(const Predicate& predicate) {
  std::vector<Player> gone;
  const std::lock_guard lock(mutex_);
  const auto first = std::stable_partition(players_.begin(), players_.end(),
                                           [&](const Player& player) { return !predicate(player.reader); });
  for (auto player = first; player != players_.end(); ++player) {
    set_active(*player, false);
    for (const Track& track : player->tracks) {
      if (track.progress) track.progress->forget_session();
    }
  }
  gone.assign(std::move_iterator(first), std::move_iterator(players_.end()));
  players_.erase(first, players_.end());
  // The library does not take a media apart while there are transports.
  if (std::ranges::none_of(players_, &Player::tcp)) std::ranges::for_each(meters_, stop);
}

void RtspReaders::leave(const GstRTSPSession* session) {
  leave_if([&](const RtspReader& reader) { return reader.session.get() == session; });
}

void RtspReaders::leave(const GstRTSPClient* client) {
  leave_if([&](const RtspReader& reader) { return reader.client.get() == client; });
}

void RtspReaders::clear() {
  leave_if([](const RtspReader&) { return true; });
}

void RtspReaders::keep_alive(GInetSocketAddress* sender) const {
  GInetAddress* ip = g_inet_socket_address_get_address(sender);
  const int port = g_inet_socket_address_get_port(sender);
  const std::lock_guard lock(mutex_);
  for (const Player& player : players_) {
    for (const Track& track : player.tracks) {
      const bool is_its_port = port == track.ports.min || port == track.ports.max;
      if (track.ip && is_its_port && g_inet_address_equal(track.ip.get(), ip) != FALSE)
        gst_rtsp_session_touch(player.reader.session.get());
    }
  }
}

std::uint64_t RtspReaders::behind(const Player& player) const {
  std::uint64_t all = 0;
  for (const Track& track : player.tracks) {
    if (!track.progress) continue;
    const std::uint64_t sent = track.progress->sent() - track.sent_before;
    const std::uint64_t due = meters_.at(track.stream).count->load() - track.metered_before;
    all += due > sent ? due - sent : 0;
  }
  return all;
}

std::uint64_t RtspReaders::allowed(const Player& player) const {
  std::uint64_t all = 0;
  for (const Track& track : player.tracks) {
    const auto& history = meters_.at(track.stream).history;
    all += history.back() - history.front();
  }
  return std::max(all, always_allowed);
}

void RtspReaders::cut(Player& player, std::uint64_t lost) {
  set_active(player, false);
  player.active = false;
  player.waits_since = Clock::now();
  lost = std::min(lost, player.pieces);
  player.pieces -= lost;
  player.dropped += lost;
}

void RtspReaders::cut_late() {
  const std::lock_guard lock(mutex_);
  for (Meter& meter : meters_) {
    meter.history.push_back(meter.count->load());
    if (meter.history.size() > history_length + 1) meter.history.pop_front();
  }
  for (Player& player : players_) {
    if (!player.tcp || !player.active) continue;
    if (const std::uint64_t lost = behind(player); lost > allowed(player)) cut(player, lost);
  }
}

std::vector<GObjectPtr<GstRTSPClient>> RtspReaders::clients(const std::function<bool(const RtspReader&)>& which) const {
  const std::lock_guard lock(mutex_);
  std::vector<GObjectPtr<GstRTSPClient>> clients;
  for (const Player& player : players_) {
    if (which(player.reader)) clients.push_back(share(player.reader.client.get()));
  }
  return clients;
}

void RtspReaders::add_to(nlohmann::json& viewers) const {
  const std::lock_guard lock(mutex_);
  for (const Player& player : players_) {
    viewers.push_back({{"camera", stream_},
                       {"address", player.reader.address},
                       {"user", player.reader.identity.user},
                       {"form", "rtsp"},
                       {"transport", player.tcp ? "tcp" : "udp"},
                       {"since_utc", utc_text(player.since_utc)},
                       {"sent", player.pieces},
                       {"dropped", player.dropped},
                       {"bytes", player.bytes}});
  }
}

bool RtspReaders::empty() const {
  const std::lock_guard lock(mutex_);
  return players_.empty();
}

Clock::time_point RtspReaders::waiting_since() const {
  const std::lock_guard lock(mutex_);
  Clock::time_point first = Clock::now();
  for (const Player& player : players_) {
    if (!player.active) first = std::min(first, player.waits_since);
  }
  return first;
}

void RtspReaders::activate(Player& player) const {
  for (Track& track : player.tracks) {
    if (track.progress) track.sent_before = track.progress->sent();
    track.metered_before = meters_.at(track.stream).count->load();
  }
  player.active = true;
  set_active(player, true);
}

bool RtspReaders::any_reader_gets(bool audio) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(players_, [audio](const Player& player) { return gets(player, audio); });
}

void RtspReaders::before(const LivePiece& piece) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  for (Player& player : players_) {
    if (!gets(player, piece.audio)) continue;
    const bool begins = piece.key || !gets(player, false) || now - player.waits_since > longest_wait;
    if (!player.active && begins && takes_more(player.reader.socket.get())) activate(player);
    if (player.active) {
      ++player.pieces;
      player.bytes += piece.bytes->size();
    } else if (player.pieces > 0) {  // it was cut off
      ++player.dropped;
    }
  }
}

}  // namespace campipe
