// etcd's JSON gateway: bodies of requests and answers. Bytes are base64, 64-bit numbers are strings, and zero, false
// and empty are left out in both directions. Pure functions.
//
// What parses an answer throws BadEtcdAnswer where it is none of etcd's; it never believes a number or text that is
// not there.
#pragma once

#include <optional>
#include <string>

#include "app/cluster/etcd_values.h"
#include "core/error.h"

namespace campipe {

struct BadEtcdAnswer : Error {
  using Error::Error;
};

// The first key behind all keys that begin with `prefix`.
std::string end_of_prefix(std::string prefix);

struct EtcdRangeQuery {
  std::string key;
  std::string end = {};       // before this key; empty: this one key
  std::int64_t limit = 0;     // 0: all
  std::int64_t revision = 0;  // the store as it was then; 0: as it is
};
std::string range_body(const EtcdRangeQuery& query);
std::string put_body(const EtcdOperation& put);
std::string txn_body(const EtcdTxn& txn);
std::string grant_body(std::chrono::seconds ttl);
std::string lease_body(std::int64_t id);
// All keys of a prefix from a revision on.
std::string watch_body(const std::string& prefix, std::int64_t from_revision);

EtcdHeader parse_header(const std::string& body);
EtcdRange parse_range(const std::string& body);
EtcdTxnResult parse_txn(const std::string& body);
EtcdLease parse_grant(const std::string& body);
// Nothing: the lease is dead. An answer to that effect has no error, only no TTL.
std::optional<std::chrono::seconds> parse_keep_alive(const std::string& body);
// Of a lease; nothing: it is dead.
std::optional<std::chrono::seconds> parse_time_to_live(const std::string& body);
// One line of a watch's stream.
EtcdWatchAnswer parse_watch(const std::string& line);
// True: some member has raised NOSPACE.
bool parse_no_space(const std::string& alarms);

// Of an answer that is no success: what etcd says, and what that means for the caller. `unknown` where it may have been
// carried out nevertheless.
EtcdError parse_error(int http_status, const std::string& body);

}  // namespace campipe
