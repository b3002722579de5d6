// Sound for browsers, apart from the frames: as it came, or encoded as AAC while somebody listens. What comes out is
// read back by FFmpeg's programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/publisher/server/live/stream.h"
#include "core/clock.h"
#include "stages/sinks/stream_headers.h"
#include "tests/unit/audio_clip.h"
#include "tests/unit/command_output.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double tone = 440;  // Hz
constexpr std::int16_t quiet = 500;
constexpr std::int64_t second = 1'000'000'000;

struct Kind {
  std::string title;
  std::string source;  // a file's name
  std::string arguments;
  std::string mime;
  std::string read_as;  // by ffprobe
};

std::vector<LivePiece> take_all(LiveViewer& viewer) {
  std::vector<LivePiece> pieces;
  LivePiece piece;
  while (viewer.take(piece, Deadline()) == LiveViewer::Next::piece) pieces.push_back(piece);
  return pieces;
}

class LiveSound : public testing::Test {
 protected:
  Sent make(const std::string& name, const std::string& arguments) {
    return test::make(folder_.path() / name,
                      "-f lavfi -i testsrc2=size=160x128:rate=25:duration=4 -f lavfi -i "
                      "sine=frequency=440:sample_rate=48000:duration=4 -c:v libx264 -g 25 "
                      "-bf 0 " +
                          arguments);
  }
  // In the order in which the camera's thread has them; without the sound of [from, until).
  void offer(const Sent& sent, std::size_t begin, std::size_t end, std::int64_t from = 0, std::int64_t until = 0) {
    for (std::size_t i = begin; i < end; ++i) {
      const Packet& video = sent.video.packets.at(i);
      stream_->offer(video.view(), sent.video.parameters);
      for (; next_ < sent.audio.size() && sent.audio[next_].times.pts < video.dts; ++next_) {
        const std::int64_t pts = sent.audio[next_].times.pts;
        if (pts < from || pts >= until) stream_->offer_audio(sent.audio[next_].view());
      }
    }
  }
  void announce(const Sent& sent) { stream_->set_audio(with_headers(sent.audio_parameters, sent.audio.at(0).data)); }
  std::string write(const std::vector<LivePiece>& pieces) {
    const std::string path = (folder_.path() / "sound.mp4").string();
    std::ofstream file(path, std::ios::binary);
    const auto put = [&file](const std::vector<std::uint8_t>& bytes) {
      file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    };
    put(*pieces.at(0).header->bytes);
    for (const LivePiece& piece : pieces) put(*piece.bytes);
    return path;
  }
  // Of its packets, s.
  static std::vector<double> times_in(const std::string& file) {
    const auto probed =
        nlohmann::json::parse(output_of("ffprobe -v error -of json -show_entries packet=pts_time " + file));
    std::vector<double> times;
    for (const auto& packet : probed.at("packets"))
      times.push_back(std::stod(packet.at("pts_time").get<std::string>()));
    return times;
  }
  static double pitch_of(const std::string& file) {
    const std::string samples = output_of("ffmpeg -v error -i " + file + " -ac 1 -ar 48000 -f s16le -");
    std::vector<std::int16_t> wave(samples.size() / 2);
    std::memcpy(wave.data(), samples.data(), 2 * wave.size());
    std::size_t crossings = 0;
    bool is_above = false;
    for (const std::int16_t sample : wave) {  // what is quiet is noise
      if (!is_above && sample > quiet) ++crossings;
      is_above = is_above ? sample > -quiet : sample > quiet;
    }
    return static_cast<double>(crossings) * 48000 / static_cast<double>(wave.size());
  }

  TemporaryFolder folder_;
  std::shared_ptr<LiveStream> stream_ = std::make_shared<LiveStream>();
  std::size_t next_ = 0;
};

class LiveSoundKind : public LiveSound, public testing::WithParamInterface<Kind> {};

TEST_P(LiveSoundKind, IsPlayedInStepWithTheFrames) {
  const Sent sent = make(GetParam().source, GetParam().arguments);
  announce(sent);
  offer(sent, 0, 40);
  const auto viewer = stream_->watch(LiveForm::sound);  // with what came since the second key frame
  offer(sent, 40, 100);
  const auto pieces = take_all(*viewer);
  ASSERT_THAT(pieces, Not(IsEmpty()));
  EXPECT_EQ(pieces[0].header->mime, GetParam().mime);
  EXPECT_TRUE(std::ranges::all_of(pieces, [](const LivePiece& piece) { return piece.key && !piece.audio; }));
  const std::string file = write(pieces);
  EXPECT_EQ(output_of("ffprobe -v error -of csv=p=0 -show_entries "
                      "stream=codec_name,sample_rate " +
                      file),
            GetParam().read_as + "\n");
  const std::vector<double> times = times_in(file);
  ASSERT_GT(times.size(), 50U);
  EXPECT_NEAR(times.front(), static_cast<double>(sent.video.packets[25].times.pts) / second, 0.1);
  EXPECT_NEAR(times.back(), static_cast<double>(sent.video.packets[99].times.pts) / second, 0.1);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LT(times[i] - times[i - 1], 0.03) << i;
  EXPECT_NEAR(pitch_of(file), tone, 0.03 * tone);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, LiveSoundKind,
    testing::Values(Kind{"Aac", "a.mp4", "-c:a aac", "audio/mp4; codecs=\"mp4a.40.2\"", "aac,48000"},
                    Kind{"AacWithHeaders", "a.ts", "-c:a aac", "audio/mp4; codecs=\"mp4a.40.2\"", "aac,48000"},
                    Kind{"Opus", "a.mkv", "-c:a libopus", "audio/mp4; codecs=\"opus\"", "opus,48000"},
                    Kind{"G711", "a.mkv", "-c:a pcm_alaw -ar 8000", "audio/mp4; codecs=\"mp4a.40.2\"", "aac,48000"},
                    Kind{"Mp2InStereo", "a.mkv", "-c:a mp2 -ac 2 -ar 44100", "audio/mp4; codecs=\"mp4a.40.2\"",
                         "aac,48000"}),
    [](const auto& of) { return of.param.title; });

TEST_F(LiveSound, ThatIsEncodedKeepsItsGaps) {
  const Sent sent = make("a.mkv", "-c:a pcm_mulaw -ar 8000");
  announce(sent);
  const auto viewer = stream_->watch(LiveForm::sound);
  offer(sent, 0, 100, second, 2 * second);
  const std::vector<double> times = times_in(write(take_all(*viewer)));
  std::vector<double> gaps;
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] - times[i - 1] > 0.03) gaps.push_back(times[i]);
  }
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_NEAR(gaps[0], 2, 0.06);
}

TEST_F(LiveSound, ThatChangesBeginsAnew) {
  const Sent sent = make("a.mkv", "-c:a pcm_mulaw -ar 8000");
  announce(sent);
  const auto viewer = stream_->watch(LiveForm::sound);
  offer(sent, 0, 40);
  AudioParameters other = sent.audio_parameters;
  other.codec = "pcm_alaw";
  stream_->set_audio(other);
  offer(sent, 40, 100);
  const auto pieces = take_all(*viewer);
  ASSERT_THAT(pieces, Not(IsEmpty()));
  EXPECT_LT(pieces.front().header->serial, pieces.back().header->serial);
}

// Who watches has what there is without it.
TEST_F(LiveSound, ThatCannotBeDecodedIsSaidAndHoldsUpNothing) {
  const Sent sent = make("a.mkv", "-c:a pcm_mulaw -ar 8000");
  AudioParameters unknown = sent.audio_parameters;
  unknown.codec = "none_of_these";
  stream_->set_audio(unknown);
  EXPECT_FALSE(stream_->has_sound());
  const auto listener = stream_->watch(LiveForm::sound);
  const auto viewer = stream_->watch(LiveForm::fmp4);
  offer(sent, 0, 60);
  EXPECT_THAT(stream_->failure(LiveForm::sound), HasSubstr("none_of_these"));
  EXPECT_THAT(take_all(*listener), IsEmpty());
  EXPECT_EQ(take_all(*viewer).size(), 60U);
  announce(sent);  // the camera was set to another kind
  EXPECT_TRUE(stream_->has_sound());
  offer(sent, 60, 100);
  EXPECT_EQ(stream_->failure(LiveForm::sound), "");
  EXPECT_THAT(take_all(*listener), Not(IsEmpty()));
}

TEST_F(LiveSound, ThereIsNone) {
  const Sent sent = make("a.mkv", "-c:a pcm_mulaw -ar 8000");
  const auto listener = stream_->watch(LiveForm::sound);
  offer(sent, 0, 30);
  EXPECT_EQ(stream_->failure(LiveForm::sound), "this camera sends no sound");
  EXPECT_THAT(take_all(*listener), IsEmpty());
}

// As with frames: the newest, and who is too slow loses the rest.
TEST_F(LiveSound, OfAListenerWhoIsTooSlowGoesOn) {
  LiveLimits limits;
  limits.viewer_bytes = 4000;
  stream_ = std::make_shared<LiveStream>(nullptr, "dock", limits);
  const Sent sent = make("a.mp4", "-c:a aac");
  announce(sent);
  const auto listener = stream_->watch(LiveForm::sound);
  offer(sent, 0, 100);
  const auto pieces = take_all(*listener);
  ASSERT_THAT(pieces, Not(IsEmpty()));
  EXPECT_GT(listener->dropped(), 0U);
  EXPECT_TRUE(pieces.front().after_loss);
  EXPECT_NEAR(static_cast<double>(pieces.back().times.pts) / second, 3.9, 0.2);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
