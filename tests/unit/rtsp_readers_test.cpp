// What readers of the RTSP server ask for and send, where others must not be harmed by it.
#include <arpa/inet.h>
#include <gst/rtsp/gstrtspconnection.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "app/publisher/server/rtsp/gst_handles.h"
#include "core/clock.h"
#include "core/error.h"
#include "tests/unit/rtsp_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

// A port of its own.
class UdpSocket {
 public:
  explicit UdpSocket(const std::string& from = "127.0.0.1") : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    ::inet_pton(AF_INET, from.c_str(), &address.sin_addr);
    if (::bind(fd_.get(), static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof(address)) != 0)
      throw system_error("bind", errno);
  }
  [[nodiscard]] int port() const { return port_of(fd_.get()); }
  void send(int port, const std::string& bytes) const {
    const sockaddr_in to = loopback(port);
    if (::sendto(fd_.get(), bytes.data(), bytes.size(), 0, static_cast<const sockaddr*>(static_cast<const void*>(&to)),
                 sizeof(to)) < 0)
      throw system_error("sendto", errno);
  }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  UniqueFd fd_;
};

std::string value_after(const std::string& name, const std::string& text) {
  const auto at = text.find(name);
  if (at == std::string::npos) return "";
  return text.substr(at + name.size(), text.find_first_of(";\r", at) - at - name.size());
}

std::string udp(const std::string& ports) { return "Transport: RTP/AVP;unicast;client_port=" + ports + "\r\n"; }

RtspWire::Answer set_up(RtspWire& wire, const std::string& transport) {
  return wire.ask("SETUP", "/dock/stream=0", transport);
}

constexpr const char* tcp = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n";

// Plays /dock over UDP.
class UdpReader {
 public:
  explicit UdpReader(int port) : wire_(port) {
    const auto got = set_up(wire_, udp(std::to_string(rtp_.port()) + "-" + std::to_string(rtcp_.port())));
    server_ports_ = value_after("server_port=", got.text);
    const auto dash = server_ports_.find('-');
    if (dash == std::string::npos) throw Error("no UDP: " + got.text);
    server_rtcp_ = std::stoi(server_ports_.substr(dash + 1));
    const std::string session = "Session: " + value_after("Session: ", got.text) + "\r\n";
    if (wire_.ask("PLAY", "/dock", session).status != 200) throw Error("it does not play");
  }
  [[nodiscard]] const std::string& server_ports() const { return server_ports_; }
  [[nodiscard]] int server_rtcp() const { return server_rtcp_; }
  void report(const std::string& bytes) const { rtcp_.send(server_rtcp_, bytes); }

 private:
  RtspWire wire_;
  UdpSocket rtp_;
  UdpSocket rtcp_;
  std::string server_ports_;
  int server_rtcp_ = 0;
};

// RTP and RTCP that a reader gets over its connection.
class Frames {
 public:
  struct Frame {
    int channel = 0;
    std::string data;
  };

  explicit Frames(RtspWire& wire) : wire_(wire) {}
  Frame next() {
    const auto byte = [this](std::size_t i) { return static_cast<unsigned char>(bytes_.at(i)); };
    fill(4);
    const std::size_t size = 4 + byte(2) * std::size_t{256} + byte(3);
    fill(size);
    Frame frame{byte(1), bytes_.substr(4, size - 4)};
    bytes_.erase(0, size);
    return frame;
  }

 private:
  void fill(std::size_t size) {
    const auto deadline = Clock::now() + answer_patience;
    while (bytes_.size() < size) {
      if (wire_.receive(deadline) <= 0) throw Error("nothing comes any more");
      bytes_ += wire_.received();
    }
  }

  RtspWire& wire_;
  std::string bytes_;
};

constexpr char sender_report = '\xC8';
constexpr char receiver_report = '\xC9';
constexpr char description = '\xCA';
constexpr char bye = '\xCB';

// The shortest: a header and who sends it.
std::string rtcp_packet(char type, const std::string& ssrc) {
  return std::string("\x80", 1) + type + std::string("\0\x01", 2) + ssrc;
}

bool holds_bye(const std::string& compound) {
  for (std::size_t at = 0; at + 4 <= compound.size();) {
    if (compound[at + 1] == bye) return true;
    const auto words =
        static_cast<unsigned char>(compound[at + 2]) * 256 + static_cast<unsigned char>(compound[at + 3]);
    at += 4 * (static_cast<std::size_t>(words) + 1);
  }
  return false;
}

class RtspReadersTest : public RtspServerTest {
 protected:
  // What SETUP is answered over TLS.
  [[nodiscard]] int set_up_over_tls(const std::string& transport) const {
    const std::string address = at_server("/dock/stream=0", "", "rtsps");
    GstRTSPUrl* url = nullptr;
    GstRTSPConnection* made = nullptr;
    gst_rtsp_url_parse(address.c_str(), &url);
    gst_rtsp_connection_create(url, &made);
    gst_rtsp_url_free(url);
    const std::unique_ptr<GstRTSPConnection, GRelease<gst_rtsp_connection_free>> connection(made);
    gst_rtsp_connection_set_tls_validation_flags(made, GTlsCertificateFlags{});
    constexpr gint64 usec = std::chrono::microseconds(answer_patience).count();
    GstRTSPMessage* request = nullptr;
    GstRTSPMessage* answer = nullptr;
    gst_rtsp_message_new_request(&request, GST_RTSP_SETUP, address.c_str());
    gst_rtsp_message_new(&answer);
    gst_rtsp_message_add_header(request, GST_RTSP_HDR_TRANSPORT, transport.c_str());
    GstRTSPStatusCode status = GST_RTSP_STS_INVALID;
    if (gst_rtsp_connection_connect_usec(made, usec) == GST_RTSP_OK &&
        gst_rtsp_connection_send_usec(made, request, usec) == GST_RTSP_OK &&
        gst_rtsp_connection_receive_usec(made, answer, usec) == GST_RTSP_OK)
      gst_rtsp_message_parse_response(answer, &status, nullptr, nullptr);
    gst_rtsp_message_free(request);
    gst_rtsp_message_free(answer);
    return status;
  }
};

class RtspReportTest : public RtspReadersTest, public testing::WithParamInterface<std::pair<const char*, char>> {};

// Of a sender of the same SSRC, GStreamer's session would leave with a BYE, and go on as another.
TEST_P(RtspReportTest, InTheNameOfTheServerHarmsNobody) {
  serve_dock();
  RtspWire wire(port_);
  ASSERT_EQ(wire.play("/dock"), 200);
  const UdpReader over_udp(port_);
  RtspWire over_tcp(port_);
  ASSERT_EQ(over_tcp.play("/dock"), 200);
  Frames frames(wire);
  std::string ssrc;
  for (int packets = 0; packets < 250;) {
    const Frames::Frame frame = frames.next();
    if (frame.channel == 1) {
      ASSERT_FALSE(holds_bye(frame.data)) << packets;
      continue;
    }
    if (ssrc.empty()) ssrc = frame.data.substr(8, 4);
    ASSERT_EQ(frame.data.substr(8, 4), ssrc) << packets;
    if (++packets % 25 != 10) continue;
    const std::string report = rtcp_packet(GetParam().second, ssrc);
    over_udp.report(report);
    UdpSocket("127.0.0.99").send(over_udp.server_rtcp(), report);
    ASSERT_TRUE(over_tcp.send(std::string("$\x01\0\x08", 4) + report));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RtspReportTest,
                         testing::Values(std::pair("sender_report", sender_report),
                                         std::pair("receiver_report", receiver_report),
                                         std::pair("description", description), std::pair("bye", bye)),
                         [](const auto& each) { return each.param.first; });

TEST_F(RtspReadersTest, OverUdpWhoReportsStays) {
  RtspLimits limits;
  limits.silent = 5s;
  serve_dock(limits);
  const auto viewers = [&] { return server_->viewers().size(); };
  const UdpReader reporting(port_);
  const UdpReader silent(port_);
  ASSERT_TRUE(becomes_true([&] { return viewers() == 2; }));
  const std::string report = rtcp_packet(receiver_report, "ssrc");
  // Had it not reported, it would have ended before the other one.
  EXPECT_TRUE(becomes_true([&] {
    reporting.report(report);
    return viewers() < 2;
  }));
  const auto until = Clock::now() + 2 * limits.silent;
  while (Clock::now() < until && viewers() == 1) {
    reporting.report(report);
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_EQ(viewers(), 1);
  EXPECT_TRUE(becomes_true([&] { return viewers() == 0; }));
}

TEST_F(RtspReadersTest, PortsOfServicesAndOfTheServerAreNotSentTo) {
  serve_dock();
  const UdpReader reader(port_);
  const std::string own = reader.server_ports();
  const std::string rtcp = std::to_string(reader.server_rtcp());
  for (const std::string& ports : {own, rtcp + "-5001", "5000-" + rtcp, std::string("0-1"), std::string("53-5000"),
                                   std::string("5000-123"), std::string("65536-65537")}) {
    RtspWire wire(port_);
    EXPECT_EQ(set_up(wire, udp(ports)).status, 461) << ports;
  }
  RtspWire wire(port_);
  EXPECT_EQ(set_up(wire, "Transport: RTP/AVP;unicast\r\n").status, 461);
  EXPECT_EQ(set_up(wire, udp("5000-5001")).status, 200);
}

TEST_F(RtspReadersTest, WithTlsNothingGoesInClear) {
  const TemporaryFolder folder;
  config_.tls = make_certificate(folder);
  add("dock", dock());
  serve();
  EXPECT_TRUE(becomes_true([&] { return set_up_over_tls("RTP/AVP/TCP;unicast;interleaved=0-1") == 200; }));
  EXPECT_EQ(set_up_over_tls("RTP/AVP;unicast;client_port=5000-5001"), 461);
}

TEST_F(RtspReadersTest, TheSessionsOfAnAddressAreLimited) {
  serve_dock();
  std::vector<std::unique_ptr<RtspWire>> wires;
  int had = 0;
  for (int i = 0; i < 10; ++i) {
    wires.push_back(std::make_unique<RtspWire>(port_));
    for (int k = 0; k < 8; ++k) had += set_up(*wires.back(), tcp).status == 200 ? 1 : 0;
  }
  EXPECT_EQ(had, 64);
  RtspWire another(port_, 0, "127.0.0.2");
  EXPECT_EQ(set_up(another, tcp).status, 200);
  // They are given back.
  wires.clear();
  EXPECT_TRUE(becomes_true([&] {
    RtspWire wire(port_);
    return set_up(wire, tcp).status == 200;
  }));
}

TEST_F(RtspReadersTest, SessionsThatAreNotPlayedEndThoughTheyAreKeptAlive) {
  RtspLimits limits;
  limits.unplayed = 2s;
  serve_dock(limits);
  RtspWire player(port_);
  ASSERT_EQ(player.play("/dock"), 200);
  RtspWire wire(port_);
  const std::string session = "Session: " + value_after("Session: ", set_up(wire, tcp).text) + "\r\n";
  EXPECT_TRUE(becomes_true([&] {
    try {
      wire.ask("GET_PARAMETER", "/dock", session);
      return false;
    } catch (const Error&) {
      return true;  // the connection is closed
    }
  }));
  EXPECT_EQ(server_->viewers().size(), 1);
  EXPECT_EQ(player.ask("GET_PARAMETER", "/dock", "Session: " + player.session() + "\r\n").status, 200);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
