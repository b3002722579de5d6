// What decoders must know before the first packet (extradata), where the source did not send it beforehand: cameras
// over MPEG-TS and some over RTSP send it with their frames only, and files want it at their beginning. What sources
// send need not be well made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ffmpeg.h"
#include "core/packet.h"

namespace campipe {

// Whether a source's extradata holds what it has to; some cameras announce what is none.
bool tells_headers(const AVCodecParameters& codec);

// What a key frame's packet holds of the stream's headers, divided by start codes (or AV1's units). Empty: nothing.
std::vector<std::uint8_t> headers_in(AVCodecID codec, std::span<const std::uint8_t> packet);

// `stream` as it is, or with what its `first` packet, a key frame, holds: extradata, and the size of its frames. What
// the packet holds counts: what was announced may be of another stream.
StreamParameters with_headers(StreamParameters stream, std::span<const std::uint8_t> first);
// True for codecs whose files cannot be written without what this stream lacks.
bool lacks_headers(const StreamParameters& stream);

// Likewise. `first` may be empty: then only what its parameters hold.
AudioParameters with_headers(AudioParameters audio, std::span<const std::uint8_t> first);
bool lacks_headers(const AudioParameters& audio);
// A packet as files want it: AAC without the header that it has in streams (ADTS).
std::span<const std::uint8_t> without_header(const AudioParameters& audio, std::span<const std::uint8_t> packet);

}  // namespace campipe
