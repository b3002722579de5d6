// Access units as a camera's encoder makes them, and the RTP payloads that they travel in (RFC 6184, 7798, 6416, 2435).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace campipe::test {

struct CodedUnit {
  std::string data;     // with start codes of four bytes before each NAL unit, as depacketizers write them
  std::int64_t number;  // of its frame, in the order of showing
  bool key;
};

struct Coding {
  std::string encoder = "libx264";  // libavcodec's name
  int count = 60;
  int gop = 20;
  int b_frames = 0;
  int slices = 1;
  int width = 160;
  int height = 128;
  std::vector<std::pair<std::string, std::string>> options = {};
};

// In the order of decoding. Parameter sets are in the stream, before each key frame.
std::vector<CodedUnit> coded_units(const Coding& coding);

// "libx264": "H264", as SDP names it.
std::string rtp_name(const std::string& encoder);

// What a JPEG file has behind its headers.
std::string jpeg_scan(const std::string& file);

// In pieces of `size` bytes at most: single NAL units and fragmentation units.
std::vector<std::string> rtp_payloads(const std::string& encoder, const std::string& unit, std::size_t size = 400);

struct CodedSound {
  std::vector<std::string> frames;
  std::string config;  // codec_parameters' extradata
  int samples = 0;     // of a frame
};
// One channel of it; `encoder`: "aac" or "ac3".
CodedSound coded_sound(const std::string& encoder, int rate, int count);

std::vector<std::string> nal_units(const std::string& unit);
// STAP-A, of H.264.
std::string aggregated(const std::vector<std::string>& nal_units);

}  // namespace campipe::test
