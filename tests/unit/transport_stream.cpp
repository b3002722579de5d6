#include "tests/unit/transport_stream.h"

#include <algorithm>

namespace campipe::test {
namespace {

constexpr std::size_t room = ts_packet_size - 4;

std::string bytes(std::initializer_list<unsigned> values) {
  std::string text;
  for (const unsigned value : values) text += static_cast<char>(value);
  return text;
}

unsigned at(const std::string& text, std::size_t place) { return static_cast<std::uint8_t>(text.at(place)); }

std::string make_time(std::int64_t time) {
  const auto value = static_cast<std::uint64_t>(time);
  const auto part = [value](unsigned shift) { return static_cast<unsigned>(value >> shift & 0x7fffU) << 1U | 1U; };
  return bytes({static_cast<unsigned>(value >> 29U & 0x0eU) | 0x21U, part(15) >> 8U, part(15) & 0xffU, part(0) >> 8U,
                part(0) & 0xffU});
}

// With its length, which takes a byte itself, so that it takes `size` bytes.
std::string adaptation(std::string field, std::size_t size) {
  if (size == 0) return "";
  if (field.empty() && size > 1) field = bytes({0});
  field.resize(size - 1, '\xff');
  return bytes({static_cast<unsigned>(size - 1)}) + field;
}

std::vector<std::string> packets_of(const std::string& stream) {
  std::vector<std::string> packets;
  for (std::size_t i = 0; i + ts_packet_size <= stream.size(); i += ts_packet_size)
    packets.push_back(stream.substr(i, ts_packet_size));
  return packets;
}

}  // namespace

TsPacket as_packet(const std::string& packet) {
  return TsPacket(static_cast<const std::uint8_t*>(static_cast<const void*>(packet.data())), ts_packet_size);
}

std::string make_pes(const std::string& body, const PesHead& head) {
  const std::string time = head.time ? make_time(*head.time) : "";
  const std::string fields = time + std::string(static_cast<std::size_t>(head.stuffing), '\xff');
  const std::size_t length = head.bounded ? 3 + fields.size() + body.size() : 0;
  return bytes({0, 0, 1, 0xe0, static_cast<unsigned>(length >> 8U), static_cast<unsigned>(length & 0xffU), 0x80,
                head.time ? 0x80U : 0, static_cast<unsigned>(fields.size())}) +
         fields + body;
}

std::string body_of(const std::string& pes) { return pes.substr(9 + at(pes, 8)); }
std::string head_of(const std::string& pes) { return pes.substr(0, pes.size() - body_of(pes).size()); }

std::string filled(std::string pes, std::size_t field) {
  const std::size_t missing = (room - (pes.size() + field) % room) % room;
  const std::size_t head = head_of(pes).size();
  pes[8] = static_cast<char>(at(pes, 8) + missing);
  return pes.insert(head, missing, '\xff');
}

std::vector<std::string> TsPacker::pack(const std::string& pes, const std::string& field, std::size_t stuffed_at) {
  constexpr std::size_t few = 40;
  std::vector<std::string> packets;
  for (std::size_t begin = 0; begin < pes.size();) {
    const std::string wanted = packets.empty() ? field : "";
    std::size_t size = std::min(pes.size() - begin, room - (wanted.empty() ? 0 : wanted.size() + 1));
    if (stuffed_at > 0 && packets.size() == stuffed_at) size = std::min(size, few);
    const std::string stuffing = adaptation(wanted, room - size);
    counter_ = (counter_ + 1) % 16;
    packets.push_back(bytes({ts_sync, (begin == 0 ? 0x40U : 0U) | pid_ >> 8U, pid_ & 0xffU,
                             (stuffing.empty() ? 0x10U : 0x30U) | counter_}) +
                      stuffing + pes.substr(begin, size));
    begin += size;
  }
  return packets;
}

std::string clock_behind(const std::string& packet) {
  return bytes({ts_sync, at(packet, 1) & 0x1fU, at(packet, 2), 0x20U | (at(packet, 3) & 0x0fU)}) +
         adaptation(bytes({0x10, 0, 0, 0, 0, 0, 0}), room);
}

std::vector<TsPiece> take_apart(const std::string& stream, unsigned pid) {
  std::vector<TsPiece> pieces;
  std::optional<std::size_t> pes;
  for (const std::string& packet : packets_of(stream)) {
    const auto head = read_ts_head(as_packet(packet)).value();
    if (head.pid != pid) {
      pieces.push_back({packet, "", ""});
      continue;
    }
    if (head.begins) {
      pes = pieces.size();
      const bool clock = (at(packet, 3) & 0x20U) != 0 && at(packet, 4) >= 7 && (at(packet, 5) & 0x10U) != 0;
      pieces.push_back({"", "", clock ? packet.substr(5, 7) : ""});
    }
    if (pes) pieces[*pes].pes += packet.substr(head.payload);
  }
  return pieces;
}

std::vector<TsPart> split_at_ends(const std::string& stream, unsigned pid) {
  std::vector<TsPart> parts;
  std::string after;  // the last packet of that stream
  for (const std::string& packet : packets_of(stream)) {
    const auto head = read_ts_head(as_packet(packet)).value();
    after += packet;
    if (head.pid != pid) continue;
    if (head.begins || parts.empty()) parts.emplace_back();
    parts.back().packets += after;
    parts.back().stuffed = head.stuffed;
    after.clear();
  }
  if (!parts.empty()) parts.back().packets += after;
  return parts;
}

}  // namespace campipe::test
