// MPEG transport streams for tests: packets that are made one by one, and clips that are packed anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stages/sources/ts_packet.h"

namespace campipe::test {

TsPacket as_packet(const std::string& packet);

// A PES packet of video.
struct PesHead {
  std::optional<std::int64_t> time = 0;  // 90 kHz
  bool bounded = false;                  // it says how long it is
  int stuffing = 0;                      // bytes of it that mean nothing
};
std::string make_pes(const std::string& body, const PesHead& head = {});

// Behind its head.
std::string body_of(const std::string& pes);
std::string head_of(const std::string& pes);
// With as many bytes in its head that its packets are full, the first of which has a field of that size.
std::string filled(std::string pes, std::size_t field);

// The packets of one stream.
class TsPacker {
 public:
  explicit TsPacker(unsigned pid) : pid_(pid) {}
  // Of one PES packet, the last one stuffed where it is not full. `field`: the adaptation field of the first, without
  // its length. `stuffed_at`: the packet with that number is stuffed, too; 0: none.
  std::vector<std::string> pack(const std::string& pes, const std::string& field = "", std::size_t stuffed_at = 0);

 private:
  unsigned pid_;
  unsigned counter_ = 15;  // of the newest
};

// A packet of the clock, behind `packet` of the same stream: without a payload.
std::string clock_behind(const std::string& packet);

// A transport stream in which the PES packets of one stream are whole: each is where it began, and all other packets
// are where they were.
struct TsPiece {
  std::string packet;  // of another stream
  std::string pes;     // of that one
  std::string field;   // the adaptation field of its first packet, without stuffing
};
std::vector<TsPiece> take_apart(const std::string& stream, unsigned pid);

// The stream in parts, each up to the last packet of a PES packet of that stream.
struct TsPart {
  std::string packets;
  bool stuffed = false;  // the last one
};
std::vector<TsPart> split_at_ends(const std::string& stream, unsigned pid);

}  // namespace campipe::test
