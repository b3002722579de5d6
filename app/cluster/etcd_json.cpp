#include "app/cluster/etcd_json.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/printable.h"

namespace campipe {
namespace {

using Json = nlohmann::json;

// gRPC's numbers of errors.
constexpr std::int64_t grpc_not_found = 5;
constexpr std::int64_t grpc_resource_exhausted = 8;
constexpr std::int64_t grpc_out_of_range = 11;
constexpr std::int64_t grpc_unavailable = 14;

std::string to_base64(const std::string& bytes) {
  constexpr int variant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  ::sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                      variant);
  text.pop_back();  // its NUL
  return text;
}

std::string from_base64(const std::string& text) {
  std::string bytes(text.size(), '\0');
  std::size_t size = 0;
  if (::sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(), text.size(),
                          nullptr, &size, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0) {
    throw BadEtcdAnswer("bytes that are not base64");
  }
  bytes.resize(size);
  return bytes;
}

void add_number(Json& to, const char* key, std::int64_t number) {
  if (number != 0) to[key] = std::to_string(number);
}

Json parse_object(const std::string& body) {
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) throw BadEtcdAnswer("not JSON");
  return json;
}

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// An object in an object; an empty one where there is none.
const Json& part(const Json& object, const char* key) {
  static const Json none = Json::object();
  const Json* found = find(object, key);
  if (found == nullptr) return none;
  if (!found->is_object()) throw BadEtcdAnswer(std::string(key) + " is no object");
  return *found;
}

const Json& list_of_objects(const Json& object, const char* key) {
  static const Json none = Json::array();
  const Json* found = find(object, key);
  if (found == nullptr) return none;
  const bool good = found->is_array() && std::ranges::all_of(*found, [](const Json& of) { return of.is_object(); });
  if (!good) throw BadEtcdAnswer(std::string(key) + " is no list of objects");
  return *found;
}

std::int64_t number(const Json& object, const char* key) {
  const Json* found = find(object, key);
  if (found == nullptr) return 0;
  if (found->is_number_integer() && (!found->is_number_unsigned() || found->get<std::uint64_t>() <= INT64_MAX)) {
    return found->get<std::int64_t>();
  }
  std::int64_t value = 0;
  if (found->is_string()) {
    const std::string& text = found->get_ref<const std::string&>();
    const auto end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (result.ec == std::errc{} && result.ptr == end) return value;
  }
  throw BadEtcdAnswer(std::string(key) + " is no 64-bit integer");
}

bool flag(const Json& object, const char* key) {
  const Json* found = find(object, key);
  if (found == nullptr) return false;
  if (!found->is_boolean()) throw BadEtcdAnswer(std::string(key) + " is no boolean");
  return found->get<bool>();
}

std::string text(const Json& object, const char* key) {
  const Json* found = find(object, key);
  if (found == nullptr) return {};
  if (!found->is_string()) throw BadEtcdAnswer(std::string(key) + " is no string");
  return found->get<std::string>();
}

EtcdHeader read_header(const Json& answer) {
  const Json& header = part(answer, "header");
  return {number(header, "revision"), number(header, "raft_term")};
}

EtcdKeyValue read_key_value(const Json& json) {
  return {from_base64(text(json, "key")), from_base64(text(json, "value")), number(json, "create_revision"),
          number(json, "mod_revision"),   number(json, "version"),          number(json, "lease")};
}

EtcdRange read_range(const Json& answer) {
  EtcdRange range{read_header(answer), {}, flag(answer, "more")};
  for (const Json& value : list_of_objects(answer, "kvs")) range.values.push_back(read_key_value(value));
  return range;
}

// The gateway wraps what comes by a stream.
const Json& result_of(const Json& answer) {
  const Json* result = find(answer, "result");
  if (result == nullptr || !result->is_object()) throw BadEtcdAnswer("no result");
  return *result;
}

Json range_request(const EtcdRangeQuery& query) {
  Json request{{"key", to_base64(query.key)}};
  if (!query.end.empty()) request["range_end"] = to_base64(query.end);
  add_number(request, "limit", query.limit);
  add_number(request, "revision", query.revision);
  return request;
}

Json put_request(const EtcdOperation& put) {
  Json request{{"key", to_base64(put.key)}};
  if (!put.value.empty()) request["value"] = to_base64(put.value);
  add_number(request, "lease", put.lease);
  return request;
}

Json operation(const EtcdOperation& of) {
  const std::string end = of.whole_prefix ? end_of_prefix(of.key) : std::string();
  switch (of.kind) {
    case EtcdOperation::Kind::put:
      return {{"request_put", put_request(of)}};
    case EtcdOperation::Kind::read:
      return {{"request_range", range_request({of.key, end})}};
    case EtcdOperation::Kind::erase:
      break;
  }
  return {{"request_delete_range", range_request({of.key, end})}};
}

Json comparison(const EtcdCompare& of) {
  const bool created = of.of == EtcdCompare::Of::create_revision;
  Json compare{{"key", to_base64(of.key)}, {"target", created ? "CREATE" : "MOD"}, {"result", "EQUAL"}};
  // Written even where it is zero: it says which of its alternatives the comparison has.
  compare[created ? "create_revision" : "mod_revision"] = std::to_string(of.revision);
  return compare;
}

bool begins_with(const std::string& message, const char* what) { return message.starts_with(what); }

EtcdFailure failure_of(std::int64_t code, const std::string& message) {
  if (message == "etcdserver: no leader") return EtcdFailure::unavailable;  // it was not even proposed
  if (begins_with(message, "etcdserver: mvcc: database space exceeded")) return EtcdFailure::no_space;
  if (message == "etcdserver: too many requests") return EtcdFailure::unavailable;
  if (code == grpc_unavailable) return EtcdFailure::unknown;
  if (code == grpc_out_of_range && message.find("compacted") != std::string::npos) return EtcdFailure::compacted;
  if (code == grpc_not_found && message.find("lease not found") != std::string::npos) return EtcdFailure::no_lease;
  if (message == "etcdserver: request is too large" || begins_with(message, "etcdserver: too many operations")) {
    return EtcdFailure::too_large;
  }
  if (code == grpc_resource_exhausted) return EtcdFailure::unknown;
  return EtcdFailure::refused;
}

}  // namespace

std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');  // to etcd: to the last key
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::string range_body(const EtcdRangeQuery& query) { return range_request(query).dump(); }
std::string put_body(const EtcdOperation& put) { return put_request(put).dump(); }
std::string grant_body(std::chrono::seconds ttl) { return Json{{"TTL", std::to_string(ttl.count())}}.dump(); }
std::string lease_body(std::int64_t id) { return Json{{"ID", std::to_string(id)}}.dump(); }

std::string txn_body(const EtcdTxn& txn) {
  Json request = Json::object();
  for (const EtcdCompare& compare : txn.compares) request["compare"].push_back(comparison(compare));
  for (const EtcdOperation& of : txn.then) request["success"].push_back(operation(of));
  for (const EtcdOperation& of : txn.otherwise) request["failure"].push_back(operation(of));
  return request.dump();
}

std::string watch_body(const std::string& prefix, std::int64_t from_revision) {
  Json create = range_request({prefix, end_of_prefix(prefix)});
  add_number(create, "start_revision", from_revision);
  return Json{{"create_request", std::move(create)}}.dump();
}

EtcdHeader parse_header(const std::string& body) { return read_header(parse_object(body)); }
EtcdRange parse_range(const std::string& body) { return read_range(parse_object(body)); }

EtcdTxnResult parse_txn(const std::string& body) {
  const Json answer = parse_object(body);
  EtcdTxnResult result{read_header(answer), flag(answer, "succeeded")};
  for (const Json& response : list_of_objects(answer, "responses")) {
    if (find(response, "response_range") != nullptr) {
      result.reads.push_back(read_range(part(response, "response_range")));
    }
  }
  return result;
}

EtcdLease parse_grant(const std::string& body) {
  const Json answer = parse_object(body);
  const EtcdLease lease{number(answer, "ID"), std::chrono::seconds(number(answer, "TTL")), {}};
  if (lease.id == 0 || lease.ttl.count() <= 0) throw BadEtcdAnswer("no lease in the answer");
  return lease;
}

std::optional<std::chrono::seconds> parse_keep_alive(const std::string& body) {
  const Json answer = parse_object(body);
  const std::int64_t ttl = number(result_of(answer), "TTL");
  return ttl > 0 ? std::optional(std::chrono::seconds(ttl)) : std::nullopt;
}

std::optional<std::chrono::seconds> parse_time_to_live(const std::string& body) {
  const Json answer = parse_object(body);
  const std::int64_t ttl = number(answer, "TTL");
  // Zero, which is left out, is a lease in its last second; -1 is none.
  return ttl >= 0 && number(answer, "grantedTTL") > 0 ? std::optional(std::chrono::seconds(ttl)) : std::nullopt;
}

EtcdWatchAnswer parse_watch(const std::string& line) {
  const Json answer = parse_object(line);
  if (const Json* error = find(answer, "error")) {
    EtcdWatchAnswer failed;
    failed.failed = true;
    failed.reason = printable(error->is_object() ? text(*error, "message") : text(answer, "error"));
    if (failed.reason.empty()) failed.reason = "an error without a message";
    return failed;
  }
  const Json& result = result_of(answer);
  EtcdWatchAnswer watch{read_header(result), flag(result, "created"), flag(result, "canceled")};
  watch.reason = printable(text(result, "cancel_reason"));
  if (watch.canceled && number(result, "compact_revision") != 0) watch.reason = "compacted";
  for (const Json& event : list_of_objects(result, "events")) {
    watch.events.push_back({text(event, "type") == "DELETE", read_key_value(part(event, "kv"))});
  }
  return watch;
}

bool parse_no_space(const std::string& alarms) {
  const Json answer = parse_object(alarms);
  for (const Json& alarm : list_of_objects(answer, "alarms")) {
    if (text(alarm, "alarm") == "NOSPACE") return true;
  }
  return false;
}

EtcdError parse_error(int http_status, const std::string& body) {
  const Json answer = Json::parse(body, nullptr, false);
  try {
    if (!answer.is_object()) throw BadEtcdAnswer("no object");
    // Streams have their error in an object of its own.
    const Json* inner = find(answer, "error");
    const bool nested = inner != nullptr && inner->is_object();
    const std::string message = nested ? text(*inner, "message") : text(answer, "error");
    const std::int64_t code = nested ? number(*inner, "grpc_code") : number(answer, "code");
    if (!message.empty()) return {failure_of(code, message), printable(message)};
  } catch (const BadEtcdAnswer&) {
    // It is said below what came instead.
  }
  return {http_status >= 500 ? EtcdFailure::unknown : EtcdFailure::refused,
          fmt::format("HTTP status {} without a reason: is it an etcd of 3.4 or later?", http_status)};
}

}  // namespace campipe
