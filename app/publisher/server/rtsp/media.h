// What gst-rtsp-server makes when a reader asks for a stream: one media for all its readers, with a pipeline of its own
// that a feed fills.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/config/server_config.h"
#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/rtsp/gst_handles.h"
#include "app/publisher/server/rtsp/readers.h"

namespace campipe {

// The readers of all medias that there are. Thread-safe.
class RtspMedias {
 public:
  void add(const std::shared_ptr<RtspReaders>& readers);
  [[nodiscard]] std::vector<std::shared_ptr<RtspReaders>> all() const;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::weak_ptr<RtspReaders>> medias_;
};

// Streams of which nothing came out as RTP, though they seemed to have a form: each try holds up all requests for some
// seconds, so that for a minute there is no other. Thread-safe.
class RtspUnfit {
 public:
  void add(std::weak_ptr<const LiveHeader> header);
  [[nodiscard]] bool has(const std::shared_ptr<const LiveHeader>& header) const;

 private:
  struct Entry {
    std::weak_ptr<const LiveHeader> header;
    Clock::time_point until;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

// Logs why streams are refused: once, as they may be asked for again and again. Thread-safe.
class RtspRefusals {
 public:
  void log(const std::string& stream, const std::string& why);
  void forget(const std::string& stream);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> logged_;  // the newest reason of each stream
};

class RtspRelays;

// What factories need to know. It outlives them.
struct RtspMediaContext {
  RigView& rig;
  RtspMedias medias;
  RtspUnfit unfit;
  // The readers are to be sent away, as their media is at an end. Any thread.
  std::function<void(std::shared_ptr<RtspReaders>)> dismiss;
  bool encrypted = false;  // readers get nothing that is not
  RtspTimestamps timestamps = RtspTimestamps::off;
  RtspRelays* relays = nullptr;  // to the cameras of other nodes; null: of no cluster
  RtspRefusals refusals = {};
};

// Whether RTSP can carry what is known of that stream, or nothing came yet. What it cannot is logged.
bool has_rtsp_form(const LiveStream& stream, const std::string& name, RtspMediaContext& context);

// For `stream`, which may come and go in the rig.
GObjectPtr<GstRTSPMediaFactory> make_rtsp_factory(const std::string& stream, RtspMediaContext& context);
// Null: it is none of ours, or is being taken apart.
std::shared_ptr<RtspReaders> readers_of(GstRTSPMedia* media);

// The elements of GStreamer that are needed and not there, and what to install; empty: all are there.
std::string missing_rtsp_elements();

}  // namespace campipe
