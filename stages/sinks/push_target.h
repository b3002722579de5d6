// What a push target's URL says before anything is opened.
#pragma once

#include <optional>
#include <string>

#include "core/ffmpeg.h"
#include "core/packet.h"

namespace campipe {

struct PushTarget {
  std::string url;
  std::string name;        // the URL for people: without passwords, stream keys and stream ids
  std::string stream_key;  // of RTMP: whoever knows it may publish; empty: none
  std::string scheme;      // in lower case
  std::string host;        // to be looked up; empty: none
  const AVOutputFormat* format = nullptr;
};

// Throws Error, without secrets, where the URL is none of rtsp, rtsps, srt, udp, rtmp or rtmps, or has no host or port
// that it needs.
PushTarget read_push_target(const std::string& url);

// A viewer can decode a stream of this codec (FFmpeg's name) there.
bool can_carry(const PushTarget& target, const std::string& codec);
// Likewise of audio, beside the video.
bool can_carry(const PushTarget& target, const AudioParameters& audio);

// `text` (of libav) without what is secret about the target.
std::string scrubbed(std::string text, const PushTarget& target);

}  // namespace campipe
