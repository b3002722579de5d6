#include "ipc/outbox.h"

#include "core/error.h"

namespace campipe {

bool Outbox::send(const std::string& type, const nlohmann::json& body, const std::vector<int>& fds) {
  OutgoingMessage message(type, body, fds);
  const std::lock_guard lock(mutex_);
  flush_locked();
  if (closed_) return false;
  if (messages_.empty() && try_send(message)) return !closed_;
  if (messages_.size() >= most_messages || bytes_ + message.bytes.size() > most_bytes) {
    throw Error("control message '" + type + "' cannot be sent: the other process takes none");
  }
  message.own_descriptors();
  bytes_ += message.bytes.size();
  messages_.push_back(std::move(message));
  waiting_ = true;
  return true;
}

void Outbox::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void Outbox::flush_locked() {
  while (!messages_.empty() && try_send(messages_.front())) {
    bytes_ -= messages_.front().bytes.size();
    messages_.pop_front();
  }
  if (closed_) {
    messages_.clear();
    bytes_ = 0;
  }
  waiting_ = !messages_.empty();
}

// True: it need not be tried again.
bool Outbox::try_send(const OutgoingMessage& message) {
  const Channel::Sent sent = channel_.try_send(message);
  wants_room_ = sent == Channel::Sent::no_room;
  closed_ = closed_ || sent == Channel::Sent::closed;
  return sent == Channel::Sent::yes || closed_;
}

}  // namespace campipe
