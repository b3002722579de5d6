// What the supervisor knows of one camera: its state, its rings of the current epochs, and its books.
//
// Books (docs/architecture.md): decoded = frames in frame rings + unpublished; encoded = packets in packet rings;
// what is left when nothing can be in flight has been lost, and is entered under its cause by settle().
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/config.h"
#include "app/plan.h"
#include "app/restart_policy.h"
#include "ipc/frame_ring.h"
#include "ipc/packet_ring.h"
#include "ipc/rig_page.h"

namespace campipe {

struct CameraState {
  enum class State : std::uint8_t { starting, running, ended, failed };

  struct FrameRing {
    std::uint64_t epoch = 0;
    double frame_rate = 0;
    FrameRingObserver observer;
    std::optional<unsigned> reader;  // the worker's place, once it was sent the ring
  };
  struct PacketRing {
    std::uint64_t epoch = 0;
    nlohmann::json stream;
    PacketRingObserver observer;
  };

  unsigned index = 0;
  CameraConfig config;
  Placement placement;
  std::string gpu = "cpu";  // its worker's: "0", or "cpu"
  unsigned worker = 0;
  State state = State::starting;
  std::string reason;  // of `failed`; or why its recording failed
  bool record_failed = false;
  std::string decoder;
  std::string ipc_memory = "host";  // of its newest ring
  std::string encoder;
  std::string file;  // the newest recording
  unsigned worker_restarts = 0;
  BlamePolicy blame;

  std::optional<FrameRing> frames;       // the newest
  std::uint64_t frame_epoch = 0;         // of the newest ring, of any master
  std::optional<std::int64_t> last_pts;  // of the newest frame of masters that died
  std::list<PacketRing> packets;         // those that the publisher has not finished, oldest first
  std::optional<PacketRingObserver> newest_packets;
  std::uint64_t packet_epoch = 0;
  bool unsettled = false;    // its worker died, and its ring has not been cleared yet
  bool source_over = false;  // no frame ring will come any more
  bool worker_done = false;  // no packet ring will come any more
  bool publisher_done = false;

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
};

// A consistent reading: decoded ≥ encoded + dropped; the difference is in flight.
CameraCounts count(const CameraState& camera, const CameraBlock& block);

// Enters what is neither encoded nor dropped under `cause`. Only when nothing of the camera can be in flight.
// Returns how many that were.
std::uint64_t settle(const CameraState& camera, CameraBlock& block, DropCause cause);

const char* name_of(CameraState::State state);

}  // namespace campipe
