// A recording as the publisher's camera thread drives it, without processes and without waiting: packets come at times
// that the test makes up.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/publisher/motion_events.h"
#include "app/publisher/recording/recording.h"
#include "core/clock.h"
#include "ipc/publish_block.h"
#include "ipc/rig_page.h"
#include "tests/unit/encoded_clip.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {

inline std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, size);
  EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << output;
  return output;
}

struct ProbedPacket {
  double pts = 0;
  double dts = 0;
  double duration = 0;
  bool key = false;
};

inline nlohmann::json probe(const std::filesystem::path& file, const std::string& what) {
  return nlohmann::json::parse(output_of("ffprobe -v error -of json " + what + " '" + file.string() + "'"));
}

// `track`: "v" or "a".
inline std::vector<ProbedPacket> packets_of(const std::filesystem::path& file, const std::string& track = "v") {
  const auto found =
      probe(file, "-select_streams " + track + " -show_entries packet=pts_time,dts_time,duration_time,flags");
  std::vector<ProbedPacket> packets;
  for (const auto& packet : found.at("packets")) {
    const auto number = [&packet](const char* key) { return std::stod(packet.value(key, std::string("nan"))); };
    packets.push_back({number("pts_time"), number("dts_time"), number("duration_time"),
                       packet.at("flags").get<std::string>()[0] == 'K'});
  }
  return packets;
}

inline std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// A ring with these packets of audio, which ends behind them.
inline AudioFeed::Ring audio_ring(const AudioParameters& stream, const std::vector<Packet>& packets,
                                  std::uint64_t epoch = 1, bool close = true) {
  AudioFeed::Ring ring{PacketRingMemory::create(1 << 20, epoch, 0), epoch, stream};
  PacketRingWriter writer(ring.memory);
  for (const Packet& packet : packets) writer.push(packet.view(), Clock::now(), [] { return false; });
  if (close) writer.close();
  return ring;
}

class RecordingTest : public testing::Test {
 protected:
  RecordingTest() : page_(RigPage::create(1)), audio_([this](std::uint64_t epoch) { audio_done_.push_back(epoch); }) {
    config_.name = config_.camera = "dock";
    config_.record.emplace();
    config_.record->path = folder() / "{camera}" / "%H-%M-%S.mp4";
  }

  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
  [[nodiscard]] RecordState& state() const { return page_.publish(OutputId(0)).record; }
  [[nodiscard]] std::uint64_t unrecorded() const {
    const auto progress = load_record_progress(state());
    return progress ? progress->unrecorded : 0;
  }
  [[nodiscard]] std::filesystem::path index() const {
    return record_index_path(config_.record->path, config_.camera, config_.output);
  }

  void begin() {
    Recording::Events events;
    events.on_file = [this](const std::string& path) { files_.push_back(path); };
    events.on_failed = [this](const std::string& reason) { failed_.push_back(reason); };
    events.on_paused = [this](const std::string& reason) { paused_.push_back(reason); };
    events.on_resumed = [this](std::uint64_t missing) { resumed_.push_back(missing); };
    house_->keep(config_);
    recording_ = std::make_unique<Recording>(config_, state(), audio_, events, house_, run_);
    motion_events_.emplace(config_, page_.publish(OutputId(0)).motion,
                           [this](const MotionEvent& motion) { motions_.push_back(motion); });
  }
  // As if the process had died: nothing is finished. What is in the index by then is not left to chance.
  void die() {
    rest();
    recording_.reset();
  }
  // Until its disk has all of it, and its limits have been enforced.
  void rest() {
    while (!recording_->at_rest()) {
      house_->tick();
      std::this_thread::yield();
    }
  }

  // Comes at `origin_` (UTC) + its pts.
  void take(Packet packet, const StreamParameters& stream) {
    packet.times.arrival = now_ns() + (origin_ + packet.times.pts - utc_now_ns());
    recording_->take(packet.view(), ++number_, stream);
    motion_events_->take(packet.view(), recording_->newest_file());
    recording_->tick();
    house_->tick();
  }
  void take(const Clip& clip, std::size_t from = 0, std::size_t to = SIZE_MAX) {
    for (std::size_t i = from; i < std::min(to, clip.packets.size()); ++i) take(clip.packets[i], clip.parameters);
  }
  // As if the camera went on sending this clip, which begins with a key frame, until something has come about.
  void take_until(const Clip& clip, const std::function<bool()>& condition) {
    const Deadline deadline = Clock::now() + std::chrono::seconds(30);
    while (!condition() && Clock::now() < deadline) {
      Packet packet = clip.packets[number_ % clip.packets.size()];
      const auto round = static_cast<std::int64_t>(number_ / clip.packets.size());
      packet.times.pts += round * 40 * ms * static_cast<std::int64_t>(clip.packets.size());
      packet.dts += packet.times.pts - clip.packets[number_ % clip.packets.size()].times.pts;
      take(packet, clip.parameters);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a camera takes its time, too
    }
    EXPECT_TRUE(condition());
  }
  void finish() {
    motion_events_->finish(recording_->newest_file());
    recording_->finish();
    rest();
    recording_->tick();
    recording_.reset();
  }

  TemporaryFolder folder_;
  RigPage page_;
  ResolvedOutput config_;
  RunStart run_;
  AudioFeed audio_;
  std::shared_ptr<Housekeeping> house_ = std::make_shared<Housekeeping>();
  std::unique_ptr<Recording> recording_;
  std::optional<MotionEvents> motion_events_;
  std::uint64_t number_ = 0;
  std::int64_t origin_ = utc_now_ns() / (10 * second) * (10 * second) + 700 * ms;
  std::vector<std::string> files_, failed_, paused_;
  std::vector<std::uint64_t> resumed_, audio_done_;
  std::vector<MotionEvent> motions_;
};

}  // namespace campipe::test
