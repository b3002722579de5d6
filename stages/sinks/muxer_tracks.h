// The tracks of a Muxer: when their packets are decoded and shown by the container's clock, on which the file's first
// frame is shown at 0. MP4: the newest packet of a track is held back until it is known how long it lasts.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/ffmpeg.h"
#include "core/packet.h"
#include "stages/sinks/recorder.h"

namespace campipe {

enum class Container : std::uint8_t { mp4, mkv };

// Gets each packet when it is complete, and takes its data.
using PacketWriter = std::function<void(AVPacket& packet)>;

class VideoTrack {
 public:
  // `start`: of the file, on the stream's time line.
  VideoTrack(Container container, std::int64_t start, PacketWriter write);

  // Before the first packet. `position`: how far the file is.
  void begin(AVRational time_base, double frame_rate, const RecordPosition& position);
  void write(const PacketView& packet);
  // Nothing is held back any more. `next_dts`: see Recorder::flush().
  void end(std::optional<std::int64_t> next_dts);

 private:
  [[nodiscard]] std::int64_t ticks_of(std::int64_t ns) const;
  std::int64_t next_decode_time(std::int64_t dts_ns);
  // `next_dts`: in ticks, as all below.
  void write_held(std::optional<std::int64_t> next_dts);

  Container container_;
  std::int64_t start_;
  PacketWriter write_;
  AVRational time_base_{};
  AvPacket held_;
  std::int64_t last_shown_ = 0;   // pts of the frame that is shown last
  std::int64_t shown_until_ = 0;  // when that ends
  std::optional<std::int64_t> last_dts_;
  std::int64_t step_ = 0;  // between the decode times of the last two packets, or as the frame rate has it
};

class AudioTrack {
 public:
  AudioTrack(Container container, std::int64_t start, AudioParameters parameters, PacketWriter write);

  [[nodiscard]] const AudioParameters& parameters() const { return parameters_; }
  // As those of VideoTrack. `file_end`: see Recorder::flush().
  void begin(AVRational time_base) { time_base_ = time_base; }
  void write(const PacketView& packet);
  void end(std::optional<std::int64_t> file_end);

 private:
  [[nodiscard]] std::int64_t ticks_of(std::int64_t ns) const;

  Container container_;
  std::int64_t start_;
  AudioParameters parameters_;
  PacketWriter write_;
  AVRational time_base_{};
  AvPacket held_;
  std::optional<std::int64_t> last_;  // pts, ticks
};

}  // namespace campipe
