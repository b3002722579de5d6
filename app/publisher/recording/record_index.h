// The files of one recording: lines of JSON in a file beside them, which record what was recorded when, and what may be
// deleted. Files that are not in it are never touched.
//
// A line may say what it is of, and which limits its files have (see record_about.h). Each other one is one event of
// one file, named relative to the index's folder:
//   {"event": "begin", "file": …, "start": UTC, "clock": "camera" or "arrival"}
//   {"event": "end", "file": …, "start": …, "end": …, "duration_s": …, "bytes": …, "packets": …, "reason": …,
//    "clock": …, "written": UTC, "boot": ID, "up_s": …}
//   {"event": "deleted", "file": …, "time": …, "reason": "age", "size", "space", "missing" or "empty"}
// Start and end are those of the frames, by the clock that "clock" names; "written" is this machine's, "up_s" seconds
// after its start "boot". A reason is "segment", "stream changed", "motion over", "stopped", "error", or "interrupted":
// a killed process left it open, and this was found when the index was read next (then without "packets", "boot" and
// "up_s"). "empty": nothing came into it, which may be found then, too. "found": the index had lost its lines of this
// file, which name and header show to be of this recording (without "packets", "boot" and "up_s", too). When most lines
// are of deleted files, the index is replaced by one without them.
//
// Other accounts may write into the folder (see core/files_below.h): an index that is no regular file is neither read
// nor written, lines that are too long are left out, and what is more than a recording can have had does not count.
//
// An index may have a million lines. What is recorded now is written to it at once; what stands there is read piece by
// piece, by load_some(), and needed only by files().
//
// Used by one thread. Nothing here throws: lines that cannot be written (the same disk may be full) are kept and
// written later; that they cannot is logged once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/publisher/recording/file_ages.h"
#include "app/publisher/recording/index_lines.h"
#include "app/publisher/recording/own_files.h"
#include "app/publisher/recording/record_about.h"
#include "app/publisher/recording/retention.h"
#include "core/files_below.h"
#include "core/line_reader.h"

namespace campipe {

// What counts of an index: its newest bytes, and so many files at one time.
inline constexpr std::uint64_t most_index_bytes = std::uint64_t{1} << 30U;
inline constexpr std::size_t most_index_files = 1'000'000;

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

  // A file that is being recorded.
  struct Begin {
    std::filesystem::path file;
    std::int64_t start = 0;  // UTC
    bool camera_clock = false;
  };

  // A file that has ended.
  struct Ended {
    Begin begin;
    End end;
  };

  // `left`: the file that a predecessor was recording, of those that were left open; `before`: the one that it ended
  // last. All others that were left open end here. What it could not write of these two is written now.
  // `about`: what it is of. Files that are of it, and in no line, are taken in once all has been read. `open_file`,
  // which outlives this, names the one that is being made: it is left to its line, and others that hold no frame are
  // deleted.
  explicit RecordIndex(const std::filesystem::path& path, const std::optional<Begin>& left = {},
                       const std::optional<Ended>& before = {}, std::optional<RecordAbout> about = {},
                       const OpenFile* open_file = nullptr);

  // Reads some of what stood there. True: that was the last of it.
  bool load_some();

  void begin(const Begin& file);
  // The file that was begun last. Does nothing where none is open: a predecessor may have written that of the one it
  // left.
  void end(const End& end);
  void deleted(const std::filesystem::path& file, const std::string& reason);
  // All files lie below it.
  [[nodiscard]] std::filesystem::path folder() const { return path_.parent_path(); }
  // What its lines say of it, once all has been read; nothing: nothing.
  [[nodiscard]] const std::optional<RecordAbout>& about() const { return told_; }
  void set_about(const RecordAbout& about);
  // Tries to write what could not be written.
  void write_pending() { out_.write_pending(); }
  // Puts what has been written on the disk.
  void sync() { out_.sync(); }

  // Closed ones, the one that was closed first at the front. Reads all that has not been read. `written` is by the
  // clock as it is now: now - `written` is their age, as far as that is known. A clock that jumps makes none older,
  // or only a day later.
  // At most so many.
  std::vector<RecordedFile> files(std::size_t most = SIZE_MAX);

 private:
  struct Closed {
    std::uint64_t order = 0;  // of their lines
    std::int64_t start = 0;   // UTC, of its first frame
    std::int64_t end = 0;     // of its last one, with what that lasts
    ClosingTime time;
    std::uint64_t bytes = 0;  // as RecordedFile
  };
  struct Open {
    std::int64_t start = 0;
    std::string clock;
  };
  enum class Loading : std::uint8_t { lines, files, folder, done };

  void look_for(const Begin& left);
  void touch(const std::string& name);
  void load_lines();
  void check_files();
  void search_folder();
  void take_in(const std::string& name);
  void remove_empty(const std::string& name) const;
  void sort_in();
  void finish_loading();
  void read(const std::string& text);
  void end_interrupted(const std::string& name, const Open& file);
  void rewrite();
  void append(const nlohmann::json& line);
  [[nodiscard]] std::string name_of(const std::filesystem::path& file) const;
  [[nodiscard]] LineReader newest(std::uint64_t bytes) const;
  [[nodiscard]] PathBelow below(const std::string& name) const { return {folder(), name}; }

  std::filesystem::path path_;
  IndexLines out_;
  std::map<std::string, Closed> files_;  // by name, relative to the index's folder
  std::uint64_t lines_ = 0;
  std::uint64_t next_order_;   // of files that are closed now: behind all lines
  std::optional<Begin> open_;  // being recorded
  FileAges ages_;
  std::set<std::string> touched_;  // names in our own lines, which count more than those that are read behind them
  Loading loading_ = Loading::lines;
  LineReader in_;
  std::uint64_t in_size_ = 0;          // what stood there: the rest is ours
  std::size_t damaged_ = 0;            // lines of it
  std::map<std::string, Open> begun_;  // in the lines so far, and not ended
  std::string checked_;                // the newest of files_ that is known to be there
  std::optional<RecordAbout> about_;   // what it is of, where that is known
  std::optional<RecordAbout> told_;
  std::optional<OwnFiles> own_;
  const OpenFile* open_file_;
  std::optional<std::filesystem::recursive_directory_iterator> search_;  // of the folder
  std::set<std::string> found_;  // files that were in no line, now or when the index was read before
  std::size_t taken_in_ = 0;     // of them now
};

}  // namespace campipe
