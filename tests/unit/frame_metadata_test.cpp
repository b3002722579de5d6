// What travels with a frame: that data come out as they went in, and what is made of bytes that another process wrote.
#include "core/frame_metadata.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/metadata_types.h"

namespace campipe {
namespace CAMPIPE_FILE {

// The greatest of two; possible up to 1000.
template <unsigned number, std::size_t size = 4>
struct Data {
  static constexpr MetadataKind kind{0x7000 + number};
  std::array<std::uint32_t, size / 4> words{};

  [[nodiscard]] bool is_possible() const { return words[0] <= 1000; }
  static Data combine(const Data& one, const Data& other) { return one.words[0] >= other.words[0] ? one : other; }
};

template <typename T>
std::optional<std::uint32_t> value_of(const FrameMetadata& metadata) {
  const auto data = metadata.get<T>();
  return data ? std::optional(data->words[0]) : std::nullopt;
}

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const FrameMetadata& metadata) { return {metadata.bytes().begin(), metadata.bytes().end()}; }

// An entry as another process may write it.
void append(Bytes& bytes, std::uint16_t kind, std::uint16_t size, const Bytes& data) {
  for (const std::uint16_t number : {kind, size}) {
    bytes.push_back(static_cast<std::uint8_t>(number & 255U));
    bytes.push_back(static_cast<std::uint8_t>(number >> 8U));
  }
  bytes.insert(bytes.end(), data.begin(), data.end());
}

TEST(FrameMetadata, HoldsOneOfEachType) {
  FrameMetadata metadata;
  EXPECT_EQ(value_of<Data<1>>(metadata), std::nullopt);
  EXPECT_TRUE(metadata.set(Data<1>{5}));
  EXPECT_TRUE(metadata.set(Data<2, 40>{6}));
  EXPECT_TRUE(metadata.set(Data<1>{7}));
  EXPECT_EQ(value_of<Data<1>>(metadata), 7U);
  EXPECT_EQ((value_of<Data<2, 40>>(metadata)), 6U);
  EXPECT_EQ(value_of<Data<3>>(metadata), std::nullopt);
  EXPECT_EQ(metadata.bytes().size(), 4U + 4 + 4 + 40);
}

TEST(FrameMetadata, CombinesAsTheTypeSays) {
  FrameMetadata metadata;
  for (const std::uint32_t value : {5U, 9U, 2U}) EXPECT_TRUE(metadata.add(Data<1>{value}));
  EXPECT_EQ(value_of<Data<1>>(metadata), 9U);
  std::optional<Data<1>> all;
  for (const std::uint32_t value : {5U, 9U, 2U}) combine_into(all, Data<1>{value});
  EXPECT_EQ(all->words[0], 9U);
}

TEST(FrameMetadata, MayBeFull) {
  FrameMetadata metadata;
  EXPECT_TRUE((metadata.set(Data<1, 124>{1})));
  EXPECT_TRUE((metadata.set(Data<2, 116>{2})));
  EXPECT_FALSE(metadata.set(Data<3>{3})) << "four bytes are left";
  EXPECT_FALSE(metadata.add(Data<3>{3}));
  EXPECT_TRUE((metadata.set(Data<1, 124>{4}))) << "in place of what there is";
  EXPECT_TRUE((metadata.set(Data<2, 120>{5}))) << "to the last byte";
  EXPECT_EQ((value_of<Data<1, 124>>(metadata)), 4U);
  EXPECT_EQ((value_of<Data<2, 120>>(metadata)), 5U);
  EXPECT_EQ(metadata.bytes().size(), FrameMetadata::capacity);
  EXPECT_TRUE(metadata.is_possible());
}

TEST(FrameMetadata, TravelsAsBytes) {
  FrameMetadata metadata;
  EXPECT_TRUE(metadata.set(Data<1>{5}));
  EXPECT_TRUE(metadata.set(MotionScore{0.5F, 0.25F, 0.125F}));
  const auto copy = FrameMetadata::from_bytes(metadata.bytes());
  ASSERT_TRUE(copy);
  EXPECT_EQ(value_of<Data<1>>(*copy), 5U);
  EXPECT_EQ(copy->get<MotionScore>(), (MotionScore{0.5F, 0.25F, 0.125F}));
  EXPECT_TRUE(FrameMetadata::from_bytes({})->bytes().empty());
}

TEST(FrameMetadata, CarriesKindsAlongThatItDoesNotKnow) {
  Bytes bytes;
  append(bytes, 0x7777, 3, {1, 2, 3});
  append(bytes, static_cast<std::uint16_t>(Data<1>::kind), 4, {5, 0, 0, 0});
  append(bytes, 0x7778, 0, {});
  auto metadata = FrameMetadata::from_bytes(bytes);
  ASSERT_TRUE(metadata);
  EXPECT_EQ(value_of<Data<1>>(*metadata), 5U);
  EXPECT_TRUE(metadata->add(Data<1>{6}));
  Bytes expected;
  append(expected, 0x7777, 3, {1, 2, 3});
  append(expected, 0x7778, 0, {});
  append(expected, static_cast<std::uint16_t>(Data<1>::kind), 4, {6, 0, 0, 0});
  EXPECT_EQ(bytes_of(*metadata), expected);
}

TEST(FrameMetadata, IsOfWholeEntries) {
  EXPECT_FALSE(FrameMetadata::from_bytes(Bytes(FrameMetadata::capacity + 1)));
  EXPECT_TRUE(FrameMetadata::from_bytes(Bytes(FrameMetadata::capacity))) << "63 empty entries of kind 0";
  for (const std::size_t size : {1U, 2U, 3U, 5U, 251U}) EXPECT_FALSE(FrameMetadata::from_bytes(Bytes(size))) << size;
  for (const std::uint16_t size : {5, 255, 0xffff}) {
    Bytes bytes;
    append(bytes, 0x7777, 2, {1, 2});
    append(bytes, 0x7778, size, {1, 2, 3, 4});
    EXPECT_FALSE(FrameMetadata::from_bytes(bytes)) << size;
  }
}

// As a record lies in shared memory: every word, with what it must never be.
TEST(FrameMetadata, NeverReadsBeyondItsBytes) {
  for (std::size_t at = 0; at + 4 <= sizeof(FrameMetadata); at += 2) {
    for (const std::uint32_t wrong : {0U, 1U, 0xffff'ffffU, 0x8000'0000U, 0x0004'7001U, 0x7fff'7001U, 253U}) {
      FrameMetadata metadata;
      metadata.set(Data<1>{5});
      metadata.set(Data<2, 200>{6});
      std::memcpy(reinterpret_cast<std::uint8_t*>(&metadata) + at, &wrong, sizeof wrong);
      if (!metadata.is_possible()) continue;
      EXPECT_LE(metadata.bytes().size(), FrameMetadata::capacity);
      static_cast<void>(metadata.get<Data<1>>());
      metadata.add(Data<3, 36>{7});
      metadata.add(Data<1>{8});
      EXPECT_TRUE(metadata.is_possible());
    }
  }
}

TEST(FrameMetadata, OfAnotherSizeIsAnotherType) {
  FrameMetadata metadata;
  EXPECT_TRUE(metadata.set(Data<1, 8>{5}));
  EXPECT_EQ(value_of<Data<1>>(metadata), std::nullopt);
  EXPECT_TRUE(metadata.add(Data<1>{6}));
  EXPECT_EQ(value_of<Data<1>>(metadata), 6U);
  EXPECT_EQ(metadata.bytes().size(), 8U);
}

TEST(FrameMetadata, HandsOutWhatIsPossible) {
  FrameMetadata metadata;
  EXPECT_TRUE(metadata.set(Data<1>{1001}));
  EXPECT_EQ(value_of<Data<1>>(metadata), std::nullopt);
  EXPECT_TRUE(metadata.add(Data<1>{5}));
  EXPECT_EQ(value_of<Data<1>>(metadata), 5U) << "not combined with it";
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  for (const MotionScore& wrong : {MotionScore{nan, 0, 1}, MotionScore{0, nan, 1}, MotionScore{0, 0, nan},
                                   MotionScore{infinite, 0, 1}, MotionScore{0, 0, 0}, MotionScore{-0.5F, 0, 1}}) {
    EXPECT_TRUE(metadata.set(wrong));
    EXPECT_EQ(metadata.get<MotionScore>(), std::nullopt);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
