// The times of a live stream's fragments, for players who take them for a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace campipe {

// Moves what one viewer gets so that it begins at zero: VLC reads no further than the first fragment of a stream that
// begins later. For one thread.
class FragmentTimes {
 public:
  // `fragment`: of one track, as LiveMuxer makes them. Its time (in its tfdt box, ISO/IEC 14496-12) is replaced.
  // Where the stream's time goes back, since another encoder begins anew, it goes on behind the fragment before.
  void place(std::span<std::uint8_t> fragment);

 private:
  std::optional<std::uint64_t> last_;  // of the stream
  std::uint64_t placed_ = 0;           // where that one was put
  std::uint64_t step_ = 1;
};

}  // namespace campipe
