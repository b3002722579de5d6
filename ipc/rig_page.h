// What all processes of a rig know of one another: heartbeats, the barrier, and for each camera its counters, its
// latencies, how far its recording is, and who is to blame when a process dies. One shared memory, made by the
// supervisor; every word is an atomic, so a process may die at any instruction.
//
// Accounting (docs/architecture.md, "every frame is counted"): decoded = frames published to the frame ring +
// `unpublished`; encoded = packets published to the packet ring; dropped = `unpublished` + `dropped`. Heads of
// rings are the only points at which a frame begins to exist, so a kill between two instructions counts nothing twice.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "ipc/barrier.h"
#include "ipc/histogram.h"
#include "ipc/shared_memory.h"

namespace campipe {

// Why a frame that was decoded did not become a packet.
enum class DropCause : std::uint8_t {
  queue_full,     // the worker was too slow, and the camera's policy is `drop`
  worker_lost,    // its worker died or was away
  master_lost,    // the master died between decoding and handing over
  filter_failed,  // a filter or the encoder reported an error
  encoder_failed,
  publisher_slow,  // the publisher did not take packets in time
  stopped,         // in flight when the rig was told to stop at once
  no_gpu_memory,   // the worker's GPU had no room for the camera's pictures
  corrupt,         // parts of it were missing, and the camera's `on_corrupt` is `skip`
  rate,            // wanted: the output takes fewer frames a second (`rate`)
  unwatched,       // wanted: the output is encoded only while somebody watches it
};
inline constexpr std::size_t drop_causes = 11;
const char* name_of(DropCause cause);

// The processes that beat. Workers are 2, 3, …
inline constexpr unsigned master_process = 0;
inline constexpr unsigned publisher_process = 1;
inline constexpr unsigned first_worker_process = 2;
inline constexpr unsigned max_workers = Barrier::max_participants - 1;  // the publisher takes part as well
inline constexpr unsigned max_processes = first_worker_process + max_workers;

struct alignas(64) ProcessBlock {
  std::atomic<std::int64_t> beat;  // monotonic ns, from the process's main thread every 100 ms
};

// The camera's thread in one process.
struct alignas(64) ThreadBlock {
  std::atomic<std::int64_t> beat;    // monotonic ns; 0: no such thread runs
  std::atomic<std::uint32_t> fault;  // the signal that this thread died of; 0: none
};

// How far a recording is. Two copies, of which `current` names the valid one, so that a death cannot tear it.
struct RecordState {
  struct Copy {
    std::uint64_t offset;
    std::uint64_t packets;
    std::uint64_t fragments;
    std::int64_t last_dts;
    std::uint64_t number;        // of the newest packet in the file, as PacketRingReader counts
    std::uint64_t recorded;      // packets in all files of the camera
    std::uint64_t audio_epoch;   // of the ring that the newest packet of audio in the file came from
    std::uint64_t audio_number;  // of that packet
    std::int64_t end;            // of the newest picture in the file, on the stream's time line
    std::int64_t end_utc;        // likewise, by the clock
    std::int64_t last_motion;    // pts of the newest picture that moved; -1: no motion is recorded
    float score;                 // the highest of the motion
    std::uint32_t open;          // 1: the file is to be gone on in
  };
  std::atomic<std::uint32_t> current;  // 0: no file yet; else copy[current - 1]
  std::array<Copy, 2> copy;
  std::array<char, 4096> path;  // these are written before `current` becomes non-zero
  std::uint64_t stream;         // a hash of the stream's parameters
  std::uint64_t audio;          // likewise of its audio; 0: it has none
  std::int64_t begin;           // of its first picture, on the stream's time line
  std::int64_t begun_utc;       // when that came, by this machine's clock
  std::atomic<std::uint32_t> failed;
  std::atomic<std::uint64_t> unrecorded;  // packets that came while the recording was paused
};

// What a camera's source had to be forgiven; by its ingest thread.
struct SourceHealth {
  std::atomic<std::uint64_t> corrupt_packets;              // damaged or undecodable
  std::array<std::atomic<std::uint64_t>, 4> times_mended;  // missing, repeated, backwards, jumped
  std::atomic<std::int64_t> clock_drift;    // ns by which the camera's clock has run ahead since connected
  std::atomic<std::uint32_t> camera_clock;  // 1: capture times are the camera's own
};

// Who watches what the camera's encoder makes; by the publisher.
struct Audience {
  std::atomic<std::uint32_t> watches;   // 1: somebody does
  std::atomic<std::uint32_t> arrivals;  // one more each time somebody comes, for whom a key frame is to come soon
};

struct CameraBlock {
  ThreadBlock ingest;
  ThreadBlock stage;
  ThreadBlock publish;
  std::array<std::atomic<std::uint64_t>, drop_causes> unpublished;
  std::array<std::atomic<std::uint64_t>, drop_causes> dropped;
  SourceHealth source;
  Audience audience;
  std::atomic<std::uint64_t> converted;  // pictures that the decoder could not write into a slot itself
  std::atomic<std::uint64_t> bytes;      // of encoded packets, as far as the publisher has seen them
  SharedHistogram latency;               // arrival → encoded
  SharedHistogram decode;                // spent in the decoder
  SharedHistogram queue;                 // decoded → taken by the worker
  SharedHistogram filter;
  SharedHistogram encode;
  SharedHistogram overhead;  // latency less decode, filter and encode
  RecordState record;
};

inline std::atomic<std::uint64_t>& counter(std::array<std::atomic<std::uint64_t>, drop_causes>& counters,
                                           DropCause cause) {
  return counters[static_cast<std::size_t>(cause)];
}

class RigPage {
 public:
  static RigPage create(unsigned cameras);
  static RigPage open(UniqueFd fd);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] ProcessBlock& process(unsigned index) const;
  [[nodiscard]] CameraBlock& camera(unsigned index) const;
  [[nodiscard]] unsigned cameras() const { return static_cast<unsigned>(cameras_.size()); }
  // All of a camera's block is as it was at first. Only when no process uses it any more.
  void clear_camera(unsigned index) const;
  [[nodiscard]] Barrier barrier() const;

 private:
  struct Header;
  explicit RigPage(UniqueFd fd);
  UniqueFd fd_;
  Mapping mapping_;
  Header* header_ = nullptr;
  std::span<CameraBlock> cameras_;
};

}  // namespace campipe
