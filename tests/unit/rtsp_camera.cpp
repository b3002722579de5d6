#include "tests/unit/rtsp_camera.h"

#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <chrono>

namespace campipe::test {
namespace {

constexpr int rate = 25;

int type_of(const std::string& unit) { return static_cast<unsigned char>(unit[0]) & 31; }

std::vector<std::vector<std::string>> frames_of(const std::string& h264) {
  const std::string mark("\0\0\1", 3);
  std::vector<std::vector<std::string>> frames;
  bool whole = true;
  for (std::size_t at = h264.find(mark); at != std::string::npos;) {
    const std::size_t next = h264.find(mark, at + 3);
    std::string unit = h264.substr(at + 3, next == std::string::npos ? std::string::npos : next - at - 3);
    if (next != std::string::npos) unit.erase(unit.find_last_not_of('\0') + 1);
    at = next;
    if (whole) frames.emplace_back();
    frames.back().push_back(unit);
    whole = type_of(unit) == 1 || type_of(unit) == 5;  // one slice each
  }
  return frames;
}

std::string big_endian(unsigned value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

std::string rtp(int type, bool marker, unsigned number, unsigned time, const std::string& payload) {
  return std::string(1, '\x80') + static_cast<char>(type | (marker ? 128 : 0)) + big_endian(number, 2) +
         big_endian(time, 4) + big_endian(7, 4) + payload;
}

}  // namespace

std::string header_of(const std::string& request, const std::string& name) {
  const auto at = request.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 4;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

RtspCamera::RtspCamera(Rules rules)
    : rules_(std::move(rules)),
      frames_(frames_of(rules_.h264)),
      later_(rules_.h264_later.empty() ? frames_ : frames_of(rules_.h264_later)),
      server_(std::make_unique<Server>([this](int fd, const std::atomic<bool>& over) { serve(fd, over); })) {}

std::vector<std::string> RtspCamera::requests(const std::string& method) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  for (const std::string& request : requests_) {
    if (request.starts_with(method)) found.push_back(request);
  }
  return found;
}

void RtspCamera::serve(int fd, const std::atomic<bool>& over) {
  Places places;
  for (std::string request = read_request(fd); !request.empty(); request = read_request(fd)) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const std::string answer = answer_to(request, places);
    if (answer.starts_with("RTSP/1.0 hangs up") || !send_all(fd, answer)) return;
    if (request.starts_with("PLAY") && answer.starts_with("RTSP/1.0 200"))
      return play(fd, over, places, played_++ > 0 ? later_ : frames_);
  }
}

std::string RtspCamera::answer_to(const std::string& request, Places& places) const {
  const std::string number = "CSeq: " + header_of(request, "CSeq") + "\r\n";
  if (rules_.refusal) {
    if (const std::string refusal = rules_.refusal(request); !refusal.empty()) {
      const auto end = refusal.find("\r\n");
      const std::string more = end == std::string::npos ? "" : refusal.substr(end + 2);
      return "RTSP/1.0 " + refusal.substr(0, end) + "\r\n" + number + more + "\r\n";
    }
  }
  std::string more = "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER\r\n";
  std::string body;
  if (request.starts_with("DESCRIBE")) {
    more = "Content-Type: application/sdp\r\n";
    body = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=c\r\nt=0 0\r\n" + rules_.before +
           "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:" +
           rules_.control + "\r\n" + rules_.more;
  } else if (request.starts_with("SETUP")) {
    const std::string transport = header_of(request, "Transport");
    const auto channel = transport.find("interleaved=");
    const auto port = transport.find("client_port=");
    const bool by_udp = channel == std::string::npos && port != std::string::npos;
    if (by_udp && !rules_.udp) return "RTSP/1.0 461 Unsupported Transport\r\n" + number + "\r\n";
    const std::string uri = request.substr(6, request.find(' ', 6) - 6);
    const std::string name = uri.substr(uri.rfind('/') + 1);
    places[name == "audio" ? name : "video"] = by_udp ? Place{.port = std::stoi(transport.substr(port + 12))}
                                                      : Place{.channel = std::stoi(transport.substr(channel + 12))};
    const std::string own = std::to_string(port_of(udp_.get()));
    more = "Session: 1\r\nTransport: " + transport + (by_udp ? ";server_port=" + own + "-" + own : "") + "\r\n";
  }
  const std::string answer =
      "RTSP/1.0 200 OK\r\n" + number + more + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  return rules_.writes ? rules_.writes(answer) : answer;
}

bool RtspCamera::send_packet(int fd, const Place& place, const std::string& packet) const {
  if (place.port == 0) {
    return send_all(fd, "$" + std::string(1, static_cast<char>(place.channel)) +
                            big_endian(static_cast<unsigned>(packet.size()), 2) + packet);
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(place.port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* any = static_cast<const sockaddr*>(static_cast<const void*>(&to));
  return ::sendto(udp_.get(), packet.data(), packet.size(), 0, any, sizeof(to)) > 0;
}

// Until the client has gone, or says good-bye.
void RtspCamera::play(int fd, const std::atomic<bool>& over, Places places, const Frames& frames) {
  using std::chrono::steady_clock;
  unsigned number = 0;
  unsigned sound = 0;
  const auto begin = steady_clock::now();
  for (unsigned frame = 0; !over && (rules_.frames == 0 || frame < rules_.frames); ++frame) {
    const std::vector<std::string>& units = frames[frame % frames.size()];
    for (std::size_t i = 0; i < units.size() && places.contains("video"); ++i) {
      const bool last = i + 1 == units.size();
      if (!send_packet(fd, places["video"], rtp(96, last, number++, frame * (90'000 / rate), units[i]))) return;
    }
    for (int i = 0; i < 2 && places.contains("audio"); ++i, ++sound) {
      if (!send_packet(fd, places["audio"], rtp(0, false, sound, sound * 160, std::string(160, '\xff')))) return;
    }
    const auto due = begin + std::chrono::milliseconds(1000 / rate) * (frame + 1);
    pollfd entry{fd, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - steady_clock::now()).count();
    if (::poll(&entry, 1, static_cast<int>(std::max<long>(left, 0))) <= 0) continue;
    char first = 0;
    if (::recv(fd, &first, 1, MSG_PEEK) <= 0) return;
    if (first == '$') {  // a report of RTCP
      char head[4];
      if (::recv(fd, head, 4, MSG_WAITALL) != 4) return;
      std::vector<char> report(
          static_cast<std::size_t>(static_cast<unsigned char>(head[2]) << 8 | static_cast<unsigned char>(head[3])));
      if (::recv(fd, report.data(), report.size(), MSG_WAITALL) <= 0) return;
      continue;
    }
    const std::string request = read_request(fd);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    if (!send_all(fd, answer_to(request, places)) || request.starts_with("TEARDOWN")) return;
  }
}

}  // namespace campipe::test
