// A clip with video and audio, senders of it, and what is asked of live sources.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "stages/sources/source.h"
#include "stages/sources/source_config.h"
#include "tests/unit/peers.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {

constexpr auto patience = std::chrono::seconds(60);
inline const Source::Interrupt never = [] { return false; };

std::string local(const std::string& scheme, int port, const std::string& rest = "");

SourceConfig source_of(const std::string& url, std::chrono::nanoseconds timeout = patience);

struct Failure {
  SourceError::Kind kind = SourceError::Kind::lost;
  std::string text;
  std::chrono::nanoseconds took{0};
};

// Of opening.
Failure failure_of(const SourceConfig& config, const Source::Interrupt& interrupt = never);

// A sender that was started just now may not be there yet.
std::unique_ptr<Source> open_soon(const SourceConfig& config);

struct Count {
  int video = 0;
  int audio = 0;
};

// Until there are so many of each, or there are no more.
Count count_packets(Source& source, const Count& wanted);

void run_ffmpeg(std::vector<std::string> arguments);

class WithClip : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string file(const std::string& name) { return (folder_->path() / name).string(); }

  // The clip, again and again, in its own time.
  static std::vector<std::string> sender(const std::vector<std::string>& target);

  static void expect_clip(const Source& source, bool audio = true);

  inline static std::unique_ptr<TemporaryFolder> folder_;
};

}  // namespace campipe::test
