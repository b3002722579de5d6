// Writes one camera's packets into one file, fragmented MP4 or Matroska by the name's ending, so that whatever
// dies, the file is playable up to its last commit, and a successor can go on in the same file.
//
// A fragment is collected in memory and reaches the file in flush() with plain write calls; only what has been
// flushed counts. RecordPosition is how far that is: a successor cuts the file there and goes on, and
// packets that came after are written again from the packet ring. So no frame is in the file twice or missing.
//
// Every file begins at 0, wherever that is on the stream's time line: so players show the right position, and files
// that follow one another can be joined. When it is finished, its header holds how long it is, and it gets an index
// (stages/sinks/file_ending.h).
//
// Other accounts may write into the folders of recordings: see core/files_below.h.
//
// Used by one thread. Errors of the file system are thrown as RecordFileError, naming the file; what the container
// cannot hold as Error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/files_below.h"
#include "core/packet.h"
#include "core/unique_handle.h"

namespace campipe {

class FileEnding;

// The disk is full, the folder is gone, … It may be over any moment.
struct RecordFileError : Error {
  using Error::Error;
};
// `what` could not be done with a file; `code`: an errno.
RecordFileError record_error(const std::string& what, int code);
// Writes all of `bytes`. False: errno has the reason, and some may be written.
bool write_at(const UniqueFd& fd, std::span<const std::uint8_t> bytes, std::uint64_t offset);

// The disk, or the account's quota there, has no room, or no more files. What did not fit is kept: it is written by the
// next call, if files have been deleted meanwhile.
struct NoRoomError : RecordFileError {
  NoRoomError(const std::string& what, std::uint64_t wanted) : RecordFileError(what), bytes(wanted) {}
  std::uint64_t bytes;  // that did not fit; 0: a file
};

// The file may not become larger, on its file system or by this process's limit: what comes next goes into another one.
struct FileFullError : RecordFileError {
  using RecordFileError::RecordFileError;
};

// Plain data: lives in shared memory while the publisher does not.
struct RecordPosition {
  std::uint64_t offset = 0;     // bytes of the file that count
  std::uint64_t packets = 0;    // video packets in them
  std::uint64_t fragments = 0;  // fragments (MP4) or clusters (MKV) in them
  std::int64_t last_dts = 0;    // ns, of the last video packet in them
};

// What a file begins with.
struct RecordStart {
  std::int64_t time = 0;  // of the first frame on the stream's time line, ns: 0 in the file
  std::int64_t utc = 0;   // of that frame, ns: what the file shows as its creation time; 0: nothing
};

class Recorder {
 public:
  // Makes the file and its folders; never overwrites: where `path` is taken, "-1", "-2", … goes before the ending.
  // With `audio` it has a second track.
  static std::unique_ptr<Recorder> create(const PathBelow& path, const StreamParameters& parameters,
                                          const std::optional<AudioParameters>& audio = {},
                                          const RecordStart& start = {});
  // Goes on in a file that an earlier recorder (perhaps of a dead process) left at `position`; at the beginning of it,
  // the file need not be there. Throws Error where no frame ends at `position`. Where the file has a track of audio,
  // and none is given, it goes on without. `start`: what the file was created with.
  static std::unique_ptr<Recorder> resume(const PathBelow& path, const StreamParameters& parameters,
                                          const RecordPosition& position,
                                          const std::optional<AudioParameters>& audio = {},
                                          const RecordStart& start = {});
  virtual ~Recorder() = default;  // what was not flushed is not in the file

  [[nodiscard]] virtual const std::string& path() const = 0;  // the file as it is really called
  // Takes one packet into the open fragment (copied). Decode times that do not grow are corrected by the smallest step.
  // A damaged one, of which the container would have no frame, is left out: RecordPosition::packets is without it.
  virtual void write(const PacketView& packet) = 0;
  // Likewise of the audio track; without one it does nothing. Only its pts counts.
  virtual void write_audio(const PacketView& packet) = 0;
  // Bytes waiting in the open fragment.
  [[nodiscard]] virtual std::uint64_t pending_bytes() const = 0;
  // Ends the open fragment and writes it. Everything up to here survives this process when it returns. `next_dts`: of
  // the packet that comes next, which shows exactly how long the last one lasts; at the end of a file, when that is.
  // `file_end`: nothing lasts longer than until then.
  virtual RecordPosition flush(std::optional<std::int64_t> next_dts = std::nullopt,
                               std::optional<std::int64_t> file_end = std::nullopt) = 0;
  // Nothing more will come: writes into the header how long it is.
  virtual void finish(std::int64_t duration) = 0;
  // Deletes the file, if it is still in its place.
  virtual void discard() = 0;
  // Puts what was flushed on the disk, so that it survives a power cut. That can take seconds: to be called on another
  // thread, even when the recorder is gone. Throws RecordFileError.
  [[nodiscard]] virtual std::function<void()> sync() const = 0;
  // For that thread as well, behind finish(): the file gets its index.
  [[nodiscard]] virtual std::shared_ptr<FileEnding> ending() const = 0;
};

// What Recorder::create() would call the file now.
PathBelow unused_name(const PathBelow& path);

// Recorder::finish() for the file at `path` that another process left.
void write_duration(const PathBelow& path, std::int64_t duration);

// False: the file that a process left at `path` has no more than what files begin with. True also where that is not
// known.
bool may_hold_frames(const PathBelow& path);

// When the file at `path` was begun, UTC, ns (MP4: to the second), as it says itself; nothing: it is no recording.
std::optional<std::int64_t> recorded_at(const PathBelow& path);

// Deletes what is at `path`, if there is something. Throws RecordFileError.
void remove_recording(const PathBelow& path);

// "mp4" or "mkv" endings are what there is; false for any other.
bool can_record_to(std::string_view path);

// A file of that ending can have a track of such audio.
bool can_record_audio(std::string_view path, const AudioParameters& audio);

}  // namespace campipe
