#include "app/publisher/server/rtsp/jpeg_form.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>

#include "app/publisher/server/rtsp/huffman_tables.h"
#include "core/jpeg_frame.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

// The second bytes of markers, ITU-T T.81, table B.1.
constexpr std::uint8_t start_of_image = 0xd8;
constexpr std::uint8_t start_of_scan = 0xda;
constexpr std::uint8_t quantization_tables = 0xdb;
constexpr std::uint8_t huffman_tables = 0xc4;
constexpr std::uint8_t application_0 = 0xe0;
constexpr std::uint8_t application_14 = 0xee;
constexpr std::uint8_t baseline = 0xc0;

constexpr std::size_t longest_side = 2040;  // RFC 2435 has eight bits for an eighth of it
constexpr std::size_t component_count = 3;
constexpr std::size_t component_bytes = 3;
constexpr std::size_t scan_bytes = 10;  // of a header of three components
constexpr std::size_t table_count = 4;
constexpr std::size_t table_bytes = 64;   // of quantizers with 8 bits
constexpr std::size_t length_count = 16;  // of Huffman codes

std::size_t number_at(Bytes bytes, std::size_t at) { return std::size_t{bytes[at]} << 8U | bytes[at + 1]; }

bool begins_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::ranges::equal(bytes.first(text.size()), text);
}

// The first of two, and where it lies in their byte.
constexpr std::size_t high(std::uint8_t byte) { return std::size_t{byte} >> 4U; }
constexpr std::size_t low(std::uint8_t byte) { return std::size_t{byte} & 15U; }

// What was read of the headers so far. Each part returns what RTP cannot carry of it; empty: it carries it.
class Headers {
 public:
  std::string segment(std::uint8_t marker, Bytes body) {
    if (marker == quantization_tables) return take_quantizers(body);
    if (marker == huffman_tables) return take_codes(body);
    if (begins_jpeg_frame(marker)) return take_frame(marker, body);
    if (marker == application_0 && begins_with(body, "AVI1") && body.size() > 4 && body[4] != 0)
      return "JPEG of one field";
    if (marker == application_14 && begins_with(body, "Adobe") && body.size() > 11 && body[11] != 1)
      return "JPEG that is not in YCbCr";
    return {};
  }

  [[nodiscard]] std::string scan(Bytes body) const {
    if (!has_frame_ || body.size() < scan_bytes) return no_jpeg;
    if (body[0] != component_count) return "JPEG with a scan of each colour";
    for (std::size_t i = 0; i < component_count; ++i) {
      const std::size_t table = i == 0 ? 0 : 1;  // of light, and of colour
      if (body[1 + 2 * i] != ids_.at(i)) return "JPEG with components in an order of its own";
      const std::uint8_t codes = body[2 + 2 * i];
      if (!has_standard_codes(0, high(codes), table) || !has_standard_codes(1, low(codes), table))
        return "JPEG with Huffman tables of its own";
      if (!has_quantizers_.at(quantizers_.at(i))) return "JPEG without quantization tables";
    }
    return {};
  }

  static constexpr const char* no_jpeg = "what is no whole JPEG";

 private:
  // Which of the standard's tables it is, ITU-T T.81, K.3.
  enum class Codes : std::uint8_t { none, light, colour, own };

  // A camera that sends none means the standard's, as those do that have no room for them.
  [[nodiscard]] bool has_standard_codes(std::size_t kind, std::size_t place, std::size_t table) const {
    if (place >= table_count) return false;
    const Codes codes = codes_.at(kind).at(place);
    if (codes == Codes::none) return place == table;
    return codes == (table == 0 ? Codes::light : Codes::colour);
  }

  std::string take_quantizers(Bytes body) {
    while (!body.empty()) {
      if (high(body[0]) != 0) return "JPEG with quantization tables of 16 bits";
      if (low(body[0]) >= table_count || body.size() <= table_bytes) return no_jpeg;
      has_quantizers_.at(low(body[0])) = true;
      body = body.subspan(1 + table_bytes);
    }
    return {};
  }

  std::string take_codes(Bytes body) {
    while (!body.empty()) {
      const std::size_t kind = high(body[0]);
      const std::size_t place = low(body[0]);
      if (kind > 1 || place >= table_count || body.size() <= length_count) return no_jpeg;
      const Bytes lengths = body.subspan(1, length_count);
      const std::size_t values = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
      if (body.size() < 1 + length_count + values) return no_jpeg;
      const Bytes table = body.subspan(1, length_count + values);
      codes_.at(kind).at(place) = std::ranges::equal(table, standard_huffman(kind == 1, false))  ? Codes::light
                                  : std::ranges::equal(table, standard_huffman(kind == 1, true)) ? Codes::colour
                                                                                                 : Codes::own;
      body = body.subspan(1 + length_count + values);
    }
    return {};
  }

  std::string take_frame(std::uint8_t marker, Bytes header) {
    if (marker != baseline) return "JPEG that is not baseline";
    if (header.size() < 6) return "JPEG without a whole header";
    const std::size_t height = number_at(header, 1);
    const std::size_t width = number_at(header, 3);
    if (std::max(width, height) > longest_side || std::min(width, height) == 0)
      return "JPEG of " + std::to_string(width) + "x" + std::to_string(height);
    if (header[0] != 8 || header[5] != component_count || header.size() < 6 + component_count * component_bytes)
      return "JPEG that is not in colour with 8 bits";
    std::array<std::uint8_t, component_count> sampling{};
    for (std::size_t i = 0; i < component_count; ++i) {
      const Bytes component = header.subspan(6 + i * component_bytes, component_bytes);
      ids_.at(i) = component[0];
      sampling.at(i) = component[1];
      quantizers_.at(i) = component[2];
      if (component[2] >= table_count) return no_jpeg;
    }
    const bool halved = sampling[0] == 0x21 || sampling[0] == 0x22;  // 4:2:2, 4:2:0
    if (!halved || sampling[1] != 0x11 || sampling[2] != 0x11) return "JPEG that is neither 4:2:0 nor 4:2:2";
    if (quantizers_[1] != quantizers_[2]) return "JPEG with quantization tables of each colour";
    // GStreamer's payloader sorts them.
    if (ids_[0] >= ids_[1] || ids_[1] >= ids_[2]) return "JPEG with components in an order of its own";
    has_frame_ = true;
    return {};
  }

  bool has_frame_ = false;
  std::array<std::uint8_t, component_count> ids_{};
  std::array<std::uint8_t, component_count> quantizers_{};
  std::array<bool, table_count> has_quantizers_{};
  std::array<std::array<Codes, table_count>, 2> codes_{};  // of coefficients DC and AC
};

}  // namespace

std::string without_rtp_form(Bytes jpeg) {
  const std::string none = Headers::no_jpeg;
  if (jpeg.size() < 4 || jpeg[0] != 0xff || jpeg[1] != start_of_image) return none;
  Headers headers;
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
    const Bytes body = jpeg.subspan(at + 4, length - 2);
    if (marker == start_of_scan) return headers.scan(body);
    if (std::string problem = headers.segment(marker, body); !problem.empty()) return problem;
    at += 2 + length;
  }
  return none;
}

}  // namespace campipe
