// What decoders must know before the first packet (extradata), where the source did not say it beforehand: cameras over
// MPEG-TS and some over RTSP send it with their pictures only, and files want it at their beginning.
#pragma once

#include <cstdint>
#include <span>

#include "core/packet.h"

namespace campipe {

// `stream` as it is, or with what its `first` packet, a key frame, tells.
StreamParameters with_headers(StreamParameters stream, std::span<const std::uint8_t> first);
// True for codecs whose files cannot be decoded without extradata that this stream does not have.
bool lacks_headers(const StreamParameters& stream);

// Likewise. `first` may be empty: then only what its parameters tell.
AudioParameters with_headers(AudioParameters audio, std::span<const std::uint8_t> first);
bool lacks_headers(const AudioParameters& audio);
// A packet as files want it: AAC without the header that it has in streams (ADTS).
std::span<const std::uint8_t> without_header(const AudioParameters& audio, std::span<const std::uint8_t> packet);

}  // namespace campipe
