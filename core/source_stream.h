// The stream that comes out of a source and goes into a decoder.
#pragma once

#include <cstdint>
#include <string>

#include "core/ffmpeg.h"

namespace campipe {

// Times of its packets are in `time_base`.
struct SourceStream {
  const AVCodecParameters* codec = nullptr;  // owned by the source; null: packets of the test pattern
  unsigned serial = 0;                       // counts up when another of the source's streams takes its place
  AVRational time_base{1, 90000};
  std::int64_t start = 0;  // the time that becomes 0, in time_base
  double frame_rate = 0;   // 0: unknown
  std::string decoder;     // the name of what decodes it: FFmpeg's codec name, or "pattern"
  int width = 0;           // only for the pattern
  int height = 0;
  bool in_bursts =
      false;            // live, but it comes faster than its timestamps (HLS, a file over HTTP): to be paced as files
  bool finite = false;  // live, but it has an end, behind which there is nothing to come back for
  // Its container has no single clock: times may begin anew in the midst of it (MPEG-TS).
  bool discontinuous = false;
  int rotation = 0;  // how frames must be turned and mirrored to be shown right: core/orientation.h
  // Frames that are not to be shown have to be decoded for those that are (an edit list cuts in the midst of a group of
  // pictures): as it comes it cannot be passed on.
  bool hides_references = false;
  const AVCodecParameters* audio = nullptr;  // owned by the source; null: no audio, or not wanted
  AVRational audio_time_base{1, 90000};
};

}  // namespace campipe
