// One output's recording in the publisher: its files, one after the other, from the packets that it is given.
//
// A file begins with a key frame: the first one, the first at or after a boundary of this machine's wall clock
// (segment_duration), one from before a motion, the first of a stream with other parameters, after that clock was set,
// or after a pause. Where no motion decides, the last frame of a file lasts until the first one of the next: nothing is
// missing in between.
//
// A file's tracks are fixed when it begins. Audio that comes, or changes, later gets its track in the next file.
//
// What has been committed survives the death of this process. That it survives a power cut, too, is taken care of on
// another thread: each file is put on the disk when it ends, and gets an index of its frames there (FileEnding); the
// open one is put there every seven seconds.
//
// Each file's time begins at 0, and its header says how long it is once it has ended (see Recorder).
//
// A disk that is full, a folder that is gone, files that may not be written, a stream that changes
// so often that there would be a file for each moment: the recording pauses, is tried again every
// few seconds with a new file at a key frame, and what comes meanwhile is given back unrecorded. It has
// resumed when the first fragment is in the new file. What no waiting can mend (a codec that the container does not
// hold) ends it. Packets that are in no file are counted, but for those without motion.
//
// No other process records under the same names (see RecordLock): where another rig does, the recording pauses
// likewise, and nothing there is touched.
//
// Its parts: which packets belong to a motion (MotionGate), into which file they go (RecordFiles), and what a successor
// has to know (RecordStore).
//
// Used by the camera's thread in the publisher; everything that goes wrong is reported by the events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/config/stream_config.h"
#include "app/control/record_state.h"
#include "app/publisher/recording/audio_feed.h"
#include "app/publisher/recording/motion_gate.h"
#include "app/publisher/recording/record_files.h"
#include "app/publisher/recording/record_pause.h"
#include "app/publisher/recording/record_store.h"
#include "app/publisher/recording/record_times.h"
#include "core/packet.h"

namespace campipe {

class Recording {
 public:
  struct Events {
    std::function<void(const std::string& path)> on_file;
    std::function<void(const std::string& reason)> on_failed;
    std::function<void(const std::string& reason)> on_paused;
    std::function<void(std::uint64_t unrecorded)> on_resumed;  // packets that are missing
  };
  // `config` (which has `record`), `state` and `audio` outlive it. `house`, which knows its limits, keeps them. A
  // process that has the lock, and is about to end, is waited for, for some seconds.
  Recording(const ResolvedOutput& config, RecordState& state, AudioFeed& audio, Events events,
            std::shared_ptr<Housekeeping> house, const RunStart& run = {});
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Of a node of a cluster, before the first packet and when it changes: see RecordNames.
  void set_fence(const std::string& fence) { files_.set_fence(fence); }
  void clock_jumped() { files_.clock_jumped(); }
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
  [[nodiscard]] bool at_rest() const { return files_.at_rest(); }
  // That packets go into, or that a motion which is over is in; empty: none, or it could not be made.
  [[nodiscard]] std::string newest_file() const { return motion_ || files_.is_open() ? files_.newest() : ""; }
  // Packets up to this number are in a file or will never be: they may be given back.
  [[nodiscard]] std::uint64_t safe() const { return store_.safe(); }

 private:
  void guarded(const std::function<void()>& action);
  void take_motion(const PacketView& packet, std::uint64_t number, const StreamParameters& stream);
  void begin_motion(const StreamParameters& stream);
  void record(const PacketView& packet, std::uint64_t number, const StreamParameters& stream);
  void leave_out(std::uint64_t number);
  void pause(const std::string& reason, bool waits = true);
  void fail(const std::string& reason);

  RecordState& state_;
  AudioFeed& audio_;
  const Events events_;
  std::optional<MotionGate> motion_;
  RecordStore store_;
  RecordPause pause_;
  RecordFiles files_;
  std::optional<StreamParameters> stream_;  // of the newest packet
};

}  // namespace campipe
