// One tile's parts of frames, as a join takes them: the rings of one edge, one after another, and of their frames the
// one that is next.
//
// The main thread gives rings (rings); all else is used by the node's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/rings/ring_queue.h"
#include "app/worker/frame_path.h"
#include "app/worker/node_input.h"
#include "app/worker/reader_queue.h"
#include "core/clock.h"
#include "ipc/ids.h"

namespace campipe {

struct EdgeReaderBlock;
class RigPage;

class TilePart {
 public:
  struct Events {
    std::function<void(const InputRing& ring)> on_ring;  // before its first frame can come
    std::function<void(std::shared_ptr<FrameRingMemory> memory)> on_used;
  };

  // `frames`: of the source, so far. `elsewhere`: another node of the cluster makes the parts.
  TilePart(std::string name, EdgeId edge, std::uint64_t frames, const ReaderQueue& queue, const RigPage& page,
           Events events, bool elsewhere);

  [[nodiscard]] EdgeId edge() const { return id_; }
  [[nodiscard]] RingQueue<InputRing>& rings() { return rings_; }
  void accuse_writer();

  // Whether its writer is to wait for this reader.
  void set_heed(FrameRingReader::Heed heed);
  // Takes the next frame, unless there is one, waiting until `deadline` or for a sign.
  void receive(Deadline deadline);
  // The source number of the next frame; none: it has not come.
  [[nodiscard]] std::optional<std::uint64_t> next() const;
  // Of the next frame.
  [[nodiscard]] FrameRingReader::Lease& lease() { return *lease_; }
  [[nodiscard]] const FrameRingReader::Lease& lease() const { return *lease_; }
  [[nodiscard]] RingInUse& ring() { return *use_; }
  [[nodiscard]] const InputRing& input() const { return *input_; }

  // No part of that frame will come, or it is not to be waited for.
  [[nodiscard]] bool is_missing(std::uint64_t number) const;
  // The frame is not needed any more, nor any before it.
  void pass(std::uint64_t number);
  // It has been waited for since `since` at least, and without a sign for long enough: it is late from now on.
  bool give_up(std::uint64_t number, Clock::time_point since);
  // Takes nothing any more.
  void leave();
  // There is a ring, and frames wait for what it brings.
  [[nodiscard]] bool is_awaited() const { return use_.has_value() && !late_; }
  // No ring will come.
  [[nodiscard]] bool is_over() const { return !use_ && rings_.is_over(); }

 private:
  bool open(Deadline deadline);
  void close();
  void abandon(const char* why);
  [[nodiscard]] bool is_possible(std::uint64_t number) const;
  void learn(std::uint64_t resolved);
  bool take(FrameRingReader::Lease lease);
  void sign();

  std::string name_;
  EdgeId id_;
  ReaderQueue queue_;
  EdgeReaderBlock& edge_;
  Events events_;
  RingQueue<InputRing> rings_;
  std::optional<InputRing> input_;
  std::optional<RingInUse> use_;
  std::optional<FrameRingReader::Lease> lease_;
  FrameRingReader::Heed heed_ = FrameRingReader::Heed::usual;
  std::uint64_t resolved_ = 0;  // of the writer of the newest ring, as far as has been seen
  std::uint64_t passed_ = 0;
  std::uint64_t frames_;       // of the source, when this began
  std::uint64_t late_at_ = 0;  // the newest frame that was given up for it
  bool late_ = false;
  Clock::time_point signed_at_;
  std::chrono::nanoseconds patience_;
};

}  // namespace campipe
