// The other process in the tests of deaths: reader or writer of a ring, member of a barrier or group, until the
// failpoint that its environment names kills it. Handles come over the channel; what it is delivered it notes in its
// journal.
//
//   ring_peer PARENT_PID frame-reader PLACE block|drop QUEUE HOLD [FRAMES, after which it leaves]
//   ring_peer PARENT_PID frame-writer EPOCH BASE FRAMES
//   ring_peer PARENT_PID packet-reader BATCH
//   ring_peer PARENT_PID packet-decoder HANDED_ON
//   ring_peer PARENT_PID packet-writer EPOCH BASE PACKETS
//   ring_peer PARENT_PID barrier MEMBER PHASE
//   ring_peer PARENT_PID group MEMBER
#include "tests/faults/ring_peer.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "core/error.h"
#include "ipc/channel.h"
#include "ipc/frame_ring.h"
#include "ipc/group_page.h"
#include "ipc/packet_ring.h"
#include "ipc/replay_reader.h"
#include "ipc/rig_page.h"
#include "tests/faults/peer_side.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace {

constexpr auto pace = microseconds(500);
constexpr std::size_t held_back = 3;  // frames, by what is like a decoder

struct Held {
  FrameRingReader::Lease lease;
  std::size_t noted;
};

// True: the ring ended, or it left it; false: its writer is gone.
bool read_ring(FrameRingReader& reader, Note& note, std::size_t hold, std::size_t frames) {
  std::deque<Held> held;
  for (std::size_t read = 0;; ++read) {
    if (read == frames) {
      reader.leave();
      return true;
    }
    FrameRingReader::Lease lease;
    const auto next = reader.next(lease, after(patience));
    if (next == FrameRingReader::Next::timeout) throw Error("no frame came");
    if (next != FrameRingReader::Next::frame) return next == FrameRingReader::Next::ended;
    const std::size_t noted = note.add(lease.number, intact(lease));
    held.push_back({std::move(lease), noted});
    if (held.size() < hold) continue;
    if (!intact(held.front().lease)) note.torn(held.front().noted);
    held.pop_front();
  }
}

// One ring after the other, as long as writers die.
int read_frames(Channel& channel, Journal& journal, const Arguments& arguments) {
  const unsigned place = number_of(arguments.at(0));
  Note note(journal);
  for (;;) {
    Message message = await_message(channel, "ring");
    const auto memory = FrameRingMemory::open(std::move(message.fds.at(0)), std::move(message.fds.at(1)),
                                              FrameRingMemory::Role::reader);
    FrameRingReader reader(memory, place, std::chrono::nanoseconds(0));
    reserve_seat(memory, place);
    reader.attach(arguments.at(1) == "block", number_of(arguments.at(2)));
    const std::size_t frames = arguments.size() > 4 ? number_of(arguments.at(4)) : SIZE_MAX;
    const bool in_order = read_ring(reader, note, number_of(arguments.at(3)), frames);
    note.end(in_order);
    if (in_order) return 0;
  }
}

int write_frames(Channel& channel, const Arguments& arguments) {
  const std::uint64_t base = std::stoull(arguments.at(1));
  const std::uint64_t last = base + std::stoull(arguments.at(2));
  const auto memory = FrameRingMemory::create(
      {.slots = ring_slots, .slot_bytes = picture_bytes, .epoch = std::stoull(arguments.at(0)), .base = base});
  FrameRingWriter writer(memory);
  if (!channel.send("ring", {}, {memory->control_fd(), memory->pixel_fd()})) return 4;
  await_message(channel, "go");
  for (std::uint64_t number = base + 1; number <= last; ++number) {
    if (!writer.wait_for_room(after(patience), never)) throw Error("there was no room");
    if (!write_frame(writer, number)) throw Error("a slot stays held");
    writer.sleep_until(after(pace), never);
  }
  writer.close();
  return 0;
}

// Gives packets back `batch` at a time; at the end of the ring, what is left.
int read_packets(Channel& channel, Journal& journal, const Arguments& arguments) {
  Message message = await_message(channel, "ring");
  PacketRingReader reader(PacketRingMemory::open(std::move(message.fds.at(0))));
  const unsigned batch = number_of(arguments.at(0));
  Note note(journal);
  std::deque<std::pair<PacketView, std::uint64_t>> kept;
  const auto release = [&] {
    if (kept.empty()) return;
    for (const auto& [packet, number] : kept) {
      if (!has_pattern(packet.data, number)) throw Error("packet " + std::to_string(number) + " was overwritten");
    }
    journal.releasing = kept.back().second;
    reader.release_through(kept.back().second);
    journal.released = kept.back().second;
    kept.clear();
  };
  for (;;) {
    PacketView packet;
    std::uint64_t number = 0;
    const auto next = reader.next(packet, number, after(patience));
    if (next == PacketRingReader::Next::timeout) throw Error("no packet came");
    if (next != PacketRingReader::Next::packet) {
      release();
      note.end(next == PacketRingReader::Next::ended);
      return 0;
    }
    const bool whole = packet.data.size() == packet_size(number) && packet.dts == pts_of(number);
    note.add(number, whole && has_pattern(packet.data, number));
    kept.emplace_back(packet, number);
    if (kept.size() == batch) release();
  }
}

// Like a decoder, which holds frames back and begins at a key frame: each packet is a frame, in order, and comes out
// `held_back` packets later. Frames up to HANDED_ON are left out.
int decode_packets(Channel& channel, Journal& journal, const Arguments& arguments) {
  Message message = await_message(channel, "ring");
  ReplayReader reader(PacketRingMemory::open(std::move(message.fds.at(0))));
  const std::uint64_t handed_on = std::stoull(arguments.at(0));
  Note note(journal);
  std::deque<std::pair<std::uint64_t, bool>> held;
  const auto hand_on = [&] {
    const auto [number, whole] = held.front();
    held.pop_front();
    if (number > handed_on) note.add(number, whole);
    reader.shown(number);
  };
  bool begun = false;
  for (;;) {
    PacketView packet;
    std::uint64_t number = 0;
    const auto next = reader.next(packet, number, after(patience));
    if (next == ReplayReader::Next::timeout) throw Error("no packet came");
    if (next != ReplayReader::Next::packet) {
      while (!held.empty()) hand_on();
      note.end(next == ReplayReader::Next::ended);
      return 0;
    }
    journal.given_up = reader.given_up();
    begun = begun || packet.key;
    if (!begun) continue;
    const bool whole = packet.data.size() == packet_size(number) && packet.dts == pts_of(number);
    held.emplace_back(number, whole && has_pattern(packet.data, number));
    if (held.size() > held_back) hand_on();
  }
}

int write_packets(Channel& channel, const Arguments& arguments) {
  const std::uint64_t base = std::stoull(arguments.at(1));
  const std::uint64_t last = base + std::stoull(arguments.at(2));
  const auto memory = PacketRingMemory::create(packet_capacity, std::stoull(arguments.at(0)), base);
  PacketRingWriter writer(memory);
  if (!channel.send("ring", {}, {memory->fd()})) return 4;
  await_message(channel, "go");
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t number = base + 1; number <= last; ++number) {
    bytes.resize(packet_size(number));
    fill_pattern(bytes, number);
    if (!writer.push(packet_of(number, bytes), after(patience), never)) throw Error("there was no room");
  }
  writer.close();
  return 0;
}

// Meets phase after phase until it is killed.
int meet(Channel& channel, Journal& journal, const Arguments& arguments) {
  Message message = await_message(channel, "page");
  const ProcessId process(number_of(arguments.at(0)));
  const RigPage page = RigPage::open(std::move(message.fds.at(0)), std::move(message.fds.at(1)), process);
  Note note(journal);
  for (std::uint32_t phase = number_of(arguments.at(1));; ++phase) {
    page.process(process).arrive(phase);
    if (page.barrier().wait(phase, after(patience)) != 0) throw Error("somebody is missing");
    note.add(phase, true);
    std::this_thread::sleep_for(pace);
  }
}

// Comes to set after set of a group, each due 2 ms after the one before, until it is killed. One in sixteen it leaves
// out, as a camera that loses a frame, and one in 32 all members do; it settles that one behind the next.
int give_sets(Channel& channel, Journal& journal, const Arguments& arguments) {
  Message message = await_message(channel, "page");
  const unsigned number = number_of(arguments.at(0));
  GroupMember member(GroupPage::open(std::move(message.fds.at(0))), number);
  Note note(journal);
  const auto enter = [&](std::uint64_t set, bool settled, SetOutcome outcome) {
    note.add(set * 16 + (settled ? 8 : 0) + static_cast<std::uint64_t>(outcome), true);
  };
  constexpr auto interval = std::chrono::milliseconds(2);
  for (auto set = Clock::now().time_since_epoch() / interval;; ++set) {
    set = std::max(set, Clock::now().time_since_epoch() / interval);
    const bool leaves_out = (static_cast<unsigned>(set) + 5 * number) % 16 == 0;
    const bool all_leave_out = set % 32 == 31;
    if (leaves_out || all_leave_out) ++set;
    std::this_thread::sleep_until(Clock::time_point(set * interval));
    const auto own = static_cast<std::uint64_t>(set);
    member.arrive(own);
    const SetOutcome outcome = member.wait(after(patience));
    if (leaves_out || all_leave_out) {
      const SetOutcome settled = member.settle(own - 1);
      if (!all_leave_out) enter(own - 1, true, settled);
    }
    enter(own, false, outcome);
  }
}

int run(const std::string& role, const Arguments& arguments, Channel& channel, Journal& journal) {
  if (role == "frame-reader") return read_frames(channel, journal, arguments);
  if (role == "frame-writer") return write_frames(channel, arguments);
  if (role == "packet-reader") return read_packets(channel, journal, arguments);
  if (role == "packet-decoder") return decode_packets(channel, journal, arguments);
  if (role == "packet-writer") return write_packets(channel, arguments);
  if (role == "group") return give_sets(channel, journal, arguments);
  if (role == "barrier") return meet(channel, journal, arguments);
  return 2;
}

}  // namespace
}  // namespace campipe::test

int main(int count, char** values) { return campipe::test::peer_main(count, values, campipe::test::run); }
