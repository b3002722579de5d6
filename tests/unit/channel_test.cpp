// The control channel: what is sent arrives with its descriptors, and what is malformed is refused without a leak.
#include "ipc/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/error.h"
#include "ipc/outbox.h"
#include "ipc/shared_memory.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += entry.path().empty() ? 0 : 1;
  return count;
}

std::pair<dev_t, ino_t> identity(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return {status.st_dev, status.st_ino};
}

struct Ends {
  Channel ours;
  Channel theirs;
};

Ends make_ends() {
  auto [one, other] = make_channel_pair();
  return {Channel(std::move(one)), Channel(std::move(other))};
}

TEST(Channel, CarriesMessagesInOrder) {
  auto [ours, theirs] = make_ends();
  EXPECT_FALSE(theirs.receive()) << "nothing was sent yet";
  EXPECT_FALSE(theirs.closed());
  ASSERT_TRUE(ours.send("first", {{"camera", "dock"}, {"n", 7}}));
  ASSERT_TRUE(ours.send("second", nullptr));
  const auto first = theirs.receive();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, "first");
  EXPECT_EQ(first->body, (nlohmann::json{{"camera", "dock"}, {"n", 7}}));
  EXPECT_TRUE(first->fds.empty());
  EXPECT_EQ(theirs.receive()->type, "second");
  EXPECT_FALSE(theirs.receive());
  ASSERT_TRUE(theirs.send("back", 1));
  EXPECT_EQ(ours.receive()->type, "back");
}

TEST(Channel, CarriesTextThatIsNoUtf8) {
  auto [ours, theirs] = make_ends();
  ASSERT_TRUE(ours.send("state", {{"reason", "go \xff away"}}));
  const auto message = theirs.receive();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->body.at("reason"), "go \xEF\xBF\xBD away");
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

// Whoever copies, compares or writes such a value calls itself for each level.
TEST(Channel, RefusesABodyThatIsNestedDeeply) {
  auto [ours, theirs] = make_ends();
  ASSERT_TRUE(ours.send("config", nlohmann::json::parse(nested(Channel::max_depth))));
  ASSERT_TRUE(theirs.receive());
  ASSERT_TRUE(ours.send("config", nlohmann::json::parse(nested(Channel::max_depth + 2))));
  EXPECT_THROW(theirs.receive(), Error);
}

TEST(Channel, TakesLargeBodiesOfOneTypeAlone) {
  auto [ours, theirs] = make_ends();
  const std::string large(Channel::max_inline_body + 1, 'x');
  ASSERT_TRUE(ours.send("request", large));
  const auto request = theirs.receive("request");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->body, large);
  EXPECT_EQ(request->size, large.size() + 2) << "with its quotation marks";
  ASSERT_TRUE(ours.send("reason", large));
  EXPECT_THROW(theirs.receive("request"), Error);
  ASSERT_TRUE(ours.send("reason", large));
  EXPECT_TRUE(theirs.receive()) << "where all may be large";
}

TEST(Channel, SaysOfATooLargeMessageThatItIsNotTheReceiversFault) {
  auto [ours, theirs] = make_ends();
  EXPECT_THROW(ours.send("status", std::string(Channel::max_body, 'x')), MessageTooLarge);
  ASSERT_TRUE(ours.send("status", 1));
  EXPECT_EQ(theirs.receive()->body, 1);
}

TEST(Channel, CarriesDescriptors) {
  const std::size_t before = open_descriptors();
  {
    auto [ours, theirs] = make_ends();
    std::vector<UniqueFd> sent;
    std::vector<int> numbers;
    for (std::size_t i = 0; i < Channel::max_fds; ++i) {
      numbers.push_back(sent.emplace_back(create_shared_memory("sent", 64 + i)).get());
    }
    ASSERT_TRUE(ours.send("ring", {}, numbers));
    const auto message = theirs.receive();
    ASSERT_TRUE(message);
    ASSERT_EQ(message->fds.size(), Channel::max_fds);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(identity(message->fds[i].get()), identity(numbers[i]));
      EXPECT_NE(message->fds[i].get(), numbers[i]);
      EXPECT_NE(::fcntl(message->fds[i].get(), F_GETFD) & FD_CLOEXEC, 0) << "it must not reach other processes";
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Channel, TheLargestMessageArrives) {
  auto [ours, theirs] = make_ends();
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::size_t before = open_descriptors();
  for (const std::size_t size : {Channel::max_inline_body, Channel::max_inline_body + 1, Channel::max_body}) {
    const std::string text(size - 2, 'x');  // and two quotes
    ASSERT_TRUE(ours.send("large", text, std::vector<int>(Channel::max_fds, null.get())));
    const auto message = theirs.receive();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->body.get<std::string>(), text);
    EXPECT_EQ(message->fds.size(), Channel::max_fds) << "the body's is not one of them";
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Channel, TooLargeAMessageIsAnErrorAndSendsNothing) {
  auto [ours, theirs] = make_ends();
  EXPECT_THROW(ours.send("large", std::string(Channel::max_body - 1, 'x')), Error);
  EXPECT_THROW(ours.send("many", {}, std::vector<int>(Channel::max_fds + 1, 0)), Error);
  EXPECT_THROW(ours.send("bad", {}, {-1}), Error);
  EXPECT_FALSE(theirs.receive());
  EXPECT_TRUE(ours.send("small", {}));
  EXPECT_TRUE(theirs.receive());
}

TEST(Channel, AClosedPeerIsNoticedAfterItsLastMessage) {
  auto [ours, theirs] = make_ends();
  ASSERT_TRUE(theirs.send("last", {}));
  theirs = Channel();
  EXPECT_FALSE(ours.closed());
  EXPECT_EQ(ours.receive()->type, "last");
  EXPECT_FALSE(ours.receive());
  EXPECT_TRUE(ours.closed());
  EXPECT_FALSE(ours.send("nobody", {}));
}

TEST(Channel, AReceiverThatTakesNothingIsAnErrorWithinAboutASecond) {
  auto [ours, theirs] = make_ends();
  const std::string text(100'000, 'x');
  auto begin = Clock::now();
  Stopwatch watch;
  const auto fill = [&] {
    for (int i = 0; i < 100; ++i) {
      watch = Stopwatch();
      begin = Clock::now();
      ours.send("large", text);
    }
  };
  EXPECT_THROW(fill(), Error);
  EXPECT_GE(Clock::now() - begin, milliseconds(950));
  EXPECT_LT(watch.elapsed(), seconds(3));
  EXPECT_TRUE(theirs.receive()) << "what was sent before is whole";
}

// What the header of a message looks like on the wire; a change here must raise the version.
struct WireHeader {
  std::uint32_t magic = 0x63616d70;
  std::uint16_t version = 2;
  std::uint16_t fds = 0;
  std::uint32_t type_length = 4;
  std::uint32_t body_length = 2;
  std::uint64_t memory_length = 0;
};

std::string packet(const WireHeader& header, const std::string& rest = "type{}") {
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes + rest;
}

// Sends raw bytes with `fds` descriptors of /dev/null.
void send_raw(int socket, const std::string& bytes, std::size_t fds) {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  alignas(cmsghdr) std::array<char, CMSG_SPACE(16 * sizeof(int))> control{};
  std::string copy = bytes;
  iovec part{copy.data(), copy.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fds != 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds * sizeof(int));
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds * sizeof(int));
    const std::vector<int> numbers(fds, null.get());
    std::memcpy(CMSG_DATA(head), numbers.data(), fds * sizeof(int));
  }
  ASSERT_EQ(::sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

struct Bad {
  const char* name;
  std::string bytes;
  std::size_t fds;
  friend std::ostream& operator<<(std::ostream& out, const Bad& bad) { return out << bad.name; }
};

class BadMessage : public testing::TestWithParam<Bad> {};

TEST_P(BadMessage, IsRefusedAndItsDescriptorsAreClosed) {
  auto [raw, end] = make_channel_pair();
  Channel channel(std::move(end));
  const std::size_t before = open_descriptors();
  send_raw(raw.get(), GetParam().bytes, GetParam().fds);
  EXPECT_THROW(channel.receive(), Error);
  EXPECT_EQ(open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadMessage,
    testing::Values(Bad{"Short", "abc", 0}, Bad{"ShortWithDescriptors", "abc", 2},
                    Bad{"Magic", packet({.magic = 1}), 0}, Bad{"Version", packet({.version = 1}), 0},
                    Bad{"VersionWithDescriptors", packet({.version = 1, .fds = 3}), 3},
                    Bad{"TypeLength", packet({.type_length = 5}), 0},
                    Bad{"HugeTypeLength", packet({.type_length = 0xffffffff}), 0},
                    Bad{"LengthsThatWrap", packet({.type_length = 0xffffffff, .body_length = 7}), 0},
                    Bad{"BodyLength", packet({.body_length = 1}), 1}, Bad{"MissingDescriptors", packet({.fds = 1}), 0},
                    Bad{"UnannouncedDescriptors", packet({.fds = 1}), 2}, Bad{"NotJson", packet({}, "type{]"), 2},
                    Bad{"TooManyDescriptors", packet({.fds = 12}), 12},
                    Bad{"BodyInNoMemory", packet({.body_length = 0, .memory_length = 2}, "type"), 0},
                    Bad{"BodyInAnotherFile", packet({.fds = 1, .body_length = 0, .memory_length = 2}, "type"), 1},
                    Bad{"HugeBody", packet({.fds = 1, .body_length = 0, .memory_length = ~0ULL}, "type"), 1},
                    Bad{"TooLong", packet({.body_length = 150'000}, "type" + std::string(150'000, '1')), 3}),
    [](const auto& of) { return of.param.name; });

TEST(BadMessage, AnEmptyPacketLeavesNoDescriptorBehind) {
  auto [raw, end] = make_channel_pair();
  Channel channel(std::move(end));
  const std::size_t before = open_descriptors();
  send_raw(raw.get(), "", 2);
  EXPECT_FALSE(channel.receive());
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Channel, AMessageOfThisLayoutIsTaken) {
  auto [raw, end] = make_channel_pair();
  Channel channel(std::move(end));
  send_raw(raw.get(), packet({.fds = 1}), 1);
  const auto message = channel.receive();
  ASSERT_TRUE(message) << "the layout above is not the channel's, so the tests above prove nothing";
  EXPECT_EQ(message->type, "type");
  EXPECT_EQ(message->fds.size(), 1U);
}

// Lowers this process's limit of descriptors, so that no further one can be opened.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd next(::dup(0));
    const rlimit low{static_cast<rlim_t>(next.get()), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Channel, AReceiverOutOfDescriptorsGetsTheRest) {
  auto [ours, theirs] = make_ends();
  // UBSan needs a descriptor to look at an object of each type for the first time.
  ASSERT_TRUE(ours.send("first", {{"camera", 6}}) && theirs.receive());
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(ours.send("ring", {{"camera", 7}}, {null.get(), null.get()}));
  ASSERT_TRUE(ours.send("large", std::string(Channel::max_inline_body, 'x')));
  ASSERT_TRUE(ours.send("small", 1));
  const std::size_t before = open_descriptors();
  {
    const NoDescriptors none;
    const auto ring = theirs.receive();
    ASSERT_TRUE(ring);
    EXPECT_TRUE(ring->incomplete);
    EXPECT_EQ(ring->body.at("camera"), 7);
    EXPECT_TRUE(ring->fds.empty());
    const auto large = theirs.receive();
    ASSERT_TRUE(large);
    EXPECT_TRUE(large->incomplete);
    EXPECT_EQ(large->type, "large");
    EXPECT_TRUE(large->body.is_null());
    const auto small = theirs.receive();
    ASSERT_TRUE(small);
    EXPECT_FALSE(small->incomplete);
  }
  EXPECT_EQ(open_descriptors(), before);
}

// Far more than the socket holds.
constexpr int many = 2000;

TEST(Outbox, KeepsWhatASlowReceiverDoesNotTake) {
  auto [ours, theirs] = make_ends();
  Outbox outbox(ours);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < many; ++i) {
    const UniqueFd null(i % 100 == 0 ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -1);
    ASSERT_TRUE(outbox.send("n", i, null ? std::vector<int>{null.get()} : std::vector<int>{}));
  }
  EXPECT_TRUE(outbox.waiting());
  EXPECT_TRUE(outbox.wants_room());
  for (int i = 0; i < many; ++i) {
    if (i % 10 == 0) outbox.flush();
    const auto message = theirs.receive();
    ASSERT_TRUE(message) << i;
    EXPECT_EQ(message->body, i);
    EXPECT_EQ(message->fds.size(), i % 100 == 0 ? 1U : 0U) << "descriptors that the sender has closed since";
  }
  EXPECT_FALSE(outbox.waiting());
  EXPECT_FALSE(theirs.receive());
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Outbox, TakesFromSeveralThreads) {
  auto [ours, theirs] = make_ends();
  Outbox outbox(ours);
  std::array<int, 4> next{};
  {
    std::vector<std::jthread> senders;
    for (std::size_t sender = 0; sender < next.size(); ++sender) {
      senders.emplace_back([&outbox, sender] {
        for (int i = 0; i < many; ++i) outbox.send("n", {sender, i});
      });
    }
  }
  for (std::size_t i = 0; i < many * next.size(); ++i) {
    outbox.flush();
    const auto message = theirs.receive();
    ASSERT_TRUE(message) << i;
    EXPECT_EQ(message->body.at(1), next.at(message->body.at(0))++) << "each sender's are in order";
  }
}

TEST(Outbox, GivesUpOnAReceiverThatTakesNothing) {
  auto [ours, theirs] = make_ends();
  Outbox outbox(ours);
  const std::string text(Channel::max_inline_body - 2, 'x');
  const auto fill = [&] {
    for (std::size_t i = 0; i <= Outbox::most_bytes / text.size() + 10; ++i) outbox.send("large", text);
  };
  EXPECT_THROW(fill(), Error);
  EXPECT_TRUE(theirs.receive()) << "what was sent before is whole";
}

TEST(Outbox, DropsWhatNobodyWillTake) {
  auto [ours, theirs] = make_ends();
  Outbox outbox(ours);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(outbox.send("n", i, {0}));
  theirs = Channel();
  EXPECT_FALSE(outbox.send("nobody", {}));
  EXPECT_FALSE(outbox.waiting());
  EXPECT_EQ(open_descriptors(), before - 1);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
