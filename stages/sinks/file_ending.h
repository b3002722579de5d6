// What is left to be done with a recorded file that has ended, or may end: on a thread that may wait for its disk, one
// thing after the other. The file's folder may be another account's (core/files_below.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/files_below.h"
#include "core/unique_handle.h"
#include "stages/sinks/file_index.h"

namespace campipe {

// Lives as long as the file is written, or put on the disk.
struct RecordedFileHandle {
  PathBelow path;
  std::string name;  // the whole path
  UniqueFd fd;
};

class FileEnding {
 public:
  FileEnding(std::shared_ptr<const RecordedFileHandle> file, Container container);

  // Puts the first `end` bytes on the disk, so that they survive a power cut, and reads of them what the index needs,
  // while they are still in memory. Throws RecordFileError.
  void sync(std::uint64_t end);
  // The file has ended with its first `end` bytes; nothing: with what is whole of it. Appends the index, where there
  // can be one. Returns the bytes of the file. `duration`: ns; nothing: not known. Throws RecordFileError, and then the
  // file is as it was.
  std::uint64_t add_index(std::optional<std::uint64_t> end, std::optional<std::int64_t> duration);
  // Likewise; without an index where that is impossible, which is logged.
  std::uint64_t try_to_add_index(std::uint64_t end, std::optional<std::int64_t> duration);
  // Puts the file on the disk, and then makes its index count. Throws RecordFileError.
  void complete();

 private:
  void put_on_disk() const;
  void append(const std::vector<std::uint8_t>& index, std::uint64_t end) const;
  [[nodiscard]] std::uint64_t size() const;

  std::shared_ptr<const RecordedFileHandle> file_;
  std::unique_ptr<FileIndex> index_;
  std::optional<FilePatch> patch_;  // of an index that was appended
};

// Of a file that another process left; null: there is none that can be opened.
std::shared_ptr<FileEnding> ending_of(const PathBelow& path);

}  // namespace campipe
