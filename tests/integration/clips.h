// Makes the files that rigs read: the test pattern, encoded by any of libavcodec's encoders, with any times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace campipe::test {

struct ClipSpec {
  std::string name;  // of the file; its ending decides about the container
  std::string encoder = "libx264";
  std::string pixels = "yuv420p";  // as FFmpeg calls it
  int width = 320;
  int height = 240;
  int frames = 60;
  int b_frames = 0;
  int gop = 12;
  int rate = 25;
  std::vector<std::int64_t> times_ms = {};  // of the frames; empty: by `rate`
  bool long_references = false;             // as many reference frames as the codec allows
  bool refreshes = false;                   // libx264: key frames are spread over those that follow, but for the first
};

// False: this libavcodec has no such encoder.
bool can_encode(const std::string& encoder);
// Frame n carries the number n. Throws Error.
void make_clip(const std::filesystem::path& folder, const ClipSpec& spec);

// Since its first frame, ns.
std::vector<std::int64_t> times_of(const ClipSpec& spec);

// Of all kinds that a decoder that begins anew has trouble with, each in its own way. Not all can be encoded
// everywhere.
std::vector<ClipSpec> clips_to_begin_anew_in();

// Irregular, with long pauses; from `first` on.
std::vector<std::int64_t> irregular_times(int frames, std::int64_t first = 0);

}  // namespace campipe::test
