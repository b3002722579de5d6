// Which containers and codecs are read. FFmpeg knows hundreds, and each is code that parses what strangers send; these
// are the ones that cameras and recordings have. docs/configuration.md lists them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/ffmpeg.h"

namespace campipe {

// FFmpeg's names of containers. What only makes sense as a file is not read from a network, and the other way round.
std::span<const std::string_view> formats_of_files();
std::span<const std::string_view> formats_of_streams();
std::span<const AVCodecID> accepted_video();
std::span<const AVCodecID> accepted_audio();

// Limits `input`, which is not open yet, to `formats`, to the codecs above and to FFmpeg's `protocols` (separated by
// commas), also in what a playlist names and in what libav decodes to find out what a stream is.
void limit_media(AVFormatContext& input, std::span<const std::string_view> formats, const std::string& protocols);
// Of HLS, whose playlist is being read: its pieces may be anything that is read from a network but a playlist again,
// which nothing would count (stages/sources/playlist_guard).
void limit_pieces(AVFormatContext& hls);
// As avformat_find_stream_info(), but what it decodes for that is not larger than core/media_limits.h allows.
int find_stream_info(AVFormatContext& input);
// Throws Error, which names the codec or the size: `video` of the source `name` is not taken.
void require_accepted_video(const AVCodecParameters& video, const std::string& name);
bool is_accepted_audio(AVCodecID codec);

}  // namespace campipe
