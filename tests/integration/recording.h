// Reads a video file back, as a player does: packets, frames in the order of showing, the test pattern's numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/test_pattern.h"

namespace campipe::test {

struct ShownPicture {
  std::int64_t pts = 0;  // ns
  std::optional<PatternCode> code;
};

struct VideoFile {
  std::size_t packets = 0;
  std::vector<std::int64_t> dts;  // of the packets, in the track's units; only where the container stores them
  std::vector<ShownPicture> pictures;
  int complaints = 0;     // warnings and errors of libav
  std::string text;       // of them
  double start_s = 0;     // where players begin
  double duration_s = 0;  // what they show
  int width = 0;
  int height = 0;
};

// Throws Error for what no player opens.
VideoFile read_video(const std::filesystem::path& file);

// For EXPECT_EQ: empty, or what is wrong. From each key frame on, a decoder that knows no more than the file's header
// shows every frame up to the next one, in the size that the header has.
std::string check_key_frames(const std::filesystem::path& file);

// Of the frames; -1 where there is none to be read.
std::vector<std::int64_t> numbers_of(const VideoFile& video);
// Times since the first frame, ns.
std::vector<std::int64_t> times_of(const VideoFile& video);

enum class TrackKind { video, sound };
// Of a track's packets in the file's order, s. Those that the file does not tell are left out.
struct PacketTimes {
  std::vector<double> pts;
  std::vector<double> dts;
};
// Throws Error for what no player opens, and where there is no such track.
PacketTimes packet_times(const std::filesystem::path& file, TrackKind which);
// Of its sound; throws Error where there is none.
std::vector<double> sound_times(const std::filesystem::path& file);

// The largest step between the capture times of neighbouring frames that were taken after `from` (UTC ns); seconds.
double largest_gap(const VideoFile& video, std::int64_t from_utc_ns = 0);

// For EXPECT_EQ: empty, or what is wrong. `whole`: no number may be missing.
std::string check_pattern_recording(const VideoFile& video, bool whole);

}  // namespace campipe::test
