// What the headers of a camera's RTP packets say, and libavformat keeps to itself: the marker bit, which ends an access
// unit, and the timestamp as it was sent; and when they were received, which is before libavformat hands out what it
// reads while it analyzes the stream. They are read where the packets are received: over RTSP's own connection (also
// through the tunnel of rtsps), or by UDP.
//
// libavformat takes each sender report for that of the track on whose channel it comes. Cameras that send those of both
// tracks on one channel tell them apart by their SSRC (RFC 3550, 6.4.1): such a report is sent to its track's channel,
// before libavformat reads it. By UDP it is made one of a receiver, which counts for nobody.
#pragma once

#include <array>
#include <bitset>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "stages/sources/many_units.h"
#include "stages/sources/receive_limit.h"

namespace campipe {

struct RtpMark {
  int flow = 0;  // packets of one stream have the same
  std::uint32_t timestamp = 0;
  bool marker = false;
  std::int64_t received = 0;  // its last byte, monotonic, ns
};

// Finds the packets in the bytes of RTSP's connection, by how libavformat's client asks for them: byte by byte, and the
// three bytes behind a '$' that begins a packet at once.
class InterleavedPackets {
 public:
  static constexpr std::size_t head_size = 3;  // a channel, and a size of two bytes

  struct Packet {
    int channel = 0;
    std::array<std::uint8_t, 12> head{};
  };
  // It asked for `asked` bytes, and `data` came. A packet that is complete with it; one of less than 12 bytes is none.
  std::optional<Packet> add(std::size_t asked, std::span<const std::uint8_t> data);
  [[nodiscard]] bool reads_body() const { return at_ == At::body; }
  // The next byte is the first one of a packet.
  [[nodiscard]] bool begins_packet() const { return at_ == At::body && read_ == 0; }
  // The connection is another one.
  void restart() { *this = {}; }

 private:
  enum class At : std::uint8_t { outside, length, body };

  void look_for_packet(std::size_t asked, std::span<const std::uint8_t> data);
  void read_length(std::span<const std::uint8_t> data);
  std::optional<Packet> read_body(std::span<const std::uint8_t> data);

  At at_ = At::outside;
  bool dollar_ = false;  // was the last byte outside
  std::array<std::uint8_t, head_size> length_{};
  std::size_t read_ = 0;  // of length_, or of the body
  std::size_t left_ = 0;  // likewise
  Packet packet_;
};

// Of one connection to a camera; used by its thread alone.
class RtpMarks final : public ReceiveObserver {
 public:
  void on_bytes(int fd, std::size_t asked, std::span<std::uint8_t> data) override;
  void on_datagram(int fd, std::span<std::uint8_t> data) override;

  // Nothing of the next packet has been received.
  [[nodiscard]] bool is_between_packets() const { return between_packets_; }

  // While libavformat analyzes the stream: a frame has more units than any camera sends.
  [[nodiscard]] bool has_too_many_units() const { return units_.are_too_many(); }

  // Before libavformat is asked for a packet.
  void forget_newest() { newest_.reset(); }
  // Of the RTP packet in which that came that libavformat has just handed out. Nothing where that is not certain: after
  // packets that were lost or came in another order, libavformat hands out what came earlier.
  [[nodiscard]] const std::optional<RtpMark>& newest() const { return newest_; }

  // Of all packets so far, as people write them: "96 and 97"; empty: there were none.
  [[nodiscard]] std::string payload_types() const;

  // Returns the packets of each flow so far, one for each timestamp, in the order in which they came, and keeps none
  // from then on: when the last one with that timestamp was received, and whether it has a marker. A flow in which
  // other packets have one too has none that could be believed. Flows that lost packets are left out.
  std::vector<std::vector<RtpMark>> take_flows();

 private:
  struct Flow {
    int number = 0;
    std::uint32_t source = 0;               // SSRC
    std::optional<std::uint16_t> sequence;  // the highest
    Deadline sorted;                        // from then on libavformat has nothing of it that waits to be sorted
    bool had_gaps = false;
    bool marked_midst = false;  // a packet whose timestamp the next one has, too, had a marker
    std::vector<RtpMark> packets;
  };
  // Of a connection: its channel. Of UDP: none.
  struct Address {
    int fd = -1;
    int channel = -1;
    friend auto operator<=>(const Address&, const Address&) = default;
  };

  using Flows = std::map<Address, Flow>;
  [[nodiscard]] Flows::const_iterator flow_of(std::uint32_t source, int fd) const;
  void send_report_home(std::uint8_t& channel, std::uint32_t source);
  bool is_report_of_another(int fd, std::span<const std::uint8_t> packet);
  [[nodiscard]] bool is_of_a_silent_track(std::uint32_t source, std::uint32_t first, int fd) const;
  void see(Address address, std::span<const std::uint8_t, 12> head, bool sorted_by_libav);
  static void keep(Flow& flow, const RtpMark& mark);
  static bool is_next(Flow& flow, std::uint16_t sequence);

  void count_units(std::span<const std::uint8_t> packet);

  InterleavedPackets interleaved_;
  std::vector<std::uint8_t> body_;  // of the packet that is being received
  UnitsInRtp units_;
  int connection_ = -1;
  Flows flows_;
  std::map<int, std::uint32_t> first_reports_;  // on each channel, or behind all of them socket: of which source
  std::bitset<128> payload_types_;
  bool between_packets_ = false;
  bool keeps_packets_ = true;
  std::optional<RtpMark> newest_;
};

}  // namespace campipe
