// Which of an input's streams a camera is, and what it looks like.
#pragma once

#include "stages/sources/source.h"

namespace campipe {

struct SourceConfig;

struct MediaStreams {
  int video = -1;
  int audio = -1;  // -1: there is none, or it is not wanted
  SourceStream description;
  std::string remark;  // what of it cannot be had (Source::remark); empty: nothing
  int program = -1;    // of the video, by its number in the container; -1: there are no programmes
  int place = 0;       // of the video among those of that programme
  int known = 0;       // streams, when they were chosen
  int others = 0;      // packets of other video in a row
  int before = -1;     // the stream that had the video last; -1: it has not moved
};

// Those that `config` asks for; all others are discarded. `name`: of the source, for people. The description refers to
// `input`. Throws Error: there is no such video stream.
MediaStreams choose_streams(AVFormatContext& input, const SourceConfig& config, const std::string& name);

// Time begins with the first packet of the video. Where libavformat has missed that one's time, the next one's is
// known.
void begin_time(SourceStream& description, AVPacket& first);

// MPEG-TS may move a programme's video and sound to other streams at any time, by its programme map: those are chosen
// then. So are those that come up in a piece of HLS, or of which alone there is video, with their first key frame.
// Before each packet that was read is looked at; the description refers to the new stream from then on.
void follow_program(const AVFormatContext& input, MediaStreams& streams, const AVPacket& packet);

}  // namespace campipe
