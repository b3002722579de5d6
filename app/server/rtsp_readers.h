// Who plays one RTSP media, and how each of them gets on. Everybody begins with a key frame. A reader over TCP that is
// more than two seconds behind loses what waits for it, and goes on with the next key frame once its connection takes
// something again: a queue that is bounded, and a reader that is slow holds up nobody.
//
// gst-rtsp-server has a queue for each connection, but tells nobody how full it is, ends a reader silently when it is
// over, and stops for all when every reader is stuck. So a transport of our own, the meter, stands among the readers'
// and takes everything at once: nothing ever stops, and a reader is behind by what the meter got and it did not.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/server/access.h"
#include "app/server/gst_handles.h"
#include "app/server/live_stream.h"
#include "core/clock.h"

namespace campipe {

// What is known of one that begins to play.
struct RtspReader {
  GObjectPtr<GstRTSPClient> client;
  GObjectPtr<GstRTSPSession> session;
  GObjectPtr<GstRTSPStreamTransport> transport;
  GObjectPtr<GSocket> socket;  // of its connection
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
  [[nodiscard]] Clock::time_point waiting_since() const;  // of the one that has waited longest; now: nobody waits
  // Before a piece goes into the pipeline: whoever it is for will get it.
  void before(const LivePiece& piece);

 private:
  // Of one reader over TCP; lives as long as its transport may use it.
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
  struct Player {
    RtspReader reader;
    bool tcp = false;
    GObjectPtr<GInetAddress> ip;  // over UDP: where it is, and its ports
    GstRTSPRange ports{};
    bool active = false;
    Clock::time_point waits_since;
    std::int64_t since_utc = 0;
    std::shared_ptr<Progress> progress;  // over TCP
    std::uint64_t metered_before = 0;    // when it became active
    std::uint64_t sent_before = 0;
    std::uint64_t pieces = 0;
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;
  };

  void start_meter(GstRTSPStream* stream);
  void stop_meter();
  void activate(Player& player) const;
  [[nodiscard]] std::uint64_t behind(const Player& player) const;
  void cut(Player& player, std::uint64_t lost);
  template <typename Predicate>
  void leave_if(const Predicate& predicate);

  const std::string stream_;
  mutable std::mutex mutex_;
  std::vector<Player> players_;
  GObjectPtr<GstRTSPStreamTransport> meter_;
  std::shared_ptr<std::atomic<std::uint64_t>> metered_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::deque<std::uint64_t> history_;  // of metered_, at each cut_late()
};

}  // namespace campipe
