// Which files in a folder are of one recording, by their names and by what is in them: how files are found again that
// an index has lost. A file is one's own where its header says when it was begun, and a file that is begun then has
// that name. Plain data and functions, for any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/files_below.h"

namespace campipe {

struct RecordAbout;

class OwnFiles {
 public:
  explicit OwnFiles(const RecordAbout& about);

  // Folders below the index's in which they lie.
  [[nodiscard]] int depth() const { return depth_; }
  // False: it is none, by what all of them have in their names. Cheap. `name`: relative to the index's folder.
  [[nodiscard]] bool may_be(const std::filesystem::path& name) const;
  // When it was begun, UTC, ns; nothing: it is none. Reads the file.
  [[nodiscard]] std::optional<std::int64_t> begun_at(const std::filesystem::path& name) const;

 private:
  [[nodiscard]] bool is_named(const std::string& name, std::int64_t utc) const;

  std::string path_, camera_, output_, node_;
  std::filesystem::path index_;
  std::string beginning_, ending_;  // of each name
  int depth_ = 0;
};

}  // namespace campipe
