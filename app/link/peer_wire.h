// The wire of an end that connects to a peer that may come to listen elsewhere, as one that was restarted does: where
// it is counts each time that the wire is opened.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "app/link/zeromq_wire.h"

namespace campipe {

// Where the peer listens: "192.0.2.1:7000". Thread-safe.
class PeerAddress {
 public:
  explicit PeerAddress(std::string address) : address_(std::move(address)) {}
  void set(std::string address) {
    const std::lock_guard lock(mutex_);
    address_ = std::move(address);
  }
  [[nodiscard]] std::string get() const {
    const std::lock_guard lock(mutex_);
    return address_;
  }

 private:
  mutable std::mutex mutex_;
  std::string address_;
};

// `keys`: none: no encryption.
std::unique_ptr<LinkWire> make_peer_wire(std::shared_ptr<const PeerAddress> peer, std::optional<LinkKeys> keys);

}  // namespace campipe
