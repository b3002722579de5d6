// The work of a node goes over from one worker to another at one frame, whoever dies meanwhile. This page is made for
// one such move, and has the one word that decides about it. The node that has the work is the old one; the new one is
// to have it. Frames are numbered as their frame ring counts them (FrameRingReader::Lease::number), so that both speak
// of the same.
//
//   proposed → ready(R)       by the new node: its ring is attached, all is open and warm, and from frame R on it waits
//                             for the decision about each frame
//   ready(R) → committed(F)   by the old node, with frame F ≥ R in its hands: it leaves F and all that follow to the
//   new
//                             one; or by the supervisor, when the old one's process is gone: F is behind the newest
//                             frame that it had passed, and not before R
//                             (where it had passed none, nobody knows how far it was, and the move is cancelled)
//   either   → cancelled      by any of the three: the old node goes on as if nothing had been, and the new one ends
//
// What is committed or cancelled stays so. Each change is one compare-exchange, so that there is one outcome.
//
// `passed` is the newest frame that the old node has made its own, stored before it works on the frame. So a frame is
// the old one's once that has passed it, or the move is cancelled, or committed behind it; and it is the new one's once
// the move is committed at it or before. In between it is undecided, and the new node waits; the old one never does. It
// keeps no frame back that it has passed, so that a frame is encoded by one of them and by no other. Checked
// exhaustively in tests/model/hand_over_model_test.cpp.
//
// Both workers can write the whole page. What they write there decides about their camera's frames alone; who computes
// with a number of it checks it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/clock.h"
#include "core/unique_handle.h"
#include "ipc/shared_memory.h"

namespace campipe {

namespace hand_over {
struct Page;
}

class HandOver {
 public:
  static constexpr unsigned most_outputs = 64;  // of a node

  enum class State : std::uint8_t { proposed, ready, committed, cancelled };
  struct Word {
    State state = State::proposed;
    std::uint64_t frame = 0;  // ready: R; committed: F
    friend bool operator==(const Word&, const Word&) = default;
  };
  enum class Owner : std::uint8_t { undecided, old_node, new_node };

  // Supervisor. Throws Error.
  static std::shared_ptr<HandOver> create();
  // Throws Error when it is not a page of this version.
  static std::shared_ptr<HandOver> open(UniqueFd fd);

  // As it was created, and until forget_fd(): no further process gets it.
  [[nodiscard]] int fd() const { return fd_.get(); }
  void forget_fd() { fd_ = {}; }
  [[nodiscard]] Word word() const;
  // F; nothing: it is not committed.
  [[nodiscard]] std::optional<std::uint64_t> boundary() const;
  [[nodiscard]] bool is_cancelled() const { return word().state == State::cancelled; }

  // ---- The new node
  // False: it was cancelled.
  bool get_ready(std::uint64_t from);
  [[nodiscard]] Owner owner_of(std::uint64_t frame) const;
  // Likewise; `undecided`: the deadline came first.
  [[nodiscard]] Owner wait_for_owner(std::uint64_t frame, Deadline deadline) const;
  // Until the old node has passed a frame, or the word has changed.
  void wait_for_change(Deadline deadline) const;

  // ---- The old node, for each frame in turn
  // True: the frame, and all that follow, are the new node's. False: that is not ready for it, or it was cancelled.
  bool commit(std::uint64_t frame);
  // The frame is its own; before it does anything with it.
  void pass(std::uint64_t frame);

  // ---- Any of the three
  // False: it is committed.
  bool cancel();

  // ---- Supervisor, once the old node's process is gone
  // The boundary, also where that was committed before; nothing: the new node was not ready, or the old one had passed
  // no frame, and it is cancelled.
  // `newest`: frame of the ring, which no node can be beyond.
  std::optional<std::uint64_t> decide_for_dead(std::uint64_t newest);

  // ---- What travels along. Each number is of the one who writes it, and stands there before the word changes.
  // Of an output, by its place among the node's: when its next frame is due by its rate limit, and when its next
  // snapshot is; as it was when the old node died, if that did not come to commit.
  struct Due {
    std::optional<std::int64_t> rate;      // pts
    std::optional<std::int64_t> snapshot;  // monotonic ns
    friend bool operator==(const Due&, const Due&) = default;
  };
  void carry(unsigned output, const Due& due);
  [[nodiscard]] Due carried(unsigned output) const;
  // Frames before F that each node has taken from the ring that it is attached to. The old node's: nothing until it has
  // committed.
  void set_taken_by_old(std::uint64_t frames);
  void set_taken_by_new(std::uint64_t frames);
  [[nodiscard]] std::optional<std::uint64_t> taken_by_old() const;
  [[nodiscard]] std::uint64_t taken_by_new() const;

 private:
  HandOver(UniqueFd fd, Mapping mapping);
  bool change(const Word& from, const Word& to);
  void count_news();

  UniqueFd fd_;
  Mapping mapping_;
  hand_over::Page* page_;
};

}  // namespace campipe
