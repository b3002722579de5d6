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
};

// Those that `config` asks for; all others are discarded. `name`: of the source, for people. The description refers to
// `input`. Throws Error: there is no such video stream.
MediaStreams choose_streams(AVFormatContext& input, const SourceConfig& config, const std::string& name);

}  // namespace campipe
