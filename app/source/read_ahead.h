// Packets of a source, each with when it arrived. Some may be looked at before they are taken: to see what waits to be
// read, or what comes behind. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>

#include "core/ffmpeg.h"
#include "stages/sources/source.h"

namespace campipe {

class ReadAhead {
 public:
  struct Times {
    std::int64_t arrival = 0;      // monotonic, ns
    std::int64_t arrival_utc = 0;  // ns
    bool by_source = false;        // the source said when it arrived; else it is when it was read
    std::int64_t waited = 0;       // ns that were spent reading since the packet before, of the same track
  };
  struct Entry {
    AvPacket packet;
    ReadResult result = ReadResult::end;
    Times times;
  };

  // The next packet, into `packet` (unreferenced before); throws as Source::read does, in its turn.
  ReadResult read(Source& source, AVPacket& packet);
  // Of what was read last.
  [[nodiscard]] const Times& times() const { return times_; }

  // Reads one more, which read() will return in its turn. Null: no packet comes behind those that were read.
  const Entry* look(Source& source);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::deque<Entry>& entries() { return entries_; }
  void clear();

 private:
  ReadResult read_now(Source& source, AVPacket& packet, Times& times);

  std::deque<Entry> entries_;
  std::exception_ptr failure_;  // behind them
  struct Waited {
    std::int64_t video = 0;
    std::int64_t audio = 0;
  };
  Waited waited_;  // since the newest packet of each
  Times times_;
};

}  // namespace campipe
