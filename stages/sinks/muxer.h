// One video track into bytes in memory, by libavformat: what a recorder writes, without the file.
// When and where the bytes are written is the recorder's affair.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ffmpeg.h"
#include "core/packet.h"
#include "stages/sinks/recorder.h"

namespace campipe {

enum class Container : std::uint8_t { mp4, mkv };

// By the ending of the name.
std::optional<Container> container_of(std::string_view path);

class Muxer {
 public:
  // Goes on behind what another muxer of the same stream wrote, up to `position`.
  Muxer(Container container, const StreamParameters& parameters, const RecordPosition& position);
  Muxer(const Muxer&) = delete;
  Muxer& operator=(const Muxer&) = delete;

  // The bytes that begin a file.
  [[nodiscard]] const std::vector<std::uint8_t>& header() const { return header_; }
  void write(const PacketView& packet);
  // The bytes of the packets since the last call; none, if there were none.
  std::vector<std::uint8_t> end_fragment();

 private:
  struct Closer {
    void operator()(AVFormatContext* context) const { avformat_free_context(context); }
    void operator()(AVIOContext* io) const;
  };

  void begin_fragment();
  [[nodiscard]] std::int64_t ticks(std::int64_t ns) const;
  std::int64_t next_decode_time(std::int64_t dts_ns);

  Container container_;
  StreamParameters parameters_;
  std::uint64_t fragments_;
  std::vector<std::uint8_t> written_;
  std::vector<std::uint8_t> header_;
  std::unique_ptr<AVIOContext, Closer> io_;           // outlives the context, which writes into it
  std::unique_ptr<AVFormatContext, Closer> context_;  // of the open fragment
  bool empty_ = true;                                 // that is: no packet in it yet
  AvPacket packet_;
  std::optional<std::int64_t> last_dts_;
  std::int64_t step_ = 0;   // between the decode times of the last two packets, or as the frame rate has it; ticks
  AVRational time_base_{};  // the container's choice
};

}  // namespace campipe
