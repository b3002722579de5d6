// The client against a real etcd: what it promises where members are killed, stopped, without quorum and full.
#include "app/cluster/etcd_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>

#include "app/cluster/certificate_files.h"
#include "core/error.h"
#include "tests/integration/etcd_members.h"
#include "tests/unit/cpu_waits.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::EtcdMembers;
using test::wait_for;
using testing::HasSubstr;
using testing::IsEmpty;

class EtcdClientTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

// Asked again until it is there: for what an outage may have kept from happening.
template <typename Ask>
auto ask_until_answered(const Ask& ask) {
  auto answer = ask();
  EXPECT_TRUE(wait_for([&] {
    if (!answer) answer = ask();
    return static_cast<bool>(answer);
  })) << answer.error().message;
  return answer;
}

TEST_F(EtcdClientTest, WritesReadsAndErases) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  const auto written = client.put("a/1", std::string("x\0y", 3));
  ASSERT_TRUE(written) << written.error().message;
  const auto read = client.read("a/1");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->values.size(), 1U);
  EXPECT_EQ(read->values[0].value, std::string("x\0y", 3));
  EXPECT_EQ(read->values[0].mod_revision, written->revision);
  ASSERT_TRUE(client.txn({{EtcdCompare::modified_at("a/1", written->revision)}, {EtcdOperation::erase("a/1")}}));
  EXPECT_THAT(client.read("a/1")->values, IsEmpty());
}

TEST_F(EtcdClientTest, ATransactionTakesOneBranch) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  const EtcdTxn create{
      {EtcdCompare::absent("name")}, {EtcdOperation::put("name", "one")}, {EtcdOperation::read("name")}};
  ASSERT_TRUE(client.txn(create)->succeeded);
  const auto second = client.txn(create);
  EXPECT_FALSE(second->succeeded);
  ASSERT_EQ(second->reads.size(), 1U);
  EXPECT_EQ(second->reads[0].values.at(0).value, "one");
}

TEST_F(EtcdClientTest, ReadsMoreKeysThanAPageHoldsAsOfOneRevision) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  for (int batch = 0; batch < 12; ++batch) {
    EtcdTxn txn;
    for (int i = 0; i < 100; ++i) txn.then.push_back(EtcdOperation::put("k/" + std::to_string(batch * 100 + i), "v"));
    ASSERT_TRUE(client.txn(txn)->succeeded);
  }
  const auto all = client.read_prefix("k/");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->values.size(), 1200U);
  EXPECT_TRUE(std::ranges::is_sorted(all->values, {}, &EtcdKeyValue::key));
}

TEST_F(EtcdClientTest, WhatIsTooLargeIsNotSent) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  const std::int64_t before = client.read("a")->header.revision;
  EXPECT_EQ(client.put("a", std::string(largest_etcd_value + 1, 'x')).error().failure, EtcdFailure::too_large);
  EtcdTxn many;
  for (std::size_t i = 0; i <= most_etcd_operations; ++i)
    many.then.push_back(EtcdOperation::put(std::to_string(i), "v"));
  EXPECT_EQ(client.txn(many).error().failure, EtcdFailure::too_large);
  EtcdTxn heavy;
  for (int i = 0; i < 11; ++i) heavy.then.push_back(EtcdOperation::put(std::to_string(i), std::string(99'000, 'x')));
  EXPECT_EQ(client.txn(heavy).error().failure, EtcdFailure::too_large);
  EXPECT_EQ(client.read("a")->header.revision, before);
  // And etcd takes what is allowed.
  heavy.then.resize(10);
  EXPECT_TRUE(client.txn(heavy)->succeeded);
}

TEST_F(EtcdClientTest, LeasesLiveAsLongAsTheyAreKept) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  const auto before = Clock::now();
  const auto lease = client.grant(5s);
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(lease->ttl, 5s);
  EXPECT_GE(lease->sent, before);
  ASSERT_TRUE(client.put("mine", "x", lease->id));
  while (Clock::now() < before + 8s) {
    const auto kept = client.keep_alive(lease->id);
    ASSERT_TRUE(kept && *kept) << "the lease died while it was kept";
    std::this_thread::sleep_for(300ms);
  }
  EXPECT_EQ(client.read("mine")->values.size(), 1U);
  EXPECT_TRUE(*client.revoke(lease->id));
  EXPECT_THAT(client.read("mine")->values, IsEmpty());
  EXPECT_FALSE(*client.keep_alive(lease->id));
  EXPECT_FALSE(*client.time_to_live(lease->id));
  EXPECT_FALSE(*client.revoke(lease->id));
  EXPECT_EQ(client.put("mine", "x", lease->id).error().failure, EtcdFailure::no_lease);
}

TEST_F(EtcdClientTest, AMemberThatIsKilledCostsNothing) {
  EtcdMembers etcd(3);
  EtcdClient client(etcd.servers());
  ASSERT_TRUE(client.put("a", "1"));
  etcd.kill(etcd.leader());
  const auto read = ask_until_answered([&] { return client.read("a"); });
  EXPECT_EQ(read->values.at(0).value, "1");
  // Writes, whichever member is asked first.
  for (int i = 0; i < 3; ++i) ask_until_answered([&] { return client.put("a", "2"); });
}

TEST_F(EtcdClientTest, AWriteToAStoppedMemberIsUnknown) {
  EtcdMembers etcd(1);
  EtcdClient client(etcd.servers());
  ASSERT_TRUE(client.put("a", "1"));
  etcd.stop(0);
  EXPECT_EQ(client.put("a", "2").error().failure, EtcdFailure::unknown);
  EXPECT_EQ(client.read("a").error().failure, EtcdFailure::unavailable);
  etcd.resume(0);
  // Whether it was carried out depends on what the member sees first, the request or that its sender has gone: so only
  // who reads knows.
  const auto read = ask_until_answered([&] { return client.read("a"); });
  EXPECT_THAT(read->values.at(0).value, testing::AnyOf("1", "2"));
}

// Finds the client's own end of its connection to a server in this process.
int socket_to(int port) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    const bool is_connected = ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
    if (is_connected && peer.sin_family == AF_INET && ntohs(peer.sin_port) == port) return fd;
  }
  return -1;
}

TEST_F(EtcdClientTest, ADeadLinkIsProbedEachSecond) {
  test::Server silent(test::stay_silent);
  std::stop_source stop;
  EtcdClient client({{"http://127.0.0.1:" + std::to_string(silent.port())}}, stop.get_token());
  std::jthread asking([&] { static_cast<void>(client.read("a")); });
  ASSERT_TRUE(wait_for([&] { return silent.connections() > 0; }));
  const int fd = socket_to(silent.port());
  ASSERT_GE(fd, 0);
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
  stop.request_stop();
}

TEST_F(EtcdClientTest, AStoppedMemberIsPassedOver) {
  EtcdMembers etcd(3);
  const int leader = etcd.leader();
  const int stopped = (leader + 1) % 3;
  EtcdClient client({{etcd.only(stopped).urls[0], etcd.only(leader).urls[0]}});
  etcd.stop(stopped);
  for (int i = 0; i < 4; ++i) {
    const auto read = client.read("a");
    EXPECT_TRUE(read) << read.error().message;
  }
  const auto read = [&] {
    const auto begun = Clock::now();
    EXPECT_TRUE(client.read("a"));
    return Clock::now() - begun;
  };
  EXPECT_LT(test::quickest(read), 1500ms) << "the member that answers is asked first: the other one takes two seconds";
  etcd.resume(stopped);
}

TEST_F(EtcdClientTest, WithoutQuorumNothingIsChangedAndThatIsKnown) {
  EtcdMembers etcd(3);
  EtcdClient client(etcd.only(0));
  ASSERT_TRUE(client.put("a", "1"));
  etcd.kill(1);
  etcd.kill(2);
  // Until the member has found out, it takes writes and does not answer.
  ASSERT_TRUE(wait_for([&] {
    const auto written = client.put("b", "1");
    return !written && written.error().failure == EtcdFailure::unavailable;
  }));
  EXPECT_THAT(client.put("b", "1").error().message, HasSubstr("no leader"));
  EXPECT_EQ(client.read("a").error().failure, EtcdFailure::unavailable);
  etcd.start(1);
  ask_until_answered([&] { return client.put("a", "2"); });
}

TEST_F(EtcdClientTest, AFullStoreIsNamed) {
  EtcdMembers etcd({.arguments = {"--quota-backend-bytes", "200000"}});
  EtcdClient client(etcd.servers());
  EXPECT_FALSE(*client.no_space());
  const auto lease = client.grant(60s);
  ASSERT_TRUE(lease);
  EtcdFailure failure{};
  ASSERT_TRUE(wait_for([&] {
    const auto written = client.put("a", std::string(50'000, 'x'));
    if (!written) failure = written.error().failure;
    return !written;
  }));
  EXPECT_EQ(failure, EtcdFailure::no_space);
  EXPECT_TRUE(wait_for([&] { return *client.no_space(); }));
  EXPECT_EQ(client.grant(5s).error().failure, EtcdFailure::no_space);
  // What lives goes on to live.
  EXPECT_TRUE(*client.keep_alive(lease->id));
  EXPECT_TRUE(client.read("a"));
}

TEST_F(EtcdClientTest, NobodyThereIsKnownAtOnce) {
  EtcdClient client({{"http://127.0.0.1:" + std::to_string(test::free_port())}});
  const auto ask = [&] {
    const auto begun = Clock::now();
    EXPECT_EQ(client.put("a", "1").error().failure, EtcdFailure::unavailable);
    return Clock::now() - begun;
  };
  EXPECT_LT(test::quickest(ask), 1s) << "a request has two seconds";
}

TEST_F(EtcdClientTest, AStopEndsARequest) {
  test::Server silent(test::stay_silent);
  const auto ask = [&] {
    std::stop_source stop;
    EtcdClient client({{"http://127.0.0.1:" + std::to_string(silent.port())}}, stop.get_token());
    const std::jthread stopper([&, before = silent.connections()] {
      wait_for([&] { return silent.connections() > before; });
      stop.request_stop();
    });
    const auto begun = Clock::now();
    EXPECT_EQ(client.put("a", "1").error().failure, EtcdFailure::unknown);
    return Clock::now() - begun;
  };
  EXPECT_LT(test::quickest(ask), 1500ms) << "a request has two seconds";
}

TEST_F(EtcdClientTest, SomebodyElseThereIsRefused) {
  test::Server other(test::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 5));
  EtcdClient client({{"http://127.0.0.1:" + std::to_string(other.port())}});
  EXPECT_THAT(client.read("a").error().message, HasSubstr("is it an etcd of 3.4 or later?"));
}

// With the files that `campipe cluster certificates` makes.
TEST_F(EtcdClientTest, TlsIsMutual) {
  const test::TemporaryFolder folder;
  const auto at = [&](const std::string& file) { return (folder.path() / file).string(); };
  write_certificates({folder.path(), {{"node", {"127.0.0.1"}}, {"etcd", {"127.0.0.1"}}}});
  const EtcdTls own{at("ca.pem"), at("node.pem"), at("node.key")};
  const EtcdTls server{at("ca.pem"), at("etcd.pem"), at("etcd.key")};
  EtcdMembers etcd({.server_tls = server, .client_tls = own});
  EtcdClient client(etcd.servers());
  ASSERT_TRUE(client.put("a", "1"));

  EtcdServers without = etcd.servers();
  without.tls.certificate.clear();
  without.tls.key.clear();
  EXPECT_FALSE(EtcdClient(without).read("a"));

  write_certificates({folder.path() / "other", {{"node", {"127.0.0.1"}}}});
  EtcdServers distrusting = etcd.servers();
  distrusting.tls.ca = at("other/ca.pem");
  const auto refused = EtcdClient(distrusting).put("a", "2");
  EXPECT_EQ(refused.error().failure, EtcdFailure::unavailable) << "nothing was sent to whom it does not trust";
  EtcdServers of_another_authority = etcd.servers();
  of_another_authority.tls.certificate = at("other/node.pem");
  of_another_authority.tls.key = at("other/node.key");
  EXPECT_FALSE(EtcdClient(of_another_authority).put("a", "2"));
  EXPECT_EQ(client.read("a")->values.at(0).value, "1");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
