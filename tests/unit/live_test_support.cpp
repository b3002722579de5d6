#include "tests/unit/live_test_support.h"

#include "core/libav_log.h"

namespace campipe::test {

std::string local(const std::string& scheme, int port, const std::string& rest) {
  return scheme + "://127.0.0.1:" + std::to_string(port) + rest;
}

SourceConfig source_of(const std::string& url, std::chrono::nanoseconds timeout) {
  SourceConfig config;
  config.url = url;
  config.read_timeout = timeout;
  return config;
}

Failure failure_of(const SourceConfig& config, const Source::Interrupt& interrupt) {
  const auto begin = Clock::now();
  try {
    open_source(config, interrupt);
  } catch (const SourceError& error) {
    return {error.kind, error.what(), Clock::now() - begin};
  }
  ADD_FAILURE() << shown_url(config.url) << " was opened";
  return {};
}

std::unique_ptr<Source> open_soon(const SourceConfig& config) {
  const auto deadline = Clock::now() + patience;
  for (;;) {
    try {
      return open_source(config, never);
    } catch (const SourceError&) {
      if (Clock::now() > deadline) throw;
    }
  }
}

Count count_packets(Source& source, const Count& wanted) {
  Count count;
  const AvPacket packet = make_av_packet();
  while (count.video < wanted.video || count.audio < wanted.audio) {
    const ReadResult result = source.read(*packet);
    if (result == ReadResult::end || result == ReadResult::interrupted) break;
    ++(result == ReadResult::packet ? count.video : count.audio);
    av_packet_unref(packet.get());
  }
  return count;
}

void run_ffmpeg(std::vector<std::string> arguments) {
  std::vector<std::string> command{"ffmpeg", "-hide_banner", "-loglevel", "error", "-y"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ASSERT_EQ(Program(command).wait(), 0);
}

void WithClip::SetUpTestSuite() {
  install_libav_log();
  folder_ = std::make_unique<TemporaryFolder>();
  run_ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=4", "-f", "lavfi", "-i", "sine=duration=4",
              "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac",
              file("clip.ts")});
}

std::vector<std::string> WithClip::sender(const std::vector<std::string>& target) {
  std::vector<std::string> command{"ffmpeg", "-hide_banner",  "-loglevel", "fatal", "-re", "-stream_loop", "-1",
                                   "-i",     file("clip.ts"), "-c",        "copy",  "-f",  "mpegts"};
  command.insert(command.end(), target.begin(), target.end());
  return command;
}

void WithClip::expect_clip(const Source& source, bool audio) {
  EXPECT_EQ(source.stream().decoder, "h264");
  ASSERT_NE(source.stream().codec, nullptr);
  EXPECT_EQ(source.stream().codec->width, 320);
  EXPECT_NEAR(source.stream().frame_rate, 25, 0.1);
  EXPECT_EQ(source.stream().audio != nullptr, audio);
  if (audio) {
    EXPECT_EQ(source.stream().audio->codec_id, AV_CODEC_ID_AAC);
  }
}

}  // namespace campipe::test
