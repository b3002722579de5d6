// One output's recording in the publisher: its files, one after the other, from the packets that it is given.
//
// A file begins with a key frame: the first one, the first at or after a boundary of this machine's wall clock
// (segment_duration), one from before a motion, the first of a stream with other parameters, or after a pause. Where no
// motion decides, the last frame of a file lasts until the first one of the next: nothing is missing in between.
//
// A file's tracks are fixed when it begins. Audio that comes, or changes, later gets its track in the next file.
//
// What has been committed survives the death of this process. That it survives a power cut, too, is taken care of on
// another thread: each file is put on the disk when it ends, and the open one every ten seconds.
//
// Each file's time begins at 0, and its header says how long it is once it has ended (see Recorder).
//
// A process may die between any two steps. So what comes next is stored first: the name of a file before it is made,
// and that a file is over before its header and the index say so. A successor takes the steps that are left.
//
// A disk that is full, a folder that is gone, files that may not be written, a stream that changes
// so often that there would be a file for each moment: the recording pauses, is tried again every
// few seconds with a new file at a key frame, and what comes meanwhile is given back unrecorded. It has
// resumed when the first fragment is in the new file. What no waiting can mend (a codec that the container does not
// hold) ends it. Packets that are in no file are counted, but for those without motion.
//
// Nobody else records under the same names (see RecordLock): where another rig does, the recording pauses likewise, and
// nothing there is touched.
//
// Used by the camera's thread in the publisher; everything that goes wrong is told by the events.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/config/config.h"
#include "app/control/record_state.h"
#include "app/publisher/recording/audio_feed.h"
#include "app/publisher/recording/disk_work.h"
#include "app/publisher/recording/motion_gate.h"
#include "core/clock.h"
#include "core/packet.h"
#include "stages/sinks/recorder.h"

namespace campipe {

// The first moment after `utc` (ns) at which the local clock shows an integer of `length` since midnight.
std::int64_t next_segment_boundary(std::int64_t utc, std::chrono::nanoseconds length);

// When a packet's frame was taken, by the clock that FrameTimes::capture_clock names.
std::int64_t capture_utc_of(const PacketView& packet);
// When it came, by this machine's clock.
std::int64_t arrival_utc_of(const PacketView& packet);

// When the rig was started, by this machine's clock as it was when this process asked, and as it is.
class RunStart {
 public:
  // Of this one.
  RunStart() : RunStart(std::chrono::nanoseconds(0)) {}
  explicit RunStart(std::chrono::nanoseconds ago) : utc_(utc_now_ns() - ago.count()), at_(now_ns() - ago.count()) {}
  // A clock that is set back, or forward, makes no file older than the rig that recorded it.
  [[nodiscard]] std::int64_t earliest_utc() const { return std::min(utc_, utc_now_ns() - (now_ns() - at_)); }

 private:
  std::int64_t utc_;
  std::int64_t at_;  // monotonic
};

class Recording {
 public:
  struct Motion {
    bool begins = false;   // or ends
    float score = 0;       // the highest so far
    std::int64_t utc = 0;  // of the frame
    std::string file;      // the newest one of the motion; empty: it could not be recorded
  };
  struct Events {
    std::function<void(const std::string& path)> on_file;
    std::function<void(const std::string& reason)> on_failed;
    std::function<void(const std::string& reason)> on_paused;
    std::function<void(std::uint64_t unrecorded)> on_resumed;  // packets that are missing
    std::function<void(const Motion& motion)> on_motion;
  };
  // `config` (which has `record`), `state` and `audio` outlive it. A process that has the lock, and is about to end, is
  // waited for, for some seconds.
  Recording(const ResolvedOutput& config, RecordState& state, AudioFeed& audio, Events events,
            const RunStart& run = {});
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // `number` counts over all rings. `stream`: of the packet's ring.
  void take(const PacketView& packet, std::uint64_t number, const StreamParameters& stream);
  // Everything taken so far goes into the file.
  void commit();
  // To be called several times a second: what the clock brings about.
  void tick();
  // Nothing more will come: ends the file.
  void finish();
  // False: files are still being put on the disk, for which finish() does not wait. A disk that does not answer is not
  // to be waited for.
  [[nodiscard]] bool at_rest() const { return !disk_ || !disk_->busy() || disk_->hangs(); }
  // Packets up to this number are in a file or will never be: they may be given back.
  [[nodiscard]] std::uint64_t safe() const { return safe_; }

 private:
  struct File {
    std::unique_ptr<Recorder> recorder;
    StreamParameters stream;
    std::optional<AudioParameters> audio;  // as it comes
    std::int64_t begin = 0;                // of the first frame, on the stream's time line
    std::int64_t begun_utc = 0;            // when that came, by this machine's clock
    std::int64_t boundary = 0;             // of that clock: when the next segment begins; 0: never
    std::int64_t start_utc = 0;            // of the first frame, by the clock that told its capture time
    bool camera_clock = false;             // that is the camera's
    bool announced = false;
    FileEnd ended = FileEnd::none;
    RecordPosition committed;
    std::int64_t committed_end = 0;  // of the newest frame in it, as `begin`
    std::int64_t committed_end_utc = 0;
    // The open fragment and its newest packet.
    bool empty = true;
    std::uint64_t packets = 0;  // that are in no other file
    std::int64_t first_dts = 0;
    std::int64_t end_dts = 0;  // with its duration, like the next two
    std::int64_t end = 0;
    std::int64_t end_utc = 0;
  };

  // recording.cpp: which packets
  void begin_work(Clock::time_point wait_until = {});
  void guarded(const std::function<void()>& action);
  void take_motion(const PacketView& packet, std::uint64_t number, const StreamParameters& stream);
  void begin_motion(const PacketView& packet, const StreamParameters& stream);
  void end_motion(const PacketView& packet);
  void record(const PacketView& packet, std::uint64_t number, const StreamParameters& stream);
  void write(const PacketView& packet, std::uint64_t number);
  void leave_out(std::uint64_t number);
  void take_audio(std::int64_t until);
  // `next`: the packet that comes next, where it is known.
  void flush(const PacketView* next = nullptr);
  void commit_fragment(std::int64_t audio_until, std::optional<std::int64_t> next_dts,
                       std::optional<std::int64_t> file_end = {});
  void retain();
  void pause(const std::string& reason);
  void fail(const std::string& reason);

  // publisher/recording/files.cpp: into which file
  bool open_file(const PacketView& packet, const StreamParameters& stream);
  void resume_file(const PacketView& packet, const StreamParameters& stream);
  bool begin_file(const PacketView& first, const StreamParameters& stream);
  void create_file(const PathBelow& path, const StreamParameters& stream);
  void store_file(const std::string& path);
  void announce_file();
  std::optional<AudioParameters> audio_track(const std::string& path);
  void close_file(FileEnd why, const PacketView* next = nullptr);
  void drop_file();
  void discard_file();
  void complete_file();
  void end_left_file(FileEnd why);
  void limit_changes();
  [[nodiscard]] PathBelow below(const std::string& path) const;
  [[nodiscard]] std::string path_at(std::int64_t utc) const;
  [[nodiscard]] bool overwrites(const std::string& path, std::int64_t utc) const;
  [[nodiscard]] bool was_other_between(std::int64_t from, std::int64_t to) const;
  [[nodiscard]] RecordProgress progress(bool open) const;
  [[nodiscard]] bool is_over(const PacketView& packet) const;

  const ResolvedOutput& config_;
  RecordState& state_;
  AudioFeed& audio_;
  Events events_;
  const RunStart run_;
  std::optional<MotionGate> motion_;
  const std::filesystem::path index_path_;
  std::shared_ptr<RecordLock> lock_;
  std::optional<DiskWork> disk_;  // once the lock has been taken

  std::optional<File> file_;                // the open one
  std::optional<StreamParameters> stream_;  // of the newest packet
  std::string newest_path_;
  std::optional<StreamParameters> file_stream_;  // of the newest file
  std::deque<Clock::time_point> changes_;        // when files began since the stream had changed
  bool may_resume_ = false;                      // a predecessor has left a file to be gone on in
  std::uint64_t number_ = 0;                     // of the newest packet taken
  std::int64_t newest_utc_ = 0;                  // when its frame was taken
  std::uint64_t safe_ = 0;
  std::uint64_t written_ = 0;   // of the newest packet that is in a file or its open fragment
  std::uint64_t recorded_ = 0;  // packets in all files
  std::uint64_t unrecorded_ = 0;
  bool paused_ = false;
  Clock::time_point retry_at_{};
  std::uint64_t missing_ = 0;  // packets since the pause
  Clock::time_point next_retention_{};
  Clock::time_point next_sync_{};
  std::string told_problem_;  // of deleting
  bool told_audio_ = false;
  bool told_headers_ = false;
};

}  // namespace campipe
