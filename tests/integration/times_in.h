// How often something stands in a log, or another text.
#pragma once

#include <cstddef>
#include <string_view>

namespace campipe::test {

inline std::size_t times_in(std::string_view text, std::string_view what) {
  std::size_t times = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++times;
  return times;
}

}  // namespace campipe::test
