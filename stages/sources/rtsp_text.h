// The text of messages of RTSP and HTTP: what stands in a request, in an answer and in a camera's description.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace campipe {

struct LoginChallenge;

struct RtspRequestLine {
  std::string method;
  std::string uri;
};
// Nothing: `text` does not begin with one.
std::optional<RtspRequestLine> read_request_line(std::string_view text);

struct RtspStatusLine {
  int code = 0;
  std::string reason;  // printable, and short
};
std::optional<RtspStatusLine> read_status_line(std::string_view text);

// Up to its empty line, with that; 0: it has not come whole.
std::size_t size_of_head(std::string_view text);

// The value of a header, whatever the case of its name; empty: there is none.
std::string rtsp_header(std::string_view message, std::string_view name);
std::vector<std::string> rtsp_headers(std::string_view message, std::string_view name);
// The first header `name` gets the value; further ones are taken out. Without any, nothing changes.
void replace_rtsp_header(std::string& message, std::string_view name, std::string_view value);
std::optional<std::size_t> rtsp_number(std::string_view text);

// What a camera or server writes, for messages: one short line.
std::string shown_line(std::string_view text);

// As a header's value.
std::string challenge_value(const LoginChallenge& challenge);

}  // namespace campipe
