// Encodes a camera's sound as AAC, for browsers, which play no G.711. Its gaps and jumps stay as they are; what lies
// close behind what came before is put right behind it. For one thread at a time.
#pragma once

extern "C" {
#include <libavutil/audio_fifo.h>
#include <libswresample/swresample.h>
}

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/ffmpeg.h"
#include "core/packet.h"

namespace campipe {

class SoundEncoder {
 public:
  struct Sound {
    std::vector<std::uint8_t> data;  // one frame of AAC
    FrameTimes times;                // pts and duration
    [[nodiscard]] PacketView view() const { return {data, times.pts, true, times}; }
  };

  // Whether it takes that codec.
  static bool takes(const AudioParameters& from);
  // `from` with its headers. Throws Error where it is not decoded here, or not by FFmpeg.
  explicit SoundEncoder(const AudioParameters& from);
  SoundEncoder(const SoundEncoder&) = delete;
  SoundEncoder& operator=(const SoundEncoder&) = delete;

  // Of what encode() returns.
  [[nodiscard]] const AudioParameters& parameters() const { return parameters_; }
  // What is complete with this packet, which may be nothing. A damaged one is left out. Throws Error.
  std::vector<Sound> encode(const PacketView& packet);

 private:
  struct Free {
    void operator()(SwrContext* context) const { swr_free(&context); }
    void operator()(AVAudioFifo* samples) const { av_audio_fifo_free(samples); }
  };

  void open_encoder(int channels);
  void take(const AVFrame& frame);
  void convert(const AVFrame& frame);
  void encode_frame(std::vector<Sound>& sound);

  AvCodecContext decoder_;
  AvCodecContext encoder_;
  AudioParameters parameters_;
  AvPacket packet_;
  AvFrame decoded_;
  AvFrame samples_;
  std::unique_ptr<SwrContext, Free> converter_;
  std::unique_ptr<AVAudioFifo, Free> waiting_;  // less than a frame of AAC
  std::optional<std::int64_t> begin_;           // of the first sample of waiting_, ns
};

}  // namespace campipe
