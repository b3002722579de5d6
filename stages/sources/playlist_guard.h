// What the HLS playlists of a camera may make libavformat do. Its demuxer opens every stream that a playlist names at
// once, keeps every piece that one lists, and takes further playlists from any of them: a playlist that names itself
// would fill the memory within seconds. So each is read whole and counted before libavformat sees it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/ffmpeg.h"
#include "stages/sources/init_segment.h"
#include "stages/sources/source.h"

namespace campipe {

// Of one connection to a camera: the first playlist may name others, and those may not.
class PlaylistGuard {
 public:
  // `shown`: the source, for people.
  explicit PlaylistGuard(std::string shown) : shown_(std::move(shown)) {}

  // For what was opened at `url` just now, before anything is read of it: where it is a playlist, libavformat will read
  // exactly what was checked here. Below 0: an error of libav. Throws SourceError: it is not taken.
  // `is_piece`: a playlist was opened before, and may name it.
  int admit(AVIOContext& io, const std::string& url, bool is_piece);
  // The playlist that was admitted last; nothing: it was none.
  [[nodiscard]] std::optional<std::string> take_playlist() { return std::exchange(playlist_, std::nullopt); }
  // What a piece began with, where that is the init segment of MP4; libavformat reads it, too.
  [[nodiscard]] InitHeaders take_headers() { return std::exchange(headers_, {}); }

 private:
  int read_init_segment(AVIOContext& io, std::string& text);
  void check(std::string_view text, std::size_t url_size);

  std::string shown_;
  InitHeaders headers_;
  std::optional<std::string> playlist_;
  bool first_ = true;
  std::size_t named_ = 0;         // streams, by the first playlist
  std::size_t headers_kept_ = 0;  // bytes; libavformat keeps those of all playlists until it is closed
};

}  // namespace campipe
