// A clip with video and audio, senders of it, and what is asked of live sources.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/libav_log.h"
#include "stages/sources/source.h"
#include "tests/unit/peers.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {

inline constexpr auto patience = std::chrono::seconds(60);
inline const Source::Interrupt never = [] { return false; };

inline std::string local(const std::string& scheme, int port, const std::string& rest = "") {
  return scheme + "://127.0.0.1:" + std::to_string(port) + rest;
}

inline SourceConfig source_of(const std::string& url, std::chrono::nanoseconds timeout = patience) {
  SourceConfig config;
  config.url = url;
  config.read_timeout = timeout;
  return config;
}

struct Failure {
  SourceError::Kind kind = SourceError::Kind::lost;
  std::string text;
  std::chrono::nanoseconds took{0};
};

// Of opening.
inline Failure failure_of(const SourceConfig& config, const Source::Interrupt& interrupt = never) {
  const auto begin = Clock::now();
  try {
    open_source(config, interrupt);
  } catch (const SourceError& error) {
    return {error.kind, error.what(), Clock::now() - begin};
  }
  ADD_FAILURE() << shown_url(config.url) << " was opened";
  return {};
}

// A sender that was started just now may not be there yet.
inline std::unique_ptr<Source> open_soon(const SourceConfig& config) {
  const auto deadline = Clock::now() + patience;
  for (;;) {
    try {
      return open_source(config, never);
    } catch (const SourceError&) {
      if (Clock::now() > deadline) throw;
    }
  }
}

struct Count {
  int video = 0;
  int audio = 0;
};

// Until there are so many of each, or there are no more.
inline Count count_packets(Source& source, const Count& wanted) {
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

inline void run_ffmpeg(std::vector<std::string> arguments) {
  std::vector<std::string> command{"ffmpeg", "-hide_banner", "-loglevel", "error", "-y"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ASSERT_EQ(Program(command).wait(), 0);
}

class WithClip : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_libav_log();
    folder_ = std::make_unique<TemporaryFolder>();
    run_ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=4", "-f", "lavfi", "-i", "sine=duration=4",
                "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac",
                file("clip.ts")});
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string file(const std::string& name) { return (folder_->path() / name).string(); }

  // The clip, again and again, in its own time.
  static std::vector<std::string> sender(const std::vector<std::string>& target) {
    std::vector<std::string> command{"ffmpeg", "-hide_banner",  "-loglevel", "fatal", "-re", "-stream_loop", "-1",
                                     "-i",     file("clip.ts"), "-c",        "copy",  "-f",  "mpegts"};
    command.insert(command.end(), target.begin(), target.end());
    return command;
  }

  static void expect_clip(const Source& source, bool audio = true) {
    EXPECT_EQ(source.stream().decoder, "h264");
    ASSERT_NE(source.stream().codec, nullptr);
    EXPECT_EQ(source.stream().codec->width, 320);
    EXPECT_NEAR(source.stream().frame_rate, 25, 0.1);
    EXPECT_EQ(source.stream().audio != nullptr, audio);
    if (audio) {
      EXPECT_EQ(source.stream().audio->codec_id, AV_CODEC_ID_AAC);
    }
  }

  inline static std::unique_ptr<TemporaryFolder> folder_;
};

}  // namespace campipe::test
