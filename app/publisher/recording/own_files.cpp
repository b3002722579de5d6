#include "app/publisher/recording/own_files.h"

#include <algorithm>
#include <string_view>

#include "app/config/stream_config.h"
#include "app/publisher/recording/record_about.h"
#include "core/nanoseconds.h"
#include "stages/sinks/recorder.h"

namespace campipe {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 && text.front() != '0' &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "-3", as the names of files have that would else be the same; nothing is one, too.
bool is_numbering(std::string_view text) { return text.empty() || (text.front() == '-' && is_number(text.substr(1))); }

}  // namespace

OwnFiles::OwnFiles(const RecordAbout& about)
    : path_(about.path), camera_(about.camera), output_(about.output), node_(about.node), index_(index_of(about)) {
  const std::size_t field = path_.find('%');
  const std::string fixed = expand_record_path(path_.substr(0, field), camera_, output_, 0);
  const std::string changing = field == std::string::npos ? "" : path_.substr(field);
  ending_ = path_.substr(path_.rfind('.'));
  const std::string first = fixed.substr(fixed.rfind('/') + 1);
  beginning_ = field == std::string::npos ? first.substr(0, first.size() - ending_.size()) : first;
  depth_ = static_cast<int>(std::ranges::count(changing, '/'));
}

bool OwnFiles::may_be(const std::filesystem::path& name) const {
  const std::string& text = name.native();
  return text.starts_with(beginning_) && text.ends_with(ending_);
}

std::optional<std::int64_t> OwnFiles::begun_at(const std::filesystem::path& name) const {
  const auto utc = recorded_at({index_.parent_path(), name});
  return utc && is_named(name, *utc) ? utc : std::nullopt;
}

// "day/10-15.mp4" is that, "day/10-15-2.mp4", or in a cluster "day/10-15@west@1.57-2.mp4". Names without a time may be
// those of other cameras where they have a number.
bool OwnFiles::is_named(const std::string& name, std::int64_t utc) const {
  const std::string whole = expand_record_path(path_, camera_, output_, utc / ns_per_s);
  const std::string expected = path_below(index_.parent_path(), whole).name;
  const std::string_view stem = std::string_view(expected).substr(0, expected.size() - ending_.size());
  if (!name.starts_with(stem) || !name.ends_with(ending_) || name.size() < expected.size()) return false;
  std::string_view rest = std::string_view(name).substr(stem.size(), name.size() - expected.size());
  if (node_.empty()) return is_numbering(rest) && (rest.empty() || path_.find('%') != std::string::npos);
  const std::string maker = "@" + node_ + "@";
  if (!rest.starts_with(maker)) return false;
  rest.remove_prefix(maker.size());
  const std::size_t dash = std::min(rest.find('-'), rest.size());
  const auto is_fence = [](char c) { return c == '.' || (c >= '0' && c <= '9'); };
  return dash > 0 && std::ranges::all_of(rest.substr(0, dash), is_fence) && is_numbering(rest.substr(dash));
}

}  // namespace campipe
