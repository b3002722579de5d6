// Whom libavformat may reach for a source. RTSP's client connects to wherever an answer sends it, and sends packets of
// UDP to wherever the camera's answer to SETUP says that its frames come from (`source=`), which could be any address
// and port of the reader's network.
//
// It is seen where it happens: the program's own connect() and sendto() go before the C library's, as far as a thread
// works for such a source.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <set>

struct sockaddr;

namespace campipe {

class SourcePeers {
 public:
  // `strayed`: what it connects to is not what it may; asked before each connection. `anywhere`: the camera may say
  // where packets of UDP go; else they go to hosts to which it has connected by TCP.
  SourcePeers(std::function<bool()> strayed, bool anywhere) : strayed_(std::move(strayed)), anywhere_(anywhere) {}

  // As long as it lives, this holds for this thread. One at a time.
  class Use {
   public:
    explicit Use(SourcePeers& peers);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  // For connect() and sendto(); null: this thread may reach anybody.
  static SourcePeers* of_this_thread();
  // By TCP.
  bool may_connect(const sockaddr& address, unsigned size);
  // By UDP. Always, before there is any peer: then it is none that says where.
  [[nodiscard]] bool may_send(const sockaddr& address, unsigned size) const;

 private:
  using Host = std::array<std::uint8_t, 16>;  // an IPv4 address as IPv6 has it

  static Host host_of(const sockaddr& address, unsigned size);

  const std::function<bool()> strayed_;
  const bool anywhere_;
  std::set<Host> hosts_;
};

}  // namespace campipe
