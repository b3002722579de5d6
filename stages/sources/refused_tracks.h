// Tracks of an RTSP camera that it refused to set up, and that libavformat believes to have (rtsp_dialogue.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ffmpeg.h"
#include "stages/sources/rtsp_dialogue.h"

namespace campipe {

enum class RtspTransport : std::uint8_t;
struct SourceConfig;

RtspDialogue::Rules dialogue_rules(const SourceConfig& config, RtspTransport transport);

// Takes them out of what is found in `input`, before that is analysed. Returns what people are told of it; empty: there
// are none.
std::string leave_out(AVFormatContext& input, const std::vector<RtspDialogue::LeftOut>& tracks,
                      const std::string& shown);
// Where the camera closed the connection instead of an answer.
std::string hung_up_text(const RtspTrack& track, const std::string& shown);
// With the number of the video stream that is wanted, where those are not counted.
SourceConfig without_left_out(SourceConfig config, const std::vector<RtspDialogue::LeftOut>& tracks);

}  // namespace campipe
