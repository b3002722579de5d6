// Decodes what cameras sent, for snapshots, in a process of its own that lives as long as that takes: the publisher,
// which asks for it, holds users' hashes and the TLS key, and a decoder that a stranger has taken over would hold them
// too.
//
// The child is this program as `campipe decode-snapshot`, without the environment. It gets one message on its standard
// input and gives one answer on its standard output; it can open nothing and connect to nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "app/publisher/server/live/stream.h"
#include "core/unique_handle.h"

namespace campipe {

// Ends waits for decoders.
class DecodingStop {
 public:
  DecodingStop();
  // Any thread. From now on nothing is decoded.
  void close();
  // Becomes readable then.
  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
};

struct DecodedSnapshot {
  std::vector<std::uint8_t> jpeg;
  std::size_t packet = 0;  // of the group: the one that holds the frame
};

// The newest frame of the group that can be decoded, as a JPEG file. At most two are made at once; a request waits for
// that, a few seconds. Throws Error where none can be, it takes too long, or is stopped.
DecodedSnapshot decode_apart(const std::vector<LivePiece>& group, const DecodingStop& stop = {});

inline constexpr const char* snapshot_role = "decode-snapshot";
// The whole life of the child: its exit status.
int run_snapshot_child();

// The first byte of the child's answer. Behind it: the frame's packet in the group (4 bytes, the highest first), and
// the file; what went wrong.
inline constexpr std::uint8_t snapshot_made = 'J';
inline constexpr std::size_t snapshot_head = 5;
inline constexpr std::uint8_t snapshot_failed = 'E';

}  // namespace campipe
