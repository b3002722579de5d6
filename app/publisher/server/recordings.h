// What was recorded, from the indexes beside the files (app/publisher/recording/record_index.h), which other threads
// write meanwhile. Only what an index names is listed, and only that can be had: no other file, whatever an id or a
// link holds. An index may be large: it is read on request, by the thread that asks, and later only what has been added
// to it.
//
// A disk may not answer. Then the thread that looks at it stays there; others who want something of the same index are
// soon refused, and those of other indexes do not notice.
//
// Cameras are remembered as long as the process runs, so that recordings of one that is disabled can still be seen;
// the caller passes which cameras there are. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/config/stream_config.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files_below.h"

namespace campipe {

struct ListedRecording {
  std::string id;  // "dock/main/2026-11-21/10-15-30.mp4": camera, output, and the file as the index names it
  std::string camera;
  std::string output;  // "main": the camera's own stream
  std::string start;   // UTC, as in the index: "2026-11-21T10:15:30.250Z"
  std::string end;     // empty: it is being written
  double duration_s = 0;
  std::uint64_t bytes = 0;
  std::string reason;  // why it ended
  std::string node;    // whose it is, of those that were asked for; empty: this one's
};

// Thrown where another thread has waited for a disk for long.
struct DiskSilent : Error {
  explicit DiskSilent(const std::string& of)
      : Error("the disk with the recordings of " + of + " does not answer"), camera(of) {}
  std::string camera;
};

class Recordings {
 public:
  // Told before something of a camera is looked at.
  using IsAbout = std::function<void(const std::string& camera)>;
  struct Query {
    std::function<bool(const std::string& camera)> wanted;
    std::string from;  // UTC, as ListedRecording::start; empty: no limit
    std::string to;
    std::size_t limit = 0;
    std::set<std::string> nodes{};  // other nodes of the cluster, whose recordings may lie beside this one's
  };

  // `patience`: with a disk that another thread waits for.
  explicit Recordings(std::chrono::milliseconds patience = std::chrono::seconds(5)) : patience_(patience) {}

  // A camera, or an output of one ("dock/small"). It takes the place of one of that name.
  void add(const ResolvedOutput& config);
  // Those of which something lies between `from` and `to`, the newest first. Waits for disks; throws DiskSilent.
  [[nodiscard]] std::vector<ListedRecording> list(const Query& query, const IsAbout& is_about = {});
  // Without a name: there is no such recording (any more). Likewise. `node`: of that one, in a folder that it shares.
  [[nodiscard]] PathBelow file(const std::string& id, const IsAbout& is_about = {}, const std::string& node = {});
  // The camera that an id names; it may not exist.
  static std::string camera_of(const std::string& id);

 private:
  struct Stream {
    std::string camera;
    std::string output;
    std::string record_path;
    std::filesystem::path index;
    std::string node{};  // of the cluster, whose recordings these are; empty: this one
    // The same output as recorded by node `other` in the same folder. Returns nothing where `other` is no name of a
    // node.
    [[nodiscard]] std::optional<Stream> of(const std::string& other) const;
  };
  using Names = std::map<std::string, std::shared_ptr<const ListedRecording>>;
  // What was read of an index so far; ListedRecording::id is the file's name only.
  struct Known {
    dev_t device = 0;
    std::uint64_t inode = 0;  // another one, or on another disk: it was replaced
    std::uint64_t size = 0;   // of the whole lines that have been read
    Names recordings;
  };
  // Whoever looks at its disk holds it.
  struct Index {
    std::timed_mutex mutex;
    std::atomic<Clock::time_point> held_since = Clock::time_point::max();
    Known known;
  };
  class Hold;

  [[nodiscard]] std::map<std::string, Stream> streams() const;
  [[nodiscard]] Hold hold(const Stream& stream, const IsAbout& is_about);
  static void take_line(const std::string& text, Names& recordings);
  static const Names& read(const std::filesystem::path& path, Known& known);

  const std::chrono::milliseconds patience_;
  mutable std::mutex streams_mutex_;       // never held while a file is read
  std::map<std::string, Stream> streams_;  // by name
  std::mutex indexes_mutex_;               // likewise
  std::map<std::filesystem::path, std::shared_ptr<Index>> indexes_;
};

// "2026-11-21T10:15:30Z", with or without parts of the second, as the index writes it; nothing: it is no such time.
std::optional<std::string> utc_of(const std::string& text);

}  // namespace campipe
