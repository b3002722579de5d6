// A camera's video whose stream does not say its parameter sets: what its first packet tells of them.
#include <algorithm>

#include "core/error.h"
#include "stages/sinks/stream_headers.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const char* codec : {"h264", "hevc"}) {
    campipe::StreamParameters stream;
    stream.codec = codec;
    const auto headers = campipe::with_headers(stream, {data, size}).extradata;
    campipe::fuzz::require(headers.size() <= 2 * size + 64, "parameter sets stand in the packet");
  }
  return 0;
}
