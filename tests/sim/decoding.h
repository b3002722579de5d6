// A camera that a simulated master decodes: packets of the source's rings become frames in a frame ring. Packets since
// the last key frame stay in their ring for a successor, which decodes them again, and publishes what was not.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "app/control/messages/to_master.h"
#include "app/master/set_numbering.h"
#include "app/rings/demand.h"
#include "ipc/decode_blocks.h"
#include "ipc/drop_note.h"
#include "ipc/edge_blocks.h"
#include "ipc/frame_ring.h"
#include "ipc/packet_ring.h"
#include "tests/sim/child.h"
#include "tests/sim/rates.h"

namespace campipe::sim {

class Decoding {
 public:
  Decoding(Child& child, const messages::DecodeCamera& asked);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] EdgeId edge() const { return edge_; }
  [[nodiscard]] const Device& gpu() const { return gpu_; }
  void add(std::uint64_t epoch, std::shared_ptr<PacketRingMemory> memory);
  void finish() { finishes_ = true; }
  void stop() {
    if (!stopped_at_) stopped_at_ = Clock::now();
  }
  void renew() { renew_ = true; }
  // Another master goes on with it, as after a death.
  void leave() { leaves_ = true; }
  void shed(ShedStep step) { shed_ = step; }
  void show(bool shown) { shown_ = shown; }
  void step();

 private:
  static constexpr unsigned packets_a_step = 64;
  static constexpr auto longest_burst = seconds(10);

  struct Feed {
    std::uint64_t epoch = 0;
    std::shared_ptr<PacketRingMemory> memory;
  };
  struct Pending {
    std::int64_t number = 0;  // of the camera's packets
    std::uint64_t in_ring = 0;
    bool key = false;
    FrameSize size{};
    FrameTimes times;
    Clock::time_point since = Clock::now();
  };

  [[nodiscard]] bool has_given_up() const;
  // False: there is none now.
  bool next_packet();
  // False: something has to come first.
  bool take();
  bool is_wanted();
  bool leave_out();
  bool has_begun();
  bool is_left_out();
  [[nodiscard]] bool was_passed(std::int64_t number) const;
  bool has_reader();
  bool may_publish();
  bool has_room();
  bool waits_out_burst();
  void publish();
  void enter_set(FrameTimes& times);
  void open_ring();
  void close_ring();
  void end();

  Child& child_;
  std::string name_;
  CameraId camera_;
  EdgeId edge_;
  Device gpu_;  // that it is said to be decoded on
  DecodeBlock& block_;
  EdgeWriterBlock& edge_block_;
  DropPolicy policy_;
  unsigned queue_;
  unsigned readers_;
  std::uint64_t epoch_;
  std::uint64_t base_;
  std::optional<std::int64_t> passed_;    // packets whose frames a master before has published
  std::optional<DropNote> dropped_last_;  // likewise, or dropped
  ShedStep shed_;
  bool is_off_ = false;
  std::uint64_t frames_ = 0;
  bool decodes_;  // always; else on demand,
  bool shown_;    // or for a mosaic
  Demand demand_;
  bool decoded_on_demand_ = false;    // just now
  std::optional<SetNumbering> sets_;  // of one in a synchronised group
  std::deque<Feed> feeds_;
  std::optional<PacketRingReader> reader_;  // of the first of them
  std::uint64_t newest_key_ = 0;
  std::optional<Pending> pending_;
  std::unique_ptr<FrameRingWriter> ring_;
  FrameSize size_{};  // of its frames
  std::deque<std::unique_ptr<FrameRingWriter>> old_rings_;
  std::uint64_t published_ = 0;
  Clock::time_point began_at_ = Clock::now();
  std::optional<Clock::time_point> opens_at_;
  std::optional<Clock::time_point> stopped_at_;
  std::optional<Clock::time_point> reader_away_since_;
  nanoseconds burst_left_ = longest_burst;
  std::optional<Clock::time_point> waits_since_;
  Clock::time_point late_{};
  bool had_reader_ = false;
  bool begun_ = false;
  bool finishes_ = false;
  bool renew_ = false;
  bool leaves_ = false;
  bool over_ = false;
};

}  // namespace campipe::sim
