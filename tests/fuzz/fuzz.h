// What the fuzz targets share. Each is one file, NAME_fuzz.cpp, with seeds in corpus/NAME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

// Called for each input; that it returns means that all properties hold. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace campipe::fuzz {

using Target = int(const std::uint8_t* data, std::size_t size);
// By name; only where there is no fuzzer (CMakeLists.txt).
extern const std::map<std::string_view, Target*> targets;

inline std::string text_of(const std::uint8_t* data, std::size_t size) { return {data, data + size}; }

// A property that does not hold ends the program: that is how fuzzers notice. `about`: what it does not hold of.
inline void require(bool holds, const char* property, std::string_view about = "") {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s: '%.*s'\n", property, static_cast<int>(about.size()), about.data());
  std::abort();
}

// The first line, which is then no more in `rest`.
inline std::string take_line(std::string& rest) {
  const std::string line = rest.substr(0, rest.find('\n'));
  rest.erase(0, line.size() + 1);
  return line;
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace campipe::fuzz
