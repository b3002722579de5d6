#include "app/publisher/server/rtsp/relayed_request.h"

#include "core/ascii_case.h"
#include "core/trimmed.h"

namespace campipe {
namespace {

std::string_view take_line(std::string_view& text) {
  const auto end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  return line;
}

std::string_view name_of(std::string_view line) { return trimmed(line.substr(0, line.find(':'))); }

std::string_view value_of(std::string_view line) {
  const auto colon = line.find(':');
  return colon == std::string_view::npos ? std::string_view() : trimmed(line.substr(colon + 1));
}

std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

// "rtsp://host:8554/gate/small/trackID=0" is about "gate". A user in it would be read as one host by one, and as
// another by the other.
bool is_about(std::string_view request, std::string_view camera) {
  take_word(request);
  std::string_view url = take_word(request);
  if (url == "*") return true;
  if (url.find('@') != std::string_view::npos) return false;
  const auto scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  const auto slash = url.find('/');
  if (slash == std::string_view::npos) return false;
  url.remove_prefix(slash + 1);
  return url.substr(0, url.find_first_of("/?#")) == camera;
}

std::string over_own_connection(std::string_view transports) {
  std::string kept;
  while (!transports.empty()) {
    const auto comma = transports.find(',');
    const std::string_view one = trimmed(transports.substr(0, comma));
    transports.remove_prefix(comma == std::string_view::npos ? transports.size() : comma + 1);
    const std::string_view profile = one.substr(0, one.find(';'));
    const bool is_tcp = profile.size() > 4 && equal_without_case(profile.substr(profile.size() - 4), "/TCP");
    if (is_tcp) kept += (kept.empty() ? "" : ",") + std::string(one);
  }
  return kept.empty() ? "none" : kept;
}

}  // namespace

std::optional<std::string> request_for_node(std::string_view message, std::string_view camera) {
  if (message.starts_with('$')) return std::string(message);
  std::string_view rest = message;
  const std::string_view request = take_line(rest);
  if (!is_about(request, camera)) return std::nullopt;
  std::string text = std::string(request) + "\r\n";
  for (std::string_view line = take_line(rest); !line.empty(); line = take_line(rest)) {
    const std::string_view name = name_of(line);
    if (equal_without_case(name, "authorization")) continue;
    if (equal_without_case(name, "transport"))
      text += "Transport: " + over_own_connection(value_of(line)) + "\r\n";
    else
      text += std::string(line) + "\r\n";
  }
  return text + "\r\n" + std::string(rest);
}

std::string rtsp_answer(std::string_view message, int status, std::string_view reason) {
  std::string text = "RTSP/1.0 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
  take_line(message);
  for (std::string_view line = take_line(message); !line.empty(); line = take_line(message)) {
    if (equal_without_case(name_of(line), "cseq")) text += "CSeq: " + std::string(value_of(line)) + "\r\n";
  }
  return text + "\r\n";
}

}  // namespace campipe
