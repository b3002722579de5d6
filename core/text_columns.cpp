#include "core/text_columns.h"

#include <algorithm>

namespace campipe {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }

std::string shorten_in_the_middle(const std::string& text, std::size_t width) {
  return shorten(text, width, width / 2);
}

}  // namespace

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string cut(const std::string& text, std::size_t width) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && ++columns > width) return text.substr(0, i);
  }
  return text;
}

std::string shorten(const std::string& text, std::size_t width, std::size_t tail) {
  const std::size_t columns = columns_of(text);
  if (columns <= width) return text;
  if (width == 0) return "";
  const std::size_t kept = std::min(tail, width - 1);
  const std::string before = cut(text, columns - kept);
  return cut(text, width - 1 - kept) + "…" + text.substr(before.size());
}

std::string shorten_name(const std::string& name, std::size_t width) {
  if (columns_of(name) <= width) return name;
  const auto slash = std::min(name.find('/'), name.size());
  const std::string camera = name.substr(0, slash);
  const std::string output = name.substr(slash);
  // At least a third is the camera's, where it needs so much.
  const std::size_t for_camera = std::min(columns_of(camera), width - width * 2 / 3);
  const std::size_t for_output = std::min(columns_of(output), width - for_camera);
  return shorten_in_the_middle(camera, width - for_output) + shorten_in_the_middle(output, for_output);
}

std::size_t widest_name(std::size_t terminal_width) { return std::max<std::size_t>(24, terminal_width / 3); }

std::string fit(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string kept = cut(text, width);
  const std::string space(width - columns_of(kept), ' ');
  return to_the_right ? space + kept : kept + space;
}

}  // namespace campipe
