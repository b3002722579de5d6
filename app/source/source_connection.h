// One camera's connection to its source: opens and closes it, and reads packets, some of them ahead of their turn.
//
// Used by the camera's ingest thread. While it waits for the source, the thread says so in the rig page (ThreadWait)
// with the time by which the source must have answered. Reading, opening and seeking throw as Source does.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "app/source/camera_context.h"
#include "app/source/read_ahead.h"
#include "app/source/track_times.h"
#include "stages/sources/source.h"

namespace campipe {

class SourceConnection {
 public:
  explicit SourceConnection(const CameraContext& camera);

  void open();
  void close();
  // Only while it is open.
  [[nodiscard]] const SourceStream& stream() const { return source_->stream(); }
  [[nodiscard]] std::string remark() const { return source_->remark(); }
  [[nodiscard]] bool asks_for_each() const { return source_->asks_for_each(); }
  // The next packet, into `packet` (unreferenced before). Impossible times are removed, and those of a live source's
  // wrong clock corrected (TrackTimes); AVPacket::pos of each packet of the video is its number, by which the frames
  // decoded from it are known.
  ReadResult read(AVPacket& packet);
  // When the packet that was read last arrived, and how long it was waited for.
  [[nodiscard]] const ReadAhead::Times& times() const { return ahead_.times(); }
  // How often the clock of a track was found to be off by far, and its times were set anew.
  [[nodiscard]] int tracks_realigned() const { return track_times_.realigned(); }
  // Reads one more, which read() will return in its turn. Null: no packet follows.
  const ReadAhead::Entry* look();
  // How many packets were read that way and not yet taken.
  [[nodiscard]] std::size_t looked_at() const { return ahead_.size(); }
  // The first packet of the video, which stays to be read. Null: there is none among the first packets.
  const AVPacket* look_at_first_video();
  // All those, in order.
  [[nodiscard]] const std::deque<ReadAhead::Entry>& ahead() { return ahead_.entries(); }
  // Before the first read(): looks at the first packets of the video, if these have to get times from those behind
  // them.
  void date_first();
  // Likewise, once those were looked at that came before there was a wait: gives them when they arrived
  // (first_arrivals.h).
  void spread_arrivals();
  // Of a file: to its beginning, or to a key frame at or before `pts` (ns from its start).
  void rewind();
  void seek(std::int64_t pts);

 private:
  [[nodiscard]] Deadline deadline() const;

  [[nodiscard]] bool shows_arrivals() const;

  const CameraContext& camera_;
  std::unique_ptr<Source> source_;
  ReadAhead ahead_;
  TrackTimes track_times_;
  std::int64_t packets_read_;  // of the video
  std::int64_t opened_ = 0;    // since when it has been; monotonic, ns
};

}  // namespace campipe
