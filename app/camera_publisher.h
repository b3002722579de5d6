// One camera in the publisher: packet rings → recording, on a thread of its own.
//
// A packet is given back to its ring when it is in the file (or when nothing is recorded), and how far the file
// is stands in the rig page. So a successor of a dead publisher goes on in the same file and finds every packet
// that is not in it; a new worker's packets go on in the same file if its stream is the same, else in a new one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/config.h"
#include "core/profile.h"
#include "ipc/packet_ring.h"
#include "ipc/rig_page.h"
#include "stages/sinks/recorder.h"

namespace campipe {

class ThreadScope;

class CameraPublisher {
 public:
  struct Ring {
    std::shared_ptr<PacketRingMemory> memory;
    std::uint64_t epoch = 0;
    StreamParameters stream;
  };
  // Called on the camera's thread.
  struct Events {
    std::function<void(std::uint64_t epoch)> on_ring_done;
    std::function<void(const std::string& path)> on_file;
    std::function<void(const std::string& reason)> on_record_failed;
    std::function<void()> on_done;
  };

  CameraPublisher(unsigned camera, CameraConfig config, const RigPage& page, const Events& events);
  ~CameraPublisher();

  // Main thread.
  void add(const Ring& ring);
  // No further ring will come: finish those that are there, then close the file.
  void finish();
  // Take what is in the rings now and close the file: the process has to leave.
  void abandon();

 private:
  void run();
  std::optional<Ring> next_ring();
  void drain(const Ring& ring);
  void take(PacketRingReader& reader, const PacketView& packet, std::uint64_t number, const Ring& ring);
  void open_file(const Ring& ring);
  void begin_file(const StreamParameters& stream);
  void commit(PacketRingReader& reader);
  void finish_fragment(PacketRingReader& reader);
  void fail(const std::string& reason);

  unsigned camera_;
  CameraConfig config_;
  ProfileName write_range_{config_.name, "write"};
  CameraBlock& block_;
  Events events_;
  ThreadScope* scope_ = nullptr;
  std::unique_ptr<Recorder> recorder_;
  std::optional<StreamParameters> file_stream_;  // of the file that is open
  std::uint64_t number_ = 0;                     // of the newest packet given to the recorder
  std::uint64_t committed_ = 0;                  // of the newest packet in a file
  std::uint64_t recorded_ = 0;                   // packets in all files of the camera
  bool need_key_ = true;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ring> rings_;
  bool finishing_ = false;
  std::atomic<bool> abandoned_{false};
  std::jthread thread_;
};

}  // namespace campipe
