#include "app/publisher/server/live/feed.h"

#include <array>
#include <utility>

#include "app/config/config.h"
#include "app/publisher/server/api/request.h"

namespace campipe {
namespace {

constexpr std::array places{"source", "recording"};  // by which the reason is made fit to be shown
constexpr auto rest_after_attaching = std::chrono::milliseconds(500);

}  // namespace

LiveFeed::LiveFeed(RigView& rig, std::string camera, std::string stream, std::shared_ptr<HttpViewer> books,
                   std::function<void()> ready)
    : rig_(rig),
      camera_(std::move(camera)),
      name_(std::move(stream)),
      books_(std::move(books)),
      ready_(std::move(ready)) {}

LiveFeed::Next LiveFeed::next(LiveMessage& message) {
  if (waiting_.empty() && viewer_) {
    LivePiece piece;
    const LiveViewer::Next next = viewer_->take(piece, Deadline());
    if (next == LiveViewer::Next::piece) take_in(piece);
    if (next == LiveViewer::Next::over) {
      dropped_before_ += viewer_->dropped();
      viewer_.reset();
      stream_.reset();
      look();  // it may have been replaced already
    }
  }
  if (!waiting_.empty()) {
    message = std::move(waiting_.front());
    waiting_.pop_front();
    return Next::message;
  }
  return over_ ? Next::over : Next::nothing;
}

void LiveFeed::look() {
  look_at_state();
  attach();
  keep_books();
}

void LiveFeed::attach() {
  if (!stream_) {
    stream_ = rig_.stream(name_);
    const bool is_known = status_->contains("cameras") && (*status_)["cameras"].contains(camera_);
    over_ = !stream_ && !is_known;
  }
  if (!stream_ || paused_) return;
  if (!viewer_) {
    dropped_ = 0;
    serial_ = 0;  // of another stream, which counts anew; or it is told once more after a pause
    attached_ = Clock::now();
    viewer_ = stream_->watch(LiveForm::fmp4);
    viewer_->on_ready(ready_);
  }
  const std::string failure = stream_->failure(LiveForm::fmp4);
  if (failure == told_failure_) return;
  told_failure_ = failure;
  if (!failure.empty()) say_with_instead({{"type", "unplayable"}, {"reason", failure}});
}

void LiveFeed::look_at_state() {
  const auto status = rig_.status();
  if (status == status_) return;
  status_ = status;
  nlohmann::json state = {{"type", "state"}, {"state", "starting"}, {"reason", ""}, {"since_utc", ""}};
  const bool is_known = status->contains("cameras") && (*status)["cameras"].contains(camera_);
  const nlohmann::json* camera = is_known ? &(*status)["cameras"][camera_] : nullptr;
  for (const char* key : {"state", "reason", "since_utc"}) {
    if (camera != nullptr && camera->contains(key)) state[key] = (*camera)[key];
  }
  if (state == told_state_) return;
  nlohmann::json shown = state;
  if (camera != nullptr) {
    for (const char* key : places) {
      if (camera->contains(key)) shown[key] = (*camera)[key];
    }
  }
  shown = camera_for_viewers(without_secrets(shown));
  for (const char* key : places) shown.erase(key);
  say(shown);
  told_state_ = std::move(state);
}

void LiveFeed::take_in(const LivePiece& piece) {
  const LiveHeader& header = *piece.header;
  if (header.serial != serial_) {
    serial_ = header.serial;
    say_with_instead({{"type", "init"},
                      {"mime", header.mime},
                      {"width", header.stream.format.width},
                      {"height", header.stream.format.height},
                      {"serial", header.serial}});
    waiting_.push_back({{}, header.bytes});
  }
  if (piece.after_loss) {
    const std::uint64_t dropped = viewer_->dropped();
    say({{"type", "dropped"}, {"pieces", dropped - dropped_}});
    dropped_ = dropped;
  }
  waiting_.push_back({{}, piece.bytes});
  ++books_->sent;
  books_->bytes += piece.bytes->size();
  keep_books();
}

void LiveFeed::keep_books() { books_->dropped = dropped_before_ + (viewer_ ? viewer_->dropped() : 0); }

void LiveFeed::pause() {
  paused_ = true;
  if (viewer_) dropped_before_ += viewer_->dropped();
  viewer_.reset();
  waiting_.clear();
  told_state_ = nullptr;  // it may have been among them
  status_.reset();
  look();
}

// To begin costs the whole newest group, and a key frame: nobody may have that as often as he likes.
void LiveFeed::resume() {
  if (!std::exchange(paused_, false)) return;
  if (Clock::now() - attached_ >= rest_after_attaching) look();
}

// Who cannot play the camera's own stream may have another.
void LiveFeed::say_with_instead(nlohmann::json message) {
  const bool has_other = name_ == camera_ && rig_.stream(camera_ + "/" + browser_output);
  if (has_other) message["instead"] = browser_output;
  say(message);
}

void LiveFeed::say(const nlohmann::json& message) {
  waiting_.push_back({message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), nullptr});
}

}  // namespace campipe
