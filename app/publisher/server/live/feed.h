// What is sent to one who watches a camera's page, as docs/api.md has it: the camera's state, what browsers must know
// before the first frame, frames, losses; or the same of its sound. It stays with the camera while that comes, goes and
// changes. Used on one thread, but for `ready`.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/http/viewers.h"
#include "app/publisher/server/live/stream.h"
#include "core/clock.h"

namespace campipe {

// The messages of a camera's state, each time that it differs.
class StateMessages {
 public:
  // `rig` must outlive it.
  StateMessages(RigView& rig, std::string camera) : rig_(rig), camera_(std::move(camera)) {}

  // Nothing: it is as in the message before.
  std::optional<nlohmann::json> next();
  // The next() one is sent whatever it is.
  void forget();
  // The status has this camera, as far as next() saw.
  [[nodiscard]] bool is_known() const;

 private:
  RigView& rig_;
  const std::string camera_;
  std::shared_ptr<const nlohmann::json> status_;  // looked at last
  nlohmann::json sent_;
};

struct LiveMessage {
  std::string text;   // JSON; empty: `bytes` is the message
  SharedBytes bytes;  // an init segment or a fragment
};

class LiveFeed {
 public:
  enum class Next : std::uint8_t { message, nothing, over };

  // `stream`: "dock" or "dock/small". `ready`: as LiveViewer::on_ready().
  // `form`: fmp4, or sound.
  LiveFeed(RigView& rig, std::string camera, std::string stream, std::shared_ptr<HttpViewer> counters,
           std::function<void()> ready, LiveForm form = LiveForm::fmp4);

  // `over`: the camera was removed.
  Next next(LiveMessage& message);
  // To be called about twice a second, and at first: the camera's state, and whether there is a stream to watch.
  void look();
  void pause();  // nothing is sent but states
  // With the newest key frame: at once, or where it has begun a moment ago with the next look().
  void resume();

 private:
  // Of pieces that this viewer was too slow for.
  struct Losses {
    std::uint64_t before = 0;  // of viewers before this one
    std::uint64_t sent = 0;    // of this viewer, that messages were sent of
  };
  void attach();
  void tell_of_sound();
  [[nodiscard]] nlohmann::json init_message(const LivePiece& piece) const;
  void take_in(const LivePiece& piece);
  void count_losses();
  void queue(const nlohmann::json& message);
  [[nodiscard]] bool has_instead() const;
  void queue_with_instead(nlohmann::json message);

  RigView& rig_;
  const std::string camera_;
  const std::string name_;
  const std::shared_ptr<HttpViewer> counters_;
  const std::function<void()> ready_;
  const LiveForm form_;
  StateMessages state_;
  std::shared_ptr<LiveStream> stream_;
  std::shared_ptr<LiveViewer> viewer_;  // null: paused, or there is no stream
  Clock::time_point attached_;          // when it was made last
  std::deque<LiveMessage> waiting_;
  std::string failure_;       // that was sent last
  std::uint64_t serial_ = 0;  // of the header that was sent last
  Losses losses_;
  bool has_sound_ = false;  // as was sent last
  bool paused_ = false;
  bool over_ = false;
};

}  // namespace campipe
