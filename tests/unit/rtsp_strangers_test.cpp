// What people who have no login, or not the right one, do to the RTSP server.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gst/rtsp/gstrtspconnection.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sodium.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <regex>

#include "app/publisher/server/rtsp/server.h"
#include "core/clock.h"
#include "core/error.h"
#include "tests/unit/rtsp_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

class RtspStrangersTest : public RtspServerTest {
 protected:
  // That somebody else is served.
  [[nodiscard]] bool serves_others() const { return RtspWire(port_).ask("OPTIONS", "/dock").status > 0; }

  static std::string basic(const std::string& user, const std::string& password) {
    const std::string text = user + ":" + password;
    gchar* encoded = g_base64_encode(reinterpret_cast<const guchar*>(text.data()), text.size());
    const std::string header = std::string("Authorization: Basic ") + encoded + "\r\n";
    g_free(encoded);
    return header;
  }
  static std::string digest(const std::string& user, const std::string& secret, const std::string& nonce) {
    const std::string uri = "rtsp://127.0.0.1/dock";
    gchar* response = gst_rtsp_generate_digest_auth_response(nullptr, "DESCRIBE", "campipe", user.c_str(),
                                                             secret.c_str(), uri.c_str(), nonce.c_str());
    const std::string header = "Authorization: Digest username=\"" + user + "\", realm=\"campipe\", nonce=\"" + nonce +
                               "\", uri=\"" + uri + "\", response=\"" + response + "\"\r\n";
    g_free(response);
    return header;
  }
  static std::string nonce_in(const std::string& text) {
    std::smatch found;
    return std::regex_search(text, found, std::regex("nonce=\"([^\"]*)\"")) ? found[1].str() : "";
  }
  // Until `over`, or the other end has closed: then true.
  static bool flood(RtspWire& wire, const std::string& bytes, const std::atomic<bool>& over) {
    constexpr std::size_t most = 512U << 20U;
    std::size_t sent = 0;
    for (; !over && sent < most; sent += bytes.size()) {
      if (!wire.send(bytes)) return true;
    }
    return false;
  }
};

TEST_F(RtspStrangersTest, OddAddressesAreAnswered) {
  serve_dock();
  const std::string host = "127.0.0.1:" + std::to_string(port_);
  const std::vector<std::string> addresses{"rtsp://" + host,
                                           "rtsp://" + host + "/",
                                           "rtsp://" + host + "//",
                                           "rtsp://" + host + "?",
                                           "rtsp://" + host + "/?x",
                                           "rtsp://" + host + "/%00",
                                           "rtsp://" + host + "/%2e%2e/dock",
                                           "rtsp://" + host + "/dock/../dock",
                                           "rtsp://",
                                           "rtsp:",
                                           "*",
                                           "/",
                                           "dock",
                                           "rtsp://[",
                                           "rtsp://[::1",
                                           "rtsp://" + host + "/" + std::string(3000, 'a'),
                                           "rtsp://" + host + std::string(3000, '/'),
                                           "rtsp://:@/",
                                           "rtspu://" + host};
  for (const std::string method : {"OPTIONS", "DESCRIBE", "SETUP", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER",
                                   "SET_PARAMETER", "ANNOUNCE", "RECORD", "REDIRECT", "NONSENSE"}) {
    for (const std::string& address : addresses) {
      RtspWire wire(port_);
      ASSERT_TRUE(wire.send(method + " " + address + " RTSP/1.0\r\nCSeq: 1\r\n\r\n"));
      ASSERT_GE(wire.answer().status, 200) << method << " " << address.substr(0, 80);
    }
  }
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "").status, 404);
  EXPECT_TRUE(serves_others());
}

class RtspFloodTest : public RtspStrangersTest,
                      public testing::WithParamInterface<std::pair<const char*, std::string>> {};

// The server goes on, and whoever sends without end is cut off.
TEST_P(RtspFloodTest, WhatHasNoEndHoldsUpNobody) {
  serve_dock();
  RtspWire wire(port_);
  ASSERT_TRUE(wire.send("OPTIONS * RTSP/1.0\r\n"));
  std::atomic<bool> over{false};
  std::atomic<bool> cut_off{false};
  const std::jthread sender([&] { cut_off = flood(wire, GetParam().second, over); });
  EXPECT_TRUE(becomes_true([&] { return cut_off.load(); }));
  EXPECT_TRUE(serves_others());
  over = true;
}

std::string repeated(const std::string& text, std::size_t bytes) {
  std::string all;
  while (all.size() < bytes) all += text;
  return all;
}

INSTANTIATE_TEST_SUITE_P(Forms, RtspFloodTest,
                         testing::Values(std::pair("header_lines", repeated("X-Filler: aaaaaaaaaaaaaaaa\r\n", 60'000)),
                                         std::pair("one_line", std::string(60'000, 'a')),
                                         std::pair("folded_lines", repeated("\r\n a", 60'000)),
                                         std::pair("carriage_returns", std::string(60'000, '\r'))),
                         [](const auto& each) { return each.param.first; });

TEST_F(RtspStrangersTest, EmptyLinesAndFramesForNobodyHoldUpNobody) {
  serve_dock();
  for (const std::string& bytes : {std::string(60'000, '\n'), repeated(std::string("$\x07\0\x04....", 8), 60'000)}) {
    RtspWire wire(port_);
    std::atomic<bool> over{false};
    const std::jthread sender([&] { flood(wire, bytes, over); });
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(serves_others());
    over = true;
  }
}

TEST_F(RtspStrangersTest, AnswersThatNobodyReadsAreNotKept) {
  serve_dock();
  RtspWire wire(port_, 4096);
  const std::string request = "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n";
  std::atomic<bool> over{false};
  std::atomic<bool> cut_off{false};
  const std::jthread sender([&] {
    try {
      cut_off = flood(wire, repeated(request, 60'000), over);
    } catch (const Error&) {
      cut_off = true;  // it takes nothing more
    }
  });
  EXPECT_TRUE(becomes_true([&] { return cut_off.load(); }));
  EXPECT_TRUE(serves_others());
  over = true;
}

TEST_F(RtspStrangersTest, SessionsOfOthersAreNotThere) {
  add_user("ada");
  add_user("ben");
  serve_dock();
  RtspWire ada(port_);
  ASSERT_EQ(ada.play("/dock", basic("ada", "pw-ada")), 200);
  for (const std::string& login : {basic("ben", "pw-ben"), basic("ben", "wrong"), std::string()}) {
    const std::string headers = "Session: " + ada.session() + "\r\n" + login;
    for (const std::string method : {"PLAY", "PAUSE", "GET_PARAMETER", "SET_PARAMETER", "OPTIONS", "TEARDOWN"}) {
      const int status = RtspWire(port_).ask(method, "/dock", headers).status;
      EXPECT_TRUE(status == 454 || status == 401 || status == 503) << method << " " << status;
    }
    RtspWire other(port_);
    const auto setup =
        other.ask("SETUP", "/dock/stream=0", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n" + headers);
    EXPECT_NE(setup.status, 200);
    // A response names a session, too.
    static_cast<void>(other.send("RTSP/1.0 200 OK\r\nCSeq: 1\r\nSession: " + ada.session() + "\r\n\r\n"));
  }
  const std::uint64_t before = server_->viewers().at(0).at("sent");
  EXPECT_TRUE(becomes_true([&] {
    ada.receive(Clock::now() + 100ms);
    const auto viewers = server_->viewers();
    return viewers.size() == 1 && viewers[0]["sent"] > before + 10;
  }));
}

TEST_F(RtspStrangersTest, WhoHasASecretIsNotTold) {
  add_user("ada", {}, "lovelace");
  add_user("ben");
  serve_dock();
  // All but what is another for each connection.
  const auto answer = [](const RtspWire::Answer& got) {
    return std::regex_replace(got.text, std::regex("nonce=\"[^\"]*\"|Date: [^\r]*|CSeq: [^\r]*"), "");
  };
  std::set<std::string> to_old_nonces;
  std::set<std::string> to_wrong_secrets;
  std::set<std::string> to_many_tries;
  std::string from = "127.0.0.1";
  for (const std::string user : {"ada", "ben", "carl"}) {
    from.back() = static_cast<char>(from.back() + 1);
    RtspWire wire(port_, 0, from);
    const std::string nonce = nonce_in(wire.ask("DESCRIBE", "/dock").text);
    to_old_nonces.insert(answer(wire.ask("DESCRIBE", "/dock", digest(user, "wrong", "0123"))));
    to_wrong_secrets.insert(answer(wire.ask("DESCRIBE", "/dock", digest(user, "wrong", nonce))));
    for (int i = 0; i < 6; ++i) wire.ask("DESCRIBE", "/dock", digest(user, "wrong", nonce));
    RtspWire::Answer last = wire.ask("DESCRIBE", "/dock", digest(user, "wrong", nonce));
    EXPECT_EQ(last.status, 503);
    to_many_tries.insert(std::regex_replace(answer(last), std::regex("Retry-After: [0-9]+"), ""));
    EXPECT_EQ(wire.ask("DESCRIBE", "/dock", basic(user, "wrong")).status, 503) << user;
  }
  EXPECT_THAT(to_old_nonces, testing::SizeIs(1));
  EXPECT_THAT(to_wrong_secrets, testing::SizeIs(1));
  EXPECT_THAT(to_many_tries, testing::SizeIs(1));
}

TEST_F(RtspStrangersTest, WhatWasTakenBackEndsSoon) {
  const std::vector<std::function<void(UserConfig&)>> changes{
      [](UserConfig& user) { user.name = "other"; },
      [](UserConfig& user) { user.password = hash_password("another"); },
      [](UserConfig& user) { user.rtsp_secret = "another-secret"; },
      [](UserConfig& user) { user.cameras = {"belt"}; },
  };
  add_user("ada", {}, "lovelace");
  add_user("ben");
  const ServerConfig before = config_;
  serve_dock();
  RtspWire ben(port_);
  ASSERT_EQ(ben.play("/dock", basic("ben", "pw-ben")), 200);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    RtspWire wire(port_);
    ASSERT_EQ(wire.play("/dock", basic("ada", "pw-ada")), 200);
    // That another logs in over the same connection makes it no more theirs.
    ASSERT_EQ(wire.ask("OPTIONS", "/dock", basic("ben", "pw-ben")).status, 200);
    config_ = before;
    changes[i](config_.users[0]);
    access_->update(config_);
    EXPECT_TRUE(wire.is_closed(Clock::now() + answer_patience)) << i;
    access_->update(before);
  }
  EXPECT_TRUE(becomes_true([&] { return server_->viewers().size() == 1; }));
  EXPECT_EQ(server_->viewers().at(0).at("user"), "ben");
}

TEST_F(RtspStrangersTest, OfTheConnectionsOfAnAddressIdleOnesGoFirst) {
  serve_dock();
  RtspWire player(port_);
  ASSERT_EQ(player.play("/dock"), 200);
  std::vector<std::unique_ptr<RtspWire>> idle;
  for (int i = 0; i < 80; ++i) idle.push_back(std::make_unique<RtspWire>(port_));
  EXPECT_TRUE(idle.front()->is_closed(Clock::now() + answer_patience));
  EXPECT_EQ(idle.back()->ask("OPTIONS", "/dock").status, 200);
  EXPECT_EQ(RtspWire(port_, 0, "127.0.0.2").ask("OPTIONS", "/dock").status, 200);
  EXPECT_EQ(server_->viewers().size(), 1);
}

TEST_F(RtspStrangersTest, TheConnectionsOfAnAddressAreLimited) {
  serve_dock();
  std::vector<std::unique_ptr<RtspWire>> players;
  for (int i = 0; i < 64; ++i) {
    players.push_back(std::make_unique<RtspWire>(port_));
    ASSERT_EQ(players.back()->play("/dock"), 200) << i;
  }
  EXPECT_ANY_THROW(RtspWire(port_).ask("OPTIONS", "/dock"));
  EXPECT_EQ(RtspWire(port_, 0, "127.0.0.2").play("/dock"), 200);
  EXPECT_GE(server_->viewers().size(), 64);
}

// Addresses of IPv6 in a network of this thread's own; false: the system does not allow that.
bool have_addresses(const std::vector<std::string>& addresses) {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const UniqueFd fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loop{};
  loop.ifr_name[0] = 'l';
  loop.ifr_name[1] = 'o';
  if (::ioctl(fd.get(), SIOCGIFINDEX, &loop) != 0) return false;
  struct {
    in6_addr address;
    std::uint32_t prefix;
    int index;
  } wanted{{}, 64, loop.ifr_ifindex};
  loop.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
  if (::ioctl(fd.get(), SIOCSIFFLAGS, &loop) != 0) return false;
  return std::ranges::all_of(addresses, [&](const std::string& address) {
    return ::inet_pton(AF_INET6, address.c_str(), &wanted.address) == 1 && ::ioctl(fd.get(), SIOCSIFADDR, &wanted) == 0;
  });
}

UniqueFd connect_from(const std::string& from, int port) {
  UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  ::inet_pton(AF_INET6, from.c_str(), &address.sin6_addr);
  const void* raw = &address;
  if (::bind(fd.get(), static_cast<const sockaddr*>(raw), sizeof address) != 0) throw system_error("bind", errno);
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  address.sin6_addr = in6addr_loopback;
  if (::connect(fd.get(), static_cast<const sockaddr*>(raw), sizeof address) != 0) throw system_error("connect", errno);
  return fd;
}

bool is_closed(const UniqueFd& fd, int patience_ms) {
  pollfd entry{fd.get(), POLLIN, 0};
  char byte = 0;
  return ::poll(&entry, 1, patience_ms) == 1 && ::recv(fd.get(), &byte, 1, 0) <= 0;
}

// A house has as many as it likes.
TEST_F(RtspStrangersTest, AddressesOfOneNetworkCountAsOne) {
  const std::vector<std::string> addresses{"fd00::1", "fd00::2", "fd00::3", "fd00::4", "fd00:0:0:1::1"};
  if (!have_addresses(addresses)) GTEST_SKIP() << "no network of its own";
  config_.rtsp_address = "[::]:" + std::to_string(port_);
  serve_dock({.of_address = 3});
  std::vector<UniqueFd> idle;
  for (std::size_t i = 0; i < 3; ++i) idle.push_back(connect_from(addresses[i], port_));
  const UniqueFd other = connect_from(addresses[4], port_);
  const UniqueFd fourth = connect_from(addresses[3], port_);
  EXPECT_TRUE(is_closed(idle.front(), 60'000));
  for (const UniqueFd* kept : std::initializer_list<const UniqueFd*>{&idle[1], &idle[2], &other, &fourth})
    EXPECT_FALSE(is_closed(*kept, 0));
}

TEST_F(RtspStrangersTest, SessionsAreNotUsedUp) {
  serve_dock();
  const std::string transport = "Transport: RTP/AVP/UDP;unicast;client_port=5000-5001\r\n";
  const auto set_up = [&](RtspWire& wire) { return wire.ask("SETUP", "/dock/stream=0", transport).status; };
  RtspWire greedy(port_);
  int had = 0;
  while (had < 1100 && set_up(greedy) == 200) ++had;
  EXPECT_LT(had, 100);
  for (int i = 0; i < 300; ++i) {
    RtspWire wire(port_);
    for (int k = 0; k < 4; ++k) ASSERT_EQ(set_up(wire), 200) << i;
  }
  EXPECT_EQ(RtspWire(port_).play("/dock"), 200);
}

TEST_F(RtspStrangersTest, WithoutDescriptorsItWaitsAndGoesOn) {
  serve_dock();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<UniqueFd> held;
  {
    RtspWire spare(port_);
    ASSERT_EQ(spare.ask("OPTIONS", "/dock").status, 200);
    rlimit low{static_cast<rlim_t>(::dup(0)) + 64, before.rlim_max};
    ::close(static_cast<int>(low.rlim_cur) - 64);
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (;;) {
      UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd) break;
      held.push_back(std::move(fd));
    }
    held.pop_back();  // for the connection's own end
  }
  RtspWire wire(port_);
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto begin = Clock::now();
  EXPECT_EQ(wire.receive(Clock::now() + 2s), 0);
  const auto cpu = [](const rusage& usage) {
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  const auto cpu_before = cpu(used);
  ::getrusage(RUSAGE_SELF, &used);
  // It does not try again and again.
  EXPECT_LT(std::chrono::microseconds(cpu(used) - cpu_before), (Clock::now() - begin) / 2);
  held.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(wire.ask("OPTIONS", "/dock").status, 200);
}

TEST_F(RtspStrangersTest, OldTlsIsRefused) {
  const TemporaryFolder folder;
  config_.tls = make_certificate(folder);
  serve();
  const auto connect = [&](const std::string& version) {
    return Program({"openssl", "s_client", "-connect", "127.0.0.1:" + std::to_string(port_), "-" + version, "-cipher",
                    "ALL:@SECLEVEL=0", "-quiet", "-no_ign_eof"})
        .wait();
  };
  EXPECT_TRUE(becomes_true([&] { return connect("tls1_2") == 0; }));
  EXPECT_NE(connect("tls1"), 0);
  EXPECT_NE(connect("tls1_1"), 0);
}

TEST_F(RtspStrangersTest, SlowHandshakesHoldUpNobody) {
  const TemporaryFolder folder;
  config_.tls = make_certificate(folder);
  add("dock", dock());
  RtspLimits limits;
  limits.request = 1h;  // whoever waited for them would not be served in time
  serve(limits);
  ASSERT_TRUE(becomes_true([&] { return ffmpeg(at_server("/dock", "", "rtsps"), "tcp", 1) == 0; }));
  std::vector<std::unique_ptr<RtspWire>> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<RtspWire>(port_));
    ASSERT_TRUE(slow.back()->send(std::string("\x16\x03\x01\x02\x00\x01\x00", 7)));  // a ClientHello begins
  }
  EXPECT_EQ(ffmpeg(at_server("/dock", "", "rtsps"), "tcp", 1), 0);
  EXPECT_FALSE(slow.front()->is_closed(Clock::now()));
}

TEST_F(RtspStrangersTest, AHandshakeByTheByteIsCutOff) {
  const TemporaryFolder folder;
  config_.tls = make_certificate(folder);
  add("dock", dock());
  RtspLimits limits;
  limits.request = 1s;
  serve(limits);
  ASSERT_TRUE(becomes_true([&] { return ffmpeg(at_server("/dock", "", "rtsps"), "tcp", 1) == 0; }));
  RtspWire silent(port_);
  ASSERT_TRUE(silent.send(client_hello().substr(0, 7)));
  RtspWire slow(port_);
  std::atomic<bool> over = false;
  std::atomic<bool> cut_off = false;
  const auto begin = Clock::now();
  const std::jthread sender([&] {
    cut_off = is_cut_off(slow, client_hello(), 20ms,
                         [](RtspWire& wire, auto pause) { return wire.is_closed(Clock::now() + pause); });
    over = true;
  });
  int served = 0;
  for (; !over && Clock::now() < begin + answer_patience; ++served)
    EXPECT_EQ(ffmpeg(at_server("/dock", "", "rtsps"), "tcp", 1), 0);
  EXPECT_TRUE(over && cut_off);
  EXPECT_TRUE(silent.is_closed(Clock::now() + answer_patience));
  EXPECT_GE(served, 1);
  EXPECT_GE(Clock::now() - begin, limits.request);
}

// Passwords of which each takes some hundred times as long to be checked as all else that an answer takes. Who waits 10
// s for others' checks is refused; that must be far away, also where a CPU is shared.
class RtspPasswordsTest : public RtspStrangersTest {
 protected:
  void add_slow_user(const std::string& name) {
    const std::string password = "pw-" + name;
    std::array<char, crypto_pwhash_STRBYTES> hash{};
    ASSERT_EQ(::sodium_init() < 0 ? -1
                                  : ::crypto_pwhash_str(hash.data(), password.data(), password.size(), 3,
                                                        crypto_pwhash_MEMLIMIT_INTERACTIVE),
              0);
    config_.users.push_back({name, hash.data(), "", Permission::view, {}});
  }
  // Sends it, and does not wait.
  void log_in(RtspWire& wire, const std::string& user, const std::string& password) const {
    ASSERT_TRUE(wire.send("DESCRIBE " + at_server() + " RTSP/1.0\r\nCSeq: 1\r\n" + basic(user, password) + "\r\n"));
  }
  // What waits to be read is its answer.
  static bool is_answered(const RtspWire& wire) {
    pollfd entry{wire.fd(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
  }
  std::vector<std::unique_ptr<RtspWire>> guess(int count, const std::function<std::string(int)>& from) {
    std::vector<std::unique_ptr<RtspWire>> wires;
    for (int i = 0; i < count; ++i) {
      wires.push_back(std::make_unique<RtspWire>(port_, 0, from(i)));
      log_in(*wires.back(), "ada", "guess " + std::to_string(i));
    }
    return wires;
  }
};

TEST_F(RtspPasswordsTest, WhileTheyAreCheckedOthersAreServed) {
  add_slow_user("ada");
  serve_dock();
  ASSERT_EQ(RtspWire(port_).ask("DESCRIBE", "/dock", basic("ada", "pw-ada")).status, 200);
  const auto guesses = guess(8, [](int i) { return "127.0.0." + std::to_string(10 + i); });
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/dock").status, 401);
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/dock", basic("ada", "pw-ada")).status, 200);
  EXPECT_FALSE(is_answered(*guesses.back())) << "one of eight, and others came in between";
  for (const auto& wire : guesses) EXPECT_EQ(wire->answer().status, 401);
}

TEST_F(RtspPasswordsTest, FromElsewhereTheyAreNotBehindAllGuessesOfOneAddress) {
  add_slow_user("ada");
  add_slow_user("ben");
  serve_dock();
  const auto guesses = guess(8, [](int) { return "127.0.0.9"; });
  RtspWire ben(port_);
  EXPECT_EQ(ben.ask("DESCRIBE", "/dock", basic("ben", "pw-ben")).status, 200);
  for (std::size_t i = 2; i < guesses.size(); ++i) EXPECT_FALSE(is_answered(*guesses[i])) << i;
  std::map<int, int> answers;
  for (const auto& wire : guesses) ++answers[wire->answer().status];
  EXPECT_THAT(answers, testing::ElementsAre(testing::Pair(401, 5), testing::Pair(503, 3)));
  EXPECT_EQ(ben.ask("DESCRIBE", "/dock", basic("ben", "pw-ben")).status, 200);
}

// What is sent behind a password is answered behind it, and read by nobody before; it costs no time to wait.
TEST_F(RtspPasswordsTest, WhatComesBehindOneWaits) {
  add_slow_user("ada");
  serve_dock();
  RtspWire wire(port_);
  std::clock_t cpu = std::clock();
  const auto begin = Clock::now();
  log_in(wire, "ada", "wrong");
  std::string more;
  for (int i = 0; i < 200; ++i) more += "OPTIONS * RTSP/1.0\r\nCSeq: " + std::to_string(100 + i) + "\r\n\r\n";
  ASSERT_TRUE(wire.send(more));
  EXPECT_EQ(wire.answer().status, 401);
  cpu = std::clock() - cpu;
  EXPECT_LT(std::chrono::duration<double>(static_cast<double>(cpu) / CLOCKS_PER_SEC), 1.5 * (Clock::now() - begin));
  for (int i = 0; i < 200; ++i)
    ASSERT_THAT(wire.answer().text, testing::HasSubstr("CSeq: " + std::to_string(100 + i) + "\r\n"));
}

// Nobody who waits for a password keeps the server, nor whoever goes away.
TEST_F(RtspPasswordsTest, TheServerEndsWhileTheyWait) {
  add_slow_user("ada");
  serve_dock();
  auto guesses = guess(8, [](int i) { return "127.0.0." + std::to_string(10 + i); });
  EXPECT_EQ(guesses.front()->answer().status, 401);
  guesses.resize(6);
  EXPECT_EQ(RtspWire(port_).ask("DESCRIBE", "/dock").status, 401);
  server_.reset();
  EXPECT_ANY_THROW(guesses.back()->answer());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
