// Drops are counted once, whatever dies between the note and the count.
#include "ipc/drop_note.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace campipe {
namespace CAMPIPE_FILE {

class DropNotes : public testing::Test {
 protected:
  DropNotes() : page_(RigPage::create(1)), edge_(page_.edge_writer(EdgeId(0), master_process)) {}
  [[nodiscard]] std::uint64_t count(DropCause cause) const { return counter(edge_.unpublished, cause); }

  RigPage page_;
  EdgeWriterBlock& edge_;
};

TEST_F(DropNotes, AllOfANoteIsInItsWord) {
  const DropNote note{.packet = 123'456'789, .cause = 13, .count = 32'767, .published = 12'345};
  const DropNote again = DropNote::unpack(note.pack());
  EXPECT_EQ(again.packet, 123'456'789U);
  EXPECT_EQ(again.cause, 13U);
  EXPECT_EQ(again.count, 32'767U);
  EXPECT_EQ(again.published, 12'345U);
  EXPECT_NE(DropNote().pack(), 0U) << "0 is no note";
}

TEST_F(DropNotes, NothingIsSettledWhereNothingWasDropped) {
  EXPECT_FALSE(settle_drop(edge_, 0));
  EXPECT_FALSE(settle_drop(edge_, 1U << 15));
  for (const auto& counted : edge_.unpublished) EXPECT_EQ(counted, 0U);
}

TEST_F(DropNotes, WhatWasCountedIsNotCountedAgain) {
  for (std::uint64_t packet = 1; packet <= 70'000; packet += 1000) {
    count_drop(edge_, DropCause::corrupt, packet, 10);
    const std::uint64_t counted = count(DropCause::corrupt);
    const auto note = settle_drop(edge_, 10);
    ASSERT_TRUE(note);
    EXPECT_TRUE(note->is_of(packet));
    EXPECT_EQ(count(DropCause::corrupt), counted);
  }
}

// As if its process had died right behind the note.
TEST_F(DropNotes, WhatWasOnlyNotedIsMadeUpForOnce) {
  for (const std::uint64_t before : {0U, 1U, 32'766U, 32'767U, 32'768U, 1'000'000U}) {
    counter(edge_.unpublished, DropCause::shed) = before;
    count_drop(edge_, DropCause::shed, 5, 7);
    counter(edge_.unpublished, DropCause::shed) = before;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(settle_drop(edge_, 7));
    EXPECT_EQ(count(DropCause::shed), before + 1);
  }
}

TEST_F(DropNotes, AFrameThatWasPublishedLaterMakesTheNoteOld) {
  count_drop(edge_, DropCause::corrupt, 5, 7);
  EXPECT_FALSE(settle_drop(edge_, 8));
  EXPECT_FALSE(settle_drop(edge_, 6));
  EXPECT_TRUE(settle_drop(edge_, 7));
}

TEST_F(DropNotes, ACauseThatThereIsNotCountsNothing) {
  edge_.newest_drop = DropNote{.packet = 1, .cause = 63, .count = 1, .published = 0}.pack();
  EXPECT_FALSE(settle_drop(edge_, 0));
  for (const auto& counted : edge_.unpublished) EXPECT_EQ(counted, 0U);
}

TEST_F(DropNotes, KnowsPacketsThatAreFarBehind) {
  for (const std::uint64_t packet : {std::uint64_t{1000}, (std::uint64_t{1} << 27) - 10, std::uint64_t{1} << 40}) {
    const DropNote note = DropNote::unpack(DropNote{.packet = packet}.pack());
    EXPECT_TRUE(note.is_of(packet));
    EXPECT_FALSE(note.is_of(packet + 1));
    EXPECT_FALSE(note.is_far_before(packet));
    EXPECT_FALSE(note.is_far_before(packet + 64));
    EXPECT_TRUE(note.is_far_before(packet + 65));
    EXPECT_FALSE(note.is_far_before(packet - 300));
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
