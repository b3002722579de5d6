// One connection to a push target, from greeting to farewell, by libavformat. What happens when it fails is the
// pusher's affair.
#pragma once

extern "C" {
#include <libavcodec/bsf.h>
}

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/c_callback.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/ffmpeg.h"
#include "core/libav_log.h"
#include "core/packet.h"
#include "stages/sinks/push_queue.h"
#include "stages/sinks/push_target.h"

namespace campipe {

// `code`: of libav; the same code means the same reason. The text has no secrets in it.
struct PushError : Error {
  enum class Remedy : std::uint8_t { wait, credentials, none };  // none: this stream will never go there
  PushError(int why, Remedy what, const std::string& text) : Error(text), code(why), remedy(what) {}
  int code;
  Remedy remedy;
};

// Ends libav's waits, when the time for a call is over or the owner wants it; and collects what libav logs meanwhile.
class PushWatch {
 public:
  // `stop` is asked at least every 100 ms while something is waited for.
  PushWatch(const PushTarget& target, std::function<bool()> stop);
  PushWatch(const PushWatch&) = delete;
  PushWatch& operator=(const PushWatch&) = delete;

  [[nodiscard]] AVIOInterruptCB callback() { return {c_callback<&PushWatch::ask_libav, 1>, this}; }
  void allow(std::chrono::nanoseconds time);
  [[nodiscard]] bool ask();
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  // The newest error, without secrets; empty: none since allow().
  [[nodiscard]] std::string heard() const;

 private:
  static int ask_libav(void* watch) { return static_cast<PushWatch*>(watch)->ask() ? 1 : 0; }

  const PushTarget& target_;
  std::function<bool()> stop_;
  Deadline deadline_ = Deadline::max();
  bool timed_out_ = false;
  LibavMessages messages_;
  LibavCapture capture_{messages_};
};

class PushConnection {
 public:
  // Connects. No call of libav takes longer than `patience`. Throws PushError. The target outlives the connection.
  // Audio must be such as the target can carry.
  PushConnection(const PushTarget& target, const PushStream& stream, std::chrono::nanoseconds patience,
                 std::function<bool()> stop);
  // Says good-bye, unless the connection has failed or `stop` wants its end.
  ~PushConnection();
  PushConnection(const PushConnection&) = delete;
  PushConnection& operator=(const PushConnection&) = delete;

  // The first packet must be a key frame; time begins with it, and older audio is left out. Decode times that do not
  // grow are mended. Throws PushError.
  void send(PushPacket packet);

 private:
  struct Closer {
    void operator()(AVFormatContext* context) const;
    void operator()(AVBSFContext* filter) const { av_bsf_free(&filter); }
  };

  void open();
  void add_tracks(const PushStream& stream);
  void begin_headers();
  void greet();
  void begin_time(const PushPacket& first);
  void set_times(AVPacket& data, const PushPacket& packet);
  void check_left_out();
  void check(int code);
  [[nodiscard]] std::string reason(int code) const;

  const PushTarget& target_;
  std::chrono::nanoseconds patience_;
  PushWatch watch_;
  std::unique_ptr<AVFormatContext, Closer> context_;
  std::unique_ptr<AVBSFContext, Closer> headers_;  // puts the stream's headers before its key frames; null: not needed
  std::int64_t zero_utc_ = 0;                      // of RTSP: when, by its sender reports, the time zero was; ns
  std::optional<std::int64_t> start_;              // the time of the stream in ns that becomes zero
  std::array<std::int64_t, 2> last_dts_{-1, -1};   // of video and audio, in their tracks' units
  bool failed_ = false;
};

}  // namespace campipe
