// The headers of a stream as libavcodec wants to have them: with zeros behind them, which it may read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>

#include "core/ffmpeg.h"

namespace campipe {

// In place of those that it has. `Codec`: AVCodecParameters or AVCodecContext.
template <typename Codec>
void set_extradata(Codec& codec, std::span<const std::uint8_t> bytes) {
  auto* copy = static_cast<std::uint8_t*>(av_mallocz(bytes.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  if (copy == nullptr) throw std::bad_alloc();
  std::ranges::copy(bytes, copy);
  av_freep(static_cast<void*>(&codec.extradata));
  codec.extradata = copy;
  codec.extradata_size = static_cast<int>(bytes.size());
}

}  // namespace campipe
