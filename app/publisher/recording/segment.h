// One file of a recording while packets go into it: how far it is, and when it is over.
//
// Packets are collected into a fragment; commit() writes that. What has been committed survives the death of this
// process. Times are ns on the stream's time line, but for those that are called UTC.
//
// Used by the camera's thread in the publisher. Throws as its Recorder.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/control/record_state.h"
#include "core/packet.h"
#include "stages/sinks/recorder.h"

namespace campipe {

// Frames that come behind a key frame and are shown before it (an open GOP) are at most so long.
inline constexpr std::int64_t longest_leading = 1'000'000'000;
// When a file begins that follows on one whose frames end at `end`: with `key`, or with those that lead up to it.
std::int64_t begin_of_next(const PacketView& key, std::int64_t end);

class Segment {
 public:
  // How far the file is: up to the end of its newest frame.
  struct Extent {
    RecordPosition position;
    std::int64_t end = 0;
    std::int64_t end_utc = 0;  // by the clock that RecordFile::camera_clock names
  };

  // A file that `recorder` has begun, or goes on in: then `committed` says how far it is. `length`: after which the
  // next segment begins, by when frames were taken; 0: never.
  Segment(RecordFile file, std::unique_ptr<Recorder> recorder, std::chrono::nanoseconds length,
          const Extent& committed);

  [[nodiscard]] const RecordFile& file() const { return file_; }
  [[nodiscard]] const Extent& committed() const { return committed_; }
  [[nodiscard]] std::int64_t end() const { return end_; }  // with what is not committed
  [[nodiscard]] std::int64_t duration() const { return committed_.end - file_.begin; }
  [[nodiscard]] FileEnd ended() const { return ended_; }
  [[nodiscard]] bool fragment_is_empty() const { return fragment_.empty; }
  // It is to be committed before `next`: a key frame begins a fragment, unless each frame is one, for which that would
  // be wasteful; and no more than some seconds are in none, whatever the camera's key frames are.
  [[nodiscard]] bool fragment_ends_before(const PacketView& next) const;
  [[nodiscard]] std::int64_t fragment_end() const { return fragment_.end_dts; }
  // A key frame that comes now belongs to the next segment.
  [[nodiscard]] bool is_over(const PacketView& packet) const;
  // This machine's clock was set: the file is over with the next key frame, and ends as long after its start as it
  // lasts, whatever the clock shows by then. So it is where the camera sets its own, but not more often than each 10 s.
  void clock_jumped();
  // Once: by how much that was.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> take_clock_step() { return std::exchange(clock_step_, {}); }
  // It would be shown before the file begins: what it refers to is in none.
  [[nodiscard]] bool is_before(const PacketView& packet) const { return !packet.key && packet.times.pts < file_.begin; }

  // `is_new`: the packet is in no other file.
  void write(const PacketView& packet, bool is_new);
  void write_audio(const PacketView& packet, const AudioParameters& stream);
  // No packet follows. The last frame is shown until `next` comes, if there is one.
  void end_with(FileEnd why, const PacketView* next);
  // What became of the packets of a fragment, without those that another file has.
  struct Committed {
    std::uint64_t packets = 0;   // in this one
    std::uint64_t left_out = 0;  // in none: there is no frame in them
  };
  // Writes the fragment: see Recorder::flush().
  Committed commit(std::optional<std::int64_t> next_dts, std::optional<std::int64_t> file_end);
  // What end_with() added to the last frame counts, although nothing is written.
  void commit_end();
  // Writes into the header how long it is.
  void finish() { recorder_->finish(duration()); }
  void discard() { recorder_->discard(); }
  [[nodiscard]] std::function<void()> sync() const { return recorder_->sync(); }
  [[nodiscard]] std::shared_ptr<FileEnding> ending() const { return recorder_->ending(); }

 private:
  // Packets that are not in the file yet.
  struct Fragment {
    bool empty = true;
    bool begins_with_key = false;
    std::uint64_t packets = 0;
    std::uint64_t new_packets = 0;  // that are in no other file
    std::optional<std::int64_t> first_dts;
    std::int64_t end_dts = 0;  // of the newest one, with its duration
  };

  [[nodiscard]] std::int64_t clock_step_with(const PacketView& packet) const;
  void follow_camera_clock(const PacketView& packet);

  const RecordFile file_;
  std::unique_ptr<Recorder> recorder_;
  std::chrono::nanoseconds length_;
  std::int64_t boundary_ = 0;  // UTC: frames that are taken from then on belong to the next segment; 0: none do
  FileEnd ended_ = FileEnd::none;
  Extent committed_;
  Fragment fragment_;
  enum class Jump : std::uint8_t { none, of_camera, of_machine };
  void end_by_length(Jump why);

  Jump jump_ = Jump::none;  // of the clock
  std::optional<std::chrono::nanoseconds> clock_step_;
  std::optional<std::int64_t> camera_clock_;  // of the newest frame: UTC by the camera, less the time line's
  std::int64_t end_;                          // of the newest frame, like the next one
  std::int64_t end_utc_;
};

}  // namespace campipe
