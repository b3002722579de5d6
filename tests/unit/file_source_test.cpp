// What files say besides their pictures, and numbered pictures.
extern "C" {
#include <libavutil/display.h>
}

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/error.h"
#include "tests/unit/live_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = SourceError::Kind;

class FileSource : public WithClip {};

// The first file's streams, with the word that frames must be turned by `degrees` clockwise to be upright.
void turn(const std::string& from, const std::string& to, double degrees) {
  AVFormatContext* raw = nullptr;
  av_check(avformat_open_input(&raw, from.c_str(), nullptr, nullptr), from);
  const AvInput input(raw);
  av_check(avformat_find_stream_info(raw, nullptr), from);
  AVFormatContext* output = nullptr;
  av_check(avformat_alloc_output_context2(&output, nullptr, nullptr, to.c_str()), to);
  av_check(avio_open(&output->pb, to.c_str(), AVIO_FLAG_WRITE), to);
  for (unsigned i = 0; i < raw->nb_streams; ++i) {
    AVStream* stream = avformat_new_stream(output, nullptr);
    av_check(avcodec_parameters_copy(stream->codecpar, raw->streams[i]->codecpar), to);
    stream->codecpar->codec_tag = 0;
    if (stream->codecpar->codec_type != AVMEDIA_TYPE_VIDEO) continue;
    std::uint8_t* matrix = av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(std::int32_t));
    av_display_rotation_set(static_cast<std::int32_t*>(static_cast<void*>(matrix)), degrees);
  }
  av_check(avformat_write_header(output, nullptr), to);
  const AvPacket packet = make_av_packet();
  while (av_read_frame(raw, packet.get()) >= 0) {
    const int index = packet->stream_index;
    av_packet_rescale_ts(packet.get(), raw->streams[index]->time_base, output->streams[index]->time_base);
    av_check(av_interleaved_write_frame(output, packet.get()), to);
  }
  av_check(av_write_trailer(output), to);
  avio_closep(&output->pb);
  avformat_free_context(output);
}

TEST_F(FileSource, IsTurned) {
  run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", file("clip.mp4")});
  for (const int degrees : {0, 90, 180, 270}) {
    turn(file("clip.mp4"), file("turned.mp4"), degrees);
    EXPECT_EQ(open_source(source_of(file("turned.mp4")), never)->stream().rotation, degrees);
  }
}

TEST_F(FileSource, HasAudio) {
  run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", file("clip.mp4")});
  SourceConfig config = source_of(file("clip.mp4"));
  const auto source = open_source(config, never);
  expect_clip(*source);
  const Count count = count_packets(*source, {1000, 1000});
  EXPECT_EQ(count.video, 100);
  EXPECT_GT(count.audio, 150);
  source->seek(2'000'000'000);
  const AvPacket packet = make_av_packet();
  ASSERT_EQ(source->read(*packet), ReadResult::packet);
  EXPECT_NE(packet->flags & AV_PKT_FLAG_KEY, 0);
  config.audio = Audio::off;
  EXPECT_EQ(count_packets(*open_source(config, never), {1000, 0}).audio, 0);
}

TEST_F(FileSource, NumberedPicturesHaveTheTimesOfTheirRate) {
  run_ffmpeg({"-i", file("clip.ts"), "-frames:v", "10", "-start_number", "17", file("img%03d.png")});
  SourceConfig config = source_of(file("img%03d.png"));
  config.capture.rate = 5;
  EXPECT_EQ(check_source(config.url), std::nullopt);
  EXPECT_FALSE(is_live(config.url));
  const auto source = open_source(config, never);
  EXPECT_EQ(source->stream().decoder, "png");
  EXPECT_DOUBLE_EQ(source->stream().frame_rate, 5);
  for (int round = 0; round < 2; ++round) {
    const AvPacket packet = make_av_packet();
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(source->read(*packet), ReadResult::packet);
      const std::int64_t time = av_rescale_q(packet->pts - source->stream().start, source->stream().time_base, {1, 5});
      EXPECT_EQ(time, i);
      av_packet_unref(packet.get());
    }
    EXPECT_EQ(source->read(*packet), ReadResult::end);
    source->rewind();
  }
  EXPECT_THAT(source_not_now(file("other%d.png")).value_or(""), HasSubstr("there is no picture"));
}

// Of opening.
std::string error_of(const SourceConfig& config) {
  try {
    open_source(config, never);
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << config.url << " was opened";
  return "";
}

TEST_F(FileSource, WhatIsNotOnTheListIsRefusedByItsName) {
  const std::string pattern = "testsrc2=rate=25:duration=0.2:size=";
  run_ffmpeg({"-f", "lavfi", "-i", pattern + "176x144", "-c:v", "rv10", file("real.rm")});
  EXPECT_THAT(error_of(source_of(file("real.rm"))), HasSubstr("'rm'"));
  run_ffmpeg({"-f", "lavfi", "-i", pattern + "176x144", "-c:v", "asv1", file("asus.avi")});
  EXPECT_THAT(error_of(source_of(file("asus.avi"))), HasSubstr("'asv1'"));
  run_ffmpeg({"-f", "lavfi", "-i", pattern + "8x16", "-c:v", "ffv1", file("small.mkv")});
  EXPECT_THAT(error_of(source_of(file("small.mkv"))), AllOf(HasSubstr("8x16"), HasSubstr("16 to 16384")));
  run_ffmpeg({"-f", "lavfi", "-i", pattern + "16400x16", "-frames:v", "1", "-c:v", "ffv1", file("wide.mkv")});
  EXPECT_THAT(error_of(source_of(file("wide.mkv"))), AllOf(HasSubstr("16400x16"), HasSubstr("16 to 16384")));
  run_ffmpeg({"-i", file("clip.ts"), "-c:v", "copy", "-c:a", "wavpack", file("sound.mkv")});
  EXPECT_EQ(open_source(source_of(file("sound.mkv")), never)->stream().audio, nullptr);
}

// A playlist, or a list of files, that lies there as a video names files that nobody has given to campipe.
TEST_F(FileSource, PlaylistsAreNoFiles) {
  for (const auto& [name, text] : std::map<std::string, std::string>{
           {"hls", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nclip.ts\n#EXT-X-ENDLIST\n"},
           {"concat", "ffconcat version 1.0\nfile 'clip.ts'\n"}}) {
    std::ofstream(file("list.mp4")) << text;
    EXPECT_THAT(error_of(source_of(file("list.mp4"))), HasSubstr("'" + name + "'"));
  }
}

// How many warnings name `name` while `source` is read to its end.
int warnings_about(const std::string& name, Source& source) {
  std::ostringstream text;
  const auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(text);
  sink->set_level(spdlog::level::warn);
  spdlog::default_logger()->sinks().push_back(sink);
  count_packets(source, {100000, 100000});
  spdlog::default_logger()->sinks().pop_back();
  int count = 0;
  const std::string all = text.str();
  for (auto at = all.find(name); at != std::string::npos; at = all.find(name, at + 1)) ++count;
  return count;
}

TEST_F(FileSource, OneThatIsCutOffSaysSo) {
  run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", "-movflags", "+faststart", file("whole.mp4")});
  std::filesystem::copy(file("whole.mp4"), file("half.mp4"));
  std::filesystem::resize_file(file("half.mp4"), std::filesystem::file_size(file("whole.mp4")) / 2);
  EXPECT_EQ(warnings_about("whole.mp4", *open_source(source_of(file("whole.mp4")), never)), 0);
  const auto half = open_source(source_of(file("half.mp4")), never);
  EXPECT_EQ(warnings_about("half.mp4", *half), 1);
  half->rewind();
  EXPECT_EQ(warnings_about("half.mp4", *half), 0);  // once is enough where it is looped
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
