// A camera's packets on their way to whoever decodes them: the writing end of their packet ring (packet_record.h). The
// other end is ReplayReader's: what it needs to begin anew stays in the ring.
//
// Who decodes may be away or slow. With policy `block` the packets wait for it as long as it takes any, and then up to
// a deadline; else for a moment only, in which a reader that has read all makes room. What does not fit then is left
// out, with all up to the next packet at which decoding can begin.
//
// Who observes the ring finds the number of the newest packet (PacketNote::packet) as its decode time, and when the
// last frame has been shown: a successor goes on from there.
//
// Used by the thread that reads the source.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/rings/packet_record.h"
#include "ipc/packet_ring.h"

namespace campipe {

// A ring of a camera's packets, for whoever decodes them.
struct FeedStart {
  std::uint64_t epoch = 0;
  std::int64_t packet = 0;  // the number of its first packet
  bool again = false;       // of a source that goes on for one that died: what came before may come again
};

// When a packet's frame is shown on the timeline, in ns.
struct ShownTime {
  std::int64_t at = 0;
  std::int64_t duration = 0;
};

class PacketFeed {
 public:
  struct Rules {
    bool block = false;
    std::function<bool()> interrupted = [] { return false; };           // asked at least every 100 ms while it waits
    std::chrono::nanoseconds longest_block = std::chrono::seconds(30);  // in which who decodes takes nothing
  };
  PacketFeed(std::shared_ptr<PacketRingMemory> ring, Rules rules) : ring_(std::move(ring)), rules_(std::move(rules)) {}

  // The source was opened (again). `stream` stays until the next begin().
  void begin(const SourceStream& stream);
  // The next packet carries the stream's new headers to the decoder. Where that packet is left out, the decoder begins
  // anew.
  void change_headers() { tells_headers_ = true; }
  // False: it is left out. Throws Error, of the source, for one that no reader takes.
  bool packet(const AVPacket& packet, const PacketNote& note, const ShownTime& shown = {});
  // One that finds no room comes before the next packet.
  void mark(RecordKind kind);
  // No record follows.
  void close();
  // Whoever decodes has worked on all that is in the ring; waits for that. False: not until then.
  bool wait_until_taken(Deadline deadline) { return ring_.wait_until_taken(deadline, rules_.interrupted); }
  // What it has found in a frame, if that is one of the newest: it may be away.
  [[nodiscard]] FrameMetadata metadata(unsigned place) const;

  [[nodiscard]] const PacketRingMemory& memory() const { return ring_.memory(); }
  // See PacketRingWriter.
  void on_faulty_reader(std::function<void()> handler) { ring_.on_faulty_reader(std::move(handler)); }

 private:
  bool push(bool begins);
  bool push_in_time(const PacketView& packet);
  bool push_mark();

  PacketRingWriter ring_;
  Rules rules_;
  const SourceStream* stream_ = nullptr;
  std::uint64_t connection_ = 0;
  std::int64_t packet_ = 0;          // the number of the newest one
  std::int64_t arrival_ = 0;         // and when that arrived,
  ShownTime shown_;                  // and is shown
  bool says_stream_ = false;         // with the next packet: none of this connection has
  bool tells_headers_ = false;       // likewise, that they are others
  bool headers_lost_ = false;        // what told them was left out
  bool left_out_ = false;            // packets, up to the next one at which decoding can begin
  std::optional<RecordKind> mark_;   // that found no room
  std::vector<std::uint8_t> bytes_;  // of the record: kept, so that nothing is allocated for each
};

}  // namespace campipe
