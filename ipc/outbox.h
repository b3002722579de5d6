// Messages on their way into a channel whose reader may be slow: sent in order, at once where there is room, else kept
// with duplicates of their descriptors until the socket takes them. Nothing here waits. Any thread may send; whoever
// polls the channel's socket flushes.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "ipc/channel.h"

namespace campipe {

class Outbox {
 public:
  // Far more than the messages of the largest rig; a reader that lets so many wait is broken.
  static constexpr std::size_t most_messages = 20'000;
  static constexpr std::size_t most_bytes = 64UL * 1024 * 1024;

  // `channel` must outlive it.
  explicit Outbox(Channel& channel) : channel_(channel) {}

  // `fds` stay the caller's. False: the other end is gone. Throws Error for a message that can neither be sent nor
  // kept.
  bool send(const std::string& type, const nlohmann::json& body, const std::vector<int>& fds = {});
  // Sends what the socket takes now.
  void flush();
  // Something waits to be sent: flush() when the socket is writable, and a few times a second.
  [[nodiscard]] bool waiting() const { return waiting_.load(); }
  // The socket's becoming writable is worth waiting for; false: nothing waits, or for something else than room.
  [[nodiscard]] bool wants_room() const { return wants_room_.load(); }

 private:
  bool try_send(const OutgoingMessage& message);
  void flush_locked();

  Channel& channel_;
  std::mutex mutex_;
  std::deque<OutgoingMessage> messages_;
  std::size_t bytes_ = 0;  // of messages_
  bool closed_ = false;
  std::atomic<bool> waiting_{false};
  std::atomic<bool> wants_room_{false};
};

}  // namespace campipe
