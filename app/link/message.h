// What the two ends of a link say to each other: frames of a ring here, for a ring on another machine.
//
// A message is a head, which is encoded here, and for a frame a body: the bytes of its slot from the first plane to the
// end of the last one. Numbers are little-endian. Each message says its kind, each hello the version of the protocol:
// where an end finds another version it answers `bye` and does without the link.
//
//   sending end                      receiving end
//   hello  name                  →
//                                ←   hello  name, newest number that is settled
//   shape  of the ring, newest number that was taken out of one →
//                                ←   credit  frames up to this number may be sent
//   frame  number, record, body  →
//                                ←   credit  as each is published
//   beat   every 200 ms          →
//                                ←   credit  every 200 ms
//   bye    the last number       →
//
// The first bytes of a hello, and all of bye, are the same in all versions.
//
// Frames of a link are numbered without gaps, over all rings and connections: a gap is frames that the link lost.
//
// The peer is not trusted: decode() takes nothing that cannot be, but it knows neither the ring nor what was sent
// before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ipc/frame_ring.h"

namespace campipe::link {

inline constexpr std::uint16_t version = 1;
inline constexpr std::size_t largest_head = 1024;  // bytes
inline constexpr std::size_t longest_name = 160;

enum class End : std::uint8_t { sending, receiving };

struct Hello {
  std::uint16_t version = link::version;  // of another one, nothing else is read
  End end = End::sending;
  std::string name;  // of what is linked: the same at both ends
  // Receiving: up to here all is published, or counted as dropped. Sending: 0.
  std::uint64_t number = 0;
};

// What the frames that follow have in common. A frame has a format of its own nevertheless.
struct Shape {
  std::uint64_t number = 0;  // those behind this one; what was not sent until here is lost
  FrameFormat expected;
  BandSource band_source;
  std::uint64_t slot_bytes = 0;
  double frame_rate = 0;      // 0: unknown
  std::int32_t rotation = 0;  // clockwise, as the source announced it
};

struct Frame {
  std::uint64_t number = 0;
  std::uint64_t resolved = 0;  // FrameRingReader::resolved()
  std::int64_t sent = 0;       // monotonic ns of the sending machine, as all stamps of `record`
  std::uint64_t bytes = 0;     // of the body, in which the planes of `record` lie
  FrameRecord record;
};

struct Credit {
  std::uint32_t shapes = 0;   // that have come over this connection: frames of the newest one may be sent
  std::uint64_t up_to = 0;    // as far as this number
  std::uint64_t settled = 0;  // Hello::number
};

struct Beat {
  std::int64_t sent = 0;
  std::uint64_t resolved = 0;
};

struct Bye {
  // ended: no frame follows, and `number` is the last one's. The others answer a hello.
  enum class Reason : std::uint8_t { ended, other_version, other_name, busy };
  Reason reason = Reason::ended;
  std::uint64_t number = 0;
};

using Message = std::variant<Hello, Shape, Frame, Credit, Beat, Bye>;

// Replaces what is in `head`.
void encode(const Message& message, std::vector<std::uint8_t>& head);
// Nothing: that is no message, or says what cannot be.
std::optional<Message> decode(std::span<const std::uint8_t> head);

}  // namespace campipe::link
