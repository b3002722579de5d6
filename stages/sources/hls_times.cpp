#include "stages/sources/hls_times.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/utc_text.h"

namespace campipe {
namespace {

using std::chrono::microseconds;

constexpr auto near = std::chrono::seconds(1);          // to a piece's time, by those before
constexpr auto other_clock = std::chrono::seconds(10);  // between timestamps
constexpr std::size_t most_opened = 64;
constexpr int most_missed = 3;

// Up to its end, which is taken too.
std::string_view take_line(std::string_view& text) {
  constexpr std::string_view ends("\n\r\0", 3);
  const std::size_t end = std::min(text.find_first_of(ends), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The last part of its path, with its query: playlists name pieces by a part of their URLs.
std::string name_of(std::string_view url) {
  const auto slash = url.substr(0, url.find('?')).rfind('/');
  return std::string(slash == std::string_view::npos ? url : url.substr(slash + 1));
}

std::optional<std::string_view> value_of(std::string_view line, std::string_view tag) {
  return line.starts_with(tag) ? std::optional(line.substr(tag.size())) : std::nullopt;
}

// "+01:00", "-0100", "+01"
std::optional<std::chrono::minutes> read_zone(std::string_view text) {
  std::string digits(text.substr(std::min<std::size_t>(1, text.size())));
  std::erase(digits, ':');
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc() && end == digits.data() + digits.size() && number >= 0;
  if (!whole || (digits.size() != 2 && digits.size() != 4)) return std::nullopt;
  if (digits.size() == 2) number *= 100;
  const std::chrono::minutes zone = std::chrono::hours(number / 100) + std::chrono::minutes(number % 100);
  return text.front() == '-' ? -zone : zone;
}

microseconds read_length(std::string_view text) {
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool possible = std::isfinite(seconds) && seconds >= 0 && seconds < 3600;
  return microseconds(possible ? std::llround(seconds * 1e6) : 0);
}

microseconds absolute(microseconds time) { return time < microseconds(0) ? -time : time; }

}  // namespace

std::optional<microseconds> read_date_time(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto time_of_day = std::min(text.find('T'), text.size());
  const auto zone_at = text.find_first_of("Z+-", time_of_day);
  if (zone_at == std::string_view::npos) return std::nullopt;
  const std::string_view zone = text.substr(zone_at);
  const auto ahead = zone == "Z" ? std::optional(std::chrono::minutes(0)) : read_zone(zone);
  const auto utc = utc_from_text(std::string(text.substr(0, zone_at)) + "Z");
  if (!ahead || !utc) return std::nullopt;
  return std::chrono::duration_cast<microseconds>(std::chrono::nanoseconds(*utc)) - *ahead;
}

void HlsTimes::note_sound(std::string_view rendition) {
  constexpr std::string_view field = "URI=\"";
  const auto uri = rendition.find(field);
  if (rendition.find("TYPE=AUDIO") == std::string_view::npos || uri == std::string_view::npos) return;
  const std::string_view rest = rendition.substr(uri + field.size());
  of_sound_.insert(name_of(rest.substr(0, rest.find('"'))));
}

bool HlsTimes::read(std::string_view text, const std::string& url) {
  Playlist playlist;
  std::int64_t pieces = 0;
  Time time{0};  // of the next piece
  bool is_known = false;
  Time length{0};  // of that
  bool parts_of_files = false;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (const auto number = value_of(line, "#EXT-X-MEDIA-SEQUENCE:"))
      std::from_chars(number->data(), number->data() + number->size(), playlist.first);
    if (const auto date = value_of(line, "#EXT-X-PROGRAM-DATE-TIME:")) {
      const auto read = read_date_time(*date);
      is_known = read.has_value();
      time = read.value_or(Time(0));
    }
    if (const auto duration = value_of(line, "#EXTINF:")) {
      length = read_length(*duration);
      ++pieces;
    }
    if (line == "#EXT-X-DISCONTINUITY") is_known = false;
    // Or nothing that happens now.
    parts_of_files = parts_of_files || line.starts_with("#EXT-X-BYTERANGE") || line.starts_with("#EXT-X-ENDLIST");
    if (const auto rendition = value_of(line, "#EXT-X-MEDIA:")) note_sound(*rendition);
    if (line.empty() || line.starts_with('#') || !is_known) continue;
    playlist.times[name_of(line)] = time;
    time += length;
  }
  if (pieces == 0) return true;
  if (parts_of_files || of_sound_.contains(name_of(url))) playlist.times.clear();
  const auto before = playlists_.find(url);
  const bool begins_anew = before != playlists_.end() && playlist.first + pieces - 1 < before->second.first;
  playlists_[url] = std::move(playlist);
  return !begins_anew;
}

void HlsTimes::open_piece(const std::string& url) {
  const std::string name = name_of(url);
  for (const auto& [of, playlist] : playlists_) {
    const auto piece = playlist.times.find(name);
    // Of other playlists at once with that, and what is opened again.
    if (piece == playlist.times.end() || (newest_opened_ && piece->second <= *newest_opened_)) continue;
    newest_opened_ = piece->second;
    opened_.push_back(piece->second);
    if (opened_.size() > most_opened) opened_.pop_front();
    return;
  }
}

std::optional<microseconds> HlsTimes::time_of(const AVPacket& packet, AVRational time_base) {
  if (packet.pts == AV_NOPTS_VALUE) return std::nullopt;
  const Time at(av_rescale_q(packet.pts, time_base, av_get_time_base_q()));
  const bool jumps = newest_ && absolute(at - *newest_) > other_clock;
  newest_ = at;
  if (jumps) {
    anchor_.reset();
    if (opened_.size() > 1) opened_.erase(opened_.begin(), opened_.end() - 1);
  }
  if ((packet.flags & AV_PKT_FLAG_KEY) != 0) look_for_piece(at);
  return anchor_ ? std::optional(anchor_->utc + (at - anchor_->at)) : std::nullopt;
}

// A key frame may be the first of a piece. Its time by the pieces before shows of which; the piece's own time counts,
// since clocks drift.
void HlsTimes::look_for_piece(Time at) {
  if (!anchor_) {
    if (opened_.empty()) return;
    anchor_ = {opened_.front(), at};
    opened_.pop_front();
    nearest_ = Time::max();
    missed_ = 0;
    return;
  }
  const Time expected = anchor_->utc + (at - anchor_->at);
  while (!opened_.empty() && expected > opened_.front() + near) {
    missed_ = nearest_ == Time::max() ? missed_ + 1 : 0;
    if (nearest_ != Time::max()) anchor_->utc += nearest_;
    nearest_ = Time::max();
    opened_.pop_front();
  }
  if (missed_ >= most_missed) {
    anchor_.reset();
    opened_.clear();
    return;
  }
  if (opened_.empty()) return;
  const Time off = opened_.front() - expected;
  if (absolute(off) <= near && (nearest_ == Time::max() || absolute(off) < absolute(nearest_))) nearest_ = off;
}

}  // namespace campipe
