// The messages of a link: what is sent arrives, and what cannot be is not taken.
#include "app/link/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "core/metadata_types.h"

namespace campipe::link {
namespace CAMPIPE_FILE {

using Bytes = std::vector<std::uint8_t>;

Bytes encoded(const Message& message) {
  Bytes head;
  encode(message, head);
  return head;
}

template <typename Type>
Type sent(const Type& message) {
  const auto arrived = decode(encoded(message));
  EXPECT_TRUE(arrived && std::holds_alternative<Type>(*arrived));
  return arrived && std::holds_alternative<Type>(*arrived) ? std::get<Type>(*arrived) : Type{};
}

Hello some_hello() { return {.end = End::receiving, .name = "yard to wall", .number = 77}; }

FrameFormat some_format() {
  return {.pixels = PixelFormat::nv12,
          .width = 1921,
          .height = 1081,
          .color_range = 1,
          .color_space = 5,
          .color_primaries = 6,
          .color_transfer = 7,
          .chroma_location = 3,
          .sample_aspect_num = 4,
          .sample_aspect_den = 3};
}

Shape some_shape() {
  Shape shape;
  shape.number = 12;
  shape.expected = some_format();
  shape.band_source = {{.width = 3840, .height = 2160}, 270};
  shape.slot_bytes = 4'000'000;
  shape.frame_rate = 29.97;
  shape.rotation = 90;
  return shape;
}

Frame some_frame() {
  Frame frame;
  frame.number = 99;
  frame.resolved = 98;
  frame.sent = 1'000'000'000;
  frame.record.format = some_format();
  frame.record.offset = {0, 2048 * 1081, 0};
  frame.record.stride = {2048, 2048, 0};
  frame.bytes = 2048 * 1081 + 2048 * 540 + 1922;
  frame.record.source_number = 12345;
  frame.record.times = {.pts = 1,
                        .duration = 2,
                        .media_time = 3,
                        .capture_utc = 4,
                        .capture_clock = CaptureClock::camera,
                        .arrival = 5,
                        .decode_cost = 6,
                        .decoded = 7,
                        .published = 8,
                        .filter_cost = 9,
                        .set = 10,
                        .set_state = SetState::taken};
  frame.record.metadata.set(MotionScore{.moving = 0.5F, .score = 0.25F, .threshold = 0.1F});
  return frame;
}

TEST(LinkMessage, AHelloArrives) {
  const Hello hello = sent(some_hello());
  EXPECT_EQ(hello.version, version);
  EXPECT_EQ(hello.end, End::receiving);
  EXPECT_EQ(hello.name, "yard to wall");
  EXPECT_EQ(hello.number, 77U);
}

TEST(LinkMessage, AShapeArrives) {
  const Shape shape = sent(some_shape());
  EXPECT_EQ(shape.number, 12U);
  EXPECT_EQ(shape.expected, some_format());
  EXPECT_EQ(shape.band_source, some_shape().band_source);
  EXPECT_EQ(shape.slot_bytes, 4'000'000U);
  EXPECT_EQ(shape.frame_rate, 29.97);
  EXPECT_EQ(shape.rotation, 90);
}

TEST(LinkMessage, AFrameArrives) {
  const Frame frame = sent(some_frame());
  EXPECT_EQ(frame.number, 99U);
  EXPECT_EQ(frame.resolved, 98U);
  EXPECT_EQ(frame.sent, 1'000'000'000);
  EXPECT_EQ(frame.bytes, some_frame().bytes);
  const FrameRecord& record = frame.record;
  EXPECT_EQ(record.format, some_format());
  EXPECT_EQ(record.offset, some_frame().record.offset);
  EXPECT_EQ(record.stride, some_frame().record.stride);
  EXPECT_EQ(record.source_number, 12345U);
  const FrameTimes& times = record.times;
  EXPECT_THAT((std::vector{times.pts, times.duration, times.media_time, times.capture_utc, times.arrival,
                           times.decode_cost, times.decoded, times.published, times.filter_cost}),
              testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(times.capture_clock, CaptureClock::camera);
  EXPECT_EQ(times.set, 10U);
  EXPECT_EQ(times.set_state, SetState::taken);
  EXPECT_EQ(record.metadata.get<MotionScore>(), (MotionScore{.moving = 0.5F, .score = 0.25F, .threshold = 0.1F}));
}

TEST(LinkMessage, CreditBeatAndByeArrive) {
  const Credit credit = sent(Credit{.shapes = 3, .up_to = 9, .settled = 5});
  EXPECT_EQ(credit.shapes, 3U);
  EXPECT_EQ(credit.up_to, 9U);
  EXPECT_EQ(credit.settled, 5U);
  const Beat beat = sent(Beat{.sent = 123, .resolved = 45});
  EXPECT_EQ(beat.sent, 123);
  EXPECT_EQ(beat.resolved, 45U);
  const Bye bye = sent(Bye{.reason = Bye::Reason::busy, .number = 6});
  EXPECT_EQ(bye.reason, Bye::Reason::busy);
  EXPECT_EQ(bye.number, 6U);
}

TEST(LinkMessage, IsTakenWholeOrNotAtAll) {
  for (const Message& message :
       std::vector<Message>{some_hello(), some_shape(), some_frame(), Credit{}, Beat{}, Bye{}}) {
    Bytes head = encoded(message);
    EXPECT_LE(head.size(), largest_head);
    for (std::size_t size = 0; size < head.size(); ++size) {
      EXPECT_FALSE(decode({head.data(), size})) << size << " bytes of message " << message.index();
    }
    head.push_back(0);
    EXPECT_FALSE(decode(head)) << "a byte more of message " << message.index();
  }
}

TEST(LinkMessage, OfAnotherVersionAHelloSaysThat) {
  Hello hello = some_hello();
  hello.version = version + 1;
  Bytes head = encoded(hello);
  head.resize(head.size() + 9);  // whatever that has
  const auto arrived = decode(head);
  ASSERT_TRUE(arrived && std::holds_alternative<Hello>(*arrived));
  EXPECT_EQ(std::get<Hello>(*arrived).version, version + 1);
}

struct Impossible {
  const char* name;
  Message message;
  friend std::ostream& operator<<(std::ostream& out, const Impossible& of) { return out << of.name; }
};

template <typename Type>
Impossible changed(const char* name, Type message, const std::function<void(Type&)>& change) {
  change(message);
  return {name, std::move(message)};
}

class ImpossibleLinkMessage : public testing::TestWithParam<Impossible> {};

TEST_P(ImpossibleLinkMessage, IsNotTaken) { EXPECT_FALSE(decode(encoded(GetParam().message))); }

INSTANTIATE_TEST_SUITE_P(
    Cases, ImpossibleLinkMessage,
    testing::Values(
        changed<Hello>("NameWithControls", some_hello(), [](auto& of) { of.name = "a\nb"; }),
        changed<Hello>("LongName", some_hello(), [](auto& of) { of.name.assign(longest_name + 1, 'x'); }),
        changed<Hello>("End", some_hello(), [](auto& of) { of.end = End{2}; }),
        changed<Shape>("NoSlot", some_shape(), [](auto& of) { of.slot_bytes = 0; }),
        changed<Shape>("HugeSlot", some_shape(), [](auto& of) { of.slot_bytes = std::uint64_t{1} << 40; }),
        changed<Shape>("NoRate", some_shape(),
                       [](auto& of) { of.frame_rate = std::numeric_limits<double>::quiet_NaN(); }),
        changed<Shape>("Rotation", some_shape(), [](auto& of) { of.rotation = 45; }),
        changed<Shape>("Format", some_shape(), [](auto& of) { of.expected.width = -1; }),
        changed<Frame>("NumberNone", some_frame(), [](auto& of) { of.number = 0; }),
        changed<Frame>("NumberHuge", some_frame(), [](auto& of) { of.number = ~std::uint64_t{0}; }),
        changed<Frame>("PlaneBehindTheBody", some_frame(), [](auto& of) { --of.bytes; }),
        changed<Frame>("PlaneFarAway", some_frame(), [](auto& of) { of.record.offset[1] = ~0U; }),
        changed<Frame>("StrideNegative", some_frame(), [](auto& of) { of.record.stride[0] = -2048; }),
        changed<Frame>("StrideHuge", some_frame(), [](auto& of) { of.record.stride[1] = 0x7fffffff; }),
        changed<Frame>("Pixels", some_frame(), [](auto& of) { of.record.format.pixels = PixelFormat{7}; }),
        changed<Frame>("NoSize", some_frame(), [](auto& of) { of.record.format.height = 0; }),
        changed<Frame>("Time", some_frame(),
                       [](auto& of) { of.record.times.pts = std::numeric_limits<std::int64_t>::min(); }),
        changed<Frame>("Sent", some_frame(), [](auto& of) { of.sent = std::numeric_limits<std::int64_t>::max(); }),
        changed<Credit>("SettledAhead", Credit{}, [](auto& of) { of.settled = 1; }),
        changed<Beat>("BeatTime", Beat{}, [](auto& of) { of.sent = std::numeric_limits<std::int64_t>::max(); }),
        changed<Bye>("Reason", Bye{}, [](auto& of) { of.reason = Bye::Reason{4}; })),
    [](const auto& of) { return of.param.name; });

TEST(LinkMessage, OfAnUnknownKindIsNotTaken) {
  for (unsigned kind = 6; kind < 256; ++kind) EXPECT_FALSE(decode(Bytes(40, static_cast<std::uint8_t>(kind))));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::link
