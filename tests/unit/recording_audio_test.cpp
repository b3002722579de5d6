// Audio beside the video, and streams that come as their cameras encoded them.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/clock.h"
#include "core/ffmpeg.h"
#include "tests/unit/audio_clip.h"
#include "tests/unit/recording_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::string picture = "-f lavfi -i testsrc2=size=160x128:rate=25:duration=4 ";
const std::string sound = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=4 ";
const std::string x264 = "-c:v libx264 -g 10 -bf 2 ";

// But for what FFmpeg says of each track of PCM.
std::string complaints(const std::string& file) {
  const std::string text =
      output_of("ffmpeg -v warning -i '" + file + "' -fps_mode passthrough -enc_time_base -1 -f null - 2>&1");
  return text.starts_with("Guessed Channel Layout") ? text.substr(text.find('\n') + 1) : text;
}

class AudioRecording : public RecordingTest {
 protected:
  void use_ending(const std::string& ending) { config_.record->path = folder() / "{camera}" / ("%H-%M-%S." + ending); }
  Sent make(const std::string& name, const std::string& arguments) { return test::make(folder() / name, arguments); }
  // Those shown at `from` or later, and before `until`.
  static std::vector<Packet> between(const std::vector<Packet>& packets, std::int64_t from, std::int64_t until) {
    std::vector<Packet> some;
    std::ranges::copy_if(packets, std::back_inserter(some),
                         [&](const Packet& packet) { return packet.times.pts >= from && packet.times.pts < until; });
    return some;
  }
  void record(const Sent& sent) {
    begin();
    take(sent.video);
    finish();
  }
  [[nodiscard]] std::vector<std::string> codecs_in(const std::string& file) const {
    std::vector<std::string> codecs;
    const auto found = probe(file, "-show_streams");
    for (const auto& stream : found.at("streams")) codecs.push_back(stream.at("codec_name"));
    return codecs;
  }
};

struct Kind {
  std::string title;
  std::string ending;
  std::string source;  // a file's name: what comes out of MPEG-TS has its headers in the packets
  std::string codec;   // FFmpeg's arguments
  std::string name;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.title; }

class AudioKinds : public AudioRecording, public testing::WithParamInterface<Kind> {};
INSTANTIATE_TEST_SUITE_P(All, AudioKinds,
                         testing::Values(Kind{"AacMp4", "mp4", "a.mp4", "-c:a aac", "aac"},
                                         Kind{"AacMkv", "mkv", "a.mp4", "-c:a aac", "aac"},
                                         Kind{"AdtsMp4", "mp4", "a.ts", "-c:a aac", "aac"},
                                         Kind{"AdtsMkv", "mkv", "a.ts", "-c:a aac", "aac"},
                                         Kind{"OpusMp4", "mp4", "a.mkv", "-c:a libopus", "opus"},
                                         Kind{"Mp3Mp4", "mp4", "a.mkv", "-c:a libmp3lame", "mp3"},
                                         Kind{"Ac3Mkv", "mkv", "a.mkv", "-c:a ac3", "ac3"},
                                         Kind{"MulawMkv", "mkv", "a.mkv", "-c:a pcm_mulaw -ar 8000", "pcm_mulaw"}),
                         [](const auto& one) { return one.param.title; });

TEST_P(AudioKinds, IsInTheSegmentsOfItsVideo) {
  const Kind& kind = GetParam();
  use_ending(kind.ending);
  config_.record->segment_duration = std::chrono::seconds(2);
  Sent sent = make(kind.source, picture + sound + x264 + kind.codec);
  if (kind.title.starts_with("Adts")) sent.audio_parameters.extradata.clear();
  ASSERT_EQ(sent.audio_parameters.codec, kind.name);
  audio_.add(audio_ring(sent.audio_parameters, sent.audio));
  record(sent);
  ASSERT_THAT(files_, SizeIs(3));
  std::size_t packets = 0;
  for (const std::string& file : files_) {
    SCOPED_TRACE(file);
    EXPECT_THAT(codecs_in(file), ElementsAre("h264", kind.name));
    EXPECT_EQ(complaints(file), "");
    const auto audio = packets_of(file, "a");
    const auto video = packets_of(file, "v");
    ASSERT_FALSE(audio.empty());
    packets += audio.size();
    EXPECT_NEAR(audio.front().pts, 0, 0.1);
    EXPECT_NEAR(audio.front().pts, video.front().pts, 0.15);
    const auto format = probe(file, "-show_entries format=duration").at("format");
    EXPECT_NEAR(std::stod(format.value("duration", "-1")), video.size() * 0.04, 0.1);
  }
  std::size_t wanted = 0;  // with those after the last frame's end nobody can do anything
  for (const Packet& packet : sent.audio) wanted += packet.times.pts >= 0 && packet.times.pts < 3800 * ms ? 1 : 0;
  EXPECT_GE(packets, wanted - 2);
  EXPECT_THAT(audio_done_, testing::AnyOf(IsEmpty(), ElementsAre(1)));
}

// Frames of audio that last 128 ms, and do not end where a file does.
TEST_F(AudioRecording, MakesNoGapWhereFilesAreJoined) {
  config_.record->segment_duration = std::chrono::seconds(1);
  const Sent sent = make("a.mp4", picture + sound + "-c:v libx264 -g 10 -bf 0 -c:a aac -ar 8000");
  audio_.add(audio_ring(sent.audio_parameters, sent.audio));
  record(sent);
  ASSERT_THAT(files_, SizeIs(5));
  std::ofstream list(folder() / "list");
  for (const std::string& file : files_) {
    SCOPED_TRACE(file);
    const auto format = probe(file, "-show_entries format=duration").at("format");
    EXPECT_NEAR(std::stod(format.value("duration", "-1")), packets_of(file).size() * 0.04, 0.002);
    list << "file '" << file << "'\n";
  }
  list.close();
  const fs::path joined = folder() / "joined.mp4";
  output_of("ffmpeg -v error -f concat -safe 0 -i '" + (folder() / "list").string() + "' -c copy '" + joined.string() +
            "' 2>&1");
  const auto pictures = packets_of(joined);
  ASSERT_EQ(pictures.size(), sent.video.packets.size());
  for (std::size_t i = 1; i < pictures.size(); ++i)
    EXPECT_NEAR(pictures[i].pts - pictures[i - 1].pts, 0.04, 0.002) << i;
}

// Whatever has been committed by the time that nothing more comes: decode times end before presentation times do.
TEST_F(AudioRecording, ReorderedPicturesLastUntilTheirEnd) {
  const Sent sent = make("a.mp4", picture + x264);
  for (const bool committed : {false, true}) {
    SCOPED_TRACE(committed);
    files_.clear();
    begin();
    take(sent.video);
    if (committed) recording_->commit();
    finish();
    const auto stream = probe(files_.at(0), "-show_entries stream=duration").at("streams").at(0);
    EXPECT_NEAR(std::stod(stream.value("duration", "-1")), 4, 0.002);
    EXPECT_EQ(complaints(files_[0]), "");
  }
}

TEST_F(AudioRecording, IsLeftOutWhereTheFileCannotHoldIt) {
  const Sent sent = make("a.mkv", picture + sound + x264 + "-c:a pcm_mulaw -ar 8000");
  audio_.add(audio_ring(sent.audio_parameters, sent.audio));
  record(sent);
  EXPECT_THAT(codecs_in(files_.at(0)), ElementsAre("h264"));
  EXPECT_EQ(packets_of(files_.at(0)).size(), sent.video.packets.size());
}

TEST_F(AudioRecording, ThatComesLaterBeginsWithTheNextFile) {
  config_.record->segment_duration = std::chrono::seconds(2);
  const Sent sent = make("a.mp4", picture + sound + x264 + "-c:a aac");
  begin();
  take(sent.video, 0, 20);
  audio_.add(audio_ring(sent.audio_parameters, sent.audio));
  take(sent.video, 20);
  finish();
  ASSERT_THAT(files_, SizeIs(3));
  EXPECT_THAT(codecs_in(files_[0]), ElementsAre("h264"));
  EXPECT_THAT(codecs_in(files_[1]), ElementsAre("h264", "aac"));
  EXPECT_NEAR(packets_of(files_[1], "a").front().pts, packets_of(files_[1]).front().pts, 0.15);
}

// With the next key frame.
TEST_F(AudioRecording, ThatBecomesAnotherOneBeginsANewFile) {
  use_ending("mp4");
  const Sent sent = make("a.mp4", picture + sound + x264 + "-c:a aac");
  const Sent other = make("b.mp4", picture + sound + x264 + "-c:a aac -ar 44100");
  audio_.add(audio_ring(sent.audio_parameters, between(sent.audio, INT64_MIN, 2 * second)));
  audio_.add(audio_ring(other.audio_parameters, between(other.audio, 2 * second, INT64_MAX), 2));
  record(sent);
  ASSERT_THAT(files_, SizeIs(2));
  const auto rate_of = [&](const std::string& file) {
    return probe(file, "-select_streams a -show_streams").at("streams").at(0).at("sample_rate").get<std::string>();
  };
  EXPECT_EQ(rate_of(files_[0]), "48000");
  EXPECT_EQ(rate_of(files_[1]), "44100");
  EXPECT_EQ(packets_of(files_[0]).size() + packets_of(files_[1]).size(), sent.video.packets.size());
  EXPECT_GE(packets_of(files_[1], "a").size(), 60U);
  EXPECT_EQ(complaints(files_[1]), "");
}

// The next connection has no sound. The open file keeps its track of audio; later files have none.
TEST_F(AudioRecording, ThatHasGoneIsInNoLaterFile) {
  config_.record->segment_duration = std::chrono::seconds(2);
  const Sent sent = make("a.mp4", picture + sound + "-c:v libx264 -g 10 -bf 0 -c:a aac");
  audio_.add(audio_ring(sent.audio_parameters, between(sent.audio, INT64_MIN, second)));
  audio_.add(audio_ring({}, {}, 2));
  record(sent);
  ASSERT_THAT(files_, SizeIs(3));
  EXPECT_THAT(codecs_in(files_[0]), ElementsAre("h264", "aac"));
  for (std::size_t i = 1; i < files_.size(); ++i) EXPECT_THAT(codecs_in(files_[i]), ElementsAre("h264"));
  for (const std::string& file : files_) EXPECT_EQ(complaints(file), "");
}

TEST_F(AudioRecording, ThatStopsDoesNotStopTheVideo) {
  const Sent sent = make("a.mp4", picture + sound + x264 + "-c:a aac");
  const std::vector<Packet> half(sent.audio.begin(), sent.audio.begin() + 60);
  audio_.add(audio_ring(sent.audio_parameters, half, 1, false));  // and its writer says no more
  record(sent);
  EXPECT_EQ(packets_of(files_.at(0)).size(), sent.video.packets.size());
  EXPECT_GE(packets_of(files_.at(0), "a").size(), half.size() - 1) << "but for what comes before the first frame";
}

TEST_F(AudioRecording, GoesOnAfterTheDeathsOfMasterAndPublisher) {
  const Sent sent = make("a.mp4", picture + sound + x264 + "-c:a aac");
  const auto middle = sent.audio.begin() + 80;
  const AudioFeed::Ring first = audio_ring(sent.audio_parameters, {sent.audio.begin(), middle}, 1);
  const AudioFeed::Ring second_ring = audio_ring(sent.audio_parameters, {middle, sent.audio.end()}, 2);
  audio_.add(first);
  begin();
  take(sent.video, 0, 38);
  const std::uint64_t safe = recording_->safe();
  die();
  AudioFeed again([](std::uint64_t) {});  // the successor gets the rings anew
  again.add(first);
  again.add(second_ring);
  Recording::Events events;
  for (auto* event : {&events.on_file, &events.on_failed, &events.on_paused}) *event = [](const std::string&) {};
  Recording successor(config_, state(), again, events, house_);
  for (std::size_t i = safe; i < sent.video.packets.size(); ++i) {
    successor.take(sent.video.packets[i].view(), i + 1, sent.video.parameters);
  }
  successor.finish();
  ASSERT_THAT(files_, SizeIs(1));
  EXPECT_EQ(packets_of(files_[0]).size(), sent.video.packets.size());
  const auto audio = packets_of(files_[0], "a");
  for (std::size_t i = 1; i < audio.size(); ++i) {
    EXPECT_NEAR(audio[i].pts - audio[i - 1].pts, 1024.0 / 48000, 0.002) << i << ": none lost, none twice";
  }
  EXPECT_NEAR(audio.back().pts, 3.9, 0.1);
}

TEST_F(AudioRecording, IsKeptForAMotion) {
  config_.record->when = RecordWhen::motion;
  config_.record->before = std::chrono::seconds(1);
  config_.record->after = std::chrono::milliseconds(500);
  Sent sent = make("a.mp4", picture + sound + "-c:v libx264 -g 10 -bf 0 -c:a aac");
  for (Packet& packet : sent.video.packets) packet.set_motion(0);
  sent.video.packets[60].set_motion(0.5F);
  audio_.add(audio_ring(sent.audio_parameters, sent.audio));
  record(sent);
  const auto audio = packets_of(files_.at(0), "a");
  ASSERT_FALSE(audio.empty());
  EXPECT_NEAR(audio.front().pts, 0, 0.05) << "at 1.2 s";
  EXPECT_NEAR(audio.back().pts, 2.88 - 1.2, 0.06);
  EXPECT_EQ(complaints(files_[0]), "");
}

// As beside a GOP without end, in which nothing moves.
TEST(AudioFeeds, KeepNoMoreThanTheMemoryIsWorth) {
  constexpr std::size_t megabyte = std::size_t{1} << 20;
  AudioFeed audio([](std::uint64_t) {});
  const AudioFeed::Ring ring{PacketRingMemory::create(8 * megabyte, 1, 0), 1, {}};
  PacketRingWriter writer(ring.memory);
  audio.add(ring);
  const std::vector<std::uint8_t> data(megabyte);
  for (std::int64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(writer.push({data, i, true, {.pts = i}}, Clock::now(), [] { return false; }));
    audio.keep(0, i + 1);
  }
  std::vector<std::int64_t> kept;
  audio.take(INT64_MAX, [&](const PacketView& packet, const AudioParameters&) { kept.push_back(packet.times.pts); });
  EXPECT_LE(kept.size(), 64U);
  ASSERT_GE(kept.size(), 60U);
  EXPECT_EQ(kept.back(), 99) << "the oldest have gone";
}

struct Camera {
  std::string title;
  std::string ending;
  std::string source;
  std::string arguments;
  std::string codec;
  std::string tag;
  bool clear_headers = false;
};

void PrintTo(const Camera& camera, std::ostream* out) { *out << camera.title; }

class CopiedStreams : public AudioRecording, public testing::WithParamInterface<Camera> {};
const std::string x265 = "-c:v libx265 -preset ultrafast -x265-params keyint=10:bframes=2:log-level=error";
INSTANTIATE_TEST_SUITE_P(All, CopiedStreams,
                         testing::Values(Camera{"H264AvccMp4", "mp4", "a.mp4", x264, "h264", "avc1"},
                                         Camera{"H264AnnexBMp4", "mp4", "a.ts", x264, "h264", "avc1"},
                                         Camera{"H264HeadersInPacketsMp4", "mp4", "a.ts", x264, "h264", "avc1", true},
                                         Camera{"H264HeadersInPacketsMkv", "mkv", "a.ts", x264, "h264", "", true},
                                         Camera{"HevcHvccMp4", "mp4", "a.mp4", x265, "hevc", "hvc1"},
                                         Camera{"HevcAnnexBMp4", "mp4", "a.ts", x265, "hevc", "hvc1"},
                                         Camera{"HevcHeadersInPacketsMp4", "mp4", "a.ts", x265, "hevc", "hvc1", true},
                                         Camera{"HevcAnnexBMkv", "mkv", "a.ts", x265, "hevc", ""},
                                         Camera{"MjpegMp4", "mp4", "a.avi", "-c:v mjpeg", "mjpeg", "mp4v"},
                                         Camera{"MjpegMkv", "mkv", "a.avi", "-c:v mjpeg", "mjpeg", ""}),
                         [](const auto& one) { return one.param.title; });

TEST_P(CopiedStreams, AreRecordedAsTheyCame) {
  const Camera& camera = GetParam();
  use_ending(camera.ending);
  Sent sent = make(camera.source, picture + camera.arguments);
  for (Packet& packet : sent.video.packets) {  // AVI has no presentation times
    if (camera.codec == "mjpeg") packet.times.pts = packet.dts;
  }
  if (camera.clear_headers) sent.video.parameters.extradata.clear();
  begin();
  take(sent.video, 0, 45);
  const std::uint64_t safe = recording_->safe();
  die();
  begin();
  number_ = safe;
  take(sent.video, safe);
  finish();
  const auto streams = probe(files_.at(0), "-show_streams").at("streams");
  EXPECT_EQ(streams.at(0).at("codec_name"), camera.codec);
  if (!camera.tag.empty()) {
    EXPECT_EQ(streams.at(0).at("codec_tag_string"), camera.tag);
  }
  const auto packets = packets_of(files_[0]);
  ASSERT_EQ(packets.size(), sent.video.packets.size());
  for (std::size_t i = 0; i < packets.size(); ++i) {
    EXPECT_NEAR(packets[i].pts, static_cast<double>(sent.video.packets[i].times.pts) / 1e9, 0.002) << i;
  }
  EXPECT_EQ(complaints(files_[0]), "");
  const std::string frames = output_of(
      "ffprobe -v error -count_frames -select_streams v -show_entries stream=nb_read_frames "
      "-of csv=p=0 '" +
      files_[0] + "'");
  EXPECT_EQ(std::stoul(frames), packets.size());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
