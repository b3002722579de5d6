// Frames of more NAL units than any camera makes. FFmpeg 5.1 takes 4 KiB for each unit of a frame that it decodes, and
// keeps that: a few megabytes of tiny units are gigabytes (ff_h2645_packet_split()). So none of them reaches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/ffmpeg.h"

namespace campipe {

inline constexpr std::size_t most_units = 4000;  // of a frame; level 6.2 of H.264 and HEVC has 600 slices at most

bool has_too_many_units(const AVCodecParameters& codec, const AVPacket& packet);
// For messages, behind the source's name.
std::string too_many_units_text();

// In the bytes of a container, while they are analyzed: units begin behind start codes, or lengths of one byte's value.
// Sound may have such bytes, too: many more of them are let pass than a frame may have.
class UnitsInBytes {
 public:
  void take(std::span<const std::uint8_t> bytes);
  [[nodiscard]] bool are_too_many() const { return units_ > 5 * most_units + bytes_ / 1024; }

 private:
  std::uint32_t newest_ = 0xffffffff;  // four bytes
  std::size_t units_ = 0;
  std::size_t bytes_ = 0;
};

// In the packets of RTP with one timestamp (RFC 6184, 7798): single ones, and those that packets gather. Of other
// payloads they are no more than there are packets.
class UnitsInRtp {
 public:
  void take(std::span<const std::uint8_t> packet);
  [[nodiscard]] bool are_too_many() const { return too_many_; }

 private:
  struct Flow {
    std::uint32_t timestamp = 0;
    std::size_t units = 0;
  };
  std::map<std::uint32_t, Flow> flows_;  // by SSRC
  bool too_many_ = false;
};

}  // namespace campipe
