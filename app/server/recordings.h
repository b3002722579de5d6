// What was recorded, from the indexes beside the files (app/record_index.h), which other threads write meanwhile. Only
// what an index names is listed, and only that can be had: no other file, whatever an id or a link says. An index may
// be large: it is read when somebody asks, by that thread, and later only what has been added to it.
//
// Cameras are remembered as long as the process runs, so that recordings of one that is disabled can still be seen;
// whoever asks says which cameras there are. Thread-safe.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/config.h"
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
};

class Recordings {
 public:
  struct Query {
    std::function<bool(const std::string& camera)> wanted;
    std::string from;  // UTC, as ListedRecording::start; empty: no limit
    std::string to;
    std::size_t limit = 0;
  };

  // A camera, or an output of one ("dock/small"). It takes the place of one of that name.
  void add(const CameraConfig& config);
  // Those of which something lies between `from` and `to`, the newest first.
  [[nodiscard]] std::vector<ListedRecording> list(const Query& query);
  // Without a name: there is no such recording (any more).
  [[nodiscard]] PathBelow file(const std::string& id);
  // The camera that an id names; it may not exist.
  static std::string camera_of(const std::string& id);

 private:
  struct Stream {
    std::string camera;
    std::string output;
    std::filesystem::path index;
  };
  // What an index said so far; ListedRecording::id is the file's name only.
  struct Known {
    std::uint64_t inode = 0;  // another one: it was replaced
    std::uint64_t size = 0;   // of the whole lines that have been read
    std::map<std::string, ListedRecording> recordings;
  };
  [[nodiscard]] std::map<std::string, Stream> streams() const;
  const std::map<std::string, ListedRecording>& read(const std::filesystem::path& index);

  mutable std::mutex streams_mutex_;       // never held while a file is read
  std::map<std::string, Stream> streams_;  // by name
  std::mutex known_mutex_;
  std::map<std::filesystem::path, Known> known_;
};

// "2026-11-21T10:15:30Z", with or without parts of the second, as the index writes it; nothing: it is no such time.
std::optional<std::string> utc_of(const std::string& text);

}  // namespace campipe
