// The files of a recording, one after the other: into which one a packet goes, when the next one begins, and what its
// index and its disk get to know of that.
//
// What comes next is stored first (RecordStore): the name of a file before it is made, and that a file is over before
// its header and the index say so. A successor takes the steps that are left.
//
// Used by the camera's thread in the publisher. Throws RecordFileError where the disk may be all right later, Error
// where no waiting helps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/config/stream_config.h"
#include "app/publisher/recording/audio_feed.h"
#include "app/publisher/recording/change_limit.h"
#include "app/publisher/recording/disk_work.h"
#include "app/publisher/recording/housekeeping.h"
#include "app/publisher/recording/record_names.h"
#include "app/publisher/recording/record_pause.h"
#include "app/publisher/recording/record_store.h"
#include "app/publisher/recording/segment.h"
#include "core/clock.h"
#include "core/line_limit.h"
#include "core/packet.h"

namespace campipe {

class RecordFiles {
 public:
  struct Events {
    std::function<void(const std::string& path)> on_file;
    std::function<void(std::uint64_t unrecorded)> on_resumed;  // packets that are missing
  };
  // All outlive it.
  RecordFiles(const ResolvedOutput& config, RecordStore& store, AudioFeed& audio, RecordPause& pause,
              const RunStart& run, std::shared_ptr<Housekeeping> house, Events events);

  // Takes the lock, and begins with the index. A process that has the lock is waited for until then.
  void start(Clock::time_point wait_until = {});
  // Behind start(): goes on with the file that a predecessor has left. False: it has left none.
  bool take_over();
  // See RecordNames: a file that was begun under another fence ends with the next key frame.
  void set_fence(const std::string& fence) { names_.set_fence(fence); }
  // This machine's clock was set: the next key frame begins a file that is named by the new time.
  void clock_jumped();
  // False: there is no file that the packet could go into.
  bool write(const PacketView& packet, std::uint64_t number, const StreamParameters& stream);
  // Audio until there has no file.
  void pass_audio(std::int64_t until);
  // All that was written goes into the file.
  void flush();
  // No more goes into the file. `next`: the packet that comes next, where it is known.
  void end(FileEnd why, const PacketView* next = nullptr);
  // The file ends as it was committed; what came in later is lost.
  void drop();
  // Often. Returns what went wrong with putting the open file on the disk.
  std::optional<std::string> tick();

  [[nodiscard]] bool is_open() const { return segment_.has_value(); }
  // The newest one; empty: it could not be made, or forget_newest().
  [[nodiscard]] const std::string& newest() const { return newest_path_; }
  void forget_newest() { newest_path_.clear(); }
  [[nodiscard]] bool at_rest() const {
    return !disk_ || disk_->hangs() || (!disk_->busy() && house_->is_at_rest(names_.index()));
  }

 private:
  void start_anew();
  bool begin(const PacketView& first, const StreamParameters& stream);
  bool has_other_audio();
  void warn_of_clock_step();
  void warn_of_mirrored(const StreamParameters& stream);
  std::unique_ptr<Recorder> create(const PathBelow& path, const StreamParameters& stream, RecordFile& file);
  std::optional<AudioParameters> audio_track(const std::string& path);
  void resume_left(const PacketView& packet, const StreamParameters& stream);
  void end_left(FileEnd why);
  void announce();
  void take_audio(std::int64_t until);
  void flush_before(const PacketView& next);
  void commit(std::int64_t audio_until, std::optional<std::int64_t> next_dts,
              std::optional<std::int64_t> file_end = {});
  void close(FileEnd why, const PacketView* next);
  // `ending`: null: the file gets no index.
  void complete(const std::shared_ptr<FileEnding>& ending);
  void discard();
  // What `work` returns. Where something does not fit, old files make room for it.
  template <typename Work>
  auto with_room(const Work& work);

  const ResolvedOutput& config_;
  RecordStore& store_;
  AudioFeed& audio_;
  RecordPause& pause_;
  const Events events_;
  RecordNames names_;
  const std::shared_ptr<Housekeeping> house_;
  const Housekeeping::Claim claim_;
  std::shared_ptr<RecordLock> lock_;
  std::optional<DiskWork> disk_;    // once the lock has been taken
  std::optional<Segment> segment_;  // the open file
  bool announced_ = false;          // it is in the index
  bool may_resume_ = false;         // a predecessor has left a file to be gone on in
  std::string newest_path_;
  std::optional<AudioParameters> begun_with_;  // what the sound was then, whether it is in the file or not
  std::optional<std::int64_t> joins_at_;       // where the frames of the segment before end
  ChangeLimit changes_;
  LineLimit clock_lines_{std::chrono::minutes(10)};
  bool reported_audio_ = false;
  bool reported_mirrored_ = false;
  unsigned headless_ = 0;  // key frames in a row without the headers of their stream
};

}  // namespace campipe
