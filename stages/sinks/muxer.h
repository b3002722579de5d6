// One video track, and one of audio where there is any, into bytes in memory, by libavformat: what a recorder writes,
// without the file. When and where the bytes are written is the recorder's affair.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ffmpeg.h"
#include "core/packet.h"
#include "stages/sinks/memory_output.h"
#include "stages/sinks/recorder.h"

namespace campipe {

enum class Container : std::uint8_t { mp4, mkv };

// By the ending of the name.
std::optional<Container> container_of(std::string_view path);
bool can_hold(Container container, const AudioParameters& audio);

class Muxer {
 public:
  // Goes on behind what another muxer of the same streams wrote, up to `position`.
  // `start`: see Recorder::create().
  Muxer(Container container, const StreamParameters& parameters, const std::optional<AudioParameters>& audio,
        const RecordPosition& position, const RecordStart& start);
  Muxer(const Muxer&) = delete;
  Muxer& operator=(const Muxer&) = delete;

  // The bytes that begin a file.
  [[nodiscard]] const std::vector<std::uint8_t>& header() const { return header_; }
  void write(const PacketView& packet);
  void write_audio(const PacketView& packet);
  // The bytes of the packets since the last call; none, if there were none. `next_dts`, `file_end`: see
  // Recorder::flush().
  std::vector<std::uint8_t> end_fragment(std::optional<std::int64_t> next_dts, std::optional<std::int64_t> file_end);

 private:
  struct Closer {
    void operator()(AVFormatContext* context) const { avformat_free_context(context); }
  };

  void begin_fragment();
  [[nodiscard]] std::int64_t ticks_of(std::int64_t ns, AVRational time_base) const;
  std::int64_t next_decode_time(std::int64_t dts_ns);
  void hand_over(AVPacket& packet);
  void write_held(std::optional<std::int64_t> next_dts);
  void write_held_audio(std::optional<std::int64_t> end);

  Container container_;
  StreamParameters parameters_;
  std::optional<AudioParameters> audio_;
  RecordStart start_;
  std::uint64_t fragments_;
  std::vector<std::uint8_t> written_;
  std::vector<std::uint8_t> header_;
  MemoryOutput io_;                                   // outlives the context, which writes into it
  std::unique_ptr<AVFormatContext, Closer> context_;  // of the open fragment
  bool told_refused_ = false;
  bool empty_ = true;  // that is: no packet in it yet
  // MP4: the newest video packet, until it is known when the next one comes: only then its duration is.
  AvPacket held_;
  AvPacket held_audio_;           // likewise, until it is known whether the file ends before it does
  std::int64_t last_shown_ = 0;   // pts of the frame that is shown last
  std::int64_t shown_until_ = 0;  // when that ends; ticks
  std::optional<std::int64_t> last_dts_;
  std::optional<std::int64_t> last_audio_;
  std::int64_t step_ = 0;   // between the decode times of the last two packets, or as the frame rate has it; ticks
  AVRational time_base_{};  // of the video, the container's choice
  AVRational audio_time_base_{};
};

}  // namespace campipe
