// One stream in a form that travels, made by libavformat in memory: fragmented MP4, each frame and each frame of audio
// a fragment of its own, of audio alone, too, or MPEG-TS. Fragments of frames say when these were taken
// (stages/sinks/producer_time.h). For one thread at a time.
#pragma once

extern "C" {
#include <libavcodec/bsf.h>
}

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/publisher/server/live/stream.h"
#include "core/ffmpeg.h"
#include "core/packet.h"
#include "stages/sinks/memory_output.h"

namespace campipe {

// Why a codec has no such form; empty: it has one.
std::string why_no_form(LiveForm form, const std::string& codec);
// Whether mpegts, mp4 or sound takes it.
bool can_hold(LiveForm form, const AudioParameters& audio);

class LiveMuxer {
 public:
  // Not for packets. `stream` and `audio` with their headers (stages/sinks/stream_headers.h); can_hold(form, *audio).
  // Of sound there must be `audio`, and `stream` does not matter. Throws Error.
  LiveMuxer(LiveForm form, const StreamParameters& stream, const std::optional<AudioParameters>& audio = {});
  LiveMuxer(const LiveMuxer&) = delete;
  LiveMuxer& operator=(const LiveMuxer&) = delete;

  // As in LiveHeader.
  [[nodiscard]] const std::string& mime() const { return mime_; }
  [[nodiscard]] const std::vector<std::uint8_t>& header() const { return header_; }  // of mpegts empty
  // One frame. None, where libavformat does not take a damaged packet. Throws Error.
  std::vector<std::uint8_t> mux(const PacketView& packet);
  // One frame of audio; none, too, where there is no track for it. AAC without the header that it has in streams.
  std::vector<std::uint8_t> mux_audio(const PacketView& packet);

 private:
  struct Closer {
    void operator()(AVFormatContext* context) const { avformat_free_context(context); }
    void operator()(AVBSFContext* filter) const { av_bsf_free(&filter); }
  };

  void open();
  void add_video(const StreamParameters& stream);
  void add_audio(const AudioParameters& audio);
  void begin_headers();
  void fill(const PacketView& packet);
  void fill_audio(const PacketView& packet);
  std::vector<std::uint8_t> write(std::int64_t taken_utc);
  std::vector<std::uint8_t> write_fragment(std::int64_t taken_utc);
  std::vector<std::uint8_t> written(int status);

  LiveForm form_;
  std::string mime_;
  std::vector<std::uint8_t> written_;
  std::vector<std::uint8_t> header_;
  MemoryOutput io_;  // outlives the context, which writes into it
  std::unique_ptr<AVFormatContext, Closer> context_;
  std::unique_ptr<AVBSFContext, Closer> headers_;  // puts them before key frames; null: they are there
  AvPacket packet_;
  std::optional<std::int64_t> last_dts_;
  std::int64_t step_ = 0;  // between the decode times of the last two packets, or as the frame rate has it; ticks
  std::array<std::int64_t, 2> fragments_end_{};  // of each track of MP4: how long its fragments are together; ticks
  AVStream* audio_ = nullptr;                    // of context_; null: without
  std::optional<std::int64_t> last_audio_;
};

}  // namespace campipe
