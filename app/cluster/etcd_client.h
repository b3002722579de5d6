// An etcd cluster (3.4 or later) through the JSON gateway of its members: requests that wait for their answer.
//
// Each request has two seconds. Without an answer the next member is asked, after a short pause of random length; each
// is asked once. But a write that was sent and not answered is not repeated: its result is EtcdFailure::unknown, and
// the caller reads before it decides what to do (docs/cluster.md). Members that lost their leader say so at once.
//
// A client belongs to one thread; threads that must not wait for one another have clients of their own. A stop of its
// token, by any thread, ends waits at once, as if no member were there.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include "app/cluster/etcd_http.h"
#include "app/cluster/etcd_requests.h"
#include "app/cluster/etcd_values.h"

namespace campipe {

class EtcdClient final : public EtcdRequests {
 public:
  // Throws Error where libcurl cannot be used, or there is no URL.
  explicit EtcdClient(EtcdServers servers, std::stop_token stop = {});

  EtcdResult<EtcdRange> read(const std::string& key) override;
  // Of all keys that begin with `prefix`, as they were at one revision, that of the header. Asked for in parts.
  EtcdResult<EtcdRange> read_prefix(const std::string& prefix);
  // The revision at which it was written.
  EtcdResult<EtcdHeader> put(const std::string& key, const std::string& value, std::int64_t lease = 0);
  EtcdResult<EtcdTxnResult> txn(const EtcdTxn& txn) override;

  EtcdResult<EtcdLease> grant(std::chrono::seconds ttl) override;
  EtcdResult<std::optional<EtcdLease>> keep_alive(std::int64_t lease) override;
  EtcdResult<std::optional<std::chrono::seconds>> time_to_live(std::int64_t lease) override;
  EtcdResult<bool> revoke(std::int64_t lease) override;
  // The store is full: who looks after etcd has to make room and disarm the alarm.
  EtcdResult<bool> no_space();

  void set_deadline(std::optional<Deadline> until) override { until_ = until; }

 private:
  enum class Effect : std::uint8_t {
    none,        // may be asked again
    repeatable,  // has the same result however often it is done: may be asked again
    once
  };
  // The body of an answer with success.
  EtcdResult<std::string> call(const std::string& path, const std::string& body, Effect effect);
  template <typename Parse>
  auto ask(const std::string& path, const std::string& body, Effect effect, const Parse& parse)
      -> EtcdResult<decltype(parse(std::string()))>;
  void pause();

  EtcdServers servers_;
  std::stop_token stop_;
  EtcdHttp http_;
  std::size_t preferred_ = 0;  // the member that answered last
  std::optional<Deadline> until_;
  Clock::time_point sent_;  // the last request
  std::minstd_rand random_{std::random_device{}()};
};

// What is wrong with a transaction's size; empty: nothing.
std::string check_size(const EtcdTxn& txn);

}  // namespace campipe
