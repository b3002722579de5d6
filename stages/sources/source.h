// The contract of a source: where a camera's compressed packets come from.
//
// Life and threads: one object for each connection to a camera, used by that camera's ingest thread alone:
// open_source → stream() → read, read, … → destroy. open_source throws Error when the source cannot be opened, and
// SourceError where a live one cannot. read() blocks as long as the source needs (files: not at all, beyond the disk;
// live ones: at most `read_timeout`) and obeys `interrupt`, which it asks at least every 100 ms while it waits. Pacing,
// decoding, mending of times and recovery are not a source's work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/ffmpeg.h"
#include "core/source_stream.h"

namespace campipe {

struct SourceConfig;  // source_config.h

// `audio`: a packet of the audio stream, in its own time base.
enum class ReadResult : std::uint8_t { packet, audio, end, interrupted };

// Why a live source cannot be read, or a file that is not there now. What a user must mend (unauthorized, unsupported)
// is not worth trying often, and too many wrong passwords lock some cameras; the others may be over any moment, a path
// that a server does not know yet too.
class SourceError : public Error {
 public:
  enum class Kind : std::uint8_t { refused, unauthorized, not_found, timed_out, unsupported, lost };
  // `message` names the source without its password, and the remedy where there is one.
  SourceError(Kind why, const std::string& message) : Error(message), kind(why) {}
  Kind kind;
};
const char* name_of(SourceError::Kind kind);  // "refused", …

class Source {
 public:
  using Interrupt = std::function<bool()>;  // true: stop waiting

  virtual ~Source() = default;
  [[nodiscard]] virtual const SourceStream& stream() const = 0;
  // What it offers and cannot be had, for people; empty: nothing. It is logged once, not for each connection.
  [[nodiscard]] virtual std::string remark() const { return ""; }
  // It asks for each packet when that is due: none is waiting, and whoever looks ahead waits as long as it does.
  [[nodiscard]] virtual bool asks_for_each() const { return false; }
  // The next packet of the video stream, or of the audio stream where there is one and it is wanted, into `packet`
  // (unreferenced before). Corrupt packets have AV_PKT_FLAG_CORRUPT. Throws Error (SourceError) when reading fails.
  virtual ReadResult read(AVPacket& packet) = 0;
  // When the last of what was read last came from the network (monotonic, ns), which is before it was read where the
  // analysis of the stream had to come first; nothing: it is not known, or was then.
  [[nodiscard]] virtual std::optional<std::int64_t> received() const { return std::nullopt; }
  // Back to the first packet, for `loop`. Throws Error where the source cannot.
  virtual void rewind() = 0;
  // Goes to a key frame at or before `pts` (ns from the start), after a restart. Frames up to `pts` may come again.
  virtual void seek(std::int64_t pts) = 0;
};

// A packet of the test pattern carries the frame's number as its pts, and no data that matters.
std::unique_ptr<Source> open_source(const SourceConfig& config, const Source::Interrupt& interrupt);

// SourceKind::live
bool is_live(const std::string& url);

// When the camera took the frame, by its own clock (RTCP sender reports), in UTC nanoseconds; nothing: it does not
// say.
std::optional<std::int64_t> capture_time(const AVPacket& packet);

// The URL for people: scheme, host, port and path; a path as it is.
std::string shown_url(const std::string& url);
// Likewise, and nothing of what came from a variable.
std::string shown_url(const SourceConfig& config);

// What is wrong with a source as it is written, before anything is opened (a folder, a scheme that this version does
// not read, a bad test:// query), or nothing.
std::optional<std::string> check_source(const std::string& url);
// SourceKind::not_now
std::optional<std::string> source_not_now(const std::string& url);

}  // namespace campipe
