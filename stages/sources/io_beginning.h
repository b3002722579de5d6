// The beginning of what a server sends, read before libavformat sees it, and given back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/ffmpeg.h"

namespace campipe {

// Up to `size` bytes behind `text`; less at the end of what there is. Below 0: an error of libav.
int read_more(AVIOContext& io, std::string& text, std::size_t size);
// As much as is there, and at least a byte; 0 at the end of what there is.
int read_some(AVIOContext& io, std::string& text);
// `text` is read next, and then what was not read yet. It may be other text than what was read: positions count from
// it.
void put_back(AVIOContext& io, std::string_view text, std::size_t read);
// By HTTP: what the server calls it, in lower case; empty: it does not say.
std::string content_type(AVIOContext& io);

}  // namespace campipe
