// The packet ring: one camera's packets, from its worker to the publisher, or from its source to the master. Bytes are
// copied in by the writer and read in place. The reader gives packets back only when it no longer needs them (a
// recording: when they are in the file), so a successor of a dead reader finds all that its predecessor had not
// finished.
//
// Protocol: one writer, one reader at a time. The writer fills the next entry and the bytes it names, then stores
// head, which is the one point at which a packet exists; then wakes. Several packets may come to exist together, by one
// store of head. The reader stores `released`, which is the one
// point at which its room is free. Both count packets, from `base` on. A writer that finds no room says so, and wakes
// the reader, who may have read all and keep it for its successor alone (ReplayReader). A ring is never repaired: a new
// worker makes a ring of the next epoch, and the reader finishes the old one first. Every wait has a deadline. Neither
// trusts the other: each keeps its positions to itself, the reader copies and checks an entry before it uses it, and
// the writer takes no more back than it wrote. The bytes of a packet are the writer's: who parses them copies them
// first.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/packet.h"
#include "ipc/frame_ring.h"
#include "ipc/shared_memory.h"

namespace campipe {

inline constexpr std::uint32_t packet_ring_entries = 2048;
inline constexpr std::size_t most_packet_bytes = std::size_t{512} << 20;  // of a ring: the largest frame fits

inline constexpr unsigned packet_ring_notes = 8;  // that a reader may have for its writer

// What a reader found, for the writer: with what it has come to, which may be some packets ago.
struct PacketRingNote {
  std::int64_t packet = 0;  // by its writer's number
  FrameMetadata metadata;
};

namespace packet_ring {
struct Description;
struct Header;
}  // namespace packet_ring

class PacketRingMemory {
  friend class PacketRingWriter;

 public:
  // `capacity`: bytes of packets that fit; most_packet_bytes at most. `name`: for people, of its memory.
  static std::shared_ptr<PacketRingMemory> create(std::size_t capacity, std::uint64_t epoch, std::uint64_t base,
                                                  const char* name = "packet ring");
  // Throws Error where it does not have the size that it describes, or more than most_packet_bytes.
  static std::shared_ptr<PacketRingMemory> open(UniqueFd fd);

  [[nodiscard]] packet_ring::Header& header() const { return *header_; }
  [[nodiscard]] std::uint8_t* bytes() const;
  [[nodiscard]] int fd() const { return fd_.get(); }
  // As they were when the ring was opened, and checked: no other process can change them.
  [[nodiscard]] std::uint64_t capacity() const;
  [[nodiscard]] std::uint64_t base() const;

 private:
  UniqueFd fd_;
  Mapping mapping_;
  packet_ring::Header* header_ = nullptr;
  std::shared_ptr<const packet_ring::Description> description_;
};

// Used by one thread.
class PacketRingWriter {
 public:
  explicit PacketRingWriter(std::shared_ptr<PacketRingMemory> memory);
  // `with_next`: the packet exists together with the next one, or by publish(): where this process dies between them,
  // neither does.
  enum class Exists : std::uint8_t { now, with_next };
  // Appends a packet, waiting for room until `deadline` or until `interrupted` (asked every 100 ms).
  // False: there was no room, nothing was written. Throws Error for a packet that can never fit.
  bool push(const PacketView& packet, Deadline deadline, const std::function<bool()>& interrupted,
            Exists exists = Exists::now);
  // All packets exist that were appended.
  void publish();
  // Publishes as well.
  void close();
  // False: the reader has not taken all that was pushed (PacketRingReader::set_taken()), until then.
  bool wait_until_taken(Deadline deadline, const std::function<bool()>& interrupted);
  // What the reader noted there last. Nothing: it writes it just now, or died doing that, or it is none that can be.
  [[nodiscard]] std::optional<PacketRingNote> note(unsigned place) const;
  // Called by push() when the reader wrote what cannot be, or what only the writer may write.
  void on_faulty_reader(std::function<void()> handler) { on_faulty_reader_ = std::move(handler); }

  [[nodiscard]] const PacketRingMemory& memory() const { return *memory_; }

 private:
  void look_at_reader();
  std::optional<std::size_t> place(std::size_t size);
  std::optional<std::size_t> wait_for_place(std::size_t size, Deadline deadline,
                                            const std::function<bool()>& interrupted);
  void ask_for_room();

  std::shared_ptr<PacketRingMemory> memory_;
  std::function<void()> on_faulty_reader_ = [] {};
  std::vector<std::uint64_t> offset_;  // of the packets whose entries are still there
  std::uint64_t end_ = 0;              // of the newest packet
  std::uint64_t head_ = 0;             // packets appended
  std::uint64_t published_ = 0;        // of these, those that exist
  std::uint64_t released_ = 0;
  bool closed_ = false;
};

// Used by one thread. Starts at the first packet that was never released.
class PacketRingReader {
 public:
  // broken: what is in the ring cannot be; no packet is taken from it any more. full: the writer has found no room, and
  // nothing has been given back since, although most has been read.
  enum class Next : std::uint8_t { packet, timeout, ended, writer_gone, broken, full };
  // A reader that gives packets back in any case need not know that the ring is full.
  enum class WhenFull : std::uint8_t { waits, reports };

  explicit PacketRingReader(std::shared_ptr<PacketRingMemory> memory, WhenFull when_full = WhenFull::waits);
  // The next packet; its data stay in place until it is released. `number` counts from 1 over all epochs.
  Next next(PacketView& packet, std::uint64_t& number, Deadline deadline);
  // Gives back every packet up to and including `number`.
  void release_through(std::uint64_t number);
  // Every packet up to and including `number` has been worked on, whether or not it is kept. For a writer that waits
  // for that; no packet depends on it.
  void set_taken(std::uint64_t number);
  // The number of the newest packet that a reader before has worked on, or did when it died.
  [[nodiscard]] std::uint64_t tried() const;
  // Likewise, in place of what it noted there before.
  void set_note(unsigned place, const PacketRingNote& note);
  // How full the ring is with packets not released, 0 to 1 (by bytes or by count, whichever is more).
  [[nodiscard]] double fill() const;
  // True while the writer sleeps until there is room.
  [[nodiscard]] bool writer_waits() const;
  // The number of the newest packet that was given back, by whichever reader.
  [[nodiscard]] std::uint64_t released() const { return memory_->base() + released_; }

 private:
  [[nodiscard]] bool is_asked_for_room(std::uint64_t head) const;

  std::shared_ptr<PacketRingMemory> memory_;
  WhenFull when_full_;
  std::uint64_t cursor_ = 0;    // packets of this epoch that next() has handed out
  std::uint64_t released_ = 0;  // likewise that were given back
  bool broken_ = false;
};

// What the supervisor sees. Any thread.
class PacketRingObserver {
 public:
  explicit PacketRingObserver(std::shared_ptr<PacketRingMemory> memory) : memory_(std::move(memory)) {}
  // Only once the writer's process is gone.
  void mark_writer_gone();
  // Gives back all that is in it, so that its writer need not wait. Only where it has no reader, and gets none.
  void give_back_all();
  // Packets published in this and all earlier epochs.
  [[nodiscard]] std::uint64_t published() const;
  // The decode time of the newest packet; nothing if there is none in this epoch.
  [[nodiscard]] std::optional<std::int64_t> last_dts() const;
  // Of the packets since the newest key frame or so: the times of the one that is shown last; likewise.
  [[nodiscard]] std::optional<FrameTimes> newest() const;
  // When all frames in it have been shown; nothing if there is none in this epoch. Where frames are reordered, that is
  // later than the newest packet's own end.
  [[nodiscard]] std::optional<std::int64_t> shown_until() const;
  [[nodiscard]] int fd() const { return memory_->fd(); }

 private:
  std::shared_ptr<PacketRingMemory> memory_;
};

}  // namespace campipe
