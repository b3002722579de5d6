// What a live stream consists of, in the form in which it is watched: pieces, and the header before them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/packet.h"

namespace campipe {

// packets: as the encoder made them (for H.264 and HEVC from our encoders Annex B; from a camera's own stream as its
// extradata have it), and audio. fmp4: for browsers, one fragment for each frame, without audio. mpegts: whole
// transport stream packets, tables before key frames. mp4: for players, as fmp4, and one fragment for each frame of
// audio. sound: for browsers, audio alone, encoded as AAC where they would not play it: each of its pieces is `key`.
enum class LiveForm : std::uint8_t { packets, fmp4, mpegts, mp4, sound };
// As the list of viewers has it; packets are RTSP's.
constexpr const char* viewer_form(LiveForm form) {
  constexpr std::array names{"rtsp", "fmp4", "mpegts", "mp4", "sound"};
  return names.at(static_cast<std::size_t>(form));
}

using SharedBytes = std::shared_ptr<const std::vector<std::uint8_t>>;

// What a viewer must have got before its first piece, and again when `serial` changes.
struct LiveHeader {
  std::uint64_t serial = 0;  // grows with every new encoder whose stream differs, with other audio, and with every
                             // break in time
  StreamParameters stream;
  // Of fmp4: "video/mp4; codecs=\"avc1.64001f\""; of sound: "audio/mp4; codecs=\"mp4a.40.2\""; of mpegts "video/mp2t";
  // of packets empty.
  std::string mime;
  SharedBytes bytes;                          // fmp4, mp4, sound: ftyp and moov; else null
  std::optional<AudioParameters> audio = {};  // with its headers; nothing: no pieces of audio come
};

struct LivePiece {
  std::shared_ptr<const LiveHeader> header;  // never null
  SharedBytes bytes;
  bool key = false;
  bool audio = false;    // of audio: one frame, which is never `key`
  std::int64_t dts = 0;  // ns
  FrameTimes times;
  bool after_loss = false;  // pieces before this one were dropped for this viewer
};

// What is kept, and for whom. The newest GOP does not count against a viewer who comes.
struct LiveLimits {
  std::size_t viewer_bytes = std::size_t{4} << 20U;
  std::chrono::nanoseconds viewer_wait = std::chrono::seconds(3);  // of the oldest piece in a viewer's queue
  // Of the newest group. Where it is larger, only its key frame is kept: who comes sees that, and then waits for the
  // next one.
  std::size_t group_bytes = std::size_t{32} << 20U;
  std::size_t group_packets = 1500;
};

}  // namespace campipe
