#pragma once

#include <chrono>

#include "stages/sources/source.h"

namespace campipe {

struct SourceConfig;

// It may come to an end of its own: files that are not looped, patterns of so many frames, and what is read over HTTP,
// which may be a file or a complete playlist. Nothing else ends but by failing or when it is stopped.
bool can_end(const SourceConfig& config);
// How long it may wait by itself before it asks for the next frame, beside the time that its camera may take: pictures
// that are fetched one by one.
std::chrono::nanoseconds longest_pause(const SourceConfig& config);

}  // namespace campipe
