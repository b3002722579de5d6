// What messages of nodes consist of, and others remember.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ipc/ids.h"

namespace campipe::messages {

// The newest packet of a member of a synchronised group: of which set, and when in the stream.
struct NewestSet {
  std::uint64_t set = 0;
  std::int64_t pts = 0;
  static void fields(auto& m, auto&& f) { f("set", m.set), f("pts", m.pts); }
};

// An output's place in the page of its camera's group.
struct GroupSeat {
  unsigned place = 0;
  bool from_start = false;         // the group has begun just now, and so does this member
  std::optional<NewestSet> after;  // it goes on for one that died
  static void fields(auto& m, auto&& f) { f("place", m.place), f("from_start", m.from_start), f("after", m.after); }
};

// What a node makes of frames that several make together: one part of each.
struct Tile {
  unsigned index = 0;
  unsigned count = 1;
  static void fields(auto& m, auto&& f) { f("index", m.index), f("count", m.count); }
};

// What is known of a mosaic's cell.
struct CellState {
  std::optional<EdgeId> edge;  // that its frames come from; none: none come
  bool away = false;           // its camera sends nothing just now; else the frames themselves show that
  std::string reason;          // why there may be no frames
  std::int64_t since = 0;      // of that, UTC in ns
  friend bool operator==(const CellState&, const CellState&) = default;
  static void fields(auto& m, auto&& f) {
    f("edge", m.edge), f("away", m.away), f("reason", m.reason), f("since", m.since);
  }
};

// When a mosaic's clock has begun (ipc/node_block.h, TickClock).
struct TickOrigin {
  std::int64_t first = 0;  // monotonic ns
  std::int64_t media_offset = 0;
  static void fields(auto& m, auto&& f) { f("first", m.first), f("media_offset", m.media_offset); }
};

}  // namespace campipe::messages
