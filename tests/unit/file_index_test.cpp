// The index that a recorded file gets at its end: at each step of it, FFmpeg finds the same frames at the same times,
// and once it counts, FFmpeg seeks with a few reads.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string_view>

#include "core/ffmpeg.h"
#include "stages/sinks/file_ending.h"
#include "stages/sinks/recorder.h"
#include "tests/unit/audio_clip.h"
#include "tests/unit/producer_times.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::ElementsAre;

std::string checksum(std::string text, std::span<const std::uint8_t> bytes) {
  const std::size_t hash = std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return text + " " + std::to_string(bytes.size()) + " " + std::to_string(hash) + "\n";
}

void decode(std::string& found, AVCodecContext& decoder, const AVPacket* packet) {
  const AvFrame frame = make_av_frame();
  if (avcodec_send_packet(&decoder, packet) < 0) found += "cannot be decoded\n";
  while (avcodec_receive_frame(&decoder, frame.get()) == 0) {
    const auto size =
        static_cast<std::size_t>(frame->linesize[0]) * static_cast<std::size_t>(std::max(frame->height, 1));
    found += checksum("frame " + std::to_string(frame->pts), {frame->data[0], size});
  }
}

// What FFmpeg finds: packets, with their tracks, times and bytes, and decoded frames with theirs.
std::string contents_of(const fs::path& file) {
  AVFormatContext* raw = nullptr;
  if (avformat_open_input(&raw, file.c_str(), nullptr, nullptr) < 0) return "cannot be opened";
  const AvInput input(raw);
  avformat_find_stream_info(input.get(), nullptr);
  std::vector<AvCodecContext> decoders;
  for (unsigned i = 0; i < input->nb_streams; ++i) {
    const AVCodecParameters& codec = *input->streams[i]->codecpar;
    decoders.emplace_back(avcodec_alloc_context3(avcodec_find_decoder(codec.codec_id)));
    avcodec_parameters_to_context(decoders.back().get(), &codec);
    decoders.back()->thread_count = 1;
    avcodec_open2(decoders.back().get(), nullptr, nullptr);
  }
  std::vector<std::string> found(decoders.size());  // the order between tracks is the reader's
  const AvPacket packet = make_av_packet();
  while (av_read_frame(input.get(), packet.get()) == 0) {
    std::string& of_track = found[static_cast<std::size_t>(packet->stream_index)];
    of_track += checksum(std::to_string(packet->pts) + " " + std::to_string(packet->dts) + " " +
                             ((packet->flags & AV_PKT_FLAG_KEY) != 0 ? "K" : "-"),
                         {packet->data, static_cast<std::size_t>(packet->size)});
    decode(of_track, *decoders[static_cast<std::size_t>(packet->stream_index)], packet.get());
    av_packet_unref(packet.get());
  }
  std::string all;
  for (std::size_t i = 0; i < found.size(); ++i) {
    decode(found[i], *decoders[i], nullptr);
    all += found[i];
  }
  return all;
}

std::vector<std::string> boxes_of(const fs::path& file) {
  const Bytes bytes = bytes_of(file);
  std::vector<std::string> names;
  for (std::size_t at = 0; at + 8 <= bytes.size();) {
    std::size_t size = get_big_endian(&bytes[at], 4);
    names.emplace_back(reinterpret_cast<const char*>(&bytes[at + 4]), 4);
    if (size == 1) size = get_big_endian(&bytes[at + 8], 8);
    if (size < 8) break;
    at += size;
  }
  return names;
}

double duration_of(const fs::path& file) {
  AVFormatContext* raw = nullptr;
  if (avformat_open_input(&raw, file.c_str(), nullptr, nullptr) < 0) return 0;
  const AvInput input(raw);
  avformat_find_stream_info(input.get(), nullptr);
  return static_cast<double>(input->duration) / AV_TIME_BASE;
}

class FileIndexes : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::string file() const { return folder_.path() / ("a" + GetParam()); }
  [[nodiscard]] PathBelow path() const { return in_own_folder(file()); }

  // A fragment for every `every` frames.
  std::int64_t record(const Sent& sent, std::size_t every) {
    const bool has_audio = !sent.audio.empty();
    recorder_ = Recorder::create(path(), sent.video.parameters,
                                 has_audio ? std::optional(sent.audio_parameters) : std::nullopt, {});
    auto sound = sent.audio.begin();
    std::size_t in_fragment = 0;
    for (const Packet& packet : sent.video.packets) {
      if (in_fragment++ == every) {
        position_ = recorder_->flush(packet.dts);
        in_fragment = 1;
      }
      for (; sound != sent.audio.end() && sound->times.pts < packet.times.pts; ++sound)
        recorder_->write_audio(sound->view());
      recorder_->write(packet.view());
    }
    const std::int64_t duration = 40 * ms * static_cast<std::int64_t>(sent.video.packets.size());
    position_ = recorder_->flush(duration, duration);
    recorder_->finish(duration);
    return duration;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Recorder> recorder_;
  RecordPosition position_;
};
INSTANTIATE_TEST_SUITE_P(All, FileIndexes, testing::Values(".mp4", ".mkv"),
                         [](const auto& container) { return container.param.substr(1); });

Sent some_video(Latency latency = Latency::normal, int frames = 100) {
  Sent sent;
  sent.video = encode(latency, steady(frames));
  return sent;
}

TEST_P(FileIndexes, ChangeNoFrameAtAnyStep) {
  const std::string source = "-f lavfi -i testsrc2=size=160x128:rate=25:duration=6 ";
  const std::string sound = "-f lavfi -i sine=frequency=440:sample_rate=44100:duration=6 -c:a aac ";
  const std::string video = "-c:v libx264 -g 50 -bf 2 ";
  Sent late = make(folder_.path() / "late.mkv", source + sound + video);
  std::erase_if(late.audio, [](const Packet& packet) {  // it begins late, and has a gap
    return packet.times.pts < 700 * ms || (packet.times.pts > 2 * second && packet.times.pts < 3 * second);
  });
  Sent jumps = some_video();
  for (std::size_t i = 40; i < jumps.video.packets.size(); ++i) {
    jumps.video.packets[i].times.pts += 30 * second + i * 1'234'567;
    jumps.video.packets[i].dts += 30 * second + i * 1'234'567;
  }
  Sent damaged = some_video();
  damaged.video.packets.front().data = {0, 0, 0, 1};  // left out: the file begins with its second frame
  for (const Sent& sent :
       {some_video(), some_video(Latency::low), make(folder_.path() / "av.mkv", source + sound + video),
        make(folder_.path() / "hevc.mkv", source + sound + "-c:v libx265 -x265-params log-level=none "),
        make(folder_.path() / "jpeg.mkv", source + "-c:v mjpeg "), late, jumps, damaged}) {
    for (const std::size_t every : {7U, 50U}) {  // the former begin without a key frame
      SCOPED_TRACE(every);
      const std::int64_t duration = record(sent, every);
      const std::string before = contents_of(file());
      EXPECT_THAT(before, testing::Not(testing::IsEmpty()));
      const auto ending = recorder_->ending();
      const std::uint64_t size = ending->add_index(position_.offset, duration);
      EXPECT_GT(size, position_.offset);
      EXPECT_EQ(fs::file_size(file()), size);
      EXPECT_EQ(contents_of(file()), before) << "appended";
      ending->complete();
      EXPECT_EQ(fs::file_size(file()), size);
      EXPECT_EQ(contents_of(file()), before) << "counts";
      EXPECT_GE(duration_of(file()) + 0.001, static_cast<double>(duration) / 1e9);
      fs::remove(file());
    }
  }
}

// What was taken last is a fragment without a frame.
TEST_P(FileIndexes, HaveAudioBehindTheLastFrame) {
  Sent sent = make(folder_.path() / "av.mkv",
                   "-f lavfi -i testsrc2=size=160x128:rate=25:duration=2 -f lavfi -i sine=sample_rate=44100:duration=5 "
                   "-c:v libx264 -g 25 -c:a aac ");
  std::vector<Packet> behind;
  for (const Packet& packet : sent.audio)
    if (packet.times.pts >= 2 * second) behind.push_back(packet);
  ASSERT_FALSE(behind.empty());
  record(sent, 25);
  for (const Packet& packet : behind) recorder_->write_audio(packet.view());
  position_ = recorder_->flush();
  recorder_->finish(5 * second);
  const std::string before = contents_of(file());
  recorder_->ending()->add_index(position_.offset, 5 * second);
  recorder_->ending()->complete();
  EXPECT_EQ(contents_of(file()), before);
  EXPECT_NEAR(duration_of(file()), 5, 0.05);
}

TEST_P(FileIndexes, AreNotMadeOfAHeaderAlone) {
  const auto recorder = Recorder::create(path(), some_video().video.parameters);
  const Bytes whole = bytes_of(file());
  EXPECT_EQ(recorder->ending()->add_index(whole.size(), 0), whole.size());
  recorder->ending()->complete();
  EXPECT_EQ(bytes_of(file()) == whole, true);
}

// A full disk takes a part of the index.
TEST_P(FileIndexes, LeaveNothingOnAFullDisk) {
  const std::int64_t duration = record(some_video(), 20);
  const Bytes whole = bytes_of(file());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{whole.size() + 50, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto ending = recorder_->ending();
  EXPECT_THROW(ending->add_index(position_.offset, duration), RecordFileError);
  EXPECT_EQ(ending->try_to_add_index(position_.offset, duration), position_.offset);
  ending->complete();
  EXPECT_EQ(bytes_of(file()) == whole, true);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_GT(ending->add_index(position_.offset, duration), position_.offset) << "there is room again";
}

TEST_P(FileIndexes, AreMadeByASuccessorWhereverTheProcessDied) {
  const std::int64_t duration = record(some_video(), 20);
  const fs::path ended = folder_.path() / ("ended" + GetParam());
  fs::copy_file(file(), ended);
  recorder_->ending()->add_index(position_.offset, duration);
  const std::uint64_t size = fs::file_size(file());
  const fs::path appended = folder_.path() / ("appended" + GetParam());
  fs::copy_file(file(), appended);
  recorder_->ending()->complete();
  const Bytes whole = bytes_of(file());
  const auto complete = [&](const fs::path& left, bool knows_end) {
    const auto ending = ending_of(in_own_folder(left));
    const auto end = knows_end ? std::optional(position_.offset) : std::nullopt;
    EXPECT_EQ(ending->add_index(end, knows_end ? std::optional(duration) : std::nullopt), size);
    ending->complete();
  };
  for (const bool knows_end : {true, false}) {
    SCOPED_TRACE(knows_end);
    const auto expect_made = [&](const fs::path& from, std::uint64_t cut, const std::string& more) {
      const fs::path left = folder_.path() / ("left" + GetParam());
      fs::copy_file(from, left, fs::copy_options::overwrite_existing);
      if (cut > 0) fs::resize_file(left, cut);
      std::ofstream(left, std::ios::app) << more;
      complete(left, knows_end);
      EXPECT_EQ(bytes_of(left) == whole, true) << from << " " << cut << " " << more.size();
    };
    expect_made(ended, 0, "");
    expect_made(appended, 0, "");
    expect_made(appended, position_.offset + 12, "");  // a part of the index
    expect_made(appended, size - 1, "");
    expect_made(file(), 0, "");  // all is done
    if (knows_end) expect_made(ended, 0, std::string(5000, 'x'));
  }
}

// What cannot be read back as it was, or was not left by us, stays as it is.
TEST_P(FileIndexes, AreNotMadeOfWhatIsNotWhole) {
  record(some_video(), 20);
  const Bytes whole = bytes_of(file());
  const auto expect_kept = [&](const Bytes& bytes) {
    const fs::path left = folder_.path() / ("left" + GetParam());
    std::ofstream(left, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const auto ending = ending_of(in_own_folder(left));
    EXPECT_EQ(ending->add_index(std::nullopt, std::nullopt), bytes.size());
    ending->complete();
    EXPECT_EQ(bytes_of(left) == bytes, true);
  };
  expect_kept({});
  expect_kept(Bytes(1000, 'x'));
  expect_kept(Bytes(whole.begin(), whole.end() - 1));  // half a fragment at the end
  expect_kept(Bytes(whole.begin(), whole.begin() + 100));
  EXPECT_EQ(ending_of(in_own_folder(folder_.path() / "none.mp4")), nullptr);
}

// Bytes that FFmpeg reads until it has the first packet from `at` on.
struct CountedFile {
  UniqueFd fd;
  std::uint64_t read = 0;
  static int read_some(void* opaque, std::uint8_t* data, int size) {
    auto& file = *static_cast<CountedFile*>(opaque);
    const ssize_t got = ::read(file.fd.get(), data, static_cast<std::size_t>(size));
    file.read += got > 0 ? static_cast<std::uint64_t>(got) : 0;
    return got > 0 ? static_cast<int>(got) : AVERROR_EOF;
  }
  static std::int64_t seek(void* opaque, std::int64_t offset, int whence) {
    const auto& file = *static_cast<CountedFile*>(opaque);
    const bool asks_size = (whence & AVSEEK_SIZE) != 0;
    const off_t here = asks_size ? ::lseek(file.fd.get(), 0, SEEK_CUR) : 0;
    const off_t at = ::lseek(file.fd.get(), offset, asks_size ? SEEK_END : whence & ~AVSEEK_FORCE);
    if (asks_size) ::lseek(file.fd.get(), here, SEEK_SET);
    return at;
  }
};

std::uint64_t bytes_to_seek(const fs::path& path, std::int64_t to) {
  CountedFile file{UniqueFd(::open(path.c_str(), O_RDONLY))};
  auto* buffer = static_cast<unsigned char*>(av_malloc(32'768));
  AVIOContext* io = avio_alloc_context(buffer, 32'768, 0, &file, CountedFile::read_some, nullptr, CountedFile::seek);
  AVFormatContext* context = avformat_alloc_context();
  context->pb = io;
  EXPECT_EQ(avformat_open_input(&context, nullptr, nullptr, nullptr), 0);
  EXPECT_GE(avformat_find_stream_info(context, nullptr), 0);
  EXPECT_GE(
      av_seek_frame(context, 0, av_rescale_q(to, nanoseconds, context->streams[0]->time_base), AVSEEK_FLAG_BACKWARD),
      0);
  AvPacket packet = make_av_packet();
  EXPECT_GE(av_read_frame(context, packet.get()), 0);
  EXPECT_TRUE((packet->flags & AV_PKT_FLAG_KEY) != 0);
  EXPECT_NEAR(static_cast<double>(packet->pts) * av_q2d(context->streams[0]->time_base), static_cast<double>(to) / 1e9,
              0.5);
  avformat_close_input(&context);
  av_freep(&io->buffer);
  avio_context_free(&io);
  return file.read;
}

TEST_P(FileIndexes, MakeSeekingCheap) {
  const Sent once = some_video(Latency::low);
  Sent sent = once;
  for (std::int64_t i = 1; i < 50; ++i) {
    for (Packet packet : once.video.packets) {
      packet.dts += i * 4 * second;
      packet.times.pts += i * 4 * second;
      packet.data.insert(packet.data.end(), {0, 0, 1, 12});  // as of a camera with more bits
      packet.data.resize(packet.data.size() + 5000, 0xff);
      sent.video.packets.push_back(std::move(packet));
    }
  }
  const std::int64_t duration = record(sent, 50);
  const std::uint64_t before = bytes_to_seek(file(), 100 * second);
  recorder_->ending()->add_index(position_.offset, duration);
  recorder_->ending()->complete();
  const std::uint64_t after = bytes_to_seek(file(), 100 * second);
  EXPECT_LT(after, fs::file_size(file()) / 20) << "before: " << before << " of " << fs::file_size(file());
}

// Frames lie where 32 bits do not reach.
TEST(FileIndex, OfMp4IsOfMoreThanFourGigabytes) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.mp4";
  const Sent sent = some_video(Latency::low);
  const auto recorder = Recorder::create(in_own_folder(file), sent.video.parameters);
  std::vector<std::uint64_t> ends;
  for (std::size_t i = 0; i < sent.video.packets.size(); ++i) {
    recorder->write(sent.video.packets[i].view());
    if (i % 50 == 49) ends.push_back(recorder->flush().offset);
  }
  const std::string before = contents_of(file);
  const Bytes whole = bytes_of(file);
  const auto begin =
      static_cast<std::size_t>(std::search(whole.begin(), whole.end(), "mdat", "mdat" + 4) - whole.begin()) - 4;
  constexpr std::uint64_t longest = 0xFFFF'FFF0;  // the first fragment becomes that, with nothing in its end
  Bytes size(4);
  put_big_endian(longest, 4, size.data());
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(begin)).write(reinterpret_cast<const char*>(size.data()), 4);
  out.seekp(static_cast<std::streamoff>(begin + longest))
      .write(reinterpret_cast<const char*>(&whole[ends[0]]), static_cast<std::streamsize>(ends[1] - ends[0]));
  out.close();
  ASSERT_EQ(contents_of(file), before);
  const auto ending = ending_of(in_own_folder(file));
  const std::uint64_t end = fs::file_size(file);
  ASSERT_GT(ending->add_index(end, std::nullopt), end);
  ending->complete();
  EXPECT_EQ(contents_of(file), before);
}

TEST(FileIndex, OfMp4MakesAnOrdinaryFile) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.mp4";
  const Sent sent = some_video();
  const auto recorder = Recorder::create(in_own_folder(file), sent.video.parameters);
  for (const Packet& packet : sent.video.packets) recorder->write(packet.view());
  const auto end = recorder->flush().offset;
  EXPECT_THAT(boxes_of(file), ElementsAre("ftyp", "free", "moov", "moof", "mdat"));
  recorder->ending()->add_index(end, 4 * second);
  EXPECT_THAT(boxes_of(file), ElementsAre("ftyp", "free", "moov", "moof", "mdat", "free"));
  recorder->ending()->complete();
  EXPECT_THAT(boxes_of(file), ElementsAre("ftyp", "mdat", "moov"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
