// A camera's audio: what its first packet tells of the stream, and each packet without its header lies in the packet.
#include "stages/sinks/stream_headers.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span packet(data, size);
  campipe::AudioParameters audio;
  audio.codec = "aac";
  const auto headers = campipe::with_headers(audio, packet).extradata;
  campipe::fuzz::require(headers.empty() || headers.size() == 2, "an AudioSpecificConfig has two bytes");
  const auto content = campipe::without_header(audio, packet);
  campipe::fuzz::require(content.size() <= size && content.data() + content.size() == data + size,
                         "a packet ends where it ended");
  campipe::fuzz::require(headers.empty() == (content.size() == size), "what has a header loses it");
  return 0;
}
