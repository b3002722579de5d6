// One video track, and one of audio where there is any, into bytes in memory, by libavformat: what a recorder writes,
// without the file. When and where the bytes are written is the recorder's affair. Before each fragment of MP4 stands
// when its first frame was taken, where that is known (stages/sinks/producer_time.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ffmpeg.h"
#include "core/packet.h"
#include "stages/sinks/memory_output.h"
#include "stages/sinks/muxer_tracks.h"
#include "stages/sinks/recorder.h"

namespace campipe {

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
  // What makes no sample is left out.
  void write(const PacketView& packet);
  void write_audio(const PacketView& packet);
  // The bytes of the packets since the last call; none, if there were none. `next_dts`, `file_end`: see
  // Recorder::flush().
  std::vector<std::uint8_t> end_fragment(std::optional<std::int64_t> next_dts, std::optional<std::int64_t> file_end);
  // Packets of the video that were left out since the last call, by the end of a fragment.
  [[nodiscard]] std::uint64_t take_left_out() { return std::exchange(left_out_, 0); }

 private:
  struct Closer {
    void operator()(AVFormatContext* context) const { avformat_free_context(context); }
  };

  void begin_fragment();
  void hand_over(AVPacket& packet);
  void report_left_out(const std::string& why);  // once

  Container container_;
  StreamParameters parameters_;
  RecordStart start_;
  std::uint64_t fragments_;
  std::vector<std::uint8_t> written_;
  std::vector<std::uint8_t> header_;
  MemoryOutput io_;                                   // outlives the context, which writes into it
  std::unique_ptr<AVFormatContext, Closer> context_;  // of the open fragment
  VideoTrack video_;
  std::optional<AudioTrack> audio_;
  std::uint64_t left_out_ = 0;
  bool reported_left_out_ = false;
  bool empty_ = true;  // that is: no packet in it yet
  // Of its first frame.
  struct First {
    static constexpr std::int64_t lost = -1;
    std::int64_t taken_utc = 0;         // 0: not known, or there is none; `lost`: it was left out
    std::optional<std::int64_t> shown;  // ticks
  };
  First first_;
};

}  // namespace campipe
