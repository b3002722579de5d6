// What etcd's v3 API takes and returns, as values. Keys and values are bytes; revisions count the changes of the whole
// store, from 1; 0 is "none" everywhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/clock.h"

namespace campipe {

struct EtcdKeyValue {
  std::string key;
  std::string value;
  std::int64_t create_revision = 0;  // at which the key began to exist
  std::int64_t mod_revision = 0;     // at which it was last written
  std::int64_t version = 0;          // how often it was written since it exists
  std::int64_t lease = 0;            // the key goes when this lease does
  friend bool operator==(const EtcdKeyValue&, const EtcdKeyValue&) = default;
};

// Why a request has no result. What to do follows from it, so callers switch over it; the message is for people.
enum class EtcdFailure : std::uint8_t {
  unavailable,  // no member could be asked, or those that could have no leader: nothing was changed
  unknown,      // a write was sent and no answer came: it may have happened, or may still happen. Read before repeating
  no_space,     // the store is full (NOSPACE): nothing was changed
  compacted,    // the revision asked for is not kept any more
  no_lease,     // the lease does not exist any more
  too_large,    // more than a request may hold; never sent
  refused       // wrong for another reason, such as missing rights: repeating it does not help
};

struct EtcdError {
  EtcdFailure failure = EtcdFailure::unavailable;
  std::string message;
};

// A value, or why there is none.
template <typename T>
class EtcdResult {
 public:
  EtcdResult(T value) : held_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  EtcdResult(EtcdError error) : held_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return std::holds_alternative<T>(held_); }
  // Only where there is one; else std::bad_variant_access.
  const T& operator*() const { return std::get<T>(held_); }
  T& operator*() { return std::get<T>(held_); }
  const T* operator->() const { return &std::get<T>(held_); }
  T* operator->() { return &std::get<T>(held_); }
  [[nodiscard]] const EtcdError& error() const { return std::get<EtcdError>(held_); }

 private:
  std::variant<T, EtcdError> held_;
};

// What a member says of the store with each answer. Terms and revisions only grow, except where etcd was restored from
// a backup.
struct EtcdHeader {
  std::int64_t revision = 0;
  std::int64_t term = 0;
};

struct EtcdRange {
  EtcdHeader header;
  std::vector<EtcdKeyValue> values;  // by key
  bool more = false;                 // than the limit of the request
};

// Holds or does not: a transaction is decided by all of its comparisons.
struct EtcdCompare {
  enum class Of : std::uint8_t { create_revision, mod_revision };
  Of of = Of::create_revision;
  std::string key;
  std::int64_t revision = 0;  // that it must be; 0: the key does not exist

  static EtcdCompare absent(std::string key) { return {Of::create_revision, std::move(key), 0}; }
  static EtcdCompare created_at(std::string key, std::int64_t revision) {
    return {Of::create_revision, std::move(key), revision};
  }
  static EtcdCompare modified_at(std::string key, std::int64_t revision) {
    return {Of::mod_revision, std::move(key), revision};
  }
};

struct EtcdOperation {
  enum class Kind : std::uint8_t { put, erase, read };
  Kind kind = Kind::read;
  std::string key;
  std::string value = {};     // of a put
  std::int64_t lease = 0;     // of a put
  bool whole_prefix = false;  // erase, read: all keys that begin with `key`

  static EtcdOperation put(std::string key, std::string value, std::int64_t lease = 0) {
    return {Kind::put, std::move(key), std::move(value), lease};
  }
  static EtcdOperation erase(std::string key) { return {Kind::erase, std::move(key)}; }
  static EtcdOperation erase_prefix(std::string key) { return {Kind::erase, std::move(key), {}, 0, true}; }
  static EtcdOperation read(std::string key) { return {Kind::read, std::move(key)}; }
};

struct EtcdTxn {
  std::vector<EtcdCompare> compares;
  std::vector<EtcdOperation> then;  // where all of them hold
  std::vector<EtcdOperation> otherwise = {};
};

struct EtcdTxnResult {
  EtcdHeader header;
  bool succeeded = false;          // all comparisons held
  std::vector<EtcdRange> reads{};  // of the branch that was taken, in its order
};

struct EtcdLease {
  std::int64_t id = 0;
  std::chrono::seconds ttl{0};
  Clock::time_point sent;  // the request: the lease lives at least until then plus ttl
};

struct EtcdEvent {
  bool removed = false;  // then the value has its key and mod_revision only
  EtcdKeyValue value;
  friend bool operator==(const EtcdEvent&, const EtcdEvent&) = default;
};

// One answer of a watch.
struct EtcdWatchAnswer {
  EtcdHeader header;
  bool created = false;             // the watch exists now; nothing else is in this answer
  bool canceled = false;            // it does not any more: read everything anew. The stream itself stays open
  bool failed = false;              // the stream ends with an error: go on elsewhere
  std::string reason{};             // of the last two
  std::vector<EtcdEvent> events{};  // in their order; all of a revision come in one answer
};

// What etcd takes at most, by its defaults, with some distance: 128 operations and 1.5 MiB are refused.
inline constexpr std::size_t most_etcd_operations = 100;
inline constexpr std::size_t largest_etcd_value = 100'000;
inline constexpr std::size_t largest_etcd_request = 1'000'000;

}  // namespace campipe
