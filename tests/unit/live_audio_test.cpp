// Audio beside live frames: in which forms it is heard, in step with them, also after a loss and a change. What comes
// out is read back by libavformat.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "app/publisher/server/live/fragment_times.h"
#include "app/publisher/server/live/stream.h"
#include "core/clock.h"
#include "core/ffmpeg.h"
#include "core/log.h"
#include "stages/sinks/stream_headers.h"
#include "tests/unit/audio_clip.h"
#include "tests/unit/command_output.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string picture = "-f lavfi -i testsrc2=size=160x128:rate=25:duration=4 ";
const std::string sound = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=4 ";
const std::string x264 = "-c:v libx264 -g 25 ";

struct Kind {
  std::string title;
  LiveForm form;
  std::string codec;
  std::string source;  // a file's name
  std::string arguments;
};

std::vector<LivePiece> take_all(LiveViewer& viewer) {
  std::vector<LivePiece> pieces;
  LivePiece piece;
  while (viewer.take(piece, Deadline()) == LiveViewer::Next::piece) pieces.push_back(piece);
  return pieces;
}

AudioParameters described(const Sent& sent) { return with_headers(sent.audio_parameters, sent.audio.at(0).data); }

// In the order in which the camera's thread has them: audio behind the frame that is later than it.
class Camera {
 public:
  Camera(LiveStream& stream, const Sent& sent) : stream_(stream), sent_(sent) {}
  void offer(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Packet& video = sent_.video.packets.at(i);
      stream_.offer(video.view(), sent_.video.parameters);
      for (; next_ < sent_.audio.size() && sent_.audio[next_].times.pts < video.dts; ++next_)
        stream_.offer_audio(sent_.audio[next_].view());
    }
  }
  void offer_all() { offer(0, sent_.video.packets.size()); }

 private:
  LiveStream& stream_;
  const Sent& sent_;
  std::size_t next_ = 0;
};

struct Track {
  std::string codec;
  std::vector<double> times;  // seconds
};

// As one long answer has it: MP4 from zero on.
std::vector<Track> read(const std::vector<LivePiece>& pieces, const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](const std::vector<std::uint8_t>& bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  FragmentTimes times;
  const LiveHeader& header = *pieces.at(0).header;
  if (header.bytes) {
    times.begin(*header.bytes);
    put(*header.bytes);
  }
  for (const LivePiece& piece : pieces) {
    std::vector<std::uint8_t> own = *piece.bytes;
    if (header.bytes) times.place(own);
    put(own);
  }
  file.close();
  AVFormatContext* raw = nullptr;
  av_check(avformat_open_input(&raw, path.c_str(), nullptr, nullptr), path);
  const AvInput input(raw);
  av_check(avformat_find_stream_info(input.get(), nullptr), path);
  std::vector<Track> tracks(input->nb_streams);
  for (unsigned i = 0; i < input->nb_streams; ++i)
    tracks[i].codec = avcodec_get_name(input->streams[i]->codecpar->codec_id);
  const AvPacket packet = make_av_packet();
  while (av_read_frame(input.get(), packet.get()) == 0) {
    Track& track = tracks.at(static_cast<std::size_t>(packet->stream_index));
    track.times.push_back(static_cast<double>(packet->pts) * av_q2d(input->streams[packet->stream_index]->time_base));
    av_packet_unref(packet.get());
  }
  return tracks;
}

std::string complaints(const std::filesystem::path& path) {
  return output_of("ffmpeg -v warning -i " + path.string() + " -fps_mode passthrough -enc_time_base -1 -f null - 2>&1");
}

std::vector<std::int64_t> sound_times(const std::vector<LivePiece>& pieces) {
  std::vector<std::int64_t> times;
  for (const LivePiece& piece : pieces) {
    if (piece.audio) times.push_back(piece.times.pts);
  }
  return times;
}

class LiveAudio : public testing::Test {
 protected:
  Sent make(const std::string& name, const std::string& arguments) {
    return test::make(folder_.path() / name, picture + sound + x264 + arguments);
  }
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "live"; }

  TemporaryFolder folder_;
  std::shared_ptr<LiveStream> stream_ = std::make_shared<LiveStream>();
};

class LiveAudioKind : public LiveAudio, public testing::WithParamInterface<Kind> {};

TEST_P(LiveAudioKind, IsHeardInStepWithThePictures) {
  const Sent sent = make(GetParam().source, GetParam().arguments);
  stream_->set_audio(described(sent));
  Camera camera(*stream_, sent);
  camera.offer(0, 40);
  const auto viewer = stream_->watch(GetParam().form);  // begins with the second key frame
  camera.offer(40, 100);
  const auto pieces = take_all(*viewer);
  const auto tracks = read(pieces, file());
  EXPECT_THAT(complaints(file()), IsEmpty());
  ASSERT_EQ(tracks.size(), 2);
  EXPECT_EQ(tracks[0].codec, "h264");
  EXPECT_EQ(tracks[1].codec, GetParam().codec);
  EXPECT_EQ(tracks[0].times.size(), 75);
  const std::int64_t begin = sent.video.packets[25].times.pts;
  std::vector<double> expected;
  for (const Packet& packet : sent.audio) {
    if (packet.times.pts >= begin && packet.times.pts < sent.video.packets[99].dts)
      expected.push_back(static_cast<double>(packet.times.pts - begin) / 1e9);
  }
  ASSERT_EQ(tracks[1].times.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(tracks[1].times[i] - tracks[0].times[0], expected[i], 0.001) << i;
  EXPECT_LT(tracks[1].times[0] - tracks[0].times[0], 0.1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LiveAudioKind,
                         testing::Values(Kind{"AacInTs", LiveForm::mpegts, "aac", "a.mp4", "-c:a aac"},
                                         Kind{"AacWithHeadersInTs", LiveForm::mpegts, "aac", "a.ts", "-c:a aac"},
                                         Kind{"Mp3InTs", LiveForm::mpegts, "mp3", "a.mkv", "-c:a libmp3lame"},
                                         Kind{"Mp2InTs", LiveForm::mpegts, "mp2", "a.mkv", "-c:a mp2"},
                                         Kind{"Ac3InTs", LiveForm::mpegts, "ac3", "a.mkv", "-c:a ac3"},
                                         Kind{"OpusInTs", LiveForm::mpegts, "opus", "a.mkv", "-c:a libopus"},
                                         Kind{"AacInMp4", LiveForm::mp4, "aac", "a.mp4", "-c:a aac"},
                                         Kind{"AacWithHeadersInMp4", LiveForm::mp4, "aac", "a.ts",
                                              "-bf 0 -c:a aac -ar 44100"},
                                         Kind{"Mp3InMp4", LiveForm::mp4, "mp3", "a.mkv", "-c:a libmp3lame"},
                                         Kind{"OpusInMp4", LiveForm::mp4, "opus", "a.mkv", "-c:a libopus"},
                                         Kind{"FlacInMp4", LiveForm::mp4, "flac", "a.mkv", "-c:a flac"}),
                         [](const auto& of) { return of.param.title; });

TEST_F(LiveAudio, OfAKindThatDoesNotFitIsLeftOut) {
  const Sent sent = make("a.mkv", "-c:a pcm_mulaw");
  stream_->set_audio(described(sent));
  const auto ts = stream_->watch(LiveForm::mpegts);
  const auto mp4 = stream_->watch(LiveForm::mp4);
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  Camera(*stream_, sent).offer_all();
  spdlog::default_logger()->flush();
  const std::string log = testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  for (const auto& viewer : {ts, mp4}) {
    const auto tracks = read(take_all(*viewer), file());
    ASSERT_EQ(tracks.size(), 1);
    EXPECT_EQ(tracks[0].times.size(), 100);
    EXPECT_THAT(complaints(file()), IsEmpty());
  }
  const std::string told = "watched as MPEG-TS without audio, which cannot hold pcm_mulaw";
  EXPECT_THAT(log, HasSubstr(told));
  EXPECT_THAT(log, HasSubstr("watched as MP4 without audio"));
  EXPECT_EQ(log.find(told, log.find(told) + 1), std::string::npos) << "once";
}

TEST_F(LiveAudio, IsNotForBrowsers) {
  const Sent sent = make("a.mp4", "-c:a aac");
  const auto silent = std::make_shared<LiveStream>();
  stream_->set_audio(described(sent));
  const auto viewer = stream_->watch(LiveForm::fmp4);
  const auto same = silent->watch(LiveForm::fmp4);
  Camera(*stream_, sent).offer_all();
  for (const Packet& packet : sent.video.packets) silent->offer(packet.view(), sent.video.parameters);
  const auto pieces = take_all(*viewer);
  const auto expected = take_all(*same);
  ASSERT_EQ(pieces.size(), expected.size());
  EXPECT_EQ(*pieces[0].header->bytes, *expected[0].header->bytes);
  EXPECT_EQ(pieces[0].header->mime, expected[0].header->mime);
  for (std::size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(*pieces[i].bytes, *expected[i].bytes) << i;
}

TEST_F(LiveAudio, ThatComesLaterOrChangesIsAnotherSerial) {
  const Sent sent = make("a.mp4", "-c:a aac");
  const auto player = stream_->watch(LiveForm::mp4);
  const auto browser = stream_->watch(LiveForm::fmp4);
  Camera camera(*stream_, sent);
  camera.offer(0, 40);
  stream_->set_audio(described(sent));
  camera.offer(40, 60);
  AudioParameters other = described(sent);
  other.sample_rate = 44100;
  stream_->set_audio(other);
  camera.offer(60, 100);
  const auto pieces = take_all(*player);
  std::map<std::uint64_t, std::vector<LivePiece>> by_serial;
  for (const LivePiece& piece : pieces) by_serial[piece.header->serial].push_back(piece);
  ASSERT_EQ(by_serial.size(), 3);
  std::vector<std::int64_t> begins;
  for (const auto& [serial, own] : by_serial) {
    EXPECT_TRUE(own[0].key);
    begins.push_back(own[0].times.pts);
    EXPECT_EQ(sound_times(own).empty(), begins.size() == 1);
    EXPECT_EQ(own[0].header->audio.has_value(), begins.size() > 1);
  }
  const auto& packets = sent.video.packets;
  EXPECT_THAT(begins, ElementsAre(packets[0].times.pts, packets[50].times.pts, packets[75].times.pts));
  const auto seen = take_all(*browser);
  EXPECT_EQ(seen.size(), 100);
  EXPECT_EQ(seen.front().header->serial, seen.back().header->serial) << "it does not concern browsers";
}

TEST_F(LiveAudio, IsInTheNewestGroupInOrder) {
  const Sent sent = make("a.mp4", "-c:a aac");
  stream_->set_audio(described(sent));
  const auto first = stream_->watch(LiveForm::packets);
  Camera camera(*stream_, sent);
  camera.offer(0, 60);
  const auto all = take_all(*first);
  const auto pieces = take_all(*stream_->watch(LiveForm::packets));
  ASSERT_FALSE(pieces.empty());
  EXPECT_TRUE(pieces[0].key);
  const auto times = sound_times(pieces);
  EXPECT_THAT(times.size(), Ge(10U));
  EXPECT_THAT(times, testing::Each(Ge(pieces[0].times.pts)));
  // The same, but for what belongs before its key frame.
  std::vector<LivePiece> tail(all.end() - static_cast<std::ptrdiff_t>(pieces.size()), all.end());
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> expected;
  for (const LivePiece& piece : pieces) order.push_back(piece.dts);
  for (const LivePiece& piece : all) {
    const bool of_group = piece.audio ? piece.times.pts >= pieces[0].times.pts : piece.dts >= pieces[0].dts;
    if (of_group) expected.push_back(piece.dts);
  }
  EXPECT_EQ(order, expected);
  for (const LivePiece& piece : stream_->newest_group()) EXPECT_FALSE(piece.audio);
  EXPECT_EQ(stream_->newest_group().size(), 10);
}

TEST_F(LiveAudio, DoesNotMakeAGroupTooLarge) {
  LiveLimits limits;
  limits.group_packets = 3;
  const auto stream = std::make_shared<LiveStream>(nullptr, "dock", limits);
  const Sent sent = make("a.mp4", "-c:a aac");
  stream->set_audio(described(sent));
  PacketView video = sent.video.packets.at(0).view();
  stream->offer(video, sent.video.parameters);
  PacketView heard = sent.audio.at(0).view();
  heard.times.pts = video.times.pts;
  for (int i = 0; i < 28; ++i) stream->offer_audio(heard);
  video = sent.video.packets.at(1).view();
  stream->offer(video, sent.video.parameters);
  EXPECT_EQ(take_all(*stream->watch(LiveForm::packets)).size(), 30);
  video = sent.video.packets.at(2).view();
  stream->offer(video, sent.video.parameters);
  EXPECT_EQ(take_all(*stream->watch(LiveForm::packets)).size(), 1);
}

TEST_F(LiveAudio, IsLostWithThePicturesAndGoesOnWithThem) {
  const Sent sent = make("a.mp4", "-c:a aac");
  for (const LiveForm form : {LiveForm::mp4, LiveForm::mpegts}) {
    LiveLimits limits;
    limits.viewer_bytes = 20'000;
    const auto stream = std::make_shared<LiveStream>(nullptr, "dock", limits);
    stream->set_audio(described(sent));
    const auto slow = stream->watch(form);
    Camera camera(*stream, sent);
    camera.offer(0, 10);
    auto pieces = take_all(*slow);
    const std::size_t before = pieces.size();
    camera.offer(10, 76);  // up to a key frame
    for (std::size_t i = 76; i < 100; ++i) {
      for (const LivePiece& piece : take_all(*slow)) pieces.push_back(piece);
      camera.offer(i, i + 1);
    }
    ASSERT_GT(slow->dropped(), 0);
    ASSERT_GT(pieces.size(), before);
    EXPECT_TRUE(pieces[before].key);
    EXPECT_TRUE(pieces[before].after_loss);
    const auto tracks = read(pieces, file());
    ASSERT_EQ(tracks.size(), 2);
    const auto behind = [&](const Track& track) {
      for (std::size_t i = 1; i < track.times.size(); ++i) {
        if (track.times[i] - track.times[i - 1] > 0.3) return track.times[i];
      }
      return 0.0;
    };
    EXPECT_GT(behind(tracks[0]), 0);
    EXPECT_NEAR(behind(tracks[0]), behind(tracks[1]), 0.1);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
