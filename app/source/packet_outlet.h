// A camera's packets on their way to whoever decodes them: its packet rings (PacketFeed), one after the other, each of
// the next epoch. The first is made when somebody needs frames; a larger one when a packet does not fit.
//
// Who decodes is another process, which may be away or slow. A file that is encoded waits for it. A live source does so
// only with policy `block`: else what finds no room is left out, and counted.
//
// Used by the thread that reads the camera: begin() each time that the source was opened, then video() in the order of
// reading.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "app/rings/packet_feed.h"
#include "app/source/camera_context.h"

namespace campipe {

class PacketOutlet {
 public:
  PacketOutlet(CameraContext& camera, IngestEvents::OnFeed on_ring);

  // `stream` stays until the next begin().
  void begin(const SourceStream& stream);
  // With the next packet its headers are others; or it is another one, for which a decoder begins anew.
  void change_headers();
  void change_stream();
  void video(const AVPacket& packet, const PacketNote& note);
  // The rest of what a record can be.
  void mark(RecordKind kind);
  void close();
  // What was found in the newest frame, for an output that is a copy.
  [[nodiscard]] FrameMetadata metadata(OutputId output) const;

 private:
  [[nodiscard]] bool is_needed() const;
  void open(std::size_t capacity, std::int64_t packet);
  void make_room(const AVPacket& packet);
  void wait_for_decoder();
  void leave();

  CameraContext& camera_;
  IngestEvents::OnFeed on_ring_;
  bool looks_;  // what is found in frames goes with packets that are copied
  const SourceStream* stream_ = nullptr;
  std::optional<PacketFeed> feed_;
  std::size_t largest_ = 0;  // bytes of a packet that came, with its record
  std::uint64_t epoch_;
  bool started_ = false;  // who decodes has taken the first packet, or was waited for in vain
  bool is_away_ = false;  // likewise: is not waited for until it has caught up
};

}  // namespace campipe
