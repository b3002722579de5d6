#include "app/link/link_thread.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "app/control/child.h"
#include "app/link/session.h"
#include "core/error.h"
#include "core/log.h"
#include "core/name_lookup.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr unsigned most_silent_ticks = 100;  // ten seconds
constexpr int slices_of_pause = 20;          // before it listens again, where it could not

// That frames wait for a connection that was lost: those of files, of which none is to be lost as long as it can be
// helped, until a process on the other node has come again.
std::chrono::milliseconds reconnection_of(DropPolicy policy) {
  return std::chrono::seconds(policy == DropPolicy::block ? 5 : 0);
}

}  // namespace

bool LinkThread::hangs() {
  const std::uint64_t beats = beats_;
  silent_ticks_ = over_ || beats != std::exchange(seen_beats_, beats) ? 0 : silent_ticks_ + 1;
  return silent_ticks_ > most_silent_ticks;
}

// What it throws is a fault of this process: the next one goes on with its links.
void LinkThread::start(std::function<void()> work) {
  thread_ = std::jthread([this, work = std::move(work)] {
    try {
      work();
    } catch (const std::exception& error) {
      fail_process(name_ + ": " + error.what());
    }
    over_ = true;
  });
}

void LinkThread::join() {
  if (thread_.joinable()) thread_.join();
}

LinkCounts& begin_counts(LinkCounts& counts, bool again) {
  if (!again) new (&counts) LinkCounts();
  return counts;
}

SendingThread::SendingThread(const messages::SendLink& link, std::optional<LinkKeys> keys, LinkCounts& counts,
                             SendingEnd::Rules rules)
    : LinkThread(link.name), peer_(std::make_shared<SharedPeer>(PeerPlace{link.address, link.transport, keys})) {
  rules.name = link.name;
  rules.policy = link.drop_policy;
  rules.queue = link.queue_size;
  rules.reconnection = reconnection_of(link.drop_policy);
  rules.taken = link.taken;
  rules.settled = counts.delivered + counts.lost;
  rules.counts = &counts;
  rules.beat = [this] { beat(); };
  end_ = std::make_unique<SendingEnd>(make_peer_wire(peer_), std::move(rules));
  start([this] { end_->run(); });
}

SendingThread::~SendingThread() {
  end_->abandon();
  join();
}

ReceivingThread::ReceivingThread(messages::ReceiveLink link, std::optional<LinkKeys> keys, LinkCounts& counts,
                                 Events events)
    : LinkThread(link.name), link_(std::move(link)), keys_(keys), counts_(counts), events_(std::move(events)) {
  start([this] { run(); });
}

ReceivingThread::~ReceivingThread() {
  leaves_ = true;
  join();
}

// An address that is not there yet, and memory for a ring, may come.
void ReceivingThread::run() {
  while (!leaves_) {
    try {
      receive();
    } catch (const Error& error) {
      if (std::exchange(problem_, error.what()) != error.what())
        spdlog::error("link {}: receives nothing, and is tried again: {}", name(), error.what());
      pause();
    }
  }
}

void ReceivingThread::receive() {
  auto wire = listen();
  if (!wire) return;
  const std::string address = wire->address();
  events_.on_listens(static_cast<unsigned>(std::stoul(address.substr(address.rfind(':') + 1))));
  ReceivingEnd::Rules rules;
  rules.name = link_.name;
  rules.policy = link_.drop_policy;
  rules.queue = link_.queue_size;
  rules.epoch = link_.epoch;
  rules.base = link_.base;
  rules.settled = counts_.settled;
  rules.counts = &counts_;
  ReceivingEnd::Events events;
  events.on_ring = [this](const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate, std::int32_t rotation) {
    link_.epoch = epoch + 1;
    events_.on_ring(ring, epoch, frame_rate, rotation);
  };
  events.on_faulty_reader = events_.on_faulty_reader;
  events.on_dropped = events_.on_dropped;
  events.wanted = events_.wanted;
  events.beat = [this] { beat(); };
  events.left = [this] { return leaves_.load(); };
  const std::uint64_t published = counts_.delivered;
  ReceivingEnd end(std::move(wire), std::move(rules), std::move(events));
  end.run();
  link_.base += counts_.delivered - published;
}

// Null: it is to leave.
std::unique_ptr<LinkWire> ReceivingThread::listen() {
  const std::string host = find_host();
  if (leaves_) return nullptr;
  return make_listening_wire(host, link_.first_port, link_.last_port, link_.transport, keys_);
}

// In digits, as whoever listens needs it.
std::string ReceivingThread::find_host() {
  const bool has_brackets = link_.host.starts_with('[') && link_.host.ends_with(']');
  const NameLookup lookup(has_brackets ? link_.host.substr(1, link_.host.size() - 2) : link_.host);
  while (!leaves_) {
    beat();
    const auto found = lookup.wait_for(link_slice);
    if (!found) continue;
    if (found->address.empty()) throw Error(link_.host + ": the host is not found: " + found->problem);
    return found->address.find(':') == std::string::npos ? found->address : "[" + found->address + "]";
  }
  return {};
}

void ReceivingThread::pause() {
  for (int left = slices_of_pause; left > 0 && !leaves_; --left) {
    beat();
    std::this_thread::sleep_for(link_slice);
  }
}

}  // namespace campipe
