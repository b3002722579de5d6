#include "app/link/session.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

// What the peer answers a greeting with, for people.
std::string why_refused(link::Bye::Reason reason) {
  switch (reason) {
    case link::Bye::Reason::ended:
      return "the peer has ended this link";
    case link::Bye::Reason::other_version:
      return fmt::format("the peer speaks another version of links than {}: update the older node", link::version);
    case link::Bye::Reason::other_name:
      return "the peer has another link there";
    case link::Bye::Reason::busy:
      return "the peer still has the connection before";
  }
  return "the peer refuses it";
}

}  // namespace

using std::chrono::milliseconds;

LinkSession::LinkSession(std::unique_ptr<LinkWire> wire, std::string name, LinkTiming timing, Owner& owner,
                         std::atomic<std::uint64_t>& refused)
    : wire_(std::move(wire)),
      name_(std::move(name)),
      timing_(timing),
      owner_(owner),
      pause_(timing.shortest_pause),
      refused_(refused) {}

// Before the owner goes, who has the memory that bodies arrive in.
LinkSession::~LinkSession() { wire_->close(); }

LinkSession::Event LinkSession::poll(Deadline deadline) {
  if (state_ == State::away) {
    if (Clock::now() < due_) std::this_thread::sleep_until(std::min(due_, deadline));
    if (Clock::now() < due_) return Event::none;
    begin();
    if (state_ == State::away) return Event::none;
  }
  if (state_ == State::over) return Event::none;
  beat_if_due();
  const bool may_be_silent = state_ == State::greeting && wire_->listens();
  Deadline until = may_be_silent ? deadline : std::min(deadline, heard_ + timing_.silence);
  if (state_ == State::open) until = std::min(until, beat_due_);
  if (const auto arrival = wire_->receive(until, placer_)) return hear(*arrival);
  if (may_be_silent || Clock::now() < heard_ + timing_.silence) return Event::none;
  return lose("no answer");
}

void LinkSession::begin() {
  try {
    wire_->open();
  } catch (const Error& error) {
    log_once(error.what());
    return go_away();
  }
  state_ = State::greeting;
  heard_ = Clock::now();
  if (!wire_->listens()) send_to(0, owner_.hello());
}

// Its memory is free from now on: it may be asked for.
void LinkSession::go_away() {
  wire_->close();
  state_ = State::away;
  message_.reset();
  std::uniform_int_distribution<milliseconds::rep> part(pause_.count() / 2, pause_.count());
  due_ = Clock::now() + milliseconds(part(random_));
  pause_ = std::min(2 * pause_, timing_.longest_pause);
}

void LinkSession::beat_if_due() {
  if (state_ != State::open || Clock::now() < beat_due_) return;
  beat_due_ = Clock::now() + timing_.beat;
  send(owner_.beat());
}

void LinkSession::keep_up() {
  heard_ = Clock::now();
  beat_if_due();
}

LinkSession::Event LinkSession::hear(const LinkWire::Arrival& arrival) {
  if (arrival.gone) {
    const bool is_ours = !wire_->listens() || (state_ == State::open && arrival.peer == peer_);
    return is_ours ? lose("the peer is gone") : Event::none;
  }
  if (state_ == State::open && arrival.peer == peer_) {
    heard_ = Clock::now();
    message_ = link::decode(arrival.head);
    if (!message_ || std::holds_alternative<link::Hello>(*message_)) return refuse("it says what cannot be");
    const bool is_frame = std::holds_alternative<link::Frame>(*message_);
    if (is_frame ? !arrival.placed : arrival.body != 0) return refuse("a frame does not fit");
    return Event::message;
  }
  const auto message = link::decode(arrival.head);
  if (state_ == State::greeting && message) return greet(arrival.peer, *message);
  ++refused_;
  if (message && std::holds_alternative<link::Hello>(*message)) answer(arrival.peer, link::Bye::Reason::busy);
  if (!wire_->listens()) return lose("it is no link of campipe's");
  return Event::none;
}

LinkSession::Event LinkSession::greet(LinkWire::Peer peer, const link::Message& message) {
  if (const auto* const bye = std::get_if<link::Bye>(&message)) {
    if (wire_->listens()) return Event::none;
    return refuse(why_refused(bye->reason));
  }
  const auto* const hello = std::get_if<link::Hello>(&message);
  if (hello == nullptr) return Event::none;  // of a connection that is over
  if (hello->version != link::version) {
    const std::string problem =
        fmt::format("the peer speaks version {} of links, this node version {}: update the older one", hello->version,
                    link::version);
    answer(peer, link::Bye::Reason::other_version);
    if (!wire_->listens()) return lose(problem);
    log_once(problem);
    return Event::none;
  }
  if (hello->name != name_ || hello->end == owner_.hello().end) {
    answer(peer, link::Bye::Reason::other_name);
    return wire_->listens() ? Event::none : lose("it is the end of another link");
  }
  hello_ = *hello;
  peer_ = peer;
  state_ = State::open;
  heard_ = Clock::now();
  beat_due_ = heard_ + timing_.beat;
  pause_ = timing_.shortest_pause;
  if (wire_->listens() && !send(owner_.hello())) return lose("it takes nothing");
  spdlog::info("link {}: connected{}{}", name_, wire_->listens() ? "" : " to ", wire_->listens() ? "" : address());
  logged_.clear();
  return Event::opened;
}

LinkSession::Event LinkSession::lose(const std::string& reason) {
  const bool was_open = state_ == State::open;
  close(reason);
  return was_open ? Event::lost : Event::none;
}

LinkSession::Event LinkSession::refuse(const std::string& reason) {
  ++refused_;
  return lose(reason);
}

void LinkSession::cut_off(const std::string& reason) {
  ++refused_;
  close(reason);
}

void LinkSession::close(const std::string& reason) {
  if (state_ == State::open) {
    spdlog::warn("link {}: the connection is lost: {}", name_, reason);
  } else {
    log_once(fmt::format("no connection to {}: {}", address(), reason));
  }
  go_away();
}

void LinkSession::end(milliseconds linger) {
  wire_->close(linger);
  state_ = State::over;
}

void LinkSession::answer(LinkWire::Peer peer, link::Bye::Reason reason) {
  ++refused_;
  send_to(peer, link::Bye{reason, 0});
}

void LinkSession::log_once(const std::string& text) {
  if (std::exchange(logged_, text) != text) spdlog::warn("link {}: {}", name_, text);
}

bool LinkSession::send(const link::Message& message, LinkWire::Body body) {
  return state_ == State::open && send_to(peer_, message, std::move(body));
}

bool LinkSession::send_to(LinkWire::Peer peer, const link::Message& message, LinkWire::Body body) {
  link::encode(message, head_);
  return wire_->send(peer, head_, std::move(body));
}

std::span<std::uint8_t> LinkSession::Placer::place(LinkWire::Peer peer, LinkWire::Bytes head, std::size_t bytes) {
  if (session_.state_ != State::open || peer != session_.peer_) return {};
  const auto message = link::decode(head);
  const auto* const frame = message ? std::get_if<link::Frame>(&*message) : nullptr;
  return frame != nullptr && frame->bytes == bytes ? session_.owner_.place(*frame) : std::span<std::uint8_t>();
}

}  // namespace campipe
