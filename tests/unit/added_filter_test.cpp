// A filter that yields data, and the data's type, are in this file alone: nothing else has to know of them for the data
// to arrive where a packet is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/metadata_types.h"
#include "ipc/packet_ring.h"
#include "stages/encoders/encoder.h"
#include "stages/encoders/encoder_config.h"
#include "stages/filters/chain.h"
#include "stages/filters/planes.h"
#include "tests/unit/moving_picture.h"
#include "tests/unit/ring_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

// How bright frames are: of two filters, the sum and how many there were.
struct Brightness {
  static constexpr MetadataKind kind{0x7001};
  std::uint32_t sum = 0;
  std::uint32_t filters = 0;
  std::int64_t pts = 0;

  [[nodiscard]] bool is_possible() const { return filters > 0 && sum <= 255 * filters; }
  static Brightness combine(const Brightness& one, const Brightness& other) {
    return {one.sum + other.sum, one.filters + other.filters, std::max(one.pts, other.pts)};
  }
};

// What a decoder, a newer one perhaps, knows of a frame, and no filter does.
struct Decoded {
  static constexpr MetadataKind kind{0x7002};
  std::uint32_t number = 0;
  [[nodiscard]] bool is_possible() const { return true; }
  static Decoded combine(const Decoded& one, const Decoded& /*other*/) { return one; }
};

class Measures final : public Filter {
 public:
  FrameFormat configure(const FrameFormat& in) override { return in; }
  void process(const FrameView& /*in*/, const MutableFrameView& /*out*/) override { FAIL() << "it only looks"; }
  void look(const FrameView& in, std::int64_t pts) override { found_ = {*in.data[0], 1, pts}; }
  void add_metadata(FrameMetadata& metadata) const override { metadata.add(found_); }

 private:
  Brightness found_;
};

// Changes the frame as well.
class Inverts final : public Filter {
 public:
  FrameFormat configure(const FrameFormat& in) override { return in; }
  void process(const FrameView& in, const MutableFrameView& out) override {
    for (int i = 0; i < plane_count(in.format.pixels); ++i) {
      const Plane from = plane_of(in, i);
      const MutablePlane to = plane_of(out, i);
      for (int y = to.rows.begin; y < to.rows.end; ++y)
        for (int x = 0; x < from.width; ++x)
          to.row(y)[x] = static_cast<std::uint8_t>(i == 0 ? 255 - from.row(y)[x] : from.row(y)[x]);
    }
    found_ = {*in.data[0], 1, 0};
  }
  void add_metadata(FrameMetadata& metadata) const override { metadata.add(found_); }

 private:
  Brightness found_;
};

template <typename T>
std::unique_ptr<Filter> make(const FilterParameters& /*given*/) {
  return std::make_unique<T>();
}

const FilterRegistration measures{{.name = "measures",
                                   .description = "looks how bright frames are",
                                   .parameters = {},
                                   .create = make<Measures>,
                                   .only_looks = true}};
const FilterRegistration inverts{
    {.name = "inverts", .description = "inverts luma", .parameters = {}, .create = make<Inverts>}};

constexpr int frames = 40;
constexpr std::int64_t step = 40'000'000;

FrameRecord record_of(std::uint32_t number) {
  FrameRecord record = test::record_of(number);
  record.times.pts = number * step;
  record.metadata.set(Decoded{number});
  return record;
}

TEST(AddedFilter, CopiesNoFrameThatItOnlyLooksAt) {
  FilterChain chain({{"measures", {}}, {"measures", {}}});
  FrameFormat format;
  format.width = format.height = 16;
  EXPECT_EQ(chain.configure(format), format);
  const std::vector<std::uint8_t> bytes(16 * 16 * 3 / 2, 9);
  FrameView view;
  view.format = format;
  view.data = {bytes.data(), bytes.data() + 256, bytes.data() + 320};
  view.stride = {16, 8, 8};
  const FrameRef out = chain.process({view, nullptr}, 7);
  EXPECT_EQ(out.view.data[0], bytes.data());
  const auto found = out.metadata.get<Brightness>();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sum, 18U);
  EXPECT_EQ(found->filters, 2U);
  EXPECT_EQ(found->pts, 7);
}

// Frame ring → filters → encoder, which changes the order → packet ring.
TEST(AddedFilter, ItsDataComeOutWithThePacketOfTheFrame) {
  const auto memory = FrameRingMemory::create({.slots = 3, .slot_bytes = test::picture_bytes});
  FrameRingWriter writer(memory);
  FrameRingReader reader(test::reopen(*memory, FrameRingMemory::Role::reader), 0);
  test::reserve_seat(memory, 0);
  reader.attach(true, 1);
  FilterChain chain({{"measures", {}}, {"inverts", {}}, {"measures", {}}});
  const FrameFormat format = chain.configure(test::record_of(0).format);
  EncoderConfig config;
  config.preset = "medium";
  config.latency = Latency::normal;
  const auto encoder = open_encoder(config, format, 25);
  const auto packets = PacketRingMemory::create(1 << 20, 1, 0);
  PacketRingWriter out(packets);
  const auto push = [&](const PacketView& packet) { ASSERT_TRUE(out.push(packet, Clock::now(), test::never)); };

  for (std::uint32_t number = 0; number < frames; ++number) {
    const auto slot = writer.claim();
    ASSERT_TRUE(slot);
    const FrameRef picture = test::moving_picture(test::record_of(0).format, static_cast<int>(number));
    std::copy_n(picture.view.data[0], test::picture_bytes, slot->pixels.begin());
    ASSERT_EQ(writer.publish(slot->index, record_of(number)), FrameRingWriter::Published::yes);
    writer.unpin(slot->index);
    FrameRingReader::Lease lease;
    ASSERT_EQ(reader.next(lease, test::after(test::seconds(30))), FrameRingReader::Next::frame);
    encoder->encode(chain.process(lease.frame, lease.times.pts), lease.times, push);
  }
  encoder->flush(push);

  PacketRingReader in(PacketRingMemory::open(duplicate(packets->fd())));
  std::vector<std::int64_t> times;
  for (int i = 0; i < frames; ++i) {
    PacketView packet;
    std::uint64_t number = 0;
    ASSERT_EQ(in.next(packet, number, Clock::now()), PacketRingReader::Next::packet);
    EXPECT_FALSE(packet.data.empty());
    const auto frame = static_cast<std::uint32_t>(packet.times.pts / step);
    times.push_back(packet.times.pts);
    const auto found = packet.metadata.get<Brightness>();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->filters, 3U);
    EXPECT_EQ(found->sum, 255U + test::moving_luma(0, 0, static_cast<int>(frame)))
        << "as it was, as it was, and inverted";
    EXPECT_EQ(found->pts, packet.times.pts);
    const auto decoded = packet.metadata.get<Decoded>();
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->number, frame);
  }
  EXPECT_FALSE(std::ranges::is_sorted(times)) << "no B-frames: the test tests nothing";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
