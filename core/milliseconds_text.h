// Milliseconds for people: what is less than is shown is not shown as nothing.
#pragma once

#include <fmt/format.h>

#include <string>

namespace campipe {

// "3.1"; "<0.1"; "-": nothing was measured (0).
inline std::string milliseconds_text(double ms) {
  constexpr double least_shown = 0.05;
  if (ms <= 0) return "-";
  return ms < least_shown ? "<0.1" : fmt::format("{:.1f}", ms);
}

}  // namespace campipe
