// Decoding into ring slots, seen through another mapping of the ring as a worker has it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <set>

#include "core/test_pattern.h"
#include "ipc/frame_ring.h"
#include "stages/decoders/decoder.h"
#include "stages/sources/source.h"
#include "stages/sources/source_config.h"
#include "tests/integration/clips.h"
#include "tests/unit/ring_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "campipe-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw system_error("cannot make " + name, errno);
    path_ = name;
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// A source, its decoder, the ring that it writes to and a reader of that ring.
class Bench {
 public:
  Bench(const std::string& file, int threads, std::optional<unsigned> slots = std::nullopt,
        std::optional<std::size_t> slot_bytes = std::nullopt)
      : source_(open_source({.url = file, .pace = Pace::fast}, [] { return false; })),
        decoder_(open_decoder(source_->stream(), {.threads = threads})),
        slots_(slots),
        slot_bytes_(slot_bytes) {
    make_ring();
  }

  // As large as the decoder wants it now.
  void make_ring() {
    FrameRingSpec spec;
    spec.epoch = ++rings_;
    spec.slots = slots_.value_or(std::min(decoder_->needs().kept + 12, max_ring_slots));
    spec.slot_bytes = slot_bytes_.value_or(decoder_->needs().bytes);
    writer_ = std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec));
    decoder_->write_to(writer_);
    const FrameRingMemory& memory = writer_->memory();
    readable_ = FrameRingMemory::open(UniqueFd(::dup(memory.control_fd())), UniqueFd(::dup(memory.pixel_fd())),
                                      FrameRingMemory::Role::reader);
    reader_ = std::make_unique<FrameRingReader>(readable_, 0);
    test::reserve_seat(readable_, 0);
    reader_->attach(true, 8);
  }

  struct Seen {
    DecodedFrame picture;
    bool claimed_before = false;  // its slot was being written before receive() was called
    FrameRingReader::Lease lease;
    const std::uint8_t* slot = nullptr;  // in the reader's mapping
  };
  using Look = std::function<void(const Seen&)>;

  [[nodiscard]] std::uint64_t rings() const { return rings_; }

  // Everything in the file; returns how many frames were lost for want of a slot.
  int run(const Look& look) {
    const AvPacket packet = make_av_packet();
    while (source_->read(*packet) == ReadResult::packet) {
      decode(packet.get(), look);
      av_packet_unref(packet.get());
    }
    decode(nullptr, look);
    return lost_;
  }

 private:
  std::set<unsigned> being_written() const {
    std::set<unsigned> slots;
    for (unsigned slot = 0; slot < max_ring_slots; ++slot) {
      if (writer_->unpublished(slot)) slots.insert(slot);
    }
    return slots;
  }

  void decode(const AVPacket* packet, const Look& look) {
    decoder_->send(packet, 0);
    for (;;) {
      Seen seen;
      const auto before = being_written();
      const auto received = decoder_->receive(seen.picture);
      if (received == Decoder::Receive::none) return;
      if (received == Decoder::Receive::changed) {
        reader_.reset();
        writer_->close();
        make_ring();
        continue;
      }
      if (received == Decoder::Receive::no_slot) {
        ++lost_;
        continue;
      }
      seen.claimed_before = before.contains(seen.picture.slot);
      ASSERT_EQ(writer_->publish(seen.picture.slot, seen.picture.record), FrameRingWriter::Published::yes);
      ASSERT_EQ(reader_->next(seen.lease, Clock::now() + std::chrono::seconds(30)), FrameRingReader::Next::frame);
      seen.slot = readable_->pixels(seen.picture.slot).data();
      look(seen);
    }
  }

  std::unique_ptr<Source> source_;
  std::shared_ptr<FrameRingWriter> writer_;
  std::unique_ptr<Decoder> decoder_;
  std::shared_ptr<FrameRingMemory> readable_;
  std::unique_ptr<FrameRingReader> reader_;
  std::optional<unsigned> slots_;
  std::optional<std::size_t> slot_bytes_;  // none: as the decoder wants it
  std::uint64_t rings_ = 0;
  int lost_ = 0;
};

// The same file by libavcodec alone, into memory of its own.
std::vector<AvFrame> reference(const fs::path& file) {
  AVFormatContext* raw = nullptr;
  av_check(avformat_open_input(&raw, file.c_str(), nullptr, nullptr), file);
  const AvInput input(raw);
  av_check(avformat_find_stream_info(input.get(), nullptr), file);
  const AVCodecParameters& parameters = *input->streams[0]->codecpar;
  const AvCodecContext decoder(avcodec_alloc_context3(avcodec_find_decoder(parameters.codec_id)));
  av_check(avcodec_parameters_to_context(decoder.get(), &parameters), file);
  av_check(avcodec_open2(decoder.get(), nullptr, nullptr), file);
  std::vector<AvFrame> frames;
  const auto drain = [&](const AVPacket* packet) {
    avcodec_send_packet(decoder.get(), packet);
    for (AvFrame frame = make_av_frame(); avcodec_receive_frame(decoder.get(), frame.get()) == 0;
         frame = make_av_frame()) {
      frames.push_back(std::move(frame));
    }
  };
  const AvPacket packet = make_av_packet();
  while (av_read_frame(input.get(), packet.get()) == 0) {
    drain(packet.get());
    av_packet_unref(packet.get());
  }
  drain(nullptr);
  return frames;
}

bool same_pixels(const FrameView& view, const AVFrame& frame) {
  if (view.format.width != frame.width || view.format.height != frame.height) return false;
  for (int plane = 0; plane < plane_count(view.format.pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(view.format, plane);
    for (int row = 0; row < size.height; ++row) {
      const std::uint8_t* ours = view.data[at] + std::ptrdiff_t{view.stride[at]} * row;
      const std::uint8_t* theirs = frame.data[at] + std::ptrdiff_t{frame.linesize[at]} * row;
      if (std::memcmp(ours, theirs, static_cast<std::size_t>(size.width)) != 0) return false;
    }
  }
  return true;
}

struct Direct {
  std::string title;
  test::ClipSpec clip;
  int threads = 1;
};
void PrintTo(const Direct& direct, std::ostream* out) { *out << direct.title; }

class DirectDecoding : public testing::TestWithParam<Direct> {};

TEST_P(DirectDecoding, ReadersReadWhereTheCodecWrote) {
  const Direct& direct = GetParam();
  if (!test::can_encode(direct.clip.encoder)) GTEST_SKIP() << "no encoder " << direct.clip.encoder;
  const Folder folder;
  test::make_clip(folder.path(), direct.clip);
  const fs::path file = folder.path() / direct.clip.name;
  const std::vector<AvFrame> expected = reference(file);
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(direct.clip.frames));
  std::size_t count = 0;
  const int lost = Bench(file, direct.threads).run([&](const Bench::Seen& seen) {
    SCOPED_TRACE(count);
    ASSERT_LT(count, expected.size());
    EXPECT_FALSE(seen.picture.converted);
    // A conversion would claim a slot in receive(); codecs with threads may still be decoding then.
    if (direct.threads == 1) {
      EXPECT_TRUE(seen.claimed_before);
    }
    EXPECT_EQ(seen.lease.frame.view.data[0], seen.slot + seen.picture.record.offset[0]);
    EXPECT_TRUE(same_pixels(seen.lease.frame.view, *expected[count]));
    ++count;
  });
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(count, expected.size());
}

INSTANTIATE_TEST_SUITE_P(
    Of, DirectDecoding,
    testing::Values(Direct{"H264", {.name = "a.mp4"}}, Direct{"H264BFrames", {.name = "a.mp4", .b_frames = 3}},
                    Direct{"H264ManyReferences", {.name = "a.mp4", .b_frames = 3, .long_references = true}},
                    Direct{"H264FrameThreads", {.name = "a.mp4", .b_frames = 3, .long_references = true}, 4},
                    Direct{"H264OddHeight", {.name = "a.mp4", .width = 322, .height = 246}},
                    Direct{"Hevc", {.name = "a.mp4", .encoder = "libx265", .b_frames = 3}},
                    Direct{"Mpeg4OddSize", {.name = "a.mkv", .encoder = "mpeg4", .width = 323, .height = 243}},
                    Direct{"Vp9OddSize", {.name = "a.webm", .encoder = "libvpx-vp9", .width = 321, .height = 241}, 2},
                    Direct{"Mjpeg", {.name = "a.avi", .encoder = "mjpeg", .pixels = "yuvj420p"}}),
    [](const auto& one) { return one.param.title; });

TEST(Decoder, ConvertsWhatTheRingCannotHold) {
  const Folder folder;
  for (const std::string pixels : {"yuv420p10le", "yuv422p", "yuv444p"}) {
    SCOPED_TRACE(pixels);
    test::make_clip(folder.path(), {.name = "a.mkv", .pixels = pixels, .frames = 30, .b_frames = 2});
    std::uint32_t count = 0;
    const int lost = Bench(folder.path() / "a.mkv", 1).run([&](const Bench::Seen& seen) {
      EXPECT_TRUE(seen.picture.converted);
      const auto code = read_pattern(seen.lease.frame.view);
      ASSERT_TRUE(code);
      EXPECT_EQ(code->number, count++);
    });
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(count, 30U);
  }
}

TEST(Decoder, LosesPicturesButNothingElseForWantOfSlots) {
  const Folder folder;
  test::make_clip(folder.path(), {.name = "a.mp4", .b_frames = 3, .long_references = true});
  for (const unsigned slots : {2U, 3U, 5U, 9U}) {
    for (const int threads : {1, 4}) {
      SCOPED_TRACE(std::to_string(slots) + " slots, " + std::to_string(threads) + " threads");
      int seen_frames = 0;
      std::int64_t last = -1;
      const int lost = Bench(folder.path() / "a.mp4", threads, slots).run([&](const Bench::Seen& seen) {
        ++seen_frames;
        const auto code = read_pattern(seen.lease.frame.view);
        ASSERT_TRUE(code);
        EXPECT_GT(static_cast<std::int64_t>(code->number), last);
        last = code->number;
      });
      EXPECT_EQ(seen_frames + lost, 60);
    }
  }
}

// As where a ring for larger frames could not be made.
TEST(Decoder, NeverWritesBeyondASlot) {
  const Folder folder;
  for (const std::string pixels : {"yuv420p", "yuv422p"}) {
    SCOPED_TRACE(pixels);
    test::make_clip(folder.path(), {.name = "a.mkv", .pixels = pixels, .frames = 30});
    Bench bench(folder.path() / "a.mkv", 1, std::nullopt, 4096);
    EXPECT_EQ(bench.run([](const Bench::Seen&) { ADD_FAILURE() << "there is no room for it"; }), 30);
  }
}

void append(const fs::path& file, const fs::path& to) {
  std::ofstream(to, std::ios::binary | std::ios::app) << std::ifstream(file, std::ios::binary).rdbuf();
}

TEST(Decoder, AsksForAnotherRingWhenTheSizeChanges) {
  const std::vector<std::pair<int, int>> sizes{{480, 360}, {320, 240}, {640, 480}};
  for (const int threads : {1, 4}) {
    const Folder folder;
    for (const auto& [width, height] : sizes) {
      test::make_clip(folder.path(),
                      {.name = "part.h264", .width = width, .height = height, .frames = 20, .b_frames = 2});
      append(folder.path() / "part.h264", folder.path() / "all.h264");
    }
    std::size_t count = 0;
    Bench bench(folder.path() / "all.h264", threads);
    const int lost = bench.run([&](const Bench::Seen& seen) {
      SCOPED_TRACE(count);
      const FrameView& view = seen.lease.frame.view;
      EXPECT_EQ(view.format.width, sizes.at(count / 20).first);
      EXPECT_EQ(view.format.height, sizes.at(count / 20).second);
      const auto code = read_pattern(view);
      ASSERT_TRUE(code);
      EXPECT_EQ(code->number, static_cast<std::uint32_t>(count % 20));
      ++count;
    });
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(count, 60U);
    EXPECT_EQ(bench.rings(), 3U);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
