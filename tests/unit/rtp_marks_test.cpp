// Marker, sequence number and timestamp of RTP packets, out of what libavformat receives.
#include "stages/sources/rtp_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>

#include "core/error.h"
#include "core/unique_handle.h"
#include "tests/integration/rig_run.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::IsEmpty;

std::string packet(std::uint16_t sequence, std::uint32_t time, bool marker, int type = 96) {
  std::string text{'\x80', static_cast<char>(type | (marker ? 0x80 : 0)), static_cast<char>(sequence >> 8),
                   static_cast<char>(sequence & 255)};
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(time >> shift & 255U);
  return text + "ssrc" + "payload";
}

std::span<std::uint8_t> bytes(std::string& text) {
  return {static_cast<std::uint8_t*>(static_cast<void*>(text.data())), text.size()};
}

struct Connection {
  UniqueFd here;
  UniqueFd there;
};

Connection connected() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw system_error("socketpair", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

class Marks : public testing::Test {
 protected:
  void give(int fd, std::size_t asked, std::string data) { marks_.on_bytes(fd, asked, bytes(data)); }
  void give_datagram(int fd, std::string data) { marks_.on_datagram(fd, bytes(data)); }
  // As libavformat reads the connection: lines byte by byte, at most `at_once` bytes of a packet.
  void read_line(std::string_view text) {
    for (const char letter : text) give(5, 1, {letter});
  }
  void read_whole(std::string_view text, std::size_t at_once) {
    while (!text.empty()) {
      const auto part = text.substr(0, at_once);
      give(5, text.size(), std::string(part));
      text.remove_prefix(part.size());
    }
  }
  void read_packet(int channel, const std::string& data, std::size_t at_once = 70'000) {
    read_line("$");
    read_whole(std::string{static_cast<char>(channel), static_cast<char>(data.size() >> 8),
                           static_cast<char>(data.size() & 255)},
               at_once);
    read_whole(data, at_once);
  }

  // Of the newest packet.
  void expect(std::uint32_t time, bool marker) const {
    ASSERT_TRUE(marks_.newest().has_value());
    EXPECT_EQ(marks_.newest()->timestamp, time);
    EXPECT_EQ(marks_.newest()->marker, marker);
  }

  RtpMarks marks_;
};

TEST_F(Marks, AreFoundBetweenAnswers) {
  for (const std::size_t at_once : {1U, 2U, 5U, 70'000U}) {
    read_line("RTSP/1.0 200 OK\r\nX: $\r\nContent-Length: 3\r\n\r\n");
    read_whole("$$$", at_once);
    marks_.forget_newest();
    read_packet(0, packet(7, 1000, false), at_once);
    expect(1000, false);
    read_packet(0, packet(8, 2000, true) + std::string(300, '$'), at_once);
    expect(2000, true);
    read_packet(4, packet(65'000, 0xfffffff0U, true), at_once);
    expect(0xfffffff0U, true);
    EXPECT_NE(marks_.newest()->flow, 0);
  }
}

TEST_F(Marks, AreNotThoseOfReportsAndOfWhatIsNoPacket) {
  read_packet(1, packet(1, 5, true, 200 - 128));  // RTCP: 200
  read_packet(0, "");
  read_packet(0, "1234567");
  read_packet(0, "12345678");
  std::string other_version = packet(1, 5, true);
  other_version[0] = '\x40';
  read_packet(0, other_version);
  EXPECT_FALSE(marks_.newest().has_value());
  read_packet(0, packet(2, 6, true));
  expect(6, true);
  marks_.forget_newest();
  EXPECT_FALSE(marks_.newest().has_value());
}

// What it reads of the connection is then not a packet, and so on.
TEST_F(Marks, AreFoundAgainAfterAnotherConnection) {
  read_line("$");
  give(6, 1, "R");
  give(6, 1, "\n");
  read_packet(0, packet(2, 6, true));
  expect(6, true);
}

TEST_F(Marks, OfAConnectionAreKnownAlsoAfterALoss) {
  read_packet(0, packet(2, 6, false));
  read_packet(0, packet(9, 7, true));
  expect(7, true);
}

TEST_F(Marks, OfUdpAreUnknownWhileLibavformatMayWaitForWhatIsMissing) {
  give_datagram(8, packet(65'535, 1, false));
  expect(1, false);
  give_datagram(8, packet(0, 1, true));
  expect(1, true);
  give_datagram(8, packet(2, 2, true));
  EXPECT_FALSE(marks_.newest().has_value());
  give_datagram(8, packet(1, 2, false));
  EXPECT_FALSE(marks_.newest().has_value());
  give_datagram(8, packet(3, 3, true));
  EXPECT_FALSE(marks_.newest().has_value());
  give_datagram(9, packet(3, 33, true));  // of another stream
  expect(33, true);
  std::uint16_t next = 4;
  EXPECT_TRUE(test::eventually([&] {
    marks_.forget_newest();
    give_datagram(8, packet(next++, 4, true));
    return marks_.newest().has_value();
  }));
  expect(4, true);
}

std::vector<std::vector<std::uint32_t>> timestamps_of(const std::vector<std::vector<RtpMark>>& flows) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const auto& flow : flows) {
    all.emplace_back();
    for (const RtpMark& mark : flow) all.back().push_back(mark.timestamp);
  }
  return all;
}

TEST_F(Marks, KeepThePacketsOfEachStreamUntilTheyAreTaken) {
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto sequence = static_cast<std::uint16_t>(i);
    read_packet(0, packet(sequence, 100 + i / 2, false));
    read_packet(2, packet(sequence, 200 + i, false));
    give_datagram(7, packet(static_cast<std::uint16_t>(2 * i), 300, false));  // with gaps
  }
  EXPECT_THAT(timestamps_of(marks_.take_flows()), ElementsAre(ElementsAre(100, 101), ElementsAre(200, 201, 202, 203)));
  read_packet(0, packet(4, 103, false));
  EXPECT_THAT(marks_.take_flows(), IsEmpty());
}

// libavformat takes them by their channel.
TEST(Reports, GoToTheChannelOfTheirTrack) {
  const Connection ends = connected();
  RtpMarks marks;
  const auto give = [&](std::size_t asked, std::string data) {
    marks.on_bytes(ends.here.get(), asked, bytes(data));
    return data;
  };
  const auto read_packet = [&](int channel, const std::string& source) {
    std::string data = packet(1, 1, false);
    data.replace(8, 4, source);
    give(1, "$");
    give(3, std::string{static_cast<char>(channel), 0, static_cast<char>(data.size())});
    give(data.size(), data);
  };
  // Returns on which channel it is.
  const auto report_on = [&](int channel, const std::string& source) {
    const std::string report = std::string{'\x80', '\xc8', 0, 6} + source + std::string(20, '\0');
    EXPECT_EQ(::send(ends.there.get(), report.data(), report.size(), 0), std::ssize(report));
    give(1, "$");
    const std::string head = give(3, std::string{static_cast<char>(channel), 0, static_cast<char>(report.size())});
    std::string rest(report.size(), '\0');
    EXPECT_EQ(::recv(ends.here.get(), rest.data(), rest.size(), 0), std::ssize(report));
    EXPECT_EQ(rest, report);
    give(report.size(), rest);
    return static_cast<unsigned char>(head[0]);
  };
  EXPECT_EQ(report_on(1, "vide"), 1);
  EXPECT_EQ(report_on(1, "soun"), 255) << "nobody's, as long as it is not known whose";
  EXPECT_EQ(report_on(1, "vide"), 1);
  read_packet(0, "vide");
  read_packet(2, "soun");
  EXPECT_EQ(report_on(1, "vide"), 0) << "a channel of the same track";
  EXPECT_EQ(report_on(1, "soun"), 2);
  EXPECT_EQ(report_on(3, "soun"), 2);
  EXPECT_EQ(report_on(3, "vide"), 0);
  EXPECT_EQ(report_on(5, "else"), 5) << "of a camera whose reports have another SSRC than its packets";
  EXPECT_EQ(report_on(5, "more"), 5);
}

// Each time with its last packet.
TEST_F(Marks, SayWhenTheLastPacketOfATimestampWasReceived) {
  read_packet(0, packet(0, 100, false));
  const std::int64_t between = now_ns();
  read_packet(0, packet(1, 100, true));
  read_packet(0, packet(2, 101, true));
  const auto flows = marks_.take_flows();
  ASSERT_EQ(flows.size(), 1U);
  ASSERT_EQ(flows[0].size(), 2U);
  EXPECT_GE(flows[0][0].received, between);
  EXPECT_LE(flows[0][0].received, flows[0][1].received);
  EXPECT_LE(flows[0][1].received, now_ns());
  EXPECT_TRUE(flows[0][0].marker && flows[0][1].marker);
}

TEST_F(Marks, AreNotBelievedWhereOneStandsInTheMidst) {
  std::uint16_t sequence = 0;
  for (std::uint32_t time = 0; time < 3; ++time) {
    read_packet(0, packet(sequence++, time, time == 1));
    read_packet(0, packet(sequence++, time, true));
  }
  const auto flows = marks_.take_flows();
  ASSERT_EQ(flows.size(), 1U);
  for (const RtpMark& mark : flows[0]) EXPECT_FALSE(mark.marker) << mark.timestamp;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
