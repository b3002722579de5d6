// The newest frame of a live stream as a JPEG file. Decodes what viewers get, so the camera does nothing for it; a
// frame is remembered for half a second, so that many who ask cost one, and for some seconds that there can be none.
// Thread-safe; a call takes as long as decoding a GOP does.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/publisher/server/live/stream.h"
#include "app/publisher/server/snapshot_decoder.h"
#include "core/clock.h"

namespace campipe {

class HttpSnapshots {
 public:
  using Jpeg = std::shared_ptr<const std::vector<std::uint8_t>>;

  // Null: no frame came yet. Throws Error.
  Jpeg take(const std::string& name, const LiveStream& stream);
  // Ends calls that take long; from now on each of them fails.
  void close() { stop_.close(); }

 private:
  struct Picture {
    std::mutex mutex;  // held while it is made: others who want it wait for it
    std::weak_ptr<const LiveStream> of;
    Clock::time_point made;  // or not: `failure` has the reason
    Jpeg jpeg;
    std::string failure;
  };

  DecodingStop stop_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Picture>> pictures_;
};

}  // namespace campipe
