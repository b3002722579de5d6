// The newest picture of a live stream as a JPEG file. Decodes what viewers get, so the camera does nothing for it; a
// picture is remembered for half a second, so that many who ask cost one. Thread-safe; a call takes as long as decoding
// a group of pictures does.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/server/live_stream.h"
#include "core/clock.h"

namespace campipe {

class HttpSnapshots {
 public:
  // Null: no picture came yet. Throws Error.
  std::shared_ptr<const std::vector<std::uint8_t>> take(const std::string& name, const LiveStream& stream);

 private:
  struct Picture {
    std::mutex mutex;  // held while it is made: others who want it wait for it
    std::weak_ptr<const LiveStream> of;
    Clock::time_point made;
    std::shared_ptr<const std::vector<std::uint8_t>> jpeg;
  };

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Picture>> pictures_;
};

}  // namespace campipe
