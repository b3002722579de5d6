// Parameter sets of H.264 and HEVC: which of many stand in the header of a file.
#include "stages/sinks/parameter_sets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

using Bytes = std::vector<std::uint8_t>;
using Picture = ParameterSets::Picture;

// A unit of H.264: bytes, and then numbers in Exp-Golomb code.
Bytes unit(Bytes bytes, const std::vector<unsigned>& numbers) {
  std::string bits;
  for (const unsigned number : numbers) {
    std::string binary;
    for (unsigned rest = number + 1; rest > 0; rest /= 2) binary.insert(binary.begin(), rest % 2 != 0 ? '1' : '0');
    bits += std::string(binary.size() - 1, '0') + binary;
  }
  bits += '1';
  while (bits.size() % 8 != 0) bits += '0';
  for (std::size_t at = 0; at < bits.size(); at += 8)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(bits.substr(at, 8), nullptr, 2)));
  return bytes;
}

Bytes sequence(unsigned number) { return unit({0x67, 66, 0, 30}, {number, 0, 0, 0}); }
Bytes picture(unsigned number, unsigned sequence) { return unit({0x68}, {number, sequence, 0}); }
Bytes slice(unsigned picture) { return unit({0x65}, {0, 7, picture, 0}); }

// As files divide them.
void add(Bytes& packet, const Bytes& unit) {
  packet.insert(packet.end(), {0, 0, 0, static_cast<std::uint8_t>(unit.size())});
  packet.insert(packet.end(), unit.begin(), unit.end());
}

Bytes header(const std::vector<Bytes>& sequences, const std::vector<Bytes>& pictures) {
  Bytes box{1, 66, 0, 30, 0xff, static_cast<std::uint8_t>(0xe0 | sequences.size())};
  const auto append = [&box](const Bytes& unit) {
    box.insert(box.end(), {0, static_cast<std::uint8_t>(unit.size())});
    box.insert(box.end(), unit.begin(), unit.end());
  };
  for (const Bytes& one : sequences) append(one);
  box.push_back(static_cast<std::uint8_t>(pictures.size()));
  for (const Bytes& one : pictures) append(one);
  return box;
}

ParameterSets some_sets() { return {AV_CODEC_ID_H264, header({sequence(0)}, {picture(0, 0)})}; }

TEST(ParameterSets, StandInTheHeaderAsTheyCame) {
  const Bytes box = header({sequence(0)}, {picture(0, 0)});
  EXPECT_EQ(ParameterSets(AV_CODEC_ID_H264, box).extradata(), box);
}

// Their number is one of five bits there.
TEST(ParameterSets, OfMoreSequencesThanAHeaderCountsThoseStayThatAreUsed) {
  ParameterSets sets = some_sets();
  Bytes packet;
  for (unsigned i = 0; i < 32; ++i) {
    add(packet, sequence(i));
    add(packet, picture(i, i));
  }
  add(packet, slice(31));
  sets.take(packet);
  sets.begin_at(packet);
  EXPECT_EQ(sets.extradata(), header({sequence(31)}, {picture(31, 31)}));
  EXPECT_EQ(sets.picture_in(packet), Picture::known);
  sets.take(packet);
  sets.begin_at(packet);
  EXPECT_EQ(sets.extradata(), header({sequence(31)}, {picture(31, 31)})) << "with the next key frame, too";
}

// Likewise, of eight bits.
TEST(ParameterSets, OfMorePicturesThanAHeaderCountsThatOfTheKeyFrameStays) {
  ParameterSets sets = some_sets();
  Bytes packet;
  for (unsigned i = 0; i < 256; ++i) add(packet, picture(i, 0));
  add(packet, slice(255));
  sets.take(packet);
  sets.begin_at(packet);
  const ParameterSets read_back(AV_CODEC_ID_H264, sets.extradata());
  EXPECT_TRUE(read_back == sets);
  EXPECT_EQ(read_back.picture_in(packet), Picture::known);
  Bytes other;
  add(other, slice(254));
  EXPECT_EQ(read_back.picture_in(other), Picture::unknown) << "so that it is known which frames cannot be shown";
}

TEST(ParameterSets, WithNumbersThatThereAreNotAreLeftOut) {
  ParameterSets sets = some_sets();
  Bytes packet;
  add(packet, sequence(32));
  add(packet, picture(256, 0));
  add(packet, slice(0));
  sets.take(packet);
  EXPECT_TRUE(sets == some_sets());
}

// A sequence may be announced before it begins.
TEST(ParameterSets, ThatAreUsedOutliveNewOnes) {
  ParameterSets sets = some_sets();
  Bytes packet;
  add(packet, sequence(1));
  add(packet, picture(1, 1));
  sets.take(packet);
  EXPECT_EQ(sets.picture_in(packet), Picture::none);
  Bytes of_old;
  add(of_old, slice(0));
  sets.begin_at(of_old);
  EXPECT_EQ(sets.picture_in(of_old), Picture::known);
  Bytes of_new;
  add(of_new, slice(1));
  EXPECT_EQ(sets.picture_in(of_new), Picture::known);
}

TEST(ParameterSets, OfTheStreamBeforeAreForgotten) {
  ParameterSets sets = some_sets();
  Bytes packet;
  add(packet, sequence(3));
  add(packet, picture(2, 3));
  add(packet, slice(2));
  sets.take(packet);
  sets.begin_at(packet);
  EXPECT_EQ(sets.extradata(), header({sequence(3)}, {picture(2, 3)}));
}

TEST(ParameterSets, AreComparedForEachSlice) {
  ParameterSets sets = some_sets();
  Bytes packet;
  add(packet, picture(1, 0));
  add(packet, slice(0));
  ParameterSets more = some_sets();
  more.take(packet);
  EXPECT_TRUE(more.refers_alike(packet, sets));
  add(packet, slice(1));
  EXPECT_FALSE(more.refers_alike(packet, sets));
  sets.take_pictures(packet);
  EXPECT_TRUE(more.refers_alike(packet, sets));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
