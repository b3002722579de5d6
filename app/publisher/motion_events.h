// Reports when motion in what an output shows begins and when it is over, whether the output is recorded or not. How
// long nothing must have moved until it is over is `record.after`, which has its default where nothing is recorded.
//
// Used by the output's thread in the publisher.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/config/stream_config.h"
#include "app/publisher/recording/motion_span.h"
#include "core/packet.h"

namespace campipe {

struct OpenMotion;

struct MotionEvent {
  bool begins = false;    // or it is over
  float score = 0;        // the highest so far
  std::int64_t utc = 0;   // of the frame
  std::string file = {};  // that is recorded; empty: none
};

class MotionEvents {
 public:
  using Handler = std::function<void(const MotionEvent& event)>;

  // Goes on with a motion that a predecessor has left in `open`, which outlives it. Without a handler it does nothing.
  MotionEvents(const ResolvedOutput& config, OpenMotion& open, Handler handler);

  // `file`: the newest one of the output's recording, which has taken the packet; empty: none.
  void take(const PacketView& packet, const std::string& file);
  // Ends an open motion event: no packet follows.
  void finish(const std::string& file);

 private:
  void begin(std::int64_t utc, const std::string& file);
  void end(std::int64_t utc, const std::string& file);

  OpenMotion& open_;
  const Handler handler_;
  MotionSpan span_;
  std::int64_t newest_utc_ = 0;
};

}  // namespace campipe
