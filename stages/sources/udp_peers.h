// Where libavformat may send packets of UDP for a source: to the hosts to which it has connected for it by TCP. RTSP's
// client sends wherever the camera's answer to SETUP says that its pictures come from (`source=`), which could be any
// address and port of the reader's network.
//
// It is seen where it happens: the program's own connect() and sendto() go before the C library's, as far as a thread
// works for such a source.
#pragma once

#include <array>
#include <cstdint>
#include <set>

struct sockaddr;

namespace campipe {

class UdpPeers {
 public:
  // `anywhere`: the camera may say where.
  explicit UdpPeers(bool anywhere) : anywhere_(anywhere) {}

  // As long as it lives, this thread sends nowhere else. One at a time.
  class Use {
   public:
    explicit Use(UdpPeers& peers);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  // For connect() and sendto(); null: this thread may send anywhere.
  static UdpPeers* of_this_thread();
  void add(const sockaddr& address, unsigned size);
  // Always, before there is any peer: then it is none that says where.
  [[nodiscard]] bool allow(const sockaddr& address, unsigned size) const;

 private:
  using Host = std::array<std::uint8_t, 16>;  // an IPv4 address as IPv6 has it

  static Host host_of(const sockaddr& address, unsigned size);

  const bool anywhere_;
  std::set<Host> hosts_;
};

}  // namespace campipe
