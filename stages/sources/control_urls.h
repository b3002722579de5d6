// The URLs that a camera's description means by `a=control` (RFC 2326, C.1.1; RFC 3986, 5.2).
#pragma once

#include <string>
#include <string_view>

namespace campipe {

// `description` (SDP), with whole URLs in place of the values that FFmpeg's client reads otherwise: it appends whatever
// is no URL to the base. These are a path from the host's root ("/track1"), a host ("//10.0.0.2/track1"), a query
// ("?track=1"), and, of a track, the base itself ("*"). Names are left to the client, since cameras expect what all
// clients do: they are appended, though a base without a slash at its end has a last part that should be replaced.
std::string with_whole_controls(std::string_view description, std::string_view base);

}  // namespace campipe
