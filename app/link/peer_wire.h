// The wire of an end, by the transport that was chosen for it; and of one that connects to a peer that may come to
// listen elsewhere, or by another key, as one that was restarted does: where it is counts each time that the wire is
// opened, and a wire to where it was says that it is gone.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "app/config/link_transport.h"
#include "app/link/zeromq_wire.h"

namespace campipe {

// Where an end listens, and by what: "192.0.2.1:7000".
struct PeerPlace {
  std::string address;
  LinkTransport transport = LinkTransport::zeromq;
  std::optional<LinkKeys> keys = {};  // none: no encryption
  friend bool operator==(const PeerPlace&, const PeerPlace&) = default;
};

// Thread-safe.
class SharedPeer {
 public:
  explicit SharedPeer(PeerPlace place) : place_(std::move(place)) {}
  void set(PeerPlace place) {
    const std::lock_guard lock(mutex_);
    place_ = std::move(place);
  }
  [[nodiscard]] PeerPlace get() const {
    const std::lock_guard lock(mutex_);
    return place_;
  }
  [[nodiscard]] bool is(const PeerPlace& place) const {
    const std::lock_guard lock(mutex_);
    return place_ == place;
  }

 private:
  mutable std::mutex mutex_;
  PeerPlace place_;
};

// Throws Error as make_zeromq_wire() and make_ucx_wire(), and for UCX with keys.
std::unique_ptr<LinkWire> make_wire(const PeerPlace& place, bool listens);
// One that listens at the first port of `first` to `last` that is free; 0 alone: at any.
std::unique_ptr<LinkWire> make_listening_wire(const std::string& host, unsigned first, unsigned last,
                                              LinkTransport transport, const std::optional<LinkKeys>& keys);
std::unique_ptr<LinkWire> make_peer_wire(std::shared_ptr<const SharedPeer> peer);

}  // namespace campipe
