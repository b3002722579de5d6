// Where the sound of a source lies on the stream's timeline, which follows the video's clock (SourceClock).
//
// The two tracks of a source have one clock, and the sound is placed by it, as long as that is so. A live source shows
// whether it is by when its packets arrive: the shortest lags of both tracks (arrival less timestamp) differ by the
// same for ever. Where the difference changes by more than 60 ms, as of a camera without sender reports whose sound has
// a crystal of its own, the sound is moved by that, slowly. What lies outside of all that can be, since the sound's
// clock was set or counts from elsewhere, is placed by its arrival at once.
//
// All times in ns; timestamps and their differences fit 63 bits. Used by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace campipe {

class SourceClock;

// The shortest lag of the newest packets of a track.
class ShortestLag {
 public:
  void add(std::int64_t source, std::int64_t arrival);
  // Nothing: there were no packets.
  [[nodiscard]] std::optional<std::int64_t> get() const;

 private:
  struct Lag {
    std::int64_t arrival = 0;
    std::int64_t lag = 0;
  };
  std::deque<Lag> lags_;  // each is the shortest since the one before it
  std::optional<std::int64_t> source_;
};

class SoundClock {
 public:
  // The source was opened again.
  void reconnect() { *this = {}; }
  // Each packet of a live source's video.
  void observe_video(std::int64_t source, std::int64_t arrival) { video_lag_.add(source, arrival); }
  // The times of a track were set anew: the next packet of the sound is placed by its arrival.
  void realign() { realign_ = true; }
  // Where a packet of the sound lies. Nothing: the video has not begun; of a file, it is days off the video.
  std::optional<std::int64_t> place(std::int64_t source, std::int64_t arrival, const SourceClock& video);

  // By how much it was moved against the video's clock.
  [[nodiscard]] std::int64_t moved() const { return moved_; }
  // How often it was placed by its arrival.
  [[nodiscard]] int replaced() const { return replaced_; }

 private:
  void follow(std::int64_t difference, std::int64_t arrival);

  ShortestLag video_lag_;
  ShortestLag sound_lag_;
  std::optional<std::int64_t> usual_;  // difference of the lags, sound's less video's
  std::int64_t known_since_ = 0;       // arrival; while it is being learned, when that began
  bool learned_ = false;
  bool realign_ = false;
  std::int64_t moved_ = 0;
  bool follows_ = false;
  std::optional<std::int64_t> far_since_;  // arrival
  std::int64_t newest_ = 0;                // arrival
  int replaced_ = 0;
};

}  // namespace campipe
