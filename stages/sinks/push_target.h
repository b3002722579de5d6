// What a push target's URL holds before anything is opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ffmpeg.h"
#include "core/packet.h"
#include "stages/sinks/push_url.h"

namespace campipe {

struct PushTarget {
  std::string url;
  std::string opened;                     // what libav opens: the URL, of SRT without these
  std::optional<std::string> passphrase;  // of SRT
  std::optional<std::string> stream_id;   // likewise
  std::string name;        // the URL for people: without passwords, stream keys, stream ids and variables' values
  std::string stream_key;  // of RTMP: it gives the right to publish; empty: none
  std::vector<std::string> from_variables;  // pieces of the URL that may have come from some; the longest first
  std::string scheme;                       // in lower case
  std::string host;                         // to be looked up; empty: none
  const AVOutputFormat* format = nullptr;
};

// Throws Error, without secrets, where the URL is none of rtsp, rtsps, srt, udp, rtmp or rtmps, has no host or port
// that it needs, or a passphrase that SRT does not take.
PushTarget read_push_target(const PushUrl& url);

// A viewer can decode a stream of this codec (FFmpeg's name) there.
bool can_carry(const PushTarget& target, const std::string& codec);
// Likewise of audio, beside the video.
bool can_carry(const PushTarget& target, const AudioParameters& audio);

// `text` (of libav) without what is secret about the target.
std::string scrubbed(std::string text, const PushTarget& target);

}  // namespace campipe
