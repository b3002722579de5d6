#include "app/publisher/server/live/feed.h"

#include <array>
#include <utility>

#include "app/config/stream_config.h"
#include "app/publisher/server/api/request.h"
#include "core/utc_text.h"

namespace campipe {
namespace {

constexpr std::array places{"source", "recording"};  // by which the reason is made fit to be shown
constexpr auto rest_after_attaching = std::chrono::milliseconds(500);

}  // namespace

std::optional<nlohmann::json> StateMessages::next() {
  const auto status = rig_.status();
  if (status == status_) return std::nullopt;
  status_ = status;
  nlohmann::json state = {{"type", "state"}, {"state", "starting"}, {"reason", ""}, {"since_utc", ""}};
  const nlohmann::json* camera = is_known() ? &(*status)["cameras"][camera_] : nullptr;
  for (const char* key : {"state", "reason", "since_utc"}) {
    if (camera != nullptr && camera->contains(key)) state[key] = (*camera)[key];
  }
  if (state == sent_) return std::nullopt;
  nlohmann::json shown = state;
  if (camera != nullptr) {
    for (const char* key : places) {
      if (camera->contains(key)) shown[key] = (*camera)[key];
    }
  }
  shown = camera_for_viewers(without_secrets(shown));
  for (const char* key : places) shown.erase(key);
  sent_ = std::move(state);
  return shown;
}

void StateMessages::forget() {
  sent_ = nullptr;
  status_.reset();
}

bool StateMessages::is_known() const {
  return status_ && status_->contains("cameras") && (*status_)["cameras"].contains(camera_);
}

LiveFeed::LiveFeed(RigView& rig, std::string camera, std::string stream, std::shared_ptr<HttpViewer> counters,
                   std::function<void()> ready, LiveForm form)
    : rig_(rig),
      camera_(std::move(camera)),
      name_(std::move(stream)),
      counters_(std::move(counters)),
      ready_(std::move(ready)),
      form_(form),
      state_(rig, camera_) {}

LiveFeed::Next LiveFeed::next(LiveMessage& message) {
  if (waiting_.empty() && viewer_) {
    LivePiece piece;
    const LiveViewer::Next next = viewer_->take(piece, Deadline());
    if (next == LiveViewer::Next::piece) take_in(piece);
    if (next == LiveViewer::Next::over) {
      losses_.before += viewer_->dropped();
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
  if (const auto state = state_.next()) queue(*state);
  attach();
  tell_of_sound();
  count_losses();
}

// Once: sound that does not come any more is silence.
void LiveFeed::tell_of_sound() {
  if (form_ == LiveForm::sound || has_sound_ || !stream_ || !stream_->has_sound()) return;
  has_sound_ = true;
  queue({{"type", "sound"}});
}

void LiveFeed::attach() {
  if (!stream_) {
    stream_ = rig_.stream(name_);
    over_ = !stream_ && !state_.is_known();
  }
  if (!stream_ || paused_) return;
  if (!viewer_) {
    losses_.sent = 0;
    serial_ = 0;  // of another stream, which counts anew; or it is sent once more after a pause
    attached_ = Clock::now();
    viewer_ = stream_->watch(form_);
    viewer_->on_ready(ready_);
  }
  const std::string failure = stream_->failure(form_);
  if (failure == failure_) return;
  failure_ = failure;
  if (failure.empty()) return;
  queue_with_instead({{"type", "unplayable"}, {"reason", failure}});
  if (form_ == LiveForm::fmp4 && !has_instead()) stream_->log_failure(form_, failure);
}

void LiveFeed::take_in(const LivePiece& piece) {
  const LiveHeader& header = *piece.header;
  if (header.serial != serial_) {
    serial_ = header.serial;
    queue_with_instead(init_message(piece));
    waiting_.push_back({{}, header.bytes});
  }
  if (piece.after_loss) {
    const std::uint64_t dropped = viewer_->dropped();
    queue({{"type", "dropped"}, {"pieces", dropped - losses_.sent}});
    losses_.sent = dropped;
  }
  waiting_.push_back({{}, piece.bytes});
  ++counters_->sent;
  counters_->bytes += piece.bytes->size();
  count_losses();
}

nlohmann::json LiveFeed::init_message(const LivePiece& piece) const {
  const LiveHeader& header = *piece.header;
  nlohmann::json init{{"type", "init"}, {"mime", header.mime}, {"serial", header.serial}};
  if (form_ == LiveForm::sound) return init;
  init["width"] = header.stream.format.width;
  init["height"] = header.stream.format.height;
  if (piece.times.capture_utc > 0) {
    init["capture_utc"] = utc_text(piece.times.capture_utc);
    init["capture_clock"] = piece.times.capture_clock == CaptureClock::camera ? "camera" : "arrival";
  }
  return init;
}

void LiveFeed::count_losses() { counters_->dropped = losses_.before + (viewer_ ? viewer_->dropped() : 0); }

void LiveFeed::pause() {
  paused_ = true;
  if (viewer_) losses_.before += viewer_->dropped();
  viewer_.reset();
  waiting_.clear();  // what it told is told once more
  state_.forget();
  has_sound_ = false;
  failure_.clear();
  look();
}

// To begin costs the whole newest group, and a key frame: so it is not had any number of times a second.
void LiveFeed::resume() {
  if (!std::exchange(paused_, false)) return;
  if (Clock::now() - attached_ >= rest_after_attaching) look();
}

// Who cannot play the camera's own stream may have another.
bool LiveFeed::has_instead() const {
  return form_ == LiveForm::fmp4 && name_ == camera_ && rig_.stream(camera_ + "/" + browser_output);
}

void LiveFeed::queue_with_instead(nlohmann::json message) {
  if (has_instead()) message["instead"] = browser_output;
  queue(message);
}

void LiveFeed::queue(const nlohmann::json& message) {
  waiting_.push_back({message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), nullptr});
}

}  // namespace campipe
