// The files of one recording: lines of JSON in a file beside them, which say what was recorded when, and what may be
// deleted. Files that are not in it are never touched.
//
// Each line is one event of one file, named relative to the index's folder:
//   {"event": "begin", "file": …, "start": UTC, "clock": "camera" or "arrival"}
//   {"event": "end", "file": …, "start": …, "end": …, "duration_s": …, "bytes": …, "packets": …, "reason": …,
//    "clock": …, "written": UTC}
//   {"event": "deleted", "file": …, "time": …, "reason": "age", "size", "missing" or "empty"}
// Start and end are those of the pictures, by the clock that "clock" names; "written" is this machine's. A reason is
// "segment", "stream changed", "motion over", "stopped", "error", or "interrupted": a killed process left it open, and
// this was found when the index was opened next (then without "packets"). "empty": nothing came into it. When most
// lines are of deleted files, the index is replaced by one without them.
//
// Used by one thread. Nothing here throws: lines that cannot be written (the same disk may be full) are kept and
// written later; that they cannot is told once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/retention.h"

namespace campipe {

// Where the index of a recording lies: in the folder of its path up to the first part with a time field; for camera
// `dock` dock.index.jsonl, for its output `small` dock.small.index.jsonl.
std::filesystem::path record_index_path(const std::string& record_path, const std::string& camera,
                                        const std::string& output);

class RecordIndex {
 public:
  // How a file ended.
  struct End {
    std::int64_t utc = 0;
    std::int64_t duration = 0;  // ns
    std::uint64_t bytes = 0;
    std::uint64_t packets = 0;
    std::string reason;
  };

  // `open_file`: the one that is gone on in, of those that were left open; the others end here. Empty: none.
  RecordIndex(const std::filesystem::path& path, const std::filesystem::path& open_file);

  void begin(const std::filesystem::path& file, std::int64_t start, bool camera_clock);
  // The file that was begun last. Does nothing where none is open.
  void end(const End& end);
  void deleted(const std::filesystem::path& file, const std::string& reason);
  // Tries to write what could not be written.
  void write_pending();

  [[nodiscard]] std::vector<RecordedFile> files() const;  // closed ones, the one that was closed first at the front

 private:
  struct Open {
    std::filesystem::path path;
    std::int64_t start = 0;
    std::string clock;
  };
  void load(const std::filesystem::path& open_file);
  void read(const std::string& text, std::vector<Open>& open);
  void end_interrupted(const Open& file);
  void rewrite();
  void append(const nlohmann::json& line);
  [[nodiscard]] std::string name_of(const std::filesystem::path& file) const;

  std::filesystem::path path_;
  std::map<std::filesystem::path, std::pair<std::uint64_t, RecordedFile>> files_;  // with the order of their lines
  std::uint64_t lines_ = 0;
  std::optional<Open> open_;
  std::string pending_;   // whole lines
  bool cut_off_ = false;  // the file's last line has no end
  bool told_ = false;
};

// "2026-11-21T10:15:30.250Z"
std::string utc_text(std::int64_t utc_ns);
// Of such a text, with or without parts of the second, ns; nothing: it is no such time, or not of the years 1970 to
// 2261.
std::optional<std::int64_t> utc_from_text(const std::string& text);

}  // namespace campipe
