#include "app/publisher/server/api/rig_view.h"

#include <utility>

#include "app/control/messages/answer.h"
#include "app/control/messages/requests.h"

namespace campipe {

RigView::RigView(Send send) : send_(std::move(send)) {}

RigView::~RigView() = default;

std::shared_ptr<LiveStream> RigView::stream(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(name);
  return found == streams_.end() ? nullptr : found->second;
}

std::shared_ptr<const nlohmann::json> RigView::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::optional<std::chrono::nanoseconds> RigView::status_age() const {
  const std::lock_guard lock(mutex_);
  if (!status_at_) return std::nullopt;
  return Clock::now() - *status_at_;
}

messages::Answer RigView::ask(messages::Request request, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const std::uint64_t id = next_request_++;
  waiting_.insert(id);
  lock.unlock();
  std::visit([id](auto& asked) { asked.request = id; }, request);
  send_(request);
  lock.lock();
  answered_.wait_until(lock, deadline, [&] { return answers_.contains(id) || closed_; });
  waiting_.erase(id);
  if (const auto answer = answers_.extract(id)) return std::move(*answer.mapped());
  return {504, {{"error", closed_ ? "the rig ends" : "no answer in time; the change may still be made"}}};
}

void RigView::add_stream(const std::string& name, std::shared_ptr<LiveStream> stream) {
  const std::lock_guard lock(mutex_);
  streams_[name] = std::move(stream);
}

void RigView::remove_stream(const std::string& name) {
  const std::unique_lock lock(mutex_);
  const auto stream = streams_.extract(name);
  if (stream) stream.mapped()->close();
}

void RigView::set_status(nlohmann::json status) {
  auto newest = std::make_shared<const nlohmann::json>(std::move(status));
  const std::lock_guard lock(mutex_);
  status_ = std::move(newest);
  status_at_ = Clock::now();
}

void RigView::on_answer(const messages::Answer& answer) {
  const std::lock_guard lock(mutex_);
  if (!waiting_.contains(answer.request)) return;  // its request has been given up
  answers_[answer.request] = std::make_unique<messages::Answer>(answer);
  answered_.notify_all();
}

void RigView::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& [name, stream] : streams_) stream->close();
  streams_.clear();
  answered_.notify_all();
}

}  // namespace campipe
