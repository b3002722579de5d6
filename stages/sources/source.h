// The contract of a source: where a camera's compressed packets come from.
//
// Life and threads: one object per camera, used by that camera's ingest thread alone:
// open_source → stream() → read, read, … → destroy. open_source throws Error when the source cannot be opened.
// read() blocks as long as the source needs (files: not at all, beyond the disk) and obeys `interrupt`, which it
// asks at least every 100 ms while it waits. Pacing, decoding and recovery are not a source's work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/ffmpeg.h"
#include "core/source_stream.h"

namespace campipe {

enum class Pace : std::uint8_t { realtime, fast };

struct SourceConfig {
  std::string url;    // a file's path, or test://pattern?width=…&height=…&rate=…&frames=…
  bool loop = false;  // at the end, begin again; time goes on
  Pace pace = Pace::realtime;
  friend bool operator==(const SourceConfig&, const SourceConfig&) = default;
};

enum class ReadResult : std::uint8_t { packet, end, interrupted };

class Source {
 public:
  using Interrupt = std::function<bool()>;  // true: stop waiting

  virtual ~Source() = default;
  [[nodiscard]] virtual const SourceStream& stream() const = 0;
  // The next packet of the video stream, into `packet` (unreferenced before). Throws Error when reading fails.
  virtual ReadResult read(AVPacket& packet) = 0;
  // Back to the first packet, for `loop`. Throws Error where the source cannot.
  virtual void rewind() = 0;
  // Goes to a key frame at or before `pts` (ns from the start), after a restart. Frames up to `pts` may come again.
  virtual void seek(std::int64_t pts) = 0;
};

// A packet of the test pattern carries the frame's number as its pts, and no data that matters.
std::unique_ptr<Source> open_source(const SourceConfig& config, const Source::Interrupt& interrupt);

// What is wrong with a source as it is written, before anything is opened (a file that is not there, a scheme
// that this version does not read, a bad test:// query), or nothing.
std::optional<std::string> check_source(const std::string& url);

}  // namespace campipe
