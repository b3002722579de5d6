#include "stages/sources/numbered_pictures.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "core/ffmpeg.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// What stands before and behind the number.
struct Pattern {
  std::string prefix;
  std::string suffix;
};

Pattern split(const std::string& name) {
  const auto percent = name.find('%');
  const auto letter = name.find('d', percent);
  return {name.substr(0, percent), name.substr(letter + 1)};
}

std::optional<int> number_of(std::string_view name, const Pattern& pattern) {
  if (name.size() <= pattern.prefix.size() + pattern.suffix.size()) return std::nullopt;
  if (!name.starts_with(pattern.prefix) || !name.ends_with(pattern.suffix)) return std::nullopt;
  name.remove_prefix(pattern.prefix.size());
  name.remove_suffix(pattern.suffix.size());
  int number = 0;
  const bool digits = std::all_of(name.begin(), name.end(), is_digit);
  const auto result = std::from_chars(name.data(), name.data() + name.size(), number);
  return digits && result.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

}  // namespace

bool is_numbered_pictures(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  std::error_code error;
  return av_filename_number_test(name.c_str()) != 0 && !fs::exists(path, error);
}

std::optional<int> first_number(const std::string& path) {
  const Pattern pattern = split(fs::path(path).filename().string());
  std::optional<int> first;
  std::error_code error;
  for (fs::directory_iterator entry(folder_of(path), error), end; !error && entry != end; entry.increment(error)) {
    const auto number = number_of(entry->path().filename().string(), pattern);
    if (number && (!first || *number < *first)) first = number;
  }
  return first;
}

std::optional<std::string> missing_pictures(const std::string& path) {
  if (first_number(path)) return std::nullopt;
  return "there is no picture '" + path +
         "' (%d, or %03d with leading zeros, stands for its number; paths start at "
         "the current directory)";
}

}  // namespace campipe
