// What a camera's ingest is started with, and what it reports.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config/camera_config.h"
#include "app/control/known_stream.h"
#include "app/control/sent_stream.h"
#include "app/rings/copy_target.h"
#include "app/rings/packet_feed.h"
#include "ipc/packet_ring.h"
#include "stages/sources/source.h"

namespace campipe {

class GroupClock;

struct IngestStart {
  CameraId camera;
  CameraConfig config;
  std::uint64_t epoch = 1;             // of the first ring of packets to be decoded
  std::int64_t packet = 0;             // the number of its first packet
  std::optional<std::int64_t> resume;  // until then frames have come of a process before this one
  std::int64_t set_move = 0;           // SetHealth::move, of a file of a group
  bool decode = true;                  // some output needs frames, whether or not it is watched
  bool on_demand = false;              // else: some output needs them while it has viewers
  bool shown = false;                  // else: a mosaic needs them
  bool undecided = false;              // this configuration is valid only if the source sends what fits()
  std::vector<CopyTarget> copies;      // outputs that take the packets unchanged
  std::vector<CopyTarget> audio;       // recordings
  std::shared_ptr<GroupClock> group;   // that of config.group
  std::function<decltype(campipe::open_source)> open_source = campipe::open_source;
};

// Called on the camera's ingest thread.
struct IngestEvents {
  // Packets to be decoded come in this ring, after all before it.
  using OnFeed = std::function<void(const FeedStart& feed, const PacketRingMemory& ring)>;
  OnFeed on_feed;
  // `failure`: empty if it ended as it should. `at_end`: the source has an end, and it was reached.
  std::function<void(const std::string& failure, bool at_end)> on_over;
  // A live source: delivers, or is away for this reason.
  std::function<void(bool delivers, const std::string& reason)> on_state = [](bool, const std::string&) {};
  // Of one that is undecided, what its source sends, each time that it was opened. If that does not play everywhere,
  // nothing is passed on until stop().
  std::function<void(const SentStream& sends)> on_stream = [](const SentStream&) {};
  // What the source sends, each time that it was opened.
  std::function<void(const KnownStream& stream)> on_opened = [](const KnownStream&) {};
  std::function<void(OutputId output, std::uint64_t epoch, const PacketRingMemory& ring, const StreamParameters&)>
      on_copy = [](OutputId, std::uint64_t, const PacketRingMemory&, const StreamParameters&) {};
  std::function<void(OutputId output, std::uint64_t epoch, const PacketRingMemory& ring, const AudioParameters&)>
      on_audio = [](OutputId, std::uint64_t, const PacketRingMemory&, const AudioParameters&) {};
};

}  // namespace campipe
