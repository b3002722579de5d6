// Packets of a transport stream, and how they are found in what comes.
#include "stages/sources/ts_packet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stages/sources/ts_framing.h"
#include "tests/unit/transport_stream.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

// With an adaptation field of `field`, and a payload of as much as there is room for.
std::string packet_with(const std::string& field, bool payload = true) {
  std::string packet("\x47\x41\x23\x05", 4);
  packet[3] = static_cast<char>((payload ? 0x30 : 0x20) | 5);
  packet += static_cast<char>(field.size());
  packet += field;
  packet.resize(ts_packet_size, 'x');
  return packet;
}

std::optional<TsHead> head_of(const std::string& packet) { return read_ts_head(as_packet(packet)); }

std::string text(std::initializer_list<int> bytes) {
  std::string all;
  for (const int byte : bytes) all += static_cast<char>(byte);
  return all;
}

TEST(TsHead, SaysWhatThePacketIs) {
  std::string packet("\x47\x41\x23\x15", 4);
  packet.resize(ts_packet_size, 'x');
  const auto head = head_of(packet);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->pid, 0x123U);
  EXPECT_EQ(head->counter, 5U);
  EXPECT_TRUE(head->begins);
  EXPECT_FALSE(head->damaged || head->discontinuous || head->stuffed);
  EXPECT_EQ(head->payload, 4U);
  packet[1] = static_cast<char>(0x81);
  EXPECT_TRUE(head_of(packet)->damaged);
  EXPECT_FALSE(head_of(packet)->begins);
  packet[0] = 'x';
  EXPECT_FALSE(head_of(packet));
}

TEST(TsHead, FindsStuffingBeyondWhatTheFlagsNeed) {
  const std::string pcr(6, '\0');
  struct Case {
    std::string field;
    bool stuffed;
  };
  for (const auto& [field, stuffed] : std::vector<Case>{{"", true},
                                                        {text({0}), true},
                                                        {text({0, 0xff}), true},
                                                        {text({0x40}), false},  // random access
                                                        {text({0x40, 0xff}), true},
                                                        {text({0x10}) + pcr, false},
                                                        {text({0x50}) + pcr + "\xff", true},
                                                        {text({0x18}) + pcr + pcr, false},
                                                        {text({0x04, 3}), false},
                                                        {text({0x04, 3, 0xff}), true},
                                                        {text({0x02, 2, 'a', 'b'}), false},
                                                        {text({0x02, 2, 'a', 'b', 0xff}), true},
                                                        {text({0x03, 1, 'a', 1, 'b'}), false},
                                                        {text({0x03, 1, 'a', 1, 'b', 0xff}), true},
                                                        {text({0x02, 200, 'a'}), false},  // not so long
                                                        {text({0x02}), false}}) {
    const auto head = head_of(packet_with(field));
    ASSERT_TRUE(head);
    EXPECT_EQ(head->stuffed, stuffed) << testing::PrintToString(field);
    EXPECT_EQ(head->payload, 5 + field.size());
  }
}

TEST(TsHead, KnowsPacketsWithoutAPayload) {
  EXPECT_EQ(head_of(packet_with(std::string(183, '\0'), false))->payload, ts_packet_size);
  EXPECT_EQ(head_of(packet_with("", false))->payload, ts_packet_size);
  std::string longer = packet_with(std::string(183, '\0'));
  EXPECT_EQ(head_of(longer)->payload, ts_packet_size);
  longer[4] = static_cast<char>(184);
  EXPECT_FALSE(head_of(longer));
}

TEST(TsHead, OfTheEndOfAPesPacketContinuesNothing) {
  const auto packet = end_of_pes(0x1abc, 7);
  const auto head = read_ts_head(packet);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->pid, 0x1abcU);
  EXPECT_EQ(head->counter, 7U);
  EXPECT_TRUE(head->begins && head->discontinuous);
  EXPECT_THAT(std::span(packet).subspan(head->payload), ElementsAre(0, 0, 1, 0xbe, 0, 0));
}

class Framing : public testing::Test {
 protected:
  static std::string packet(char mark) { return "\x47" + std::string(ts_packet_size - 1, mark); }
  void add(const std::string& bytes) {
    framing_.add({static_cast<const std::uint8_t*>(static_cast<const void*>(bytes.data())), bytes.size()});
  }
  std::string marks() {
    std::string all;
    while (const auto packet = framing_.next()) {
      EXPECT_EQ((*packet)[0], ts_sync);
      all += static_cast<char>((*packet)[1]);
    }
    return all;
  }

  TsFraming framing_;
};

TEST_F(Framing, DoesNotWaitForMoreThanAPacket) {
  EXPECT_EQ(marks(), "");
  add(packet('a') + packet('b').substr(0, 187));
  EXPECT_EQ(marks(), "a");
  add("b" + packet('c'));
  EXPECT_EQ(marks(), "bc");
  add("");
  EXPECT_EQ(marks(), "");
}

TEST_F(Framing, OfPiecesOfAnyLength) {
  const std::string all = packet('a') + "junk\x47" + packet('b') + packet('c') + packet('d');
  for (const std::size_t size : {1, 2, 3, 100, 187, 188, 189, 1000}) {
    framing_ = {};
    std::string found;
    for (std::size_t i = 0; i < all.size(); i += size) {
      add(all.substr(i, size));
      found += marks();
    }
    EXPECT_EQ(found, "abcd") << size;
  }
}

TEST_F(Framing, LeavesOutWhatIsNoPacket) {
  add(packet('a') + std::string(300, 'x') + packet('b') + packet('c') + "x" + packet('d') + packet('e'));
  EXPECT_EQ(marks(), "abcde");
  add(std::string(1000, 'x'));
  EXPECT_EQ(marks(), "");
  add(packet('f'));
  add(packet('g'));
  EXPECT_EQ(marks(), "fg");
}

TEST_F(Framing, CountsWhatIsLeftOut) {
  add(packet('a') + std::string(1000, 'x'));
  EXPECT_EQ(marks(), "a");
  EXPECT_EQ(framing_.left_out(), 1000 - ts_packet_size);  // the rest may be the beginning of one
  add(packet('b') + packet('c'));
  EXPECT_EQ(marks(), "bc");
  EXPECT_EQ(framing_.left_out(), 1000 - 2 * ts_packet_size);
  for (int i = 0; i < 10; ++i) add(packet('d'));
  EXPECT_EQ(marks(), "dddddddddd");
  EXPECT_EQ(framing_.left_out(), 0U);
}

TEST_F(Framing, LeavesOutRtpHeads) {
  const std::string head("\x80\x21\0\1\0\0\0\0\0\0\0\1", 12);
  add(head + packet('a') + packet('b'));
  EXPECT_EQ(marks(), "ab");
  add(head + packet('c'));
  EXPECT_EQ(marks(), "c");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
