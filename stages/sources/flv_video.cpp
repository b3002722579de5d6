#include "stages/sources/flv_video.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "stages/sources/io_beginning.h"

namespace campipe {
namespace {

constexpr std::size_t most_read = std::size_t{256} << 10;  // bytes, for the first tag of video
constexpr std::size_t header_size = 9;
constexpr std::size_t size_of_size = 4;  // of the tag before, behind each
constexpr std::size_t tag_header_size = 11;
constexpr unsigned video_tag = 9;
constexpr unsigned frame_type_command = 5;  // no frame
constexpr unsigned last_known_codec = 9;    // of those that have a number: MPEG-4
constexpr std::size_t code_size = 4;        // of a codec's name in enhanced RTMP

struct Code {
  std::string_view name;
  std::string_view codec;
};
constexpr std::array codes{Code{"hvc1", "H.265"}, Code{"avc1", "H.264"}, Code{"av01", "AV1"}, Code{"vp09", "VP9"},
                           Code{"vp08", "VP8"}};

std::string refusal(const std::string& codec, const std::string& seen) {
  return "is FLV with " + codec + " (" + seen +
         "), which this FFmpeg does not read from FLV: use the camera's RTSP, or let it send H.264";
}

// FFmpeg 6.1 reads what has a code.
bool knows_codes() { return avformat_version() >= AV_VERSION_INT(60, 16, 100); }

// Of the first bytes of a tag's data.
std::string problem_of(std::string_view data) {
  const auto first = static_cast<unsigned char>(data[0]);
  if ((first & 0x80) != 0) {
    if (knows_codes() || data.size() <= code_size) return "";
    std::string code(data.substr(1, code_size));
    for (char& c : code) c = c >= ' ' && c <= '~' ? c : '?';
    const auto* const known = std::ranges::find(codes, code, &Code::name);
    return refusal(known != codes.end() ? std::string(known->codec) : "a codec of its own",
                   "enhanced RTMP, '" + code + "'");
  }
  const unsigned codec = first & 0x0f;
  if (codec <= last_known_codec) return "";
  return refusal(codec == 12 ? "H.265" : "a codec of its own", "codec id " + std::to_string(codec));
}

unsigned byte_of(const std::string& text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// Reads until `text` has so many bytes.
bool have(AVIOContext& io, std::string& text, std::size_t size) {
  if (size > most_read) return false;
  if (text.size() < size && read_more(io, text, size - text.size()) < 0) return false;
  return text.size() >= size;
}

std::string find_problem(AVIOContext& io, std::string& text) {
  if (!have(io, text, 3) || text != "FLV" || !have(io, text, header_size)) return "";
  std::size_t at = byte_of(text, 7) << 8 | byte_of(text, 8);  // where the header says that it ends
  at = std::max(at, header_size) + size_of_size;
  while (have(io, text, at + tag_header_size + 1)) {
    const std::size_t size = byte_of(text, at + 1) << 16 | byte_of(text, at + 2) << 8 | byte_of(text, at + 3);
    const std::size_t data = at + tag_header_size;
    const bool video = (byte_of(text, at) & 0x1f) == video_tag && size > 0;
    if (video && (byte_of(text, data) >> 4 & 7) != frame_type_command) {
      const std::size_t looked_at = std::min<std::size_t>(size, 1 + code_size);
      return have(io, text, data + looked_at) ? problem_of(std::string_view(text).substr(data, looked_at)) : "";
    }
    at = data + size + size_of_size;
  }
  return "";
}

}  // namespace

std::string unknown_flv_video(AVIOContext& io) {
  std::string text;
  std::string problem = find_problem(io, text);
  put_back(io, text, text.size());
  return problem;
}

}  // namespace campipe
