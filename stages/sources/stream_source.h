// Live sources: what libavformat reads from a network, and capture devices. What their kinds have in common is here; in
// what they differ is in StreamRules, each in its own file (srt_source.cpp is the shortest).
//
// Opening ends when the first packet of the video is there, so that a camera that answers and sends nothing fails
// while opening. Over HTTP, a stream that is over ends (ReadResult::end); all others are lost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/libav_options.h"
#include "stages/sources/source.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_errors.h"
#include "stages/sources/source_kind.h"

namespace campipe {

enum class RtspTransport : std::uint8_t;
struct SourceConfig;

struct StreamRules {
  enum class Protocol : std::uint8_t {
    plain,
    rtsp,  // over UDP, TCP or a TLS connection of campipe's own (rtsps); answers are short, and may lead elsewhere
    http   // may be a file, or made of pieces: each URL that is opened is checked; what is over ends
  };
  Protocol protocol = Protocol::plain;
  std::string_view protocols = {};  // what FFmpeg may open for it, separated by commas
  // Null: none. `transport`: of rtsp.
  void (*set_options)(LibavOptions& options, const SourceConfig& config, RtspTransport transport) = nullptr;
  // What FFmpeg opens, where that is not the source's URL. Null: it is.
  std::string (*opened_url)(const SourceConfig& config) = nullptr;
  // What an error of libav means for this kind while opening, where it means something else than for others.
  StreamErrors explain = nullptr;
  bool received_by_thread = false;  // FFmpeg receives on a thread of its own
  // Of a capture device: FFmpeg's input. Its frames are asked for, without a wait. Throws Error where it is not there.
  const AVInputFormat* (*device)() = nullptr;
};

// `rules` outlive the source.
std::unique_ptr<Source> open_stream_source(const SourceConfig& config, const Source::Interrupt& interrupt,
                                           const StreamRules& rules);
// For SourceKind::open.
template <const StreamRules& rules>
std::unique_ptr<Source> open_stream(const SourceConfig& config, const Source::Interrupt& interrupt) {
  return open_stream_source(config, interrupt, rules);
}

// What kinds of streams from a network have in common, for their registration.
template <const StreamRules& rules>
SourceKind stream_kind(std::string_view name, int place, std::span<const SourceScheme> schemes,
                       std::span<const SourceKeysOf> keys = {}) {
  SourceKind kind;
  kind.name = name;
  kind.place = place;
  kind.schemes = schemes;
  kind.keys = keys;
  kind.check = check_stream_url;
  kind.open = open_stream<rules>;
  kind.live = true;
  kind.hides_query = true;
  return kind;
}

}  // namespace campipe
