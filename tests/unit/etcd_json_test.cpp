// Bodies of etcd's JSON gateway. The answers are those of etcd 3.4.23, as it gave them.
#include "app/cluster/etcd_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(EtcdJson, LeavesOutWhatIsZeroOrEmpty) {
  EXPECT_EQ(json::parse(put_body(EtcdOperation::put("foo", ""))), json({{"key", "Zm9v"}}));
  EXPECT_EQ(json::parse(range_body({"foo"})), json({{"key", "Zm9v"}}));
}

TEST(EtcdJson, WritesNumbersAsStringsAndBytesAsBase64) {
  EXPECT_EQ(json::parse(put_body(EtcdOperation::put("foo", std::string("b\0r", 3), INT64_MAX))),
            json({{"key", "Zm9v"}, {"value", "YgBy"}, {"lease", "9223372036854775807"}}));
  EXPECT_EQ(json::parse(range_body({"foo", "fop", 500, 7})),
            json({{"key", "Zm9v"}, {"range_end", "Zm9w"}, {"limit", "500"}, {"revision", "7"}}));
  EXPECT_EQ(json::parse(grant_body(5s)), json({{"TTL", "5"}}));
  EXPECT_EQ(json::parse(watch_body("foo", 8)),
            json::parse(R"({"create_request":{"key":"Zm9v","range_end":"Zm9w","start_revision":"8"}})"));
}

TEST(EtcdJson, AComparisonSaysItsZero) {
  EtcdTxn txn{{EtcdCompare::absent("foo"), EtcdCompare::modified_at("foo", 3)},
              {EtcdOperation::put("foo", "bar"), EtcdOperation::erase_prefix("foo")},
              {EtcdOperation::read("foo")}};
  EXPECT_EQ(json::parse(txn_body(txn)), json::parse(R"({
    "compare":[{"key":"Zm9v","target":"CREATE","result":"EQUAL","create_revision":"0"},
               {"key":"Zm9v","target":"MOD","result":"EQUAL","mod_revision":"3"}],
    "success":[{"request_put":{"key":"Zm9v","value":"YmFy"}},
               {"request_delete_range":{"key":"Zm9v","range_end":"Zm9w"}}],
    "failure":[{"request_range":{"key":"Zm9v"}}]})"));
}

TEST(EtcdJson, EndOfAPrefix) {
  EXPECT_EQ(end_of_prefix("a/"), "a0");
  EXPECT_EQ(end_of_prefix("a\xFF\xFF"), "b");
  EXPECT_EQ(end_of_prefix("\xFF"), std::string(1, '\0'));
  EXPECT_EQ(end_of_prefix(""), std::string(1, '\0'));
}

TEST(EtcdJson, ReadsARange) {
  const EtcdRange range = parse_range(
      R"({"header":{"cluster_id":"6930805681439470907","revision":"2","raft_term":"4"},"kvs":[{"key":"Zm9v",)"
      R"("create_revision":"2","mod_revision":"3","version":"1","value":"YmFy"}],"count":"1"})");
  EXPECT_EQ(range.header.revision, 2);
  EXPECT_EQ(range.header.term, 4);
  EXPECT_FALSE(range.more);
  EXPECT_THAT(range.values, ElementsAre(EtcdKeyValue{"foo", "bar", 2, 3, 1, 0}));
  EXPECT_THAT(parse_range(R"({"header":{"revision":"2"}})").values, IsEmpty());
}

TEST(EtcdJson, ATransactionThatDidNotSucceedSaysNothingOfIt) {
  const EtcdTxnResult failed = parse_txn(
      R"({"header":{"revision":"2"},"responses":[{"response_range":{"header":{"revision":"2"},"kvs":[{"key":"Zm9v",)"
      R"("create_revision":"2","mod_revision":"2","version":"1","value":"YmFy"}],"count":"1"}}]})");
  EXPECT_FALSE(failed.succeeded);
  ASSERT_EQ(failed.reads.size(), 1U);
  EXPECT_EQ(failed.reads[0].values.at(0).value, "bar");
  const EtcdTxnResult done =
      parse_txn(R"({"header":{"revision":"3"},"succeeded":true,"responses":[{"response_put":{}}]})");
  EXPECT_TRUE(done.succeeded);
  EXPECT_EQ(done.header.revision, 3);
  EXPECT_THAT(done.reads, IsEmpty());
}

TEST(EtcdJson, ADeadLeaseAnswersWithoutTtl) {
  EXPECT_EQ(parse_keep_alive(R"({"result":{"header":{"revision":"2"},"ID":"77","TTL":"5"}})"), 5s);
  EXPECT_EQ(parse_keep_alive(R"({"result":{"header":{"revision":"2"},"ID":"78"}})"), std::nullopt);
  EXPECT_EQ(parse_time_to_live(R"({"ID":"77","TTL":"4","grantedTTL":"5"})"), 4s);
  EXPECT_EQ(parse_time_to_live(R"({"ID":"77","grantedTTL":"5"})"), 0s);
  EXPECT_EQ(parse_time_to_live(R"({"ID":"79","TTL":"-1"})"), std::nullopt);
}

TEST(EtcdJson, ReadsAWatch) {
  EXPECT_TRUE(parse_watch(R"({"result":{"header":{"revision":"4"},"created":true}})").created);
  const EtcdWatchAnswer news = parse_watch(
      R"({"result":{"header":{"revision":"9"},"events":[{"kv":{"key":"Zm9v","create_revision":"2","mod_revision":"2",)"
      R"("version":"1","value":"YmFy"}},{"type":"DELETE","kv":{"key":"Zm9v","mod_revision":"4"}}]}})");
  EXPECT_THAT(news.events,
              ElementsAre(EtcdEvent{false, {"foo", "bar", 2, 2, 1, 0}}, EtcdEvent{true, {"foo", "", 0, 4, 0, 0}}));
  const EtcdWatchAnswer compacted =
      parse_watch(R"({"result":{"header":{"raft_term":"2"},"canceled":true,"compact_revision":"4"}})");
  EXPECT_TRUE(compacted.canceled);
  EXPECT_EQ(compacted.reason, "compacted");
  const EtcdWatchAnswer failed = parse_watch(
      R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader","http_status":"Unavailable"}})");
  EXPECT_TRUE(failed.failed);
  EXPECT_FALSE(failed.canceled);
  EXPECT_EQ(failed.reason, "etcdserver: no leader");
}

TEST(EtcdJson, FailuresSayWhatToDo) {
  const auto failure = [](const std::string& message, int code) {
    return parse_error(400, json{{"error", message}, {"message", message}, {"code", code}}.dump()).failure;
  };
  EXPECT_EQ(failure("etcdserver: no leader", 14), EtcdFailure::unavailable);
  EXPECT_EQ(failure("etcdserver: request timed out", 14), EtcdFailure::unknown);
  EXPECT_EQ(failure("etcdserver: request timed out, possibly due to connection lost", 14), EtcdFailure::unknown);
  EXPECT_EQ(failure("etcdserver: leader changed", 14), EtcdFailure::unknown);
  EXPECT_EQ(failure("etcdserver: mvcc: database space exceeded", 8), EtcdFailure::no_space);
  EXPECT_EQ(failure("etcdserver: requested lease not found", 5), EtcdFailure::no_lease);
  EXPECT_EQ(failure("etcdserver: mvcc: required revision has been compacted", 11), EtcdFailure::compacted);
  EXPECT_EQ(failure("etcdserver: request is too large", 3), EtcdFailure::too_large);
  EXPECT_EQ(failure("etcdserver: too many operations in txn request", 3), EtcdFailure::too_large);
  EXPECT_EQ(failure("etcdserver: permission denied", 7), EtcdFailure::refused);
  EXPECT_EQ(parse_error(502, "<html>").failure, EtcdFailure::unknown);
  EXPECT_EQ(parse_error(404, "Not Found").failure, EtcdFailure::refused);
  EXPECT_THAT(parse_error(404, "Not Found").message, HasSubstr("is it an etcd of 3.4 or later?"));
}

TEST(EtcdJson, SeesTheAlarmOfAFullStore) {
  EXPECT_FALSE(parse_no_space("{}"));
  EXPECT_TRUE(parse_no_space(R"({"alarms":[{"memberID":"9265619892315062708","alarm":"NOSPACE"}]})"));
}

TEST(EtcdJson, RefusesWhatIsNotEtcds) {
  for (const char* body : {"", "[]", "7", "{\"kvs\":7}", "{\"kvs\":[7]}", "{\"header\":[]}", "{\"more\":\"yes\"}",
                           R"({"kvs":[{"key":"!"}]})", R"({"kvs":[{"key":"Zm9v","mod_revision":"1x"}]})",
                           R"({"kvs":[{"key":"Zm9v","mod_revision":"9223372036854775808"}]})",
                           R"({"kvs":[{"key":"Zm9v","mod_revision":9223372036854775808}]})",
                           R"({"kvs":[{"key":"Zm9v","mod_revision":1.5}]})"}) {
    EXPECT_THROW(parse_range(body), BadEtcdAnswer) << body;
  }
  EXPECT_THROW(parse_grant("{}"), BadEtcdAnswer);
  EXPECT_THROW(parse_keep_alive("{}"), BadEtcdAnswer);
  EXPECT_THROW(parse_watch("{}"), BadEtcdAnswer);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
