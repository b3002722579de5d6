#include "core/nearest_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace campipe {
namespace {

// As people mistype: `Queue-Size` is `queue_size`.
std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::vector<std::size_t>, 3> rows;  // the one before the last, the last, this one
  for (auto& row : rows) row.resize(b.size() + 1);
  auto& [before, last, row] = rows;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view given, std::span<const std::string_view> names) {
  const std::string wanted = folded(given.substr(0, 64));
  std::string_view best;
  std::size_t best_distance = 3;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(wanted, folded(name));
    // Two slips in a name of four letters make another name.
    const std::size_t limit = std::min(wanted.size(), name.size()) < 5 ? 1 : 2;
    if (distance > limit || distance >= best_distance) continue;
    best = name;
    best_distance = distance;
  }
  return best;
}

std::string suggestion(std::string_view given, std::span<const std::string_view> names) {
  const std::string_view best = nearest_name(given, names);
  return best.empty() ? "" : ", did you mean '" + std::string(best) + "'?";
}

}  // namespace campipe
