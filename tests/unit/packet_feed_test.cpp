// The writing end of a packet ring that is decoded from: what is left out where nobody reads, and that what follows can
// be decoded.
#include "app/rings/packet_feed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/metadata_types.h"
#include "ipc/replay_reader.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr int packet_bytes = 1000;

class Feeding : public testing::Test {
 protected:
  explicit Feeding(bool block = false, std::chrono::nanoseconds longest_block = seconds(30))
      : memory_(PacketRingMemory::create(std::size_t{8} * packet_bytes, 1, 0)),
        feed_(memory_, {block, [this] { return while_waiting_(); }, longest_block}),
        reader_(PacketRingMemory::open(duplicate(memory_->fd()))) {
    stream_.width = 640;
    stream_.height = 360;
    feed_.begin(stream_);
  }

  bool push(bool key, int bytes = packet_bytes) {
    const AvPacket packet = make_av_packet();
    av_new_packet(packet.get(), bytes);
    std::fill_n(packet->data, bytes, std::uint8_t{7});
    if (key) packet->flags |= AV_PKT_FLAG_KEY;
    return feed_.packet(*packet, {.packet = sent_++});
  }
  // K: a key frame. Returns which were taken, by their letters.
  std::string push_all(const std::string& packets) {
    std::string taken;
    for (const char kind : packets) taken += push(kind == 'K') ? kind : '.';
    return taken;
  }

  // All that is there: K, p, or the kind of a mark (e, l, x); a packet that says what the stream is, behind a '*'.
  std::string read() {
    std::string all;
    PacketView view;
    std::uint64_t number = 0;
    while (reader_.next(view, number, Clock::now()) == ReplayReader::Next::packet) {
      PacketRecord record;
      EXPECT_TRUE(read_record(view.data, record));
      EXPECT_EQ(view.key, record.stream != nullptr) << "there decoding can begin";
      connection_ = record.connection;
      if (record.stream) all += '*';
      if (record.packet) {
        all += (record.packet->flags & AV_PKT_FLAG_KEY) != 0 ? 'K' : 'p';
      } else {
        all += record.kind == RecordKind::end ? 'x' : record.kind == RecordKind::lost ? 'l' : 'e';
      }
    }
    return all;
  }

  std::shared_ptr<PacketRingMemory> memory_;
  std::function<bool()> while_waiting_ = [] { return false; };
  SourceStream stream_;
  PacketFeed feed_;
  ReplayReader reader_;
  std::int64_t sent_ = 0;
  std::uint64_t connection_ = 0;
};

TEST_F(Feeding, WhoObservesTheRingKnowsTheNewestPacket) {
  const PacketRingObserver observer(memory_);
  EXPECT_FALSE(observer.last_dts());
  push_all("Kpp");
  EXPECT_EQ(observer.last_dts(), 2);
  feed_.mark(RecordKind::empty);
  EXPECT_EQ(observer.last_dts(), 2);
  push_all("pppppp");  // the last of which find no room
  EXPECT_EQ(observer.last_dts(), 5);
}

TEST_F(Feeding, KeyFramesAndTheFirstPacketSayWhatTheStreamIs) {
  EXPECT_EQ(push_all("ppKp"), "ppKp");
  EXPECT_EQ(read(), "*pp*Kp");
  reader_.all_shown();
  feed_.mark(RecordKind::lost);
  feed_.begin(stream_);
  EXPECT_EQ(push_all("pK"), "pK");
  EXPECT_EQ(read(), "l*p*K");
  EXPECT_EQ(connection_, 2U);
}

// Whoever decodes is away: a live source is not held up, and what comes later can be decoded.
TEST_F(Feeding, WhatDoesNotFitIsLeftOutUpToAKeyFrame) {
  const Stopwatch watch;
  EXPECT_EQ(push_all("KppppppppppKpp"), "Kppppp........");
  EXPECT_LT(watch.elapsed(), milliseconds(500)) << "one short wait for each try";
  EXPECT_EQ(read(), "*Kppppp");
  reader_.all_shown();
  EXPECT_EQ(push_all("ppKp"), "..Kp");
  EXPECT_EQ(read(), "*Kp");
}

TEST_F(Feeding, AConnectionWhoseFirstPacketsWereLeftOutBeginsAtAKeyFrame) {
  EXPECT_EQ(push_all("Kppppp"), "Kppppp");
  feed_.mark(RecordKind::lost);
  feed_.begin(stream_);
  EXPECT_EQ(push_all("pp"), "..");
  EXPECT_EQ(read(), "*Kpppppl");
  reader_.all_shown();
  EXPECT_EQ(push_all("pKp"), ".Kp");
  EXPECT_EQ(read(), "*Kp");
}

TEST_F(Feeding, AMarkThatFindsNoRoomComesBeforeTheNextPacket) {
  EXPECT_EQ(push_all("Kppppp"), "Kppppp");
  push(false, 900);
  while (push(true, 1)) continue;  // to the last byte
  feed_.mark(RecordKind::empty);
  EXPECT_EQ(read().find('e'), std::string::npos);
  reader_.all_shown();
  EXPECT_TRUE(push(true));
  EXPECT_EQ(read(), "e*K");
}

TEST_F(Feeding, APacketThatNeverFitsIsLeftOut) {
  EXPECT_FALSE(push(true, 6 * packet_bytes));
  EXPECT_FALSE(push(false));
  EXPECT_TRUE(push(true));
}

// What who decodes has found goes with packets as long as it keeps up.
TEST_F(Feeding, WhatWasFoundInAFrameIsKnownUntilItIsOutOfDate) {
  EXPECT_TRUE(feed_.metadata(0).bytes().empty());
  push(true);
  FrameMetadata found;
  found.set(MotionScore{.moving = 0.5F, .score = 0.5F});
  reader_.set_note(0, {.packet = 0, .metadata = found});
  EXPECT_TRUE(feed_.metadata(0).get<MotionScore>());
  EXPECT_FALSE(feed_.metadata(1).get<MotionScore>());
  const auto push_and_take = [this] {
    push(true, 10);
    read();
    reader_.all_shown();
  };
  for (int i = 0; i < 64; ++i) push_and_take();
  EXPECT_TRUE(feed_.metadata(0).get<MotionScore>());
  push_and_take();
  EXPECT_FALSE(feed_.metadata(0).get<MotionScore>());
}

class BlockingFeed : public Feeding {
 protected:
  BlockingFeed() : Feeding(true) {}
};

TEST_F(BlockingFeed, WaitsForItsReader) {
  std::jthread follower([this] {
    PacketView view;
    std::uint64_t number = 0;
    while (reader_.next(view, number, after(seconds(10))) == ReplayReader::Next::packet) continue;
  });
  EXPECT_EQ(push_all("Kppppppppppppppppppp"), "Kppppppppppppppppppp");
  feed_.close();
}

TEST_F(BlockingFeed, EndsItsWaitWhenItIsInterrupted) {
  EXPECT_EQ(push_all("Kppppp"), "Kppppp");
  while_waiting_ = [] { return true; };
  EXPECT_FALSE(push(false));
}

// Nothing that is in the ring can be given back before it has taken the last packet.
class ImpatientFeed : public Feeding {
 protected:
  ImpatientFeed() : Feeding(true, milliseconds(50)) {}

  bool take_one() {
    PacketView view;
    std::uint64_t number = 0;
    if (reader_.next(view, number, Clock::now()) != ReplayReader::Next::packet) return false;
    reader_.set_taken(number);
    return true;
  }
};

TEST_F(ImpatientFeed, WaitsForWhoIsSlowAsLongAsItTakesAny) {
  ASSERT_EQ(push_all("Kppppp"), "Kppppp");
  int taken = 0;
  while_waiting_ = [&] {
    std::this_thread::sleep_for(milliseconds(60));  // each time longer than it would wait for a reader that is away
    if (take_one()) ++taken;
    return false;
  };
  EXPECT_TRUE(push(true));
  EXPECT_GE(taken, 4);
}

TEST_F(ImpatientFeed, WaitsForNobodyWhoTakesNothing) {
  ASSERT_EQ(push_all("Kppppp"), "Kppppp");
  ASSERT_TRUE(take_one());
  EXPECT_FALSE(push(true));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
