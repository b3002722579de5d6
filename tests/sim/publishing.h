// An output in the simulated publisher: records the packets of its rings, a fragment at a time, and passes them on to
// its push targets. A packet is given back once it is in the file, so that a successor goes on where the file ends.
// Audio has no frame to wait for here: it is given back with the fragment that comes next.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "app/control/messages/to_publisher.h"
#include "app/control/record_state.h"
#include "ipc/packet_ring.h"
#include "ipc/publish_block.h"
#include "tests/sim/pushes.h"

namespace campipe::sim {

class Child;

class Publishing {
 public:
  Publishing(Child& child, const messages::PublishOutput& asked);

  [[nodiscard]] const std::string& camera() const { return camera_; }
  [[nodiscard]] bool is_done() const { return done_; }
  [[nodiscard]] OutputId id() const { return output_; }
  void record(bool on);
  // Of the assignment of its camera to this node: a file that was begun under another one ends with the next key frame.
  void set_fence(const std::string& fence);
  void add(std::uint64_t epoch, std::shared_ptr<PacketRingMemory> memory, StreamParameters stream);
  void add_audio(std::uint64_t epoch, std::shared_ptr<PacketRingMemory> memory);
  void finish() { finishes_ = true; }
  void abandon() { abandoned_ = true; }

  void step();

 private:
  static constexpr unsigned packets_a_step = 64;

  struct Ring {
    std::uint64_t epoch = 0;
    std::shared_ptr<PacketRingMemory> memory;
    StreamParameters stream;
  };

  bool next_packet();
  void take(const PacketView& packet, std::uint64_t number);
  [[nodiscard]] bool records() const { return may_record_ && on_ && block_.record.failed.load() == 0; }
  [[nodiscard]] std::uint64_t safe() const { return records() ? progress_.number : expected_ - 1; }
  void hear(std::int64_t until);
  bool next_sound();
  [[nodiscard]] bool is_under_fence() const;
  void begin_file();
  void announce();
  void leave_out(std::uint64_t number);
  void commit();
  void pause();
  void close_file(FileEnd why);
  void end();

  Child& child_;
  OutputId output_;
  PublishBlock& block_;
  std::string name_;
  std::string camera_;
  bool may_record_;
  bool on_;           // as it was asked last
  bool was_stopped_;  // also where it is on again by now
  Pushes pushes_;
  std::string node_;  // empty: the rig is no node of a cluster
  std::string fence_;
  std::string maker_;  // that files are named by; empty: none
  std::deque<Ring> rings_;
  std::optional<PacketRingReader> reader_;  // of the first of them
  std::deque<Ring> audio_rings_;
  std::optional<PacketRingReader> audio_;  // likewise
  std::uint64_t sound_ = 0;                // the newest packet of it,
  std::optional<std::int64_t> sound_at_;   // its time, while it has not been taken
  std::uint64_t heard_ = 0;                // the newest one that was
  RecordProgress progress_;
  std::string unannounced_;     // the file, while the supervisor does not know of it
  std::uint64_t expected_ = 1;  // number of the next packet
  std::uint64_t newest_ = 0;
  std::int64_t newest_dts_ = 0;
  std::uint64_t waiting_ = 0;                       // packets of the fragment that is not in the file yet
  std::optional<Clock::time_point> retry_at_ = {};  // the recording is paused, and tried again then
  bool finishes_ = false;
  bool abandoned_ = false;
  bool done_ = false;
};

}  // namespace campipe::sim
