#include "stages/sources/rtp_marks.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "core/big_endian.h"
#include "stages/sources/next_function.h"

namespace campipe {
namespace {

constexpr std::size_t header_size = 12;
constexpr std::size_t least_packet = 8;  // bytes; libavformat skips the length of what is less, and reads on
constexpr std::size_t most_flows = 512;  // an RTSP connection has 256 channels
constexpr std::size_t most_timestamps = 4096;
// For so long, and half as long again until it looks, libavformat waits for packets that are missing (its `max_delay`).
constexpr auto longest_sorting = std::chrono::milliseconds(500);

constexpr std::uint8_t senders_report = 200;
constexpr std::uint8_t receivers_report = 201;
constexpr std::size_t report_head = 8;
constexpr int channels = 256;  // of a connection
constexpr std::uint8_t nobodys_channel = 255;

// The SSRC of a sender report; nothing: it is none.
std::optional<std::uint32_t> reporter(std::span<const std::uint8_t> head) {
  if (head.size() < report_head || (head[0] & 0xc0U) != 0x80U || head[1] != senders_report) return std::nullopt;
  return static_cast<std::uint32_t>(get_big_endian(&head[4], 4));
}

// What is received next, if it is there.
std::optional<std::uint32_t> next_reporter(int fd) {
  using Recv = ssize_t (*)(int, void*, std::size_t, int);
  static const auto next = next_function<Recv>("recv");
  std::array<std::uint8_t, report_head> head{};
  const ssize_t count = next(fd, head.data(), head.size(), MSG_PEEK | MSG_DONTWAIT);
  return reporter(std::span(head).first(static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
}

int port_of(int fd) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  auto* any = static_cast<sockaddr*>(static_cast<void*>(&address));
  return ::getsockname(fd, any, &size) == 0 ? ntohs(address.sin6_port) : 0;  // at the same place as IPv4's
}

bool is_rtcp(std::uint8_t type) { return (type >= 192 && type <= 195) || (type >= 200 && type <= 210); }

}  // namespace

std::optional<InterleavedPackets::Packet> InterleavedPackets::add(std::size_t asked,
                                                                  std::span<const std::uint8_t> data) {
  // It asks for what is left of what it reads; else it reads something else.
  if (at_ != At::outside && asked > left_) at_ = At::outside;
  if (at_ == At::outside) look_for_packet(asked, data);
  if (at_ == At::body) return read_body(data);
  if (at_ == At::length) read_length(data);
  return std::nullopt;
}

void InterleavedPackets::look_for_packet(std::size_t asked, std::span<const std::uint8_t> data) {
  if (dollar_ && asked == length_.size()) {
    at_ = At::length;
    read_ = 0;
    left_ = length_.size();
  }
  dollar_ = asked == 1 && data.front() == '$';
}

void InterleavedPackets::read_length(std::span<const std::uint8_t> data) {
  std::ranges::copy(data, length_.begin() + static_cast<std::ptrdiff_t>(read_));
  read_ += data.size();
  left_ -= data.size();
  if (left_ > 0) return;
  packet_.channel = length_[0];
  left_ = get_big_endian(&length_[1], 2);
  read_ = 0;
  at_ = left_ < least_packet ? At::outside : At::body;
}

std::optional<InterleavedPackets::Packet> InterleavedPackets::read_body(std::span<const std::uint8_t> data) {
  if (read_ < header_size) {
    const auto part = data.first(std::min(data.size(), header_size - read_));
    std::ranges::copy(part, packet_.head.begin() + static_cast<std::ptrdiff_t>(read_));
  }
  read_ += data.size();
  left_ -= data.size();
  if (left_ > 0) return std::nullopt;
  at_ = At::outside;
  return read_ < header_size ? std::nullopt : std::optional(packet_);
}

void RtpMarks::on_bytes(int fd, std::size_t asked, std::span<std::uint8_t> data) {
  if (fd != connection_) {
    interleaved_.restart();
    first_reports_.clear();
  }
  connection_ = fd;
  if (interleaved_.begins_packet()) body_.clear();
  const bool is_body = interleaved_.reads_body();
  const auto packet = interleaved_.add(asked, data);
  if (is_body && keeps_packets_) body_.insert(body_.end(), data.begin(), data.end());
  if (packet) count_units(body_);
  between_packets_ = packet.has_value();
  if (packet) see({fd, packet->channel}, packet->head, false);
  if (!interleaved_.begins_packet() || data.size() != InterleavedPackets::head_size) return;
  if (const auto source = next_reporter(fd)) send_report_home(data.front(), *source);
}

void RtpMarks::count_units(std::span<const std::uint8_t> packet) {
  if (keeps_packets_) units_.take(packet);
}

RtpMarks::Flows::const_iterator RtpMarks::flow_of(std::uint32_t source, int fd) const {
  return std::ranges::find_if(
      flows_, [&](const auto& flow) { return flow.second.source == source && (fd < 0 || flow.first.fd == fd); });
}

// Some cameras' reports have an SSRC that none of their packets has: these are left where they are.
void RtpMarks::send_report_home(std::uint8_t& channel, std::uint32_t source) {
  const std::uint32_t first = first_reports_.try_emplace(channel, source).first->second;
  const auto home = flow_of(source, connection_);
  if (home != flows_.end()) {
    channel = static_cast<std::uint8_t>(home->first.channel);
  } else if (is_of_a_silent_track(source, first, connection_)) {
    channel = nobodys_channel;
  }
}

// Nothing of it has come yet. `first`: whose report was the first one there.
bool RtpMarks::is_of_a_silent_track(std::uint32_t source, std::uint32_t first, int fd) const {
  return first != source && (flows_.empty() || flow_of(first, fd) != flows_.end());
}

bool RtpMarks::is_report_of_another(int fd, std::span<const std::uint8_t> packet) {
  const auto source = reporter(packet);
  if (!source) return false;
  const std::uint32_t first = first_reports_.try_emplace(channels + fd, *source).first->second;
  const auto home = flow_of(*source, -1);
  if (home == flows_.end()) return is_of_a_silent_track(*source, first, -1);
  if (home->first.fd == fd) return false;
  const int port = port_of(home->first.fd);
  return port > 0 && port_of(fd) != port + 1;
}

void RtpMarks::on_datagram(int fd, std::span<std::uint8_t> data) {
  between_packets_ = true;
  count_units(data);
  if (is_report_of_another(fd, data)) data[1] = receivers_report;
  if (data.size() >= header_size) see({fd, -1}, data.first<header_size>(), true);
}

void RtpMarks::see(Address address, std::span<const std::uint8_t, header_size> head, bool sorted_by_libav) {
  if ((head[0] & 0xc0U) != 0x80U || is_rtcp(head[1])) return;
  payload_types_.set(head[1] & 0x7fU);
  if (!flows_.contains(address) && flows_.size() == most_flows) return;
  Flow& flow = flows_[address];
  if (!flow.sequence) flow.number = static_cast<int>(flows_.size());
  flow.source = static_cast<std::uint32_t>(get_big_endian(&head[8], 4));
  const RtpMark mark{.flow = flow.number,
                     .timestamp = static_cast<std::uint32_t>(get_big_endian(&head[4], 4)),
                     .marker = (head[1] & 0x80U) != 0,
                     .received = now_ns()};
  const bool in_order = is_next(flow, static_cast<std::uint16_t>(get_big_endian(&head[2], 2)));
  if (keeps_packets_) keep(flow, mark);
  // What it sorts it hands out by itself only once nothing is missing any more, or that has been given up.
  newest_.reset();
  if (in_order || !sorted_by_libav) newest_ = mark;
}

void RtpMarks::keep(Flow& flow, const RtpMark& mark) {
  if (flow.packets.empty() || flow.packets.back().timestamp != mark.timestamp) {
    if (flow.packets.size() < most_timestamps) flow.packets.push_back(mark);
    return;
  }
  flow.marked_midst = flow.marked_midst || flow.packets.back().marker;
  flow.packets.back() = mark;
}

bool RtpMarks::is_next(Flow& flow, std::uint16_t sequence) {
  const bool first = !flow.sequence;
  const auto step = first ? std::int16_t{1} : static_cast<std::int16_t>(sequence - *flow.sequence);
  if (step > 0) flow.sequence = sequence;
  if (step == 1) return flow.sorted == Deadline{} || Clock::now() >= flow.sorted;
  flow.sorted = Clock::now() + longest_sorting;
  flow.had_gaps = true;
  return false;
}

std::string RtpMarks::payload_types() const {
  std::string text;
  for (std::size_t type = 0; type < payload_types_.size(); ++type) {
    if (payload_types_[type]) text += (text.empty() ? "" : " and ") + std::to_string(type);
  }
  return text;
}

std::vector<std::vector<RtpMark>> RtpMarks::take_flows() {
  std::vector<std::vector<RtpMark>> all;
  for (auto& [address, flow] : flows_) {
    for (RtpMark& mark : flow.packets) mark.marker = mark.marker && !flow.marked_midst;
    if (!flow.had_gaps && !flow.packets.empty()) all.push_back(std::move(flow.packets));
    flow.packets.clear();
  }
  keeps_packets_ = false;
  return all;
}

}  // namespace campipe
