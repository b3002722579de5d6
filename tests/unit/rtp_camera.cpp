#include "tests/unit/rtp_camera.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <sstream>

#include "core/clock.h"
#include "core/error.h"

namespace campipe::test {
namespace {

constexpr auto patience = std::chrono::seconds(30);
constexpr std::int64_t ntp_before_unix = 2'208'988'800;  // s

std::string header_of(const std::string& request, const std::string& name) {
  const auto at = request.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 4;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 255U);
  return text;
}

std::array<int, 2> pair_in(const std::string& transport, const std::string& name) {
  const auto at = transport.find(name + "=");
  if (at == std::string::npos) throw Error("it asks for no " + name + ": " + transport);
  const auto begin = at + name.size() + 1;
  const int first = std::stoi(transport.substr(begin));
  return {first, first + 1};
}

int payload_type(const std::string& media) {
  std::istringstream words(media.substr(0, media.find('\r')));
  std::string kind;
  std::string port;
  std::string profile;
  int type = 0;
  words >> kind >> port >> profile >> type;
  return type;
}

}  // namespace

RtpLine::RtpLine(int fd, std::vector<Track> tracks, const std::atomic<bool>& over)
    : fd_(fd), tracks_(std::move(tracks)), over_(over), udp_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  if (!udp_) throw system_error("socket", errno);
}

std::string RtpLine::take_packet(std::size_t track, const std::string& payload, std::uint32_t time, bool marker) {
  Track& of = tracks_.at(track);
  return std::string{'\x80', static_cast<char>(of.type | (marker ? 0x80 : 0))} + big_endian(of.sequence++, 2) +
         big_endian(time, 4) + big_endian(0x1000 + track, 4) + payload;
}

bool RtpLine::packet(std::size_t track, const std::string& payload, std::uint32_t time, bool marker) {
  return send(track, take_packet(track, payload, time, marker));
}

bool RtpLine::frame(std::size_t track, const std::vector<std::string>& payloads, std::uint32_t time) {
  for (std::size_t i = 0; i < payloads.size(); ++i)
    if (!packet(track, payloads[i], time, i + 1 == payloads.size())) return false;
  return true;
}

bool RtpLine::send(std::size_t track, const std::string& packet, int port) {
  const Track& to = tracks_.at(track);
  const int at = to.ports.at(static_cast<std::size_t>(port));
  if (over_) return false;
  if (!to.over_udp)
    return send_all(fd_, std::string{'$', static_cast<char>(at)} + big_endian(packet.size(), 2) + packet);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(at));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::sendto(udp_.get(), packet.data(), packet.size(), 0,
                  static_cast<const sockaddr*>(static_cast<const void*>(&address)), sizeof address) >= 0;
}

bool RtpLine::report(std::size_t track, std::int64_t utc_us, std::uint32_t time, std::size_t through) {
  const auto seconds = static_cast<std::uint64_t>(utc_us / 1'000'000 + ntp_before_unix);
  const auto fraction = (static_cast<std::uint64_t>(utc_us % 1'000'000) << 32U) / 1'000'000;
  return send(through,
              std::string{'\x80', '\xc8', 0, 6} + big_endian(0x1000 + track, 4) + big_endian(seconds, 4) +
                  big_endian(fraction, 4) + big_endian(time, 4) + big_endian(0, 8),
              1);
}

bool RtpLine::wait_for(const std::function<bool()>& condition) const {
  const Deadline deadline = Clock::now() + patience;
  while (!condition()) {
    if (over_ || Clock::now() > deadline) return condition();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

RtpCamera::RtpCamera(std::vector<std::string> media, std::function<void(RtpLine&)> play)
    : media_(std::move(media)), play_(std::move(play)) {}

std::string RtpCamera::url() const { return "rtsp://127.0.0.1:" + std::to_string(server_.port()) + "/cam"; }

std::string RtpCamera::description() const {
  std::string text = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=c\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n";
  for (std::size_t i = 0; i < media_.size(); ++i) text += media_[i] + "a=control:track" + std::to_string(i) + "\r\n";
  return text;
}

void RtpCamera::serve(int fd, const std::atomic<bool>& over) {
  std::vector<RtpLine::Track> tracks;
  for (std::string request = read_request(fd); !request.empty() && !over; request = read_request(fd)) {
    std::string more = "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER\r\n";
    std::string body;
    if (request.starts_with("DESCRIBE")) {
      more = "Content-Type: application/sdp\r\n";
      body = description();
    } else if (request.starts_with("SETUP")) {
      const std::string transport = header_of(request, "Transport");
      more = "Transport: " + transport + "\r\n";
      RtpLine::Track track;
      track.over_udp = transport.find("/TCP") == std::string::npos;
      track.ports = pair_in(transport, track.over_udp ? "client_port" : "interleaved");
      track.type = payload_type(media_.at(tracks.size()));
      tracks.push_back(track);
    }
    send_all(fd, "RTSP/1.0 200 OK\r\nCSeq: " + header_of(request, "CSeq") + "\r\nSession: 1\r\n" + more +
                     "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    if (!request.starts_with("PLAY")) continue;
    RtpLine line(fd, tracks, over);
    play_(line);
    return;
  }
}

std::string video_media(const std::string& name, const std::string& format) {
  return "m=video 0 RTP/AVP 96\r\na=rtpmap:96 " + name + "/90000\r\n" +
         (format.empty() ? "" : "a=fmtp:96 " + format + "\r\n");
}

}  // namespace campipe::test
