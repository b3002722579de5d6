// The newest frame of a live stream as a JPEG file. Decodes what viewers get, so the camera does nothing for it; a
// frame is remembered for half a second, so that many who ask cost one, and for some seconds that there can be none.
// Thread-safe; a call takes as long as decoding a GOP does.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/publisher/server/live/stream.h"
#include "app/publisher/server/snapshot_decoder.h"
#include "core/clock.h"

namespace campipe {

struct Snapshot {
  std::shared_ptr<const std::vector<std::uint8_t>> jpeg;
  FrameTimes times;  // of the frame
};

class HttpSnapshots {
 public:
  // Nothing: no frame came yet. One that is remembered is at most so old. Throws Error.
  std::optional<Snapshot> take(const std::string& name, const LiveStream& stream,
                               std::chrono::nanoseconds max_age = std::chrono::nanoseconds::max());
  // Ends calls that take long; from now on each of them fails.
  void close() { stop_.close(); }

 private:
  struct Picture {
    std::mutex mutex;  // held while it is made: others who want it wait for it
    std::weak_ptr<const LiveStream> of;
    Clock::time_point made;  // or not: `failure` has the reason
    std::optional<Snapshot> snapshot;
    std::string failure;
  };

  DecodingStop stop_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Picture>> pictures_;
};

}  // namespace campipe
