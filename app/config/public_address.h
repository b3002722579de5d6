// How people reach the servers through others: hosts, and paths below which a proxy shows the rig.
#pragma once

#include <string>
#include <string_view>

namespace campipe {

// "/cams", "/video/hall": no end, no dots alone between slashes, at most 256 characters.
bool is_base_path(const std::string& text);
// The HTTP server serves this path, or one above it: "/api", "/api/v1/status".
bool is_own_path(std::string_view path);
// "cams.example.com", "cams.example.com:8443", "[2001:db8::1]:8443".
bool is_public_host(const std::string& text);

}  // namespace campipe
