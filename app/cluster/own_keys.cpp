#include "app/cluster/own_keys.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto try_again = 500ms;

}  // namespace

OwnKeys::OwnKeys(EtcdServers servers) : servers_(std::move(servers)) {
  static_cast<void>(EtcdClient(servers_));  // so that what is wrong with them is known here
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

bool OwnKeys::is_ready(std::int64_t mirror_revision) const {
  const std::lock_guard lock(mutex_);
  const bool is_shown = !failed_ && mirror_revision >= written_;  // which is lower where etcd was restored
  return !is_busy_ && (is_shown || Clock::now() >= again_);
}

void OwnKeys::write(Changes changes) {
  const std::lock_guard lock(mutex_);
  next_ = std::move(changes);
  is_busy_ = true;
  wakeup_.notify_all();
}

std::string OwnKeys::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void OwnKeys::run(const std::stop_token& stop) {
  EtcdClient client(servers_, stop);
  while (!stop.stop_requested()) {
    Changes changes;
    {
      std::unique_lock lock(mutex_);
      if (!wakeup_.wait(lock, stop, [&] { return next_.has_value(); })) return;
      changes = *std::exchange(next_, std::nullopt);
    }
    std::string problem = write_all(client, changes);
    const std::lock_guard lock(mutex_);
    problem_ = std::move(problem);
    again_ = Clock::now() + try_again;
    is_busy_ = false;
  }
}

// Where a key has to be as expected, it has a transaction of its own, since it must not decide about the others. After
// a failure the rest waits: the mirror shows what is still to be done.
std::string OwnKeys::write_all(EtcdClient& client, const Changes& changes) {
  std::vector<EtcdTxn> all;
  for (const EtcdKeyValue& key : changes.releases)
    all.push_back({{EtcdCompare::created_at(key.key, key.create_revision)}, {EtcdOperation::erase(key.key)}});
  for (const auto& [key, value] : changes.claims)
    all.push_back({{EtcdCompare::absent(key)}, {EtcdOperation::put(key, value, changes.lease)}});
  for (std::size_t i = 0; i < changes.puts.size(); ++i) {
    if (i % most_etcd_operations == 0) all.emplace_back();
    all.back().then.push_back(EtcdOperation::put(changes.puts[i].first, changes.puts[i].second, changes.lease));
  }
  for (const auto& [key, value] : changes.lasting) all.push_back({{}, {EtcdOperation::put(key, value)}});
  bool failed = false;
  for (const EtcdTxn& txn : all) {
    const EtcdResult<EtcdTxnResult> result = client.txn(txn);
    failed = failed || !result || !result->succeeded;  // the mirror lags, or etcd does not answer
    const std::lock_guard lock(mutex_);
    failed_ = failed;
    if (result && result->succeeded) written_ = result->header.revision;
    if (!result && result.error().failure == EtcdFailure::no_lease) return {};  // the node joins anew
    if (!result) return result.error().message;
  }
  return {};
}

}  // namespace campipe
