#include "tests/sim/copying.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/control/messages/packet_rings.h"
#include "ipc/drop_causes.h"
#include "ipc/source_blocks.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

constexpr std::size_t copied_ring_bytes = 256 << 10;
constexpr std::array<std::uint8_t, 40> sound_data{};
constexpr auto patience = seconds(30);  // policy block: for a publisher that takes nothing

}  // namespace

Copying::Copying(Child& child, const messages::ReadCamera& asked)
    : child_(child), camera_(asked.config.name), blocks_(asked.config.drop_policy == DropPolicy::block) {
  for (const messages::Copy& copy : asked.copies) {
    video_.push_back({copy.output, copy.epoch, copy.base});
    resumes_at_ = std::max({resumes_at_, copy.resume.value_or(-1), copy.shown_until.value_or(-1)});
  }
  for (const messages::CopyAudio& audio : asked.audio) {
    if (!child.machine().has_sound(camera_)) break;
    sound_.push_back({audio.output, audio.epoch, 0});
    resumes_at_ = std::max(resumes_at_, audio.resume.value_or(-1));
  }
}

std::int64_t Copying::resumes_at() const { return resumes_at_; }

void Copying::begin(bool is_other, const FrameFormat& format) {
  format_ = format;
  if (is_other) ++stream_;
  for (Track& track : video_) {
    track.need_key = true;
    if (!track.ring || is_other) open(track, "copied");
  }
  for (Track& track : sound_) {
    if (!track.ring || is_other) open(track, "sound");
  }
}

void Copying::open(Track& track, const char* what) {
  if (track.ring) track.ring->close();
  const bool is_video = what == std::string_view("copied");
  Accusation& accusation = child_.page().copy(track.output).accusation;
  child_.machine().on_ring(child_, camera_, fmt::format("{} for output {}", what, track.output.index()), track.epoch);
  track.ring.emplace(PacketRingMemory::create(copied_ring_bytes, track.epoch, track.base + track.pushed));
  track.ring->on_faulty_reader([&accusation] { accuse(accusation, Accused::publisher); });
  const std::uint64_t epoch = track.epoch++;
  if (!is_video) {
    AudioParameters audio;
    audio.codec = "pcm_mulaw";
    audio.sample_rate = 8000;
    audio.bits_per_coded_sample = 8;
    audio.channels = 1 + static_cast<int>(stream_ % 2);
    return child_.send(messages::AudioRing{track.output, epoch, audio}, {track.ring->memory().fd()});
  }
  StreamParameters stream;
  stream.codec = "h264";
  stream.encoder = "copy";
  stream.extradata = headers();
  stream.format = format_;
  stream.frame_rate = frame_rate + static_cast<int>(stream_);
  child_.send(messages::PacketRing{track.output, epoch, stream}, {track.ring->memory().fd()});
}

bool Copying::pass_video(const PacketView& packet) {
  for (; next_ < video_.size(); ++next_) {
    if (!pass(video_[next_], packet)) return false;
    waits_since_.reset();
  }
  next_ = 0;
  return true;
}

// False: it waits.
bool Copying::pass(Track& track, const PacketView& packet) {
  if (packet.key) track.need_key = false;
  if (track.need_key) return true;  // it refers to some that was left out, and counted
  CopyBlock& block = child_.page().copy(track.output);
  if (track.ring->push(packet, Clock::now(), [] { return true; })) {
    ++track.pushed;
    block.latency.record(now_ns() - packet.times.arrival);
    return true;
  }
  if (!waits_since_) waits_since_ = Clock::now();
  if (blocks_ && Clock::now() < *waits_since_ + patience) return false;
  track.need_key = true;
  counter(block.unpublished, DropCause::publisher_slow).fetch_add(1);
  child_.machine().world().reached("packets that are not copied in time");
  return true;
}

void Copying::pass_sound(std::int64_t at) {
  const PacketView packet = packet_at(at, now_ns(), true, sound_data);
  for (Track& track : sound_) {
    if (track.ring->push(packet, Clock::now(), [] { return true; })) ++track.pushed;
  }
}

void Copying::keep(const std::vector<OutputId>& outputs) {
  for (std::vector<Track>* const tracks : {&video_, &sound_}) {
    std::erase_if(*tracks, [&](Track& track) {
      const bool ends = std::ranges::find(outputs, track.output) == outputs.end();
      if (ends && track.ring) track.ring->close();
      return ends;
    });
  }
  next_ = 0;
}

void Copying::close() {
  for (std::vector<Track>* const tracks : {&video_, &sound_}) {
    for (Track& track : *tracks) {
      if (track.ring) track.ring->close();
    }
  }
}

}  // namespace campipe::sim
