#include "app/publisher/server/live/stream.h"

#include <utility>

#include "app/publisher/server/live/stream_state.h"
#include "core/log.h"

namespace campipe {

LiveStream::LiveStream(std::function<void(bool)> on_audience, std::string name, const LiveLimits& limits)
    : state_(std::make_unique<State>(std::move(name), limits, std::move(on_audience))) {}

LiveStream::~LiveStream() = default;

template <typename Accept>
void LiveStream::take(const Accept& accept) noexcept {
  try {
    State::Viewers ready;  // outlives the lock: a viewer whose last owner this is leaves, which takes it
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->closed) return;
      accept(ready);
    }
    for (const auto& viewer : ready) viewer->wake();
  } catch (const std::exception& error) {
    spdlog::debug("{}: a packet is kept from viewers: {}", state_->name, error.what());
  }
}

void LiveStream::offer(const PacketView& packet, const StreamParameters& stream) noexcept {
  take([&](State::Viewers& ready) { state_->accept(packet, stream, ready); });
}

void LiveStream::offer_audio(const PacketView& packet) noexcept {
  take([&](State::Viewers& ready) { state_->accept_audio(packet, ready); });
}

void LiveStream::set_audio(const AudioParameters& audio) {
  const std::lock_guard lock(state_->mutex);
  state_->audio.next = audio;
}

void LiveStream::forget() {
  const std::lock_guard lock(state_->mutex);
  state_->need_key = true;
  state_->begin_group();
}

void LiveStream::close() {
  State::Viewers viewers;
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  for (const State::Form& form : state_->forms) {
    for (LiveViewer* viewer : form.viewers) {
      if (auto one = viewer->weak_from_this().lock()) viewers.push_back(std::move(one));
    }
  }
  lock.unlock();
  state_->audience.close();
  for (const auto& viewer : viewers) viewer->end();
}

std::shared_ptr<LiveViewer> LiveStream::watch(LiveForm form) {
  const std::shared_ptr<LiveViewer> viewer(new LiveViewer(shared_from_this(), form, state_->limits));
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed) {
      viewer->stop();
      return viewer;
    }
    state_->enter(*viewer);
  }
  state_->audience.report();
  return viewer;
}

void LiveStream::leave(LiveViewer& viewer) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->leave(viewer);
  }
  state_->audience.report();
}

std::vector<LivePiece> LiveStream::newest_group() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<LivePiece> frames = state_->of(LiveForm::packets).group;
  std::erase_if(frames, [](const LivePiece& piece) { return piece.audio; });
  return frames;
}

std::optional<FrameTimes> LiveStream::newest_times() const {
  const std::lock_guard lock(state_->mutex);
  std::optional<FrameTimes> newest;
  for (const LivePiece& piece : state_->of(LiveForm::packets).group) {
    if (!piece.audio && (!newest || piece.times.pts > newest->pts)) newest = piece.times;
  }
  return newest;
}

std::string LiveStream::failure(LiveForm form) const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->offered) return {};
  if (form == LiveForm::sound && !state_->audio.next) return "this camera sends no sound";
  const std::string& failure = state_->of(form).failure;
  return failure.empty() ? why_no_form(form, state_->offered->codec) : failure;
}

void LiveStream::log_failure(LiveForm form, const std::string& why) {
  const std::lock_guard lock(state_->mutex);
  state_->log_failure(state_->of(form), why);
}

std::optional<StreamParameters> LiveStream::parameters() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->offered) return std::nullopt;
  return state_->stream;
}

bool LiveStream::has_sound() const {
  const std::lock_guard lock(state_->mutex);
  const auto& sound = state_->audio.next;
  return sound && (can_hold(LiveForm::sound, *sound) || SoundEncoder::takes(*sound));
}

LiveCounts LiveStream::counts() const {
  const std::lock_guard lock(state_->mutex);
  LiveCounts counts = state_->gone;
  counts.viewers = state_->audience.count();
  for (const State::Form& form : state_->forms) {
    for (const LiveViewer* viewer : form.viewers) {
      counts.sent += viewer->sent();
      counts.dropped += viewer->dropped();
      counts.bytes += viewer->bytes();
    }
  }
  return counts;
}

}  // namespace campipe
