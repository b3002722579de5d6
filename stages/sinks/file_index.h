// The index of a recorded file: where its frames are, so that a player opens it and seeks in it with a few reads. It is
// made from the file itself, when that has ended, by whoever is there then, and appended; nothing of the file has to be
// read then but the heads of its fragments. One small write in room that the file begins with makes it count. Until
// then the file is what it was, and plays.
//
// MP4: a box `moov` of all frames, within a box that is free until the room before the first `moov` becomes the head of
// one `mdat` over all fragments. Matroska: Cues, of the clusters that decoding can begin in; a SeekHead says where.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/unique_handle.h"
#include "stages/sinks/file_duration.h"
#include "stages/sinks/muxer_tracks.h"

namespace campipe {

// Reads a file in small pieces, mostly forwards. Throws SystemError.
class FileReader {
 public:
  // `at_once`: bytes that are read at the least.
  FileReader(int fd, std::size_t at_once) : fd_(fd), at_once_(at_once) {}
  // As far as the file goes, valid until the next call.
  std::span<const std::uint8_t> read(std::uint64_t at, std::size_t size);

 private:
  int fd_;
  std::size_t at_once_;
  std::uint64_t begin_ = 0;
  std::vector<std::uint8_t> window_;
};

class FileIndex {
 public:
  static std::unique_ptr<FileIndex> of(Container container);
  virtual ~FileIndex() = default;

  // For a reader: as much as one piece of the file mostly takes.
  [[nodiscard]] virtual std::size_t piece() const = 0;
  // Takes what lies before `end` and has not been taken yet, as far as it is whole. False: the file gets no index: it
  // has no room for one, or holds what no index could say.
  virtual bool follow(FileReader& file, std::uint64_t end) = 0;
  // The end of what has been taken.
  [[nodiscard]] virtual std::uint64_t taken() const = 0;
  // Frames have been taken, and behind them, until `end`, there is nothing, or an index that somebody began to append.
  [[nodiscard]] virtual bool is_all(FileReader& file, std::uint64_t end) = 0;
  // The file has one that counts.
  [[nodiscard]] virtual bool is_there(FileReader& file) = 0;
  // What is to be written behind what was taken. `duration`: of the file, ns; nothing: not known. Throws Error.
  virtual std::vector<std::uint8_t> make(std::optional<std::int64_t> duration) = 0;
  // What then makes it count.
  [[nodiscard]] virtual FilePatch patch() const = 0;
};

std::unique_ptr<FileIndex> index_of_matroska();

// The room for the patch. Before the header's `moov`; Matroska has some. Throws Error for bytes that are no header.
void reserve_index(Container container, std::vector<std::uint8_t>& header);

}  // namespace campipe
