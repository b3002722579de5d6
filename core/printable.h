// Words of others, for a terminal and for lines of a log.
#pragma once

#include <string>
#include <string_view>

namespace campipe {

// Without what a terminal would obey, and what would begin another line: control characters become '?'.
std::string printable(std::string_view text);

}  // namespace campipe
