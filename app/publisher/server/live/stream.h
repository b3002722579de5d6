// What one output of a camera offers to those who watch: its newest GOP, so that a new viewer has a
// frame at once, and everything that comes after it, in the form that the viewer wants. Packets come from the
// encoder as they are; nothing is encoded again. Where the camera has audio, it goes beside the frames into the forms
// that can hold it.
//
// The camera's publishing thread calls offer(), and never waits for a viewer: each viewer has a queue of its own that
// is bounded in bytes and in time. One that is full loses what is in it, and goes on with the next key frame (or the
// newest, where that is already there); what it loses is counted. All viewers of a form share the same bytes: a
// stream is muxed once, and only while somebody watches it in that form.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/packet.h"

namespace campipe {

// packets: as the encoder made them (for H.264 and HEVC from our encoders Annex B; from a camera's own stream as its
// extradata say), and audio. fmp4: for browsers, one fragment for each frame, without audio. mpegts: whole transport
// stream packets, tables before key frames. mp4: for players, as fmp4, and one fragment for each frame of audio.
enum class LiveForm : std::uint8_t { packets, fmp4, mpegts, mp4 };

using SharedBytes = std::shared_ptr<const std::vector<std::uint8_t>>;

// What a viewer must have got before its first piece, and again when `serial` changes.
struct LiveHeader {
  std::uint64_t serial = 0;  // grows with every new encoder whose stream differs, with other audio, and with every
                             // break in time
  StreamParameters stream;
  std::string mime;   // of fmp4: "video/mp4; codecs=\"avc1.64001f\""; of mpegts "video/mp2t"; of packets empty
  SharedBytes bytes;  // fmp4, mp4: ftyp and moov; else null
  std::optional<AudioParameters> audio = {};  // with its headers; nothing: no pieces of audio come
};

struct LivePiece {
  std::shared_ptr<const LiveHeader> header;  // never null
  SharedBytes bytes;
  bool key = false;
  bool audio = false;    // of audio: one frame, which is never `key`
  std::int64_t dts = 0;  // ns
  FrameTimes times;
  bool after_loss = false;  // pieces before this one were dropped for this viewer
};

// What is kept, and for whom. The newest GOP does not count against a viewer who comes.
struct LiveLimits {
  std::size_t viewer_bytes = std::size_t{4} << 20U;
  std::chrono::nanoseconds viewer_wait = std::chrono::seconds(3);  // of the oldest piece in a viewer's queue
  // Of the newest group. Where it is larger, only its key frame is kept: who comes sees that, and then waits for the
  // next one.
  std::size_t group_bytes = std::size_t{32} << 20U;
  std::size_t group_packets = 1500;
};

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
  // Wakes take(), which then says `over`.
  void stop();

  [[nodiscard]] std::uint64_t sent() const { return sent_.load(); }        // pieces taken
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(); }  // pieces lost for slowness
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.load(); }      // of pieces taken

 private:
  friend class LiveStream;
  struct Queued {
    LivePiece piece;
    Clock::time_point since;
    std::size_t counted;  // bytes, against the limit
  };

  LiveViewer(std::shared_ptr<LiveStream> stream, LiveForm form, const LiveLimits& limits);
  // For the stream, under its lock. add(): true if wake() must be called, without locks.
  void begin(const std::vector<LivePiece>& group, bool whole);
  bool add(const LivePiece& piece, Clock::time_point now);
  void wake();
  void end();

  [[nodiscard]] bool is_full(std::size_t more, Clock::time_point now) const;
  void make_room(const LivePiece& piece, Clock::time_point now);
  void drop_before(std::size_t index);

  const std::shared_ptr<LiveStream> stream_;
  const LiveForm form_;
  const LiveLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> queue_;
  std::size_t queued_bytes_ = 0;  // those that count
  bool need_key_ = true;
  std::int64_t audio_from_ = 0;  // the pts of the key frame with which it began: audio before that is not for it
  bool losing_ = false;          // what does not go into the queue now is lost to slowness
  bool lost_ = false;            // and take() has not told it yet
  bool over_ = false;
  std::shared_ptr<const std::function<void()>> ready_;  // may be null
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> dropped_{0};
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
  // `on_audience`: somebody watches (true), nobody does any more (false); and each time somebody comes, so that a key
  // frame can be asked for. Called without locks and never twice at once, on the thread of a viewer; must not wait, nor
  // call close(). Not called any more after close(). `name`: for the log.
  explicit LiveStream(std::function<void(bool watched)> on_audience = {}, std::string name = "live",
                      const LiveLimits& limits = {});
  ~LiveStream();
  LiveStream(const LiveStream&) = delete;
  LiveStream& operator=(const LiveStream&) = delete;

  // The camera's publishing thread. Takes one copy. Never throws: a stream that cannot be muxed in some form is told
  // once, and its viewers in that form get nothing (failure()).
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
  // Why there is no such form of the stream; empty: there is, or nothing came yet.
  [[nodiscard]] std::string failure(LiveForm form) const;
  [[nodiscard]] std::optional<StreamParameters> parameters() const;
  [[nodiscard]] LiveCounts counts() const;

 private:
  friend class LiveViewer;
  struct State;

  void leave(LiveViewer& viewer);
  void tell_audience();
  template <typename Accept>
  void take(const Accept& accept) noexcept;

  std::unique_ptr<State> state_;
  std::function<void(bool)> on_audience_;
};

}  // namespace campipe
