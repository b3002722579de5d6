// The times of a live stream's fragments, for players who take them for a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace campipe {

// Moves what one viewer gets so that it begins at zero: VLC reads no further than the first fragment of a stream that
// begins later. For one thread.
class FragmentTimes {
 public:
  // `header`: ftyp and moov, as LiveMuxer makes them; the first track is the one that comes first.
  void begin(std::span<const std::uint8_t> header);
  // `fragment`: of one track, as LiveMuxer makes them. Its time (in its tfdt box, ISO/IEC 14496-12) is replaced, and
  // that of the frame in the box `prft` with it. Where the first track's time goes back, since another encoder has
  // begun, the track goes on behind its fragment before, and the other tracks move by the same time.
  void place(std::span<std::uint8_t> fragment);

 private:
  using Time = std::int64_t;  // in ticks of a track
  struct Track {
    Time scale = 1;  // ticks a second
    std::optional<Time> last;
    Time placed = 0;  // where that one was put
  };
  [[nodiscard]] Time place_first(Time time);
  [[nodiscard]] Time place_beside(const Track& track, Time time) const;

  std::vector<Track> tracks_ = std::vector<Track>(1);
  Time step_ = 1;   // of the first track
  Time moved_ = 0;  // by which the first track's times are smaller than the stream's
};

}  // namespace campipe
