#include "app/cluster/cluster_writer.h"

#include <utility>

#include "app/cluster/cluster_access.h"
#include "app/control/messages/answer.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr auto longest = std::chrono::seconds(7);  // who asked waits a little longer
constexpr std::size_t most_waiting = 64;

}  // namespace

ClusterWriter::ClusterWriter(EtcdServers servers, std::function<void(const messages::Answer&)> answer)
    : servers_(std::move(servers)), answer_(std::move(answer)) {
  static_cast<void>(EtcdClient(servers_));  // so that what is wrong with them is known here
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

ClusterWriter::~ClusterWriter() = default;

void ClusterWriter::refuse(std::uint64_t request, int status, const std::string& why) {
  answer_({status, {{"error", why}}, request});
}

void ClusterWriter::put(std::uint64_t request, const ClusterChange& change, nlohmann::json done) {
  if (!change.refusal.empty()) return refuse(request, change.is_unknown ? 404 : 409, change.refusal);
  put(request, [operation = change.operation, done = std::move(done)](EtcdClient& client) -> messages::Answer {
    const auto written = client.txn({{}, {operation}});
    if (written) return {200, done};
    return {written.error().failure == EtcdFailure::unknown ? 504 : 503,
            {{"error", etcd_problem("change the cluster", written.error())}}};
  });
}

void ClusterWriter::put(std::uint64_t request, Write write) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < most_waiting) {
      waiting_.push_back({request, std::move(write), Clock::now() + longest});
      return wakeup_.notify_all();
    }
  }
  refuse(request, 409, "too many changes wait already; try again later");
}

void ClusterWriter::run(const std::stop_token& stop) {
  EtcdClient client(servers_, stop);
  while (true) {
    std::unique_lock lock(mutex_);
    if (!wakeup_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
    if (stop.stop_requested()) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    answer_(carry_out(work, client));
  }
}

messages::Answer ClusterWriter::carry_out(const Work& work, EtcdClient& client) {
  const auto answer = [&]() -> messages::Answer {
    if (Clock::now() >= work.until) return {503, {{"error", "not done: etcd was too slow for what was asked before"}}};
    client.set_deadline(work.until);
    try {
      return work.write(client);
    } catch (const Error& error) {
      return {409, {{"error", error.what()}}};
    }
  };
  messages::Answer made = answer();
  made.request = work.request;
  return made;
}

}  // namespace campipe
