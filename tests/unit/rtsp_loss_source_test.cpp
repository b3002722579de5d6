// RTSP by UDP, where packets are lost and come in another order.
#include <functional>
#include <utility>

#include "tests/unit/rtsp_frames.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;

// Which packet comes when, by its unit.
class RtspByUdp : public RtspFrames {
 protected:
  void SetUp() override {
    if (!udp_is_closed) GTEST_SKIP() << "ThreadSanitizer ends the program where UDP is closed";
    stream_.transport = RtspTransport::udp;
    stream_.coding.options = {{"b", "3000000"}, {"crf", "4"}};  // several packets each
    make_units();
  }

  // Packets of a unit are given to `send`, which sends them. So many units are `lost`.
  void read_with(const std::function<void(RtpLine&, std::size_t unit, std::vector<std::string> packets)>& send,
                 std::size_t lost = 0) {
    const RtpCamera camera({video_media("H264")}, [&](RtpLine& line) {
      line.report(0, utc_of(0), time_of(0));
      for (std::size_t i = 0; i < units_.size(); ++i) {
        std::vector<std::string> packets;
        const std::vector<std::string> payloads = payloads_of(i);
        for (std::size_t k = 0; k < payloads.size(); ++k)
          packets.push_back(line.take_packet(0, payloads[k], time_of(i), is_marked(payloads, k)));
        send(line, i, packets);
        // One behind: what is missing is waited for, and markers do not count meanwhile.
        if (i >= analyzed && !held_) held_ = !line.wait_for([&] { return read_ + lost + 1 > i; });
      }
      line.wait_for_end();
    });
    read_from(camera, units_.size() - lost - 1);
    EXPECT_FALSE(held_);
  }
};

TEST_F(RtspByUdp, PacketsInAnotherOrderArePutInOrder) {
  std::string kept;
  read_with([&](RtpLine& line, std::size_t unit, std::vector<std::string> packets) {
    ASSERT_GE(packets.size(), 2U);
    if (unit == 30) std::swap(packets[0], packets[1]);
    if (unit == 34) packets.insert(packets.begin() + 1, std::exchange(kept, ""));
    if (unit == 33) {
      kept = packets.back();
      packets.pop_back();
    }
    for (const std::string& packet : packets) line.send(0, packet);
  });
  expect_all();
}

TEST_F(RtspByUdp, ALossCostsNoOtherFrame) {
  read_with(
      [&](RtpLine& line, std::size_t unit, std::vector<std::string> packets) {
        ASSERT_GE(packets.size(), 3U);
        if (unit == 30) packets.pop_back();  // with the marker
        if (unit == 33) packets.erase(packets.begin() + 1);
        if (unit == 36) packets.erase(packets.begin());
        for (const std::string& packet : packets) line.send(0, packet);
      },
      1);
  // The loss of its beginning leaves nothing of the only slice.
  units_.erase(units_.begin() + 36);
  ASSERT_GE(taken_.size(), units_.size() - 1);
  for (std::size_t i = 0; i < units_.size() - 1; ++i) {
    EXPECT_NEAR(static_cast<double>(*taken_[i].capture - utc_of(i) * 1000), 0, 3000) << i;
    if (i != 30 && i != 33) {
      EXPECT_TRUE(is_same(taken_[i].data, units_[i].data)) << i;
    }
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
