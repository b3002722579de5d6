// Words of others, for a terminal and for lines of a log.
#pragma once

#include <string>
#include <string_view>

namespace campipe {

// Without what a terminal would obey, what would begin another line, and what would turn the order of letters around:
// control characters, and Unicode's for lines and directions, become '?'.
std::string printable(std::string_view text);

}  // namespace campipe
