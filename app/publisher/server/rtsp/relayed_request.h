// What an RTSP client asks of a camera of another node, as that one is to read it. Bytes from outside, which
// RtspFraming has cut into whole messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace campipe {

// `message` without its login, which is for this node, and with transports over its own connection only: of others the
// node's answer is that it has none (461), and the client tries the next one. Nothing: it is about something else than
// `camera`.
std::optional<std::string> request_for_node(std::string_view message, std::string_view camera);

// An answer to it; 461: "Unsupported Transport".
std::string rtsp_answer(std::string_view message, int status, std::string_view reason);

}  // namespace campipe
