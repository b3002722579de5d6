// One camera's source: reads it, on a thread of its own, and passes its packets on, to whoever decodes them and as they
// came.
//
// A source that ends, fails or is asked to stop closes the rings. A live source that cannot be read is opened again,
// for ever, with waits that grow: the rings stay, and time goes on by how long it was away.
//
// The parts, each with its own state; packets go one way through them:
//   SourceConnection   opens and reads the source
//   PacketClock        when a packet arrived, and where it and its frame lie on the timeline
//   PacketRouter       where it goes:
//     PacketCopies       outputs with codec `copy`, and audio: to the publisher as it came
//     PacketOutlet       to whoever decodes them
// They share CameraContext, and are used by the camera's thread alone. This class is that thread: it connects, paces
// files, begins them again, and ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/source/camera_context.h"
#include "app/source/ingest_start.h"
#include "app/source/pacer.h"
#include "app/source/packet_clock.h"
#include "app/source/packet_router.h"
#include "app/source/source_connection.h"
#include "core/retry_wait.h"

namespace campipe {

class RigPage;

// Public functions: any thread.
class Ingest {
 public:
  using Start = IngestStart;
  using Events = IngestEvents;

  Ingest(const Start& start, const RigPage& page, const Events& events);
  ~Ingest();

  // Ends the source soon.
  void stop() { camera_.stop.stop(); }
  // Whether a mosaic needs its frames.
  void show(bool shown) { camera_.shown = shown; }
  // Nothing of it is decoded any more; these of its outputs go on.
  void end_decoding(const std::vector<OutputId>& outputs) { camera_.decoding_end.set(outputs); }
  [[nodiscard]] bool over() const { return over_; }

 private:
  void run();
  void play_file();
  bool connect_file();
  void keep_connected();
  bool connect();
  [[nodiscard]] bool fits();
  void report_state(bool delivers, const std::string& reason);
  void deliver();
  void deliver_or_empty();
  bool wait_for_start();
  bool read(AVPacket& packet);
  void take(const AVPacket& packet);
  void pace(const AVPacket& packet);
  bool at_end();
  void begin_in_group();
  [[nodiscard]] std::int64_t set_of(std::int64_t time);
  std::optional<std::chrono::nanoseconds> lag_behind_group(std::int64_t set);
  void begin_next_round(bool gave);

  struct State {
    bool delivers = false;
    std::string reason;
    friend bool operator==(const State&, const State&) = default;
  };
  // Of a file that loops.
  struct Rounds {
    std::uint64_t packets = 0;  // of the video, in those so far
    int empty = 0;              // in a row
  };

  CameraContext camera_;
  const RigPage& page_;
  Events events_;
  SourceConnection source_;
  PacketClock clock_;
  PacketRouter router_;
  Pacer pacer_;
  RetryWait retry_;
  std::optional<State> reported_;
  std::string remark_;         // of the source, as it was logged last
  std::uint64_t packets_ = 0;  // of the video
  Rounds rounds_;
  std::optional<Clock::time_point> catching_up_;  // with its group, until then at the latest
  bool is_behind_ = false;                        // and was found to have to
  bool started_ = false;                          // all processes are ready
  bool at_end_ = false;                           // of a source that has one
  std::atomic<bool> over_{false};
  std::jthread thread_;
};

}  // namespace campipe
