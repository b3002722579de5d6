// Ends FFmpeg's waits: when the source's owner wants it, or when the time for it is over.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "core/c_callback.h"
#include "core/clock.h"
#include "core/ffmpeg.h"
#include "stages/sources/source.h"

namespace campipe {

// Whether any of it has come; of what is still being opened, too.
bool has_video_packets(const AVFormatContext& input);
// Whether the codec of any video is known.
bool knows_video(const AVFormatContext& input);

// Of one thread. It must outlive every libav object that has its callback().
class ReadWatch {
 public:
  explicit ReadWatch(Source::Interrupt interrupt) : interrupt_(std::move(interrupt)) {}
  ReadWatch(const ReadWatch&) = delete;
  ReadWatch& operator=(const ReadWatch&) = delete;

  [[nodiscard]] AVIOInterruptCB callback() { return {c_callback<&ReadWatch::ask_libav, 1>, this}; }

  // How long may be waited from now on. `total`: what is reported where it was too long.
  void allow(std::chrono::nanoseconds time, std::chrono::nanoseconds total);
  [[nodiscard]] std::chrono::nanoseconds allowed() const { return allowed_; }
  [[nodiscard]] std::chrono::nanoseconds left() const { return deadline_ - Clock::now(); }
  // Until forget_packets(): for a first packet of any video stream of `input` no longer than this. It must stay alive.
  void expect_packets(const AVFormatContext& input, std::chrono::nanoseconds within);
  void forget_packets() {
    input_ = nullptr;
    no_packets_ = false;
  }
  // Until end_analysis(): once packets of any video stream of `input` have come for so long, the next wait for which
  // `may_end` is true fails. That ends libavformat's analysis of a stream, which goes by timestamps, where those stand
  // still.
  void bound_analysis(const AVFormatContext& input, std::chrono::nanoseconds longest, std::function<bool()> may_end);
  void end_analysis() { analyzed_ = nullptr; }
  // Whatever waits is ended once `stop` returns true, without that being an interrupt or a time-out. `stop` is asked on
  // the source's thread.
  void end_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  // From now on, or no longer: libav waits for nothing. What it is asked for comes from what it has, or fails at once;
  // that is no reason to stop.
  void refuse_waits(bool refuse) { refuses_ = refuse; }
  // The connection is being closed, which must not take long, but also not be cut off by an interrupt.
  void close_within(std::chrono::nanoseconds time);

  // True: stop waiting. Why is remembered: what was broken off in the middle cannot be gone on with.
  [[nodiscard]] bool ask();
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  [[nodiscard]] bool no_packets() const { return no_packets_; }

 private:
  static int ask_libav(void* watch) {
    auto& of = *static_cast<ReadWatch*>(watch);
    return of.refuses_ || of.analysis_is_long() || of.ask() ? 1 : 0;
  }
  bool analysis_is_long();

  Source::Interrupt interrupt_;
  std::function<bool()> stop_ = [] { return false; };
  Deadline deadline_ = Deadline::max();
  std::chrono::nanoseconds allowed_{0};
  const AVFormatContext* input_ = nullptr;
  Deadline first_packet_;
  const AVFormatContext* analyzed_ = nullptr;
  std::chrono::nanoseconds longest_analysis_{0};
  std::optional<Deadline> analysis_end_;  // once there are packets
  std::function<bool()> may_end_analysis_;
  bool refuses_ = false;
  bool interrupted_ = false;
  bool timed_out_ = false;
  bool no_packets_ = false;
};

}  // namespace campipe
