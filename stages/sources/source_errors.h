// What libavformat's errors mean for a live source. A message says what was seen (which request, of which track, with
// which answer), and then, as a question or a proposal, what may help.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/libav_log.h"
#include "stages/sources/read_watch.h"
#include "stages/sources/source.h"

namespace campipe {

class HttpPieces;
class RtspDialogue;
struct LoginChallenge;
struct SourceConfig;

// For what libav logs of a source. It is logged as ever, as messages of level debug.
LibavMessages source_messages();
// The container that limit_media() kept from being opened; empty: that was not what went wrong.
std::string refused_format(const LibavMessages& messages);
std::string seconds_text(std::chrono::nanoseconds time);  // "2.5 s"

struct StreamProblem {
  SourceError::Kind kind;
  std::string text;  // behind the source's name
};
// What one kind of source means by an error of libav; nothing: what all mean.
using StreamErrors = std::optional<StreamProblem> (*)(int code, const LibavMessages& messages);

// `watch` may have ended the wait. `shown`: the source for people. `explain`: may be null.
SourceError opening_error(int code, const std::string& shown, const ReadWatch& watch, const LibavMessages& messages,
                          StreamErrors explain);
// Likewise, of a source by RTSP, which has said so much in `dialogue`.
SourceError rtsp_error(int code, const std::string& shown, const ReadWatch& watch, const LibavMessages& messages,
                       const RtspDialogue& dialogue, const SourceConfig& config);
// Likewise, by HTTP.
SourceError http_error(int code, const std::string& shown, const ReadWatch& watch, const LibavMessages& messages,
                       const HttpPieces& pieces, const SourceConfig& config);
SourceError unknown_name_error(const std::string& shown);
// `watch` has timed out, though there is video.
SourceError no_beginning_error(const std::string& shown, const ReadWatch& watch);
// FFmpeg has no name for what an RTSP camera describes as `codec`; empty: it does not say.
SourceError unknown_codec_error(const std::string& shown, const std::string& codec);
// RTP packets came, of these payload types, and none of the video.
SourceError other_packets_error(const std::string& shown, const std::string& types, const ReadWatch& watch);
// JPEG by RTP, whose frames are larger than its headers can say.
SourceError no_size_error(const std::string& shown);
// It sends its reader to the URL `target`, or names it as a part of itself.
SourceError redirect_error(const std::string& shown, const std::string& target);
std::string refused_format_text(const std::string& format);  // to stand behind the source's name
SourceError reading_error(int code, const std::string& shown, const ReadWatch& watch);
// When `watch` was interrupted.
Error interrupted_error(const std::string& shown);

}  // namespace campipe
