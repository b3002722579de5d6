#include "stages/sources/rtsp_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/ascii_case.h"
#include "core/printable.h"
#include "core/trimmed.h"
#include "stages/sources/login_challenge.h"
#include "stages/sources/rtsp_dialogue.h"

namespace campipe {
namespace {

constexpr std::size_t most_tracks = 64;  // more than any camera has: each refusal goes through them

struct Line {
  std::size_t begin = 0;
  std::size_t end = 0;   // without its line end
  std::size_t next = 0;  // behind that
};

Line line_at(std::string_view text, std::size_t at) {
  const std::size_t end = std::min(text.find('\n', at), text.size());
  const bool carriage = end > at && text[end - 1] == '\r';
  return {at, carriage ? end - 1 : end, std::min(end + 1, text.size())};
}

// The value of a line "name: value"; nothing: it is none.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !equal_without_case(trimmed(line.substr(0, colon)), name)) return std::nullopt;
  return trimmed(line.substr(colon + 1));
}

template <typename Each>
void for_each_header(std::string_view message, const Each& each) {
  for (std::size_t at = line_at(message, 0).next; at < message.size();) {
    const Line line = line_at(message, at);
    if (line.begin == line.end) return;
    each(line, message.substr(line.begin, line.end - line.begin));
    at = line.next;
  }
}

// Payload types that need no rtpmap (RFC 3551).
std::string codec_of_payload(std::string_view type) {
  if (type == "0") return "PCMU";
  if (type == "8") return "PCMA";
  if (type == "9") return "G722";
  if (type == "14") return "MPA";
  if (type == "26") return "JPEG";
  if (type == "32") return "MPV";
  if (type == "33") return "MP2T";
  return "";
}

// "2592,1944" of a=x-dimensions, "26 2592-1944" of a=framesize.
void read_size(std::string_view line, RtspTrack& track) {
  constexpr std::string_view dimensions = "a=x-dimensions:";
  constexpr std::string_view frame_size = "a=framesize:";
  std::string_view size;
  if (line.starts_with(dimensions)) size = trimmed(line.substr(dimensions.size()));
  if (line.starts_with(frame_size)) size = trimmed(line.substr(frame_size.size()));
  if (const auto space = size.find(' '); space != std::string_view::npos) size = trimmed(size.substr(space));
  const auto between = size.find_first_not_of("0123456789");
  if (between == std::string_view::npos || (size[between] != ',' && size[between] != '-')) return;
  int width = 0;
  int height = 0;
  const std::string_view first = size.substr(0, between);
  const std::string_view second = size.substr(between + 1);
  const bool read = std::from_chars(first.data(), first.data() + first.size(), width).ec == std::errc() &&
                    std::from_chars(second.data(), second.data() + second.size(), height).ec == std::errc();
  if (!read) return;
  track.width = width;
  track.height = height;
}

}  // namespace

std::optional<RtspRequestLine> read_request_line(std::string_view text) {
  const Line line = line_at(text, 0);
  const std::string_view first = text.substr(0, line.end);
  const auto method = first.find(' ');
  const auto uri = first.rfind(' ');
  if (method == std::string_view::npos || uri == method || !first.substr(uri + 1).starts_with("RTSP/") ||
      first.find('\r') != std::string_view::npos) {
    return std::nullopt;
  }
  return RtspRequestLine{std::string(first.substr(0, method)), std::string(first.substr(method + 1, uri - method - 1))};
}

std::optional<RtspStatusLine> read_status_line(std::string_view text) {
  const Line line = line_at(text, 0);
  const std::string_view first = text.substr(0, line.end);
  const auto space = first.find(' ');
  if (!first.starts_with("RTSP/") || space == std::string_view::npos) return std::nullopt;
  const std::string_view rest = trimmed(first.substr(space));
  RtspStatusLine status;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), status.code);
  if (error != std::errc()) return std::nullopt;
  status.reason = shown_line(rest.substr(static_cast<std::size_t>(end - rest.data())));
  return status;
}

std::size_t size_of_head(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    if (line.next == line.end || text[line.next - 1] != '\n') return 0;
    if (line.begin == line.end) return line.next;
    at = line.next;
  }
  return 0;
}

std::string rtsp_header(std::string_view message, std::string_view name) {
  const std::vector<std::string> all = rtsp_headers(message, name);
  return all.empty() ? "" : all.front();
}

std::vector<std::string> rtsp_headers(std::string_view message, std::string_view name) {
  std::vector<std::string> values;
  for_each_header(message, [&](const Line&, std::string_view line) {
    if (const auto value = value_of(line, name)) values.emplace_back(*value);
  });
  return values;
}

void replace_rtsp_header(std::string& message, std::string_view name, std::string_view value) {
  std::string changed = message.substr(0, line_at(message, 0).next);
  std::size_t end = changed.size();
  bool done = false;
  for_each_header(message, [&](const Line& line, std::string_view text) {
    end = line.next;
    if (!value_of(text, name)) {
      changed += message.substr(line.begin, line.next - line.begin);
    } else if (!std::exchange(done, true)) {
      changed += std::string(name) + ": " + std::string(value) + "\r\n";
    }
  });
  if (done) message = changed + message.substr(end);
}

std::optional<std::size_t> rtsp_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::string shown_line(std::string_view text) {
  constexpr std::size_t longest = 80;
  return printable(trimmed(text).substr(0, longest));
}

std::string challenge_value(const LoginChallenge& challenge) {
  std::string value = challenge.scheme == "basic" ? "Basic" : "Digest";
  const char* separator = " ";
  for (const auto& [name, text] : challenge.fields) {
    // A quote within quotes is nothing that FFmpeg could read; it is left out for it alone.
    std::string plain = text;
    std::erase_if(plain, [](char c) { return c == '"' || c == '\r' || c == '\n'; });
    const bool bare = name == "algorithm" || name == "stale";
    value += separator + name + "=" + (bare ? plain : "\"" + plain + "\"");
    separator = ", ";
  }
  return value;
}

std::string RtspTrack::text() const { return media + (codec.empty() ? "" : " (" + codec + ")"); }

std::vector<RtspTrack> read_tracks(std::string_view sdp) {
  std::vector<RtspTrack> tracks;
  std::string_view payload;
  for (std::size_t at = 0; at < sdp.size();) {
    const Line found = line_at(sdp, at);
    const std::string_view line = sdp.substr(found.begin, found.end - found.begin);
    at = found.next;
    if (line.starts_with("m=")) {
      if (tracks.size() == most_tracks) break;
      const std::string_view rest = line.substr(2);
      tracks.push_back({shown_line(rest.substr(0, rest.find(' '))), "", ""});
      // "video 0 RTP/AVP 96 97"
      std::size_t word = 0;
      for (int i = 0; i < 3 && word != std::string_view::npos; ++i) word = rest.find(' ', word + (i > 0 ? 1 : 0));
      const std::string_view types = word == std::string_view::npos ? "" : rest.substr(word + 1);
      payload = types.substr(0, types.find(' '));
      tracks.back().codec = codec_of_payload(payload);
    }
    if (tracks.empty()) continue;
    read_size(line, tracks.back());
    constexpr std::string_view control = "a=control:";
    constexpr std::string_view map = "a=rtpmap:";
    if (line.starts_with(control)) tracks.back().control = trimmed(line.substr(control.size()));
    if (!line.starts_with(map)) continue;
    // "96 H264/90000"
    const std::string_view of = line.substr(map.size());
    if (!of.starts_with(payload) || !of.substr(payload.size()).starts_with(' ')) continue;
    const std::string_view codec = trimmed(of.substr(payload.size()));
    tracks.back().codec = shown_line(codec.substr(0, codec.find('/')));
  }
  return tracks;
}

}  // namespace campipe
