// A transport stream in pieces: a byte for the length of each, and the stream. However it is cut, the same packets are
// found in it, and what they are made of is in it, too.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "stages/sources/pes_tracker.h"
#include "stages/sources/ts_framing.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

using Bytes = std::span<const std::uint8_t>;

std::vector<std::string> packets_in(Bytes stream, std::size_t piece) {
  TsFraming framing;
  std::vector<std::string> packets;
  while (!stream.empty()) {
    framing.add(stream.first(std::min(piece, stream.size())));
    stream = stream.subspan(std::min(piece, stream.size()));
    while (const auto packet = framing.next()) packets.emplace_back(packet->begin(), packet->end());
  }
  return packets;
}

void follow(const std::vector<std::string>& packets) {
  PesTracker tracker;
  std::int64_t position = 0;
  std::size_t payload = 0;
  for (const std::string& bytes : packets) {
    const TsPacket packet(static_cast<const std::uint8_t*>(static_cast<const void*>(bytes.data())), ts_packet_size);
    require(packet[0] == ts_sync, "a packet begins with its sync byte");
    const auto head = read_ts_head(packet);
    if (!head) continue;
    require(head->payload <= ts_packet_size, "a payload is in its packet");
    payload += ts_packet_size - head->payload;
    const auto step = tracker.add(packet, *head, position);
    position += ts_packet_size;
    const auto& seen = tracker.seen();
    require(step == PesTracker::Step::none || !seen.empty(), "a step is one of a PES packet");
    for (std::size_t i = 0; i < seen.size(); ++i) {
      require(seen[i].size <= payload, "no more comes out than was put in");
      require(seen[i].packets.size() % ts_packet_size == 0, "packets are whole");
      require(!seen[i].ended || !seen[i].unclear, "what went on has not ended");
      require(i == 0 || seen[i - 1].position < seen[i].position, "PES packets are in order");
    }
  }
}

void check(Bytes input) {
  if (input.empty()) return;
  const Bytes stream = input.subspan(1);
  const auto packets = packets_in(stream, stream.size());
  require(packets == packets_in(stream, std::size_t{input[0]} + 1), "pieces make no difference");
  auto at = stream.begin();
  for (const std::string& packet : packets) {
    const auto found = std::search(at, stream.end(), packet.begin(), packet.end(),
                                   [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
    require(found != stream.end(), "a packet is in the stream, behind the one before");
    at = found + std::ssize(packet);
  }
  follow(packets);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check({data, size});
  return 0;
}
