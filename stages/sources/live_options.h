// Options of libavformat that several kinds of live sources have.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/libav_options.h"
#include "stages/sources/source.h"

namespace campipe {

struct SourceConfig;

inline constexpr std::int64_t receive_buffer = std::int64_t{4} << 20;  // bytes; the system may give less

inline std::int64_t microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

// Of https, also of what an https stream refers to.
void set_certificate_options(LibavOptions& options, const SourceConfig& config);
// That the next connection of http or https does not follow an answer elsewhere. Throws SourceError where this FFmpeg
// cannot be kept from it.
void refuse_redirects(LibavOptions& options, const std::string& shown);

}  // namespace campipe
