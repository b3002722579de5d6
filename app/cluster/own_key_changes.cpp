#include "app/cluster/own_key_changes.h"

namespace campipe {
namespace {

constexpr auto write_keys_again = std::chrono::milliseconds(500);

}  // namespace

bool OwnKeyWrites::is_ready(std::int64_t mirror_revision, Clock::time_point now) const {
  const bool is_shown = !written_.failed && mirror_revision >= written_.revision;  // lower where etcd was restored
  return !is_busy_ && (is_shown || now >= again_);
}

void OwnKeyWrites::end(Written written, Clock::time_point now) {
  if (written.revision == 0) written.revision = written_.revision;
  written_ = std::move(written);
  again_ = now + write_keys_again;
  is_busy_ = false;
}

// Where a key has to be as expected, it has a transaction of its own, since it must not decide about the others. After
// a failure the rest waits: the mirror shows what is still to be done.
OwnKeyWrites::Written write_own_keys(EtcdRequests& etcd, const OwnKeyChanges& changes) {
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
  OwnKeyWrites::Written written;
  for (const EtcdTxn& txn : all) {
    const EtcdResult<EtcdTxnResult> result = etcd.txn(txn);
    if (!result || !result->succeeded) written.failed = true;  // the mirror lags, or etcd does not answer
    if (result && result->succeeded) written.revision = result->header.revision;
    if (result) continue;
    // The lease has expired: LeaseKeeper joins with a new one.
    if (result.error().failure != EtcdFailure::no_lease) written.problem = result.error().message;
    break;
  }
  return written;
}

}  // namespace campipe
