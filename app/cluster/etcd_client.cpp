#include "app/cluster/etcd_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "app/cluster/etcd_json.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto request_time = 2s;
constexpr std::int64_t page_size = 500;

EtcdError too_large(std::string message) { return {EtcdFailure::too_large, std::move(message)}; }

std::string check_operations(const std::vector<EtcdOperation>& operations, std::size_t& bytes) {
  if (operations.size() > most_etcd_operations) {
    return fmt::format("{} operations in one transaction, more than {}", operations.size(), most_etcd_operations);
  }
  for (const EtcdOperation& operation : operations) {
    if (operation.value.size() > largest_etcd_value) {
      return fmt::format("a value of {} bytes for {}, more than {}", operation.value.size(), operation.key,
                         largest_etcd_value);
    }
    bytes += operation.key.size() + operation.value.size();
  }
  return {};
}

EtcdServers checked(EtcdServers servers) {
  if (servers.urls.empty()) throw Error("etcd: there is no URL to ask");
  for (std::string& url : servers.urls) {
    while (url.ends_with('/')) url.pop_back();
  }
  return servers;
}

}  // namespace

std::string check_size(const EtcdTxn& txn) {
  if (txn.compares.size() > most_etcd_operations) {
    return fmt::format("{} comparisons in one transaction, more than {}", txn.compares.size(), most_etcd_operations);
  }
  std::size_t bytes = 0;
  for (const auto* operations : {&txn.then, &txn.otherwise}) {
    if (std::string problem = check_operations(*operations, bytes); !problem.empty()) return problem;
  }
  if (bytes <= largest_etcd_request) return {};
  return fmt::format("a transaction of {} bytes, more than {}", bytes, largest_etcd_request);
}

EtcdClient::EtcdClient(EtcdServers servers, std::stop_token stop)
    : servers_(checked(std::move(servers))), stop_(std::move(stop)), http_(servers_.tls, stop_) {
  preferred_ = std::uniform_int_distribution<std::size_t>(0, servers_.urls.size() - 1)(random_);
}

// Of random length, so that many clients do not ask the next member in step.
void EtcdClient::pause() {
  const std::chrono::milliseconds length(std::uniform_int_distribution<int>(20, 150)(random_));
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop_, length, [] { return false; });
}

EtcdResult<std::string> EtcdClient::call(const std::string& path, const std::string& body, Effect effect) {
  std::string problems;
  bool may_have_happened = false;
  for (std::size_t asked = 0; asked < servers_.urls.size(); ++asked) {
    if (asked > 0) pause();
    const std::string& url = servers_.urls[preferred_];
    sent_ = Clock::now();
    const Deadline until = std::min(until_.value_or(Deadline::max()), sent_ + request_time);
    HttpOutcome outcome = http_.post(url + path, body, until, effect == Effect::once);
    EtcdError error{EtcdFailure::unavailable, std::move(outcome.problem)};
    if (outcome.kind == HttpOutcome::Kind::answered && outcome.status == 200) return std::move(outcome.body);
    if (outcome.kind == HttpOutcome::Kind::answered) error = parse_error(outcome.status, outcome.body);
    if (outcome.kind == HttpOutcome::Kind::no_answer) error.failure = EtcdFailure::unknown;
    if (outcome.kind == HttpOutcome::Kind::stopped) {
      return EtcdError{effect == Effect::none ? EtcdFailure::unavailable : EtcdFailure::unknown, "stopped"};
    }
    const bool elsewhere = error.failure == EtcdFailure::unavailable || error.failure == EtcdFailure::unknown;
    error.message = url + ": " + error.message;
    if (!elsewhere) return error;
    preferred_ = (preferred_ + 1) % servers_.urls.size();
    if (error.failure == EtcdFailure::unknown && effect == Effect::once) return error;
    may_have_happened = may_have_happened || error.failure == EtcdFailure::unknown;
    problems += (problems.empty() ? "" : "; ") + error.message;
  }
  const bool unknown = may_have_happened && effect != Effect::none;
  return EtcdError{unknown ? EtcdFailure::unknown : EtcdFailure::unavailable, std::move(problems)};
}

template <typename Parse>
auto EtcdClient::ask(const std::string& path, const std::string& body, Effect effect, const Parse& parse)
    -> EtcdResult<decltype(parse(std::string()))> {
  EtcdResult<std::string> answer = call(path, body, effect);
  if (!answer) return answer.error();
  try {
    return parse(*answer);
  } catch (const BadEtcdAnswer& bad) {
    return EtcdError{effect == Effect::none ? EtcdFailure::unavailable : EtcdFailure::unknown,
                     fmt::format("{} answers with what etcd never would ({}): is it an etcd of 3.4 or later?",
                                 servers_.urls[preferred_], bad.what())};
  }
}

EtcdResult<EtcdRange> EtcdClient::read(const std::string& key) {
  return ask("/v3/kv/range", range_body({key}), Effect::none, parse_range);
}

EtcdResult<EtcdRange> EtcdClient::read_prefix(const std::string& prefix) {
  EtcdRangeQuery query{prefix, end_of_prefix(prefix), page_size};
  EtcdRange all;
  for (bool more = true; more;) {
    EtcdResult<EtcdRange> page = ask("/v3/kv/range", range_body(query), Effect::none, parse_range);
    if (!page) return page.error();
    if (query.revision == 0) all.header = page->header;
    query.revision = all.header.revision;
    more = page->more && !page->values.empty();
    if (more) query.key = page->values.back().key + '\0';
    std::ranges::move(page->values, std::back_inserter(all.values));
  }
  return all;
}

EtcdResult<EtcdHeader> EtcdClient::put(const std::string& key, const std::string& value, std::int64_t lease) {
  const EtcdOperation put = EtcdOperation::put(key, value, lease);
  if (std::string problem = check_size({{}, {put}}); !problem.empty()) return too_large(std::move(problem));
  return ask("/v3/kv/put", put_body(put), Effect::once, parse_header);
}

EtcdResult<EtcdTxnResult> EtcdClient::txn(const EtcdTxn& txn) {
  if (std::string problem = check_size(txn); !problem.empty()) return too_large(std::move(problem));
  return ask("/v3/kv/txn", txn_body(txn), Effect::once, parse_txn);
}

// One that was granted twice has no keys the first time, and ends by itself.
EtcdResult<EtcdLease> EtcdClient::grant(std::chrono::seconds ttl) {
  EtcdResult<EtcdLease> lease = ask("/v3/lease/grant", grant_body(ttl), Effect::repeatable, parse_grant);
  if (lease) lease->sent = sent_;
  return lease;
}

EtcdResult<std::optional<EtcdLease>> EtcdClient::keep_alive(std::int64_t lease) {
  const auto ttl = ask("/v3/lease/keepalive", lease_body(lease), Effect::none, parse_keep_alive);
  if (!ttl) return ttl.error();
  if (!*ttl) return std::optional<EtcdLease>();
  return std::optional(EtcdLease{lease, **ttl, sent_});
}

EtcdResult<std::optional<std::chrono::seconds>> EtcdClient::time_to_live(std::int64_t lease) {
  return ask("/v3/lease/timetolive", lease_body(lease), Effect::none, parse_time_to_live);
}

EtcdResult<bool> EtcdClient::revoke(std::int64_t lease) {
  const auto answer = ask("/v3/lease/revoke", lease_body(lease), Effect::repeatable, parse_header);
  if (answer) return true;
  if (answer.error().failure == EtcdFailure::no_lease) return false;
  return answer.error();
}

EtcdResult<bool> EtcdClient::no_space() {
  return ask("/v3/maintenance/alarm", R"({"action":"GET"})", Effect::none, parse_no_space);
}

}  // namespace campipe
