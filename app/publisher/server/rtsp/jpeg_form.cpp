#include "app/publisher/server/rtsp/jpeg_form.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

// The second bytes of markers, ITU-T T.81, table B.1.
constexpr std::uint8_t start_of_image = 0xd8;
constexpr std::uint8_t start_of_scan = 0xda;
constexpr std::uint8_t quantization_tables = 0xdb;
constexpr std::uint8_t baseline = 0xc0;
constexpr std::array not_frames{std::uint8_t{0xc4}, std::uint8_t{0xc8}, std::uint8_t{0xcc}};  // DHT, JPG, DAC

constexpr std::size_t longest_side = 2040;  // RFC 2435 has eight bits for an eighth of it
constexpr std::size_t component_bytes = 3;
constexpr std::size_t scan_bytes = 12;  // of a header of three components, with its length

bool begins_frame(std::uint8_t marker) {
  return marker >= baseline && marker <= 0xcf && std::ranges::find(not_frames, marker) == not_frames.end();
}

std::size_t number_at(Bytes bytes, std::size_t at) { return std::size_t{bytes[at]} << 8U | bytes[at + 1]; }

// Of the frame's header, behind its length.
std::string problem_of(std::uint8_t marker, Bytes header) {
  if (marker != baseline) return "JPEG that is not baseline";
  if (header.size() < 6) return "JPEG without a whole header";
  const std::size_t height = number_at(header, 1);
  const std::size_t width = number_at(header, 3);
  if (std::max(width, height) > longest_side) return "JPEG of " + std::to_string(width) + "x" + std::to_string(height);
  const std::size_t components = header[5];
  if (header[0] != 8 || components != 3 || header.size() < 6 + components * component_bytes)
    return "JPEG that is not in colour with 8 bits";
  const auto sampling = [&](std::size_t component) { return header[7 + component * component_bytes]; };
  const bool halved = sampling(0) == 0x21 || sampling(0) == 0x22;  // 4:2:2, 4:2:0
  if (!halved || sampling(1) != 0x11 || sampling(2) != 0x11) return "JPEG that is neither 4:2:0 nor 4:2:2";
  const auto table = [&](std::size_t component) { return header[8 + component * component_bytes]; };
  if (table(1) != table(2)) return "JPEG with quantization tables of each colour";
  return {};
}

}  // namespace

std::string without_rtp_form(Bytes jpeg) {
  const std::string none = "what is no whole JPEG";
  if (jpeg.size() < 4 || jpeg[0] != 0xff || jpeg[1] != start_of_image) return none;
  bool has_frame = false;
  bool has_tables = false;
  std::size_t at = 2;
  while (at + 4 <= jpeg.size()) {
    if (jpeg[at] != 0xff) return none;
    const std::uint8_t marker = jpeg[at + 1];
    if (marker == 0xff) {  // fills
      ++at;
      continue;
    }
    const std::size_t length = number_at(jpeg, at + 2);
    if (length < 2 || at + 2 + length >= jpeg.size()) return none;
    if (marker == start_of_scan) return has_frame && has_tables && length >= scan_bytes ? "" : none;
    has_tables = has_tables || marker == quantization_tables;
    if (begins_frame(marker)) {
      if (std::string problem = problem_of(marker, jpeg.subspan(at + 4, length - 2)); !problem.empty()) return problem;
      has_frame = true;
    }
    at += 2 + length;
  }
  return none;
}

}  // namespace campipe
