// Times as people and JSON have them: "2026-11-23T08:20:00.123Z".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace campipe {

// "2026-11-21T10:15:30.250Z"
std::string utc_text(std::int64_t utc_ns);
// Of such a text, with or without parts of the second, ns; nothing: it is no such time, its day does not exist, or it
// is not of the years 1970 to 2261.
std::optional<std::int64_t> utc_from_text(const std::string& text);

}  // namespace campipe
