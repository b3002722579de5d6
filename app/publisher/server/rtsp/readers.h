// Who plays one RTSP media, and how each of them gets on. Everybody begins with a key frame. A reader over TCP that is
// more than two seconds behind loses what waits for it, and goes on with the next key frame once its connection takes
// something again: a queue that is bounded, and a slow reader holds up no other. Where it has set up frames and
// audio, both stop and go on together.
//
// gst-rtsp-server has a queue for each connection, but does not expose how full it is, ends a reader silently when it
// is over, and stops for all when every reader is stuck. So a transport of our own, the meter, stands among the
// readers' of each stream and takes everything at once: nothing ever stops, and a reader is behind by what the meters
// of its streams got and it did not.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/publisher/server/access.h"
#include "app/publisher/server/live/stream.h"
#include "app/publisher/server/rtsp/gst_handles.h"
#include "core/clock.h"

namespace campipe {

// What is known of one that begins to play.
struct RtspReader {
  GObjectPtr<GstRTSPClient> client;
  GObjectPtr<GstRTSPSession> session;
  std::vector<GObjectPtr<GstRTSPStreamTransport>> transports;  // of the streams that it has set up, not empty
  GObjectPtr<GSocket> socket;                                  // of its connection
  std::string address;
  Identity identity;
};

// Thread-safe. No callback of it is called under its lock.
class RtspReaders {
 public:
  explicit RtspReaders(std::string stream) : stream_(std::move(stream)) {}
  ~RtspReaders() { clear(); }
  RtspReaders(const RtspReaders&) = delete;
  RtspReaders& operator=(const RtspReaders&) = delete;

  [[nodiscard]] const std::string& stream() const { return stream_; }

  // The server's thread. It plays from the next key frame on.
  void join(RtspReader reader);
  void leave(const GstRTSPSession* session);
  void leave(const GstRTSPClient* client);
  void clear();
  // Any thread: something came from there. A session over UDP whose port that is goes on.
  void keep_alive(GInetSocketAddress* sender) const;
  // To be called several times a second.
  void cut_late();
  // Of those readers.
  [[nodiscard]] std::vector<GObjectPtr<GstRTSPClient>> clients(
      const std::function<bool(const RtspReader&)>& which) const;
  void add_to(nlohmann::json& viewers) const;

  // The feeding thread.
  [[nodiscard]] bool empty() const;
  [[nodiscard]] Clock::time_point waiting_since() const;  // of the one that has waited longest; now: none waits
  [[nodiscard]] bool any_reader_gets(bool audio) const;   // else frames
  // Before a piece goes into the pipeline: its readers will get it.
  void before(const LivePiece& piece);

 private:
  struct Meter {
    GObjectPtr<GstRTSPStreamTransport> transport;  // null: it is not needed now
    std::shared_ptr<std::atomic<std::uint64_t>> count = std::make_shared<std::atomic<std::uint64_t>>(0);
    std::deque<std::uint64_t> history;  // of the count, at each cut_late()
  };
  // Of one stream of a reader over TCP; lives as long as its transport may use it.
  class Progress {
   public:
    explicit Progress(GstRTSPSession* session) : session_(share(session)) {}
    // The library's threads: something was sent.
    void add();
    // The session owns the transport, which owns this.
    void forget_session();
    [[nodiscard]] std::uint64_t sent() const { return sent_.load(); }  // as the meter counts

   private:
    std::mutex mutex_;
    GObjectPtr<GstRTSPSession> session_;
    std::atomic<std::uint64_t> sent_{0};
  };
  struct Track {
    std::size_t stream = 0;  // of the media: frames, audio
    GObjectPtr<GstRTSPStreamTransport> transport;
    GObjectPtr<GInetAddress> ip;  // over UDP: where it is, and its ports
    GstRTSPRange ports{};
    std::shared_ptr<Progress> progress;  // over TCP
    std::uint64_t metered_before = 0;    // when it became active
    std::uint64_t sent_before = 0;
  };
  struct Player {
    RtspReader reader;
    std::vector<Track> tracks;
    bool tcp = false;
    bool active = false;
    Clock::time_point waits_since;
    std::int64_t since_utc = 0;
    std::uint64_t pieces = 0;
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;
  };

  static void start(Meter& meter, GstRTSPStream* stream);
  static void stop(Meter& meter);
  static Track track_of(GstRTSPStreamTransport* transport, const RtspReader& reader);
  static bool gets(const Player& player, bool audio);
  static void set_active(const Player& player, bool active);
  void activate(Player& player) const;
  [[nodiscard]] std::uint64_t behind(const Player& player) const;
  [[nodiscard]] std::uint64_t allowed(const Player& player) const;
  static void cut(Player& player, std::uint64_t lost);
  template <typename Predicate>
  void leave_if(const Predicate& predicate);

  const std::string stream_;
  mutable std::mutex mutex_;
  std::vector<Player> players_;
  std::array<Meter, 2> meters_;
};

}  // namespace campipe
