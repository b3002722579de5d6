// What the supervisor knows of one camera: its state, its rings of the current epochs, and its books. Each further
// output of a camera is a camera of its own here that follows the other: it has packet rings, a place in the rig page
// and books, and shares the other's source, frame rings and worker.
//
// Books (docs/architecture.md): decoded = frames in frame rings + unpublished; encoded = packets in packet rings;
// what is left when nothing can be in flight has been lost, and is entered under its cause by settle(). What is passed
// on as it came is neither decoded nor encoded: there, both are the packets.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config/config.h"
#include "app/control/sent_stream.h"
#include "app/placement/plan.h"
#include "app/supervisor/restart_policy.h"
#include "app/supervisor/thread_watch.h"
#include "core/clock.h"
#include "ipc/frame_ring.h"
#include "ipc/packet_ring.h"
#include "ipc/rig_page.h"

namespace campipe {

struct CameraTotals;

struct CameraState {
  // waiting: its live source is away, and is opened again and again. disabled: nothing of it runs, by its
  // configuration. removed: the place is free.
  enum class State : std::uint8_t { starting, running, waiting, ended, failed, disabled, removed };

  struct FrameRing {
    std::uint64_t epoch = 0;
    double frame_rate = 0;
    FrameRingObserver observer;
    std::optional<unsigned> reader;  // the worker's place, once it was sent the ring
    int rotation = 0;                // degrees clockwise by which its pictures must be turned
    bool without_pixels = false;     // the supervisor has forgotten them
  };
  struct PacketRing {
    std::uint64_t epoch = 0;
    StreamParameters stream;
    PacketRingObserver observer;
  };
  struct AudioRing {
    std::uint64_t epoch = 0;
    AudioParameters audio;
    PacketRingObserver observer;
  };
  struct Push {
    std::string state;
    std::string reason;
  };
  struct RingsSent {
    unsigned number = 0;
    Clock::time_point newest;
  };

  unsigned index = 0;
  std::optional<unsigned> follows;  // the camera whose other output this is
  std::vector<unsigned> outputs;    // itself and those that follow it; a follower has none
  CameraConfig asked;               // as it was loaded; of a follower, its camera's
  std::optional<SentStream> sends;  // what its source was found to send, if `asked` depends on it; not of followers
  CameraConfig config;              // as it is run
  Placement placement;
  std::string gpu = "cpu";  // its worker's: "0", or "cpu"
  unsigned worker = 0;
  State state = State::starting;
  std::int64_t since = utc_now_ns();       // that it is in that state
  Clock::time_point begun = Clock::now();  // when it took its place
  std::string reason;                      // of `failed` and `waiting`; or why its recording failed
  unsigned reconnects = 0;
  bool record_failed = false;
  std::string decoder;
  std::string ipc_memory = "host";   // of its newest ring
  std::string file;                  // the newest recording
  std::string recording_paused;      // why; empty: it is not
  std::map<std::string, Push> push;  // by URL, without its password
  unsigned worker_restarts = 0;
  BlamePolicy blame;
  // Of its threads in the master, in its worker and in the publisher.
  std::array<ThreadWatch, 3> watches{ThreadWatch(thread_hangs), ThreadWatch(thread_hangs), ThreadWatch(thread_hangs)};

  std::optional<FrameRing> frames;       // the newest
  std::uint64_t frame_epoch = 0;         // of the newest ring, of any master
  std::optional<std::int64_t> last_pts;  // of the newest frame of masters that died
  std::list<PacketRing> packets;         // those that the publisher has not finished, oldest first
  std::optional<PacketRingObserver> newest_packets;
  std::uint64_t packet_epoch = 0;
  std::optional<std::int64_t> last_dts;  // of the newest packet that a master that died passed on
  std::list<AudioRing> audio;            // those that the publisher has not finished, oldest first
  std::optional<PacketRingObserver> newest_audio;
  std::uint64_t audio_epoch = 0;
  std::optional<StreamParameters> stream;  // of its newest packet ring
  bool recording_on = true;                // what was asked last; a new process of the publisher obeys it too
  bool packets_over = false;               // no packet ring will come any more
  bool publisher_done = false;
  bool unread = false;  // set aside in the publisher: nobody takes its packets any more
  // Of the rings that the worker and the publisher that run were sent: how many they may not have opened yet.
  RingsSent rings_to_worker, rings_to_publisher;
  // Not of followers:
  bool unsettled = false;                      // its worker died, and its ring has not been cleared yet
  bool source_over = false;                    // no frame ring will come any more
  bool worker_done = false;                    // the worker has no work with it any more, or never had
  bool retiring = false;                       // told to end while the rig runs on
  std::optional<CameraConfig> successor;       // what comes in its place then; none: nothing
  std::shared_ptr<const CameraTotals> before;  // what those of its name counted whose place it has taken; may be null

  void become(State next) {
    if (next != state) since = utc_now_ns();
    state = next;
  }
  [[nodiscard]] std::uint64_t frames_published() const { return frames ? frames->observer.published() : 0; }
  [[nodiscard]] std::uint64_t packets_published() const { return newest_packets ? newest_packets->published() : 0; }
};

struct CameraCounts {
  std::uint64_t decoded = 0;
  std::uint64_t encoded = 0;
  std::map<std::string, std::uint64_t> dropped;  // by cause, without zeros
  std::uint64_t dropped_total = 0;
  std::uint64_t converted = 0;
  std::uint64_t recorded = 0;
  std::uint64_t unrecorded = 0;  // should be in a file, and never will be
};

// The one that it follows, or itself.
inline unsigned source_of(const CameraState& camera) { return camera.follows.value_or(camera.index); }

// A consistent reading: decoded ≥ encoded + dropped; the difference is in flight. `camera` is one of `cameras`. What
// was counted before under its name is in it.
CameraCounts count(const std::vector<CameraState>& cameras, const CameraState& camera, const RigPage& page);

// Enters what is neither encoded nor dropped under `cause`. Only when nothing of the camera can be in flight.
// Returns how many that were.
std::uint64_t settle(const std::vector<CameraState>& cameras, const CameraState& camera, const RigPage& page,
                     DropCause cause);

// Counts packets that no publisher has dealt with as unrecorded, where they should have been recorded. Only when there
// is no publisher any more. Returns how many that were.
std::uint64_t settle_recording(const CameraState& camera, const RigPage& page);

const char* name_of(CameraState::State state);

// Some process has, or had, work with it.
inline bool takes_part(const CameraState& camera) {
  return camera.state != CameraState::State::disabled && camera.state != CameraState::State::removed;
}

}  // namespace campipe
