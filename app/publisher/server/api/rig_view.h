// What the publisher's servers know of the rig, and how they ask for changes. The publisher's main thread writes it;
// servers read it on their own threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "app/publisher/server/live/stream.h"
#include "core/clock.h"

namespace campipe {

namespace messages {
struct Answer;
struct Request;
}  // namespace messages

class RigView {
 public:
  // `send` passes a request on to the supervisor; any thread.
  using Send = std::function<void(const messages::Request& request)>;
  explicit RigView(Send send);
  ~RigView();
  RigView(const RigView&) = delete;
  RigView& operator=(const RigView&) = delete;

  // For servers. Names are "dock" for a camera's own stream and "dock/small" for its output `small`.
  [[nodiscard]] std::shared_ptr<LiveStream> stream(const std::string& name) const;  // null: there is none
  // The newest status of the rig, at most two seconds old while the supervisor runs; never null. docs/api.md has its
  // fields: {"time_utc", "uptime_s", "version", "state", "cameras": {NAME: …}, "processes": […], …}.
  [[nodiscard]] std::shared_ptr<const nlohmann::json> status() const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> status_age() const;  // nothing: none came yet
  // Has the supervisor do something; numbers the request, and waits for its answer until `deadline` (then status 504).
  messages::Answer ask(messages::Request request, Deadline deadline);

  // For the publisher's main thread.
  void add_stream(const std::string& name, std::shared_ptr<LiveStream> stream);
  void remove_stream(const std::string& name);  // and closes it
  void set_status(nlohmann::json status);
  void on_answer(const messages::Answer& answer);
  // No answer will come any more, and every stream is closed.
  void close();

 private:
  Send send_;
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::map<std::string, std::shared_ptr<LiveStream>> streams_;
  std::shared_ptr<const nlohmann::json> status_ = std::make_shared<nlohmann::json>(nlohmann::json::object());
  std::optional<Clock::time_point> status_at_;
  std::set<std::uint64_t> waiting_;  // requests
  std::map<std::uint64_t, std::unique_ptr<messages::Answer>> answers_;
  std::uint64_t next_request_ = 1;
  bool closed_ = false;
};

}  // namespace campipe
