#include "app/link/zeromq_wire.h"

#include <malloc.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "app/link/message.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr int queue_length = 64;    // messages each way: far more than a link's credits allow for
constexpr int reconnect_ms = 50;    // with as much again of jitter, while the peer has not answered yet
constexpr int handshake_ms = 1000;  // for a peer that connects, to be one
// Of a body that is encrypted: the peer decrypts one part while the next is encrypted here. ZeroMQ encrypts a part as a
// whole, and hands on a message as a whole.
constexpr std::size_t encrypted_part = std::size_t{256} << 10;
constexpr std::size_t encryption = 1024;     // what CURVE adds to a part, and more
constexpr std::size_t routing_id_bytes = 5;  // of one that ZeroMQ chose: 0 and a number
constexpr const char* zap_address = "inproc://zeromq.zap.01";

Error zeromq_error(const std::string& what) { return Error(what + ": " + zmq_strerror(zmq_errno())); }

struct ZmqContextTraits {
  using Handle = void*;
  static Handle none() { return nullptr; }
  // Again where a signal came: it waits for the sockets that are being closed.
  static void close(Handle context) {
    while (zmq_ctx_term(context) != 0 && zmq_errno() == EINTR) {
    }
  }
};
using ZmqContext = UniqueHandle<ZmqContextTraits>;

struct SocketTraits {
  using Handle = void*;
  static Handle none() { return nullptr; }
  static void close(Handle socket) { zmq_close(socket); }
};
using Socket = UniqueHandle<SocketTraits>;

// One part of a message.
class Part {
 public:
  Part() { zmq_msg_init(&part_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() { zmq_msg_close(&part_); }

  // False: none is there.
  bool receive(void* socket) { return zmq_msg_recv(&part_, socket, ZMQ_DONTWAIT) >= 0; }
  [[nodiscard]] LinkWire::Bytes bytes() {
    return {static_cast<const std::uint8_t*>(zmq_msg_data(&part_)), zmq_msg_size(&part_)};
  }
  [[nodiscard]] bool more() const { return zmq_msg_more(&part_) != 0; }

 private:
  zmq_msg_t part_{};
};

void set(void* socket, int option, int value) {
  if (zmq_setsockopt(socket, option, &value, sizeof value) != 0) throw zeromq_error("ZeroMQ refuses a setting");
}

void set_key(void* socket, int option, const LinkKeys::Key& key) {
  if (zmq_setsockopt(socket, option, key.data(), key.size()) != 0) throw zeromq_error("ZeroMQ refuses a key");
}

LinkKeys::Key decoded(const std::array<char, 41>& text) {
  LinkKeys::Key key;
  if (zmq_z85_decode(key.data(), text.data()) == nullptr) throw Error("ZeroMQ made no key");
  return key;
}

bool send_part(void* socket, LinkWire::Bytes bytes, int flags) {
  return zmq_send(socket, bytes.data(), bytes.size(), flags | ZMQ_DONTWAIT) >= 0;
}

// What a body is kept by, until a thread of ZeroMQ lets go of it. That that thread sees what this one has written
// follows from ZeroMQ's queues; the flag says it to tools that do not see into the library.
struct KeptBody {
  std::shared_ptr<const void> owner;
  std::atomic<bool> handed_over{false};
};

void let_go(void* /*bytes*/, void* hint) {
  const std::unique_ptr<KeptBody> kept(static_cast<KeptBody*>(hint));
  static_cast<void>(kept->handed_over.load(std::memory_order_acquire));
}

bool send_body_part(void* socket, LinkWire::Bytes bytes, std::shared_ptr<const void> owner, int flags) {
  auto kept = std::make_unique<KeptBody>();
  kept->owner = std::move(owner);
  zmq_msg_t part;
  // It is not written to; ZeroMQ has one type for both ways.
  void* const begin = const_cast<std::uint8_t*>(bytes.data());
  kept->handed_over.store(true, std::memory_order_release);
  if (zmq_msg_init_data(&part, begin, bytes.size(), let_go, kept.get()) != 0) return false;
  static_cast<void>(kept.release());  // the message's
  if (zmq_msg_send(&part, socket, flags | ZMQ_DONTWAIT) >= 0) return true;
  zmq_msg_close(&part);
  return false;
}

bool send_body(void* socket, const LinkWire::Body& body, std::size_t part) {
  for (LinkWire::Bytes left = body.bytes; !left.empty(); left = left.subspan(std::min(part, left.size()))) {
    const bool is_last = left.size() <= part;
    const auto bytes = left.first(std::min(part, left.size()));
    if (!send_body_part(socket, bytes, body.owner, is_last ? 0 : ZMQ_SNDMORE)) return false;
  }
  return true;
}

// Lets in who has the peer's key, and nobody else (ZeroMQ's RFC 27).
class DoorKeeper {
 public:
  DoorKeeper(void* context, const LinkKeys::Key& peer) : socket_(zmq_socket(context, ZMQ_REP)), peer_(peer) {
    if (!socket_ || zmq_bind(socket_.get(), zap_address) != 0) throw zeromq_error("ZeroMQ cannot check keys");
    set(socket_.get(), ZMQ_LINGER, 0);
  }

  [[nodiscard]] void* socket() const { return socket_.get(); }

  void answer() {
    std::vector<std::vector<std::uint8_t>> request;
    for (bool more = true; more;) {
      Part part;
      if (!part.receive(socket_.get())) return;
      request.emplace_back(part.bytes().begin(), part.bytes().end());
      more = part.more();
    }
    constexpr std::size_t credential = 6;  // behind version, id, domain, address, identity and mechanism
    const bool is_peer = request.size() == credential + 1 && std::ranges::equal(request[credential], peer_);
    send(text_bytes("1.0"), ZMQ_SNDMORE);
    send(request.size() > 1 ? LinkWire::Bytes(request[1]) : LinkWire::Bytes(), ZMQ_SNDMORE);
    send(text_bytes(is_peer ? "200" : "400"), ZMQ_SNDMORE);
    for (const int flags : {ZMQ_SNDMORE, ZMQ_SNDMORE, 0}) send({}, flags);  // no text, user or metadata
  }

 private:
  static LinkWire::Bytes text_bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  }
  // Who asks is in this process, and waits for the answer: there is room for it.
  void send(LinkWire::Bytes bytes, int flags) { send_part(socket_.get(), bytes, flags); }

  Socket socket_;
  LinkKeys::Key peer_;
};

class ZeroMqWire final : public LinkWire {
 public:
  explicit ZeroMqWire(ZeroMqSettings settings)
      : settings_(std::move(settings)), context_(zmq_ctx_new()), endpoint_("tcp://" + settings_.address) {
    if (!context_) throw zeromq_error("ZeroMQ does not start");
    if (settings_.keys && zmq_has("curve") == 0)
      throw Error("this ZeroMQ cannot encrypt links: it was built without CURVE");
    keep_door();
    if (settings_.listens) ZeroMqWire::open();
  }
  ~ZeroMqWire() override = default;
  ZeroMqWire(const ZeroMqWire&) = delete;
  ZeroMqWire& operator=(const ZeroMqWire&) = delete;

  [[nodiscard]] bool listens() const override { return settings_.listens; }
  [[nodiscard]] std::string address() const override { return endpoint_.substr(endpoint_.find("//") + 2); }

  void open() override {
    if (socket_) return;
    Socket socket(zmq_socket(context_.get(), settings_.listens ? ZMQ_ROUTER : ZMQ_DEALER));
    if (!socket) throw zeromq_error("ZeroMQ has no socket");
    configure(socket.get());
    if (settings_.listens) {
      if (zmq_bind(socket.get(), endpoint_.c_str()) != 0) throw zeromq_error("cannot listen at " + address());
      keep_port(socket.get());
    } else if (zmq_connect(socket.get(), endpoint_.c_str()) != 0) {
      throw zeromq_error("cannot connect to " + address());
    }
    socket_ = std::move(socket);
  }

  void close(std::chrono::milliseconds linger) override {
    if (!socket_) return;
    const int wait = static_cast<int>(linger.count());
    zmq_setsockopt(socket_.get(), ZMQ_LINGER, &wait, sizeof wait);
    socket_.reset();
    if (linger.count() == 0) return;
    // That waits until all has left, or the time is up.
    door_.reset();
    context_.reset();
    context_.reset(zmq_ctx_new());
    keep_door();
  }

  bool send(Peer peer, Bytes head, Body body) override {
    if (!socket_) return false;
    if (settings_.listens && !send_part(socket_.get(), routing_id(peer), ZMQ_SNDMORE)) return false;
    const bool has_body = !body.bytes.empty();
    if (!send_part(socket_.get(), head, has_body ? ZMQ_SNDMORE : 0)) return false;
    return !has_body || send_body(socket_.get(), body, settings_.keys ? encrypted_part : body.bytes.size());
  }

  std::optional<Arrival> receive(Deadline deadline, Inbox& inbox) override {
    do {
      if (auto arrival = take(inbox)) return arrival;
    } while (wait_until(deadline));
    return std::nullopt;
  }

 private:
  void keep_door() {
    if (settings_.keys && settings_.listens) door_.emplace(context_.get(), settings_.keys->peer);
  }

  void configure(void* socket) const {
    set(socket, ZMQ_LINGER, 0);
    set(socket, ZMQ_SNDHWM, queue_length);
    set(socket, ZMQ_RCVHWM, queue_length);
    if (settings_.address.starts_with('[')) set(socket, ZMQ_IPV6, 1);
    set(socket, ZMQ_HANDSHAKE_IVL, handshake_ms);
    // ZeroMQ makes room for what a stranger announces, before it knows who that is.
    const std::size_t part =
        settings_.keys ? std::min(settings_.largest_body, encrypted_part) + encryption : settings_.largest_body;
    const auto largest = static_cast<std::int64_t>(std::max(part, link::largest_head + encryption));
    if (zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest) != 0)
      throw zeromq_error("ZeroMQ refuses a size");
    if (settings_.listens) {
      set(socket, ZMQ_ROUTER_MANDATORY, 1);  // who is gone is reported
    } else {
      set(socket, ZMQ_RECONNECT_IVL, reconnect_ms);
    }
    if (!settings_.keys) return;
    if (settings_.listens) {
      set(socket, ZMQ_CURVE_SERVER, 1);
    } else {
      set_key(socket, ZMQ_CURVE_SERVERKEY, settings_.keys->peer);
      set_key(socket, ZMQ_CURVE_PUBLICKEY, settings_.keys->public_key);
    }
    set_key(socket, ZMQ_CURVE_SECRETKEY, settings_.keys->secret_key);
  }

  // Of several that are free, the next open() takes the same one.
  void keep_port(void* socket) {
    std::array<char, 256> text{};
    std::size_t size = text.size();
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, text.data(), &size) != 0) throw zeromq_error("no address is known");
    endpoint_ = text.data();
  }

  static std::optional<Peer> peer_of(Bytes routing_id) {
    if (routing_id.size() != routing_id_bytes) return std::nullopt;
    Peer peer = 0;
    std::memcpy(&peer, routing_id.data(), routing_id.size());
    return peer;
  }
  static Bytes routing_id(const Peer& peer) { return {reinterpret_cast<const std::uint8_t*>(&peer), routing_id_bytes}; }

  // The next message that has come.
  std::optional<Arrival> take(Inbox& inbox) {
    Part part;
    if (!socket_ || !part.receive(socket_.get())) return std::nullopt;
    std::optional<Peer> peer = 0;
    if (settings_.listens) {
      peer = peer_of(part.bytes());
      if (!part.more() || !part.receive(socket_.get())) return Arrival{};
    }
    const bool fits = part.bytes().size() <= link::largest_head;
    head_.assign(part.bytes().begin(), fits ? part.bytes().end() : part.bytes().begin());
    const bool can_be = take_body(part.more());
    const bool is_message = peer && fits && can_be;
    Arrival arrival{peer.value_or(0), is_message ? Bytes(head_) : Bytes()};
    if (is_message && !body_.empty()) {
      for (Part& one : body_) arrival.body += one.bytes().size();
      auto memory = inbox.place(arrival.peer, head_, arrival.body);
      arrival.placed = arrival.body > 0 && memory.size() == arrival.body;
      for (Part& one : body_) {
        if (!arrival.placed) break;
        const Bytes bytes = one.bytes();
        if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
        memory = memory.subspan(bytes.size());
      }
    }
    body_.clear();
    return arrival;
  }

  // What follows the head. False: no body is so large, or in so many parts; nothing is kept of it.
  bool take_body(bool more) {
    const std::size_t most_parts = settings_.largest_body / encrypted_part + 1;
    std::size_t bytes = 0;
    bool fits = true;
    while (more) {
      Part& part = body_.emplace_back();
      if (!part.receive(socket_.get())) break;  // ZeroMQ has the whole message, or nothing of it
      more = part.more();
      bytes += part.bytes().size();
      fits = fits && bytes <= settings_.largest_body && body_.size() <= most_parts;
      if (!fits) body_.clear();
    }
    return fits;
  }

  // False: that was all until `deadline`. True: something may have come.
  bool wait_until(Deadline deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    std::array<zmq_pollitem_t, 2> items{{{socket_.get(), 0, ZMQ_POLLIN, 0}, {nullptr, 0, ZMQ_POLLIN, 0}}};
    if (door_) items[1].socket = door_->socket();
    zmq_poll(items.data(), door_ ? 2 : 1, left.count());
    if (door_ && (items[1].revents & ZMQ_POLLIN) != 0) door_->answer();
    return true;
  }

  ZeroMqSettings settings_;
  ZmqContext context_;
  std::optional<DoorKeeper> door_;  // needs the context
  std::string endpoint_;
  Socket socket_;                   // likewise
  std::vector<std::uint8_t> head_;  // of the newest message
  std::deque<Part> body_;           // likewise, while it is put into place
};

// ZeroMQ allocates each message that it reads. Memory that went back to the kernel meanwhile has to be made and cleared
// anew, page by page; a process that carries links has no other use for it.
void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc allows
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

}  // namespace

LinkKeys make_link_keys() {
  std::array<char, 41> public_text{};
  std::array<char, 41> secret_text{};
  if (zmq_curve_keypair(public_text.data(), secret_text.data()) != 0) throw zeromq_error("ZeroMQ makes no keys");
  return {.public_key = decoded(public_text), .secret_key = decoded(secret_text)};
}

std::unique_ptr<LinkWire> make_zeromq_wire(ZeroMqSettings settings) {
  keep_freed_memory();
  return std::make_unique<ZeroMqWire>(std::move(settings));
}

}  // namespace campipe
