#include "stages/sources/playlist_guard.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "stages/sources/io_beginning.h"

namespace campipe {
namespace {

using Kind = SourceError::Kind;

constexpr std::string_view first_line = "#EXTM3U";
constexpr std::size_t most_text = std::size_t{1} << 20;      // bytes of a playlist
constexpr std::size_t most_streams = 32;                     // that a playlist names
constexpr std::size_t most_kept = std::size_t{32} << 20;     // bytes that libavformat makes of all playlists
constexpr std::size_t most_headers = std::size_t{16} << 20;  // and of the headers of pieces that they name
constexpr std::size_t longest_url = 4096;                    // as libavformat cuts them
constexpr std::size_t cost_of_piece = 256;                   // bytes, beside its URLs

struct Tally {
  std::size_t streams = 0;
  std::size_t pieces = 0;
  std::size_t headers = 0;
  std::size_t longest_key = 0;  // of the lines that name one
};

// By libavformat's rules of what a line is. That a line is not followed by a URL makes it count too much, never less.
Tally count(std::string_view text) {
  constexpr std::string_view ends("\n\r\0", 3);
  Tally tally;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(ends, at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with("#EXT-X-STREAM-INF:") || line.starts_with("#EXT-X-MEDIA:")) ++tally.streams;
    if (line.starts_with("#EXTINF:")) ++tally.pieces;
    if (line.starts_with("#EXT-X-MAP:")) ++tally.headers;
    if (line.starts_with("#EXT-X-KEY:")) tally.longest_key = std::max(tally.longest_key, line.size());
    at = end + 1;
  }
  return tally;
}

int nothing_more(void* /*connection*/, std::uint8_t* /*buffer*/, int /*size*/) { return AVERROR_EOF; }

// Where redirects were followed, what a playlist names begins with the URL that they led to.
std::size_t size_of_url(AVIOContext& io, const std::string& url) {
  std::uint8_t* location = nullptr;
  if (av_opt_get(&io, "location", AV_OPT_SEARCH_CHILDREN, &location) < 0 || location == nullptr) return url.size();
  const std::size_t size = std::strlen(static_cast<const char*>(static_cast<const void*>(location)));
  av_free(location);
  return std::max(size, url.size());
}

}  // namespace

int PlaylistGuard::admit(AVIOContext& io, const std::string& url, bool is_piece) {
  std::string text;
  int code = read_more(io, text, first_line.size());
  const bool playlist = text == first_line;
  if (code >= 0 && playlist) code = read_more(io, text, most_text + 1 - text.size());
  if (code < 0) return code;
  if (playlist) {
    if (text.size() > most_text) throw SourceError(Kind::unsupported, shown_ + " sends a playlist of more than 1 MiB");
    check(text, size_of_url(io, url));
    io.read_packet = nothing_more;
  }
  if (!playlist && is_piece) code = read_init_segment(io, text);
  put_back(io, text, text.size());
  if (playlist) playlist_ = std::move(text);
  return code;
}

int PlaylistGuard::read_init_segment(AVIOContext& io, std::string& text) {
  const auto bytes = [&text](std::size_t size) {
    return std::span(static_cast<const std::uint8_t*>(static_cast<const void*>(text.data())), size);
  };
  for (std::size_t seen = 0;;) {
    const std::size_t size = init_segment_size(bytes(text.size()), seen);
    if (size == 0) return 0;
    if (size <= text.size()) {
      headers_ = headers_in(bytes(size));
      return 0;
    }
    const std::size_t before = text.size();
    const int code = read_more(io, text, size - before);
    if (code < 0) return code;
    if (text.size() == before) return 0;  // that was all
  }
}

void PlaylistGuard::check(std::string_view text, std::size_t url_size) {
  const Tally tally = count(text);
  const auto refuse = [&](const std::string& what) { throw SourceError(Kind::unsupported, shown_ + " " + what); };
  if (tally.streams > 0 && !std::exchange(first_, false)) {
    refuse("sends a playlist that names playlists in a place where only pieces of video may be named");
  }
  first_ = false;
  if (tally.streams > most_streams) {
    refuse("sends a playlist that names " + std::to_string(tally.streams) + " streams, and at most " +
           std::to_string(most_streams) + " are taken (name one of them as the source)");
  }
  named_ = std::max(named_, tally.streams);
  const std::size_t each =
      cost_of_piece + std::min(url_size, longest_url) + std::min(url_size + tally.longest_key, longest_url);
  if (tally.pieces * each + text.size() > most_kept / std::max<std::size_t>(named_, 1)) {
    refuse("sends a playlist of " + std::to_string(tally.pieces) + " pieces, which is more than is taken");
  }
  headers_kept_ += tally.headers * each;
  if (headers_kept_ > most_headers) {
    throw SourceError(Kind::lost, shown_ + " has named headers of its pieces for so long that it is opened anew");
  }
}

}  // namespace campipe
