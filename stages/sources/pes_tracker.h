// Where the PES packets of one stream begin and end in the packets of a transport stream.
//
// A PES packet of video mostly says no length: a reader knows its end when the next one begins. But a packet has to be
// filled, and a muxer stuffs one where it has no more to put into it: at the end of a PES packet. That is no rule of
// the format, so it is only said here that it was seen, and whether the PES packet went on behind it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "stages/sources/ts_packet.h"

namespace campipe {

struct Pes {
  std::int64_t position = 0;          // of its first packet, as it was given to add()
  std::size_t size = 0;               // of what it carries, as far as it has come
  bool dated = false;                 // it has a time
  bool ended = false;                 // by its length, or by stuffing
  bool unclear = false;               // it went on behind what looked like its end
  bool damaged = false;               // packets are missing, or it is none that can be understood
  std::vector<std::uint8_t> packets;  // those that it has come in
};

struct DatedUnit {
  std::vector<std::uint8_t> data;
  std::int64_t pts = 0;  // 33 bits
  std::int64_t dts = 0;
};
// What a PES packet carries. Nothing: it has no time, or is not to be understood.
std::optional<DatedUnit> content_of(const Pes& pes);

class PesTracker {
 public:
  enum class Step : std::uint8_t {
    none,
    ended,
    went_on  // behind its end
  };
  // Of the stream, in order. Throws std::bad_alloc.
  Step add(TsPacket packet, const TsHead& head, std::int64_t position);

  // Those that were seen and not dropped yet; the last one may not be complete.
  [[nodiscard]] std::deque<Pes>& seen() { return seen_; }
  // The last one goes on no further. False: there is none, or nothing is known of it.
  bool end();
  // Of the newest packet with a payload.
  [[nodiscard]] unsigned counter() const { return counter_.value_or(0); }
  // Of what comes next, nothing is known.
  void restart();

 private:
  void begin(std::int64_t position);
  void take(std::span<const std::uint8_t> payload);
  [[nodiscard]] bool is_complete(bool stuffed) const;

  std::deque<Pes> seen_;
  std::optional<unsigned> counter_;
  std::array<std::uint8_t, 9> head_{};  // of the last PES packet
  std::size_t bytes_ = 0;               // of it, with its head
  bool lost_ = false;                   // the beginning of the one whose packets come now
};

}  // namespace campipe
