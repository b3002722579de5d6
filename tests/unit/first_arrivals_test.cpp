// When packets arrived that were read at one moment.
#include "app/source/first_arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t utc = 1'000'000 * ms;

class FirstArrivals : public testing::Test {
 protected:
  FirstArrivals() { stream_.time_base = stream_.audio_time_base = {1, 1000}; }
  void add(std::int64_t time_ms, std::int64_t arrival_ms, ReadResult track = ReadResult::packet,
           bool by_source = false) {
    ReadAhead::Entry entry;
    entry.packet = make_av_packet();
    entry.packet->dts = entry.packet->pts = time_ms;
    entry.result = track;
    entry.times = {.arrival = arrival_ms * ms, .arrival_utc = utc + arrival_ms * ms, .by_source = by_source};
    read_.push_back(std::move(entry));
  }
  // ms; their UTC is likewise.
  std::vector<std::int64_t> arrivals(std::int64_t opened_ms = 0) {
    spread_first_arrivals(read_, stream_, opened_ms * ms);
    std::vector<std::int64_t> all;
    for (const ReadAhead::Entry& entry : read_) {
      EXPECT_EQ(entry.times.arrival_utc - entry.times.arrival, utc);
      all.push_back(entry.times.arrival / ms);
    }
    return all;
  }

  SourceStream stream_;
  std::deque<ReadAhead::Entry> read_;
};

TEST_F(FirstArrivals, AreAsFarApartAsTheirTimes) {
  for (const std::int64_t time : {5000, 5040, 5080, 5130}) add(time, 9000);
  add(5170, 9035);
  EXPECT_THAT(arrivals(), ElementsAre(8865, 8905, 8945, 8995, 9035));
}

TEST_F(FirstArrivals, AreNotBeforeTheConnection) {
  for (const std::int64_t time : {0, 10'000, 20'000}) add(time, 9000);
  EXPECT_THAT(arrivals(8000), ElementsAre(8000, 8500, 9000));
  read_.clear();
  for (const std::int64_t time : {0, 10, 20}) add(time, 9000);
  EXPECT_THAT(arrivals(9500), ElementsAre(9000, 9000, 9000)) << "whatever is said of that";
}

TEST_F(FirstArrivals, OfEachTrackAreByItsOwnTimes) {
  add(0, 1000);
  add(700'000, 1000, ReadResult::audio);
  add(40, 1000);
  add(700'020, 1000, ReadResult::audio);
  add(80, 1010);
  EXPECT_THAT(arrivals(), ElementsAre(930, 980, 970, 1000, 1010));
}

TEST_F(FirstArrivals, ThatTheSourceKnowsStay) {
  add(0, 300, ReadResult::packet, true);
  add(40, 345, ReadResult::packet, true);
  EXPECT_THAT(arrivals(), ElementsAre(300, 345));
}

TEST_F(FirstArrivals, OfWhatHasNoTimesOrStandsStillStay) {
  add(AV_NOPTS_VALUE, 300);
  add(AV_NOPTS_VALUE, 300);
  EXPECT_THAT(arrivals(), ElementsAre(300, 300));
  read_.clear();
  for (int i = 0; i < 3; ++i) add(7, 400 + i);
  EXPECT_THAT(arrivals(), ElementsAre(400, 401, 402));
  read_.clear();
  for (const std::int64_t time : {100, 0, 40}) add(time, 400);
  EXPECT_THAT(arrivals(), ElementsAre(400, 360, 400)) << "none is later than it was read";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
