// Links over TCP by ZeroMQ: a DEALER that connects and a ROUTER that listens. With CURVE all is encrypted, each end
// knows the other one by its key, and nobody else gets a message in.
//
// A body is sent out of the memory where it lies, and is read into memory of ZeroMQ, from where it is copied into
// place: the one copy that ZeroMQ makes necessary, as it reads a message before anybody can say where that belongs.
//
// Without CURVE whoever reaches the port can have ZeroMQ keep what it sends, message by message, in memory: that is for
// networks on which there are no strangers.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "app/link/wire.h"

namespace campipe {

// Of Curve25519.
struct LinkKeys {
  using Key = std::array<std::uint8_t, 32>;
  Key public_key{};
  Key secret_key{};
  Key peer{};  // the public one of the other end
  friend bool operator==(const LinkKeys&, const LinkKeys&) = default;
};
// Public and secret; `peer` is left to the caller.
LinkKeys make_link_keys();

struct ZeroMqSettings {
  std::string address;  // "192.0.2.1:7000", "[2001:db8::1]:7000"; to listen at any free port: port 0
  bool listens = false;
  std::optional<LinkKeys> keys;                      // none: no encryption
  std::size_t largest_body = std::size_t{64} << 20;  // bytes; a peer that sends more is cut off
};

// Throws Error where there is no such address, or no CURVE.
std::unique_ptr<LinkWire> make_zeromq_wire(ZeroMqSettings settings);

}  // namespace campipe
