// What one output of a camera offers to those who watch: its newest GOP, so that a new viewer has a frame at once, and
// everything that comes after it, in the form that the viewer wants. Packets come from the encoder as they are; nothing
// is encoded again, but for sound that browsers would not play, while somebody listens. Where the camera has audio, it
// goes beside the frames into the forms that can hold it.
//
// The camera's publishing thread calls offer(), and never waits for a viewer: each viewer has a queue of its own that
// is bounded in bytes and in time. One that is full loses what is in it, and goes on with the next key frame (or the
// newest, where that is already there); what it loses is counted. All viewers of a form share the same bytes: a
// stream is muxed once, and only while it is watched in that form.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/publisher/server/live/piece.h"
#include "app/publisher/server/live/viewer_queue.h"
#include "core/clock.h"

namespace campipe {

class LiveStream;

// One who watches. take() is for one thread; the rest for any. It unsubscribes when it is destroyed.
class LiveViewer : public std::enable_shared_from_this<LiveViewer> {
 public:
  enum class Next : std::uint8_t { piece, timeout, over };
  ~LiveViewer();
  LiveViewer(const LiveViewer&) = delete;
  LiveViewer& operator=(const LiveViewer&) = delete;

  // The next piece; `over`: the camera was removed, or the rig ends.
  Next take(LivePiece& piece, Deadline deadline);
  // For those who do not wait in take(): `ready` is called, on the publishing thread and without locks, when a piece
  // came and none was there, and when it is over. It must not wait. Set it once, before the first take(); it is called
  // at once if there is something already. It may still be called, once, while the viewer is being destroyed.
  void on_ready(std::function<void()> ready);
  // Wakes take(), which then returns `over`.
  void stop();

  [[nodiscard]] std::uint64_t sent() const { return sent_.load(); }    // pieces taken
  [[nodiscard]] std::uint64_t dropped() const;                         // pieces lost for slowness
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.load(); }  // of pieces taken

 private:
  friend class LiveStream;

  LiveViewer(std::shared_ptr<LiveStream> stream, LiveForm form, const LiveLimits& limits);
  // For the stream, under its lock. add(): true if wake() must be called, without locks.
  void begin(const std::vector<LivePiece>& group, bool whole);
  bool add(const LivePiece& piece, Clock::time_point now);
  void wake();
  void end();

  const std::shared_ptr<LiveStream> stream_;
  const LiveForm form_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ViewerQueue queue_;
  bool over_ = false;
  std::shared_ptr<const std::function<void()>> ready_;  // may be null
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

struct LiveCounts {
  std::uint64_t viewers = 0;
  std::uint64_t sent = 0;     // pieces, to all viewers there ever were
  std::uint64_t dropped = 0;  // likewise; the cause is always a viewer that is too slow
  std::uint64_t bytes = 0;
};

class LiveStream : public std::enable_shared_from_this<LiveStream> {
 public:
  // `on_audience`: see LiveAudience (live/audience.h); it must not call close(). `name`: for the log.
  explicit LiveStream(std::function<void(bool watched)> on_audience = {}, std::string name = "live",
                      const LiveLimits& limits = {});
  ~LiveStream();
  LiveStream(const LiveStream&) = delete;
  LiveStream& operator=(const LiveStream&) = delete;

  // The camera's publishing thread. Takes one copy. Never throws: a stream that cannot be muxed in some form is
  // logged once, and its viewers in that form get nothing (failure()). For fmp4, log_failure() logs it.
  void offer(const PacketView& packet, const StreamParameters& stream) noexcept;
  // Likewise. From the next key frame on this is the audio; with its headers (stages/sinks/stream_headers.h).
  void set_audio(const AudioParameters& audio);
  // Likewise, a packet of it. Those before the first key frame are left out.
  void offer_audio(const PacketView& packet) noexcept;
  // Who comes from now on waits for what comes from now on.
  void forget();
  // Nothing more will come, ever.
  void close();

  // Any thread. Begins with the newest key frame, if there is one.
  std::shared_ptr<LiveViewer> watch(LiveForm form);
  // Any thread. The newest GOP, from its key frame on, without audio; empty: nothing came yet.
  [[nodiscard]] std::vector<LivePiece> newest_group() const;
  // Any thread. The times of that group's newest frame; nothing: nothing came yet.
  [[nodiscard]] std::optional<FrameTimes> newest_times() const;
  // Why there is no such form of the stream; empty: there is, or nothing came yet.
  [[nodiscard]] std::string failure(LiveForm form) const;
  // Logs it as a warning, unless that was the last one logged of this form.
  void log_failure(LiveForm form, const std::string& why);
  [[nodiscard]] std::optional<StreamParameters> parameters() const;
  // Audio that browsers are sent came, or is about to.
  [[nodiscard]] bool has_sound() const;
  [[nodiscard]] LiveCounts counts() const;

 private:
  friend class LiveViewer;
  struct State;

  void leave(LiveViewer& viewer);
  template <typename Accept>
  void take(const Accept& accept) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace campipe
