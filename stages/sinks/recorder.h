// Writes one camera's packets into one file, fragmented MP4 or Matroska by the name's ending, so that whatever
// dies, the file is playable up to its last commit, and a successor can go on in the same file.
//
// A fragment is collected in memory and reaches the file in flush() with plain write calls; only what has been
// flushed counts. RecordPosition says how far that is: a successor cuts the file there and goes on, and
// packets that came after are written again from the packet ring. So no packet is in the file twice or missing.
//
// Used by one thread. Errors of the file system are thrown as Error, naming the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/packet.h"

namespace campipe {

// Plain data: lives in shared memory while the publisher does not.
struct RecordPosition {
  std::uint64_t offset = 0;     // bytes of the file that count
  std::uint64_t packets = 0;    // packets in them
  std::uint64_t fragments = 0;  // fragments (MP4) or clusters (MKV) in them
  std::int64_t last_dts = 0;    // ns, of the last packet in them
};

class Recorder {
 public:
  // Makes the file and its folders; never overwrites: where `path` is taken, "-1", "-2", … goes before the ending.
  static std::unique_ptr<Recorder> create(const std::string& path, const StreamParameters& parameters);
  // Goes on in a file that an earlier recorder (perhaps of a dead process) left at `position`.
  static std::unique_ptr<Recorder> resume(const std::string& path, const StreamParameters& parameters,
                                          const RecordPosition& position);
  virtual ~Recorder() = default;  // what was not flushed is not in the file

  [[nodiscard]] virtual const std::string& path() const = 0;  // the file as it is really called
  // Takes one packet into the open fragment (copied). Decode times that do not grow are mended by the smallest step.
  virtual void write(const PacketView& packet) = 0;
  // Bytes waiting in the open fragment.
  [[nodiscard]] virtual std::uint64_t pending_bytes() const = 0;
  // Ends the open fragment and writes it. Everything up to here is safe when it returns.
  virtual RecordPosition flush() = 0;
};

// "mp4" or "mkv" endings are what there is; false for any other.
bool can_record_to(std::string_view path);

}  // namespace campipe
