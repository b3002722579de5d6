#include "app/source/read_ahead.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"

namespace campipe {

ReadResult ReadAhead::read_now(Source& source, AVPacket& packet, Times& times) {
  const std::int64_t begin = now_ns();
  const ReadResult result = source.read(packet);
  const std::int64_t now = now_ns();
  const auto received = source.received();
  times.by_source = received.has_value();
  times.arrival = std::min(received.value_or(now), now);
  times.arrival_utc = utc_now_ns() - (now - times.arrival);
  waited_.video += now - begin;
  waited_.audio += now - begin;
  times.waited = std::exchange(result == ReadResult::audio ? waited_.audio : waited_.video, 0);
  return result;
}

ReadResult ReadAhead::read(Source& source, AVPacket& packet) {
  if (entries_.empty()) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return read_now(source, packet, times_);
  }
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  av_packet_move_ref(&packet, entry.packet.get());
  times_ = entry.times;
  return entry.result;
}

const ReadAhead::Entry* ReadAhead::look(Source& source) {
  const auto is_packet = [](ReadResult result) { return result == ReadResult::packet || result == ReadResult::audio; };
  if (failure_ || (!entries_.empty() && !is_packet(entries_.back().result))) return nullptr;
  Entry entry;
  entry.packet = make_av_packet();
  try {
    entry.result = read_now(source, *entry.packet, entry.times);
  } catch (const Error&) {
    failure_ = std::current_exception();
    return nullptr;
  }
  entries_.push_back(std::move(entry));
  return is_packet(entries_.back().result) ? &entries_.back() : nullptr;
}

void ReadAhead::clear() {
  entries_.clear();
  failure_ = nullptr;
  waited_ = {};
}

}  // namespace campipe
