// The target of a request: what is decoded is a path from the root that leaves no folder, and means the same when it is
// written again.
#include <algorithm>

#include "app/publisher/server/http/rules.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

std::string escaped(const std::string& text, char kept) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += c == kept ? std::string{c} : std::string{'%', digits[byte >> 4U], digits[byte & 15U]};
  }
  return out;
}

bool has_control(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 32 || c == 127; });
}

std::string written(const HttpTarget& target) {
  std::string out = escaped(target.path, '/');
  char mark = '?';
  for (const auto& [key, value] : target.query) {
    out += mark + escaped(key, '\0') + "=" + escaped(value, '\0');
    mark = '&';
  }
  return out;
}

void check(const std::string& input) {
  const auto target = parse_target(input);
  if (!target) return;
  require(target->path.starts_with('/') && !has_control(target->path), "a path from the root", input);
  const std::string parts = target->path + "/";
  require(!contains(parts, "/../") && !contains(parts, "/./"), "a path without dots", input);
  for (const auto& [key, value] : target->query)
    require(!key.empty() && !has_control(key + value), "a query that can be shown", input);
  const auto again = parse_target(written(*target));
  require(again && again->path == target->path && again->query == target->query, "the same when written again", input);
  if (const auto camera = parse_camera_path(target->path)) {
    require(!camera->camera.empty() && !contains(camera->camera, "/"), "a camera's name is one part", input);
    require("/cameras/" + camera->camera + "/" + camera->what == target->path, "a camera's path is whole", input);
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
