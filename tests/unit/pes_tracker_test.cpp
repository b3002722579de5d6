// Where PES packets end, by packets of a transport stream that are made for it.
#include "stages/sources/pes_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/transport_stream.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using testing::ElementsAre;
using Step = PesTracker::Step;

constexpr std::size_t first_payload = 184 - 14;  // behind a PES packet's head with a time

class PesPackets : public testing::Test {
 protected:
  Step add(const std::string& packet) {
    const auto head = read_ts_head(as_packet(packet));
    return tracker_.add(as_packet(packet), head.value(), position_ += 188);
  }
  std::vector<Step> add(const std::vector<std::string>& packets) {
    std::vector<Step> steps;
    for (const std::string& packet : packets) steps.push_back(add(packet));
    return steps;
  }
  const Pes& newest() { return tracker_.seen().back(); }

  PesTracker tracker_;
  TsPacker packer_{256};
  std::int64_t position_ = 0;
};

TEST_F(PesPackets, EndWhereTheyAreStuffed) {
  EXPECT_THAT(add(packer_.pack(make_pes(std::string(400, 'x')))), ElementsAre(Step::none, Step::none, Step::ended));
  EXPECT_EQ(newest().size, 400U);
  EXPECT_EQ(newest().position, 188);
  EXPECT_EQ(newest().packets.size(), 3 * ts_packet_size);
  EXPECT_TRUE(newest().dated && newest().ended);
  EXPECT_FALSE(newest().damaged || newest().unclear);
  EXPECT_THAT(add(packer_.pack(make_pes("one packet", {.time = {}}))), ElementsAre(Step::ended));
  EXPECT_FALSE(newest().dated);
  EXPECT_EQ(newest().size, 10U);
}

TEST_F(PesPackets, EndWhereTheNextBeginsIfTheyFillTheirLastPacket) {
  const std::string exact(first_payload + 184, 'x');
  EXPECT_THAT(add(packer_.pack(make_pes(exact))), ElementsAre(Step::none, Step::none));
  EXPECT_FALSE(newest().ended);
  EXPECT_THAT(add(packer_.pack(make_pes(exact))), ElementsAre(Step::none, Step::none));
  EXPECT_EQ(tracker_.seen().size(), 2U);
  EXPECT_EQ(tracker_.seen().front().size, exact.size());
}

TEST_F(PesPackets, EndWithTheirLengthWhereTheyHaveOne) {
  const std::string exact(first_payload + 184, 'x');
  EXPECT_THAT(add(packer_.pack(make_pes(exact, {.bounded = true}))), ElementsAre(Step::none, Step::ended));
  // Stuffing says nothing then.
  EXPECT_THAT(add(packer_.pack(make_pes(exact, {.bounded = true}), "", 1)),
              ElementsAre(Step::none, Step::none, Step::ended));
}

TEST_F(PesPackets, AreNotEndedByTheClock) {
  auto packets = packer_.pack(make_pes(std::string(400, 'x')), std::string("\x10\0\0\0\0\0\0", 7));
  packets.insert(packets.begin() + 1, clock_behind(packets.front()));
  EXPECT_THAT(add(packets), ElementsAre(Step::none, Step::none, Step::none, Step::ended));
  EXPECT_FALSE(newest().damaged);
}

TEST_F(PesPackets, MayGoOnBehindStuffing) {
  EXPECT_THAT(add(packer_.pack(make_pes(std::string(600, 'x')), "", 1)),
              ElementsAre(Step::none, Step::ended, Step::went_on, Step::none, Step::none));
  EXPECT_TRUE(newest().unclear);
  EXPECT_FALSE(newest().ended);
  EXPECT_EQ(newest().size, 600U);
  EXPECT_THAT(add(packer_.pack(make_pes("next"))), ElementsAre(Step::ended));
}

TEST_F(PesPackets, AreDamagedByMissingPackets) {
  auto packets = packer_.pack(make_pes(std::string(800, 'x')));
  packets.erase(packets.begin() + 2);
  add(packets);
  EXPECT_TRUE(newest().damaged && newest().ended);
  add(packer_.pack(make_pes("whole")));
  EXPECT_FALSE(newest().damaged);
  // The end of one, with the beginning of the next.
  const auto first = packer_.pack(make_pes(std::string(300, 'x')));
  add(first.front());
  add(packer_.pack(make_pes("next")));
  EXPECT_TRUE(tracker_.seen().at(tracker_.seen().size() - 2).damaged);
  EXPECT_FALSE(newest().damaged);
}

TEST_F(PesPackets, DoNotGoOnWithOnesWhoseBeginningIsMissing) {
  add(packer_.pack(make_pes("whole")));
  auto packets = packer_.pack(make_pes(std::string(800, 'x')));
  packets.erase(packets.begin());
  EXPECT_THAT(add(packets), testing::Each(Step::none));
  EXPECT_FALSE(newest().damaged || newest().unclear);
  EXPECT_EQ(newest().size, 5U);
  EXPECT_THAT(add(packer_.pack(make_pes("next"))), ElementsAre(Step::ended));
}

TEST_F(PesPackets, WithoutTheirBeginningAreNone) {
  auto packets = packer_.pack(make_pes(std::string(800, 'x')));
  packets.erase(packets.begin());
  EXPECT_THAT(add(packets), testing::Each(Step::none));
  EXPECT_TRUE(tracker_.seen().empty());
}

TEST_F(PesPackets, ThatAreNoMediaAreNotUnderstood) {
  std::string pes = make_pes(std::string(300, 'x'));
  pes[3] = '\xbe';
  add(packer_.pack(pes));
  EXPECT_TRUE(newest().damaged);
  add(packer_.pack(std::string(300, 'x')));
  EXPECT_TRUE(newest().damaged);
}

TEST_F(PesPackets, AreNotKeptWithoutEnd) {
  for (const std::string& packet : packer_.pack(make_pes(std::string(std::size_t{3} << 20, 'x')))) add(packet);
  EXPECT_TRUE(newest().damaged);
  EXPECT_LT(newest().packets.size(), (std::size_t{2} << 20) + 2 * ts_packet_size);
  for (int i = 0; i < 100; ++i) add(packer_.pack(make_pes("x")));
  EXPECT_LE(tracker_.seen().size(), 16U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
