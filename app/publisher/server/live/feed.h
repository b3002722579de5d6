// What one who watches a camera's page is sent, as docs/api.md has it: the camera's state, what browsers must know
// before the first frame, frames, losses. It stays with the camera while that comes, goes and changes. Used on one
// thread, but for `ready`.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/http/viewers.h"
#include "app/publisher/server/live/stream.h"
#include "core/clock.h"

namespace campipe {

struct LiveMessage {
  std::string text;   // JSON; empty: `bytes` is the message
  SharedBytes bytes;  // an init segment or a fragment
};

class LiveFeed {
 public:
  enum class Next : std::uint8_t { message, nothing, over };

  // `stream`: "dock" or "dock/small". `ready`: as LiveViewer::on_ready().
  LiveFeed(RigView& rig, std::string camera, std::string stream, std::shared_ptr<HttpViewer> books,
           std::function<void()> ready);

  // `over`: the camera was removed.
  Next next(LiveMessage& message);
  // To be called about twice a second, and at first: the camera's state, and whether there is a stream to watch.
  void look();
  void pause();  // nothing is sent but states
  // With the newest key frame: at once, or where it has begun a moment ago with the next look().
  void resume();

 private:
  void attach();
  void look_at_state();
  void take_in(const LivePiece& piece);
  void keep_books();
  void say(const nlohmann::json& message);
  void say_with_instead(nlohmann::json message);

  RigView& rig_;
  const std::string camera_;
  const std::string name_;
  const std::shared_ptr<HttpViewer> books_;
  const std::function<void()> ready_;
  std::shared_ptr<LiveStream> stream_;
  std::shared_ptr<LiveViewer> viewer_;  // null: paused, or there is no stream
  Clock::time_point attached_;          // when it was made last
  std::deque<LiveMessage> waiting_;
  std::shared_ptr<const nlohmann::json> status_;  // looked at last
  nlohmann::json told_state_;
  std::string told_failure_;
  std::uint64_t serial_ = 0;          // of the header that was sent last
  std::uint64_t dropped_ = 0;         // of this viewer, that were told
  std::uint64_t dropped_before_ = 0;  // of viewers before this one
  bool paused_ = false;
  bool over_ = false;
};

}  // namespace campipe
