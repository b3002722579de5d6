// Each file is some system calls, a line of the index and a fragment: a stream whose parameters change without end (a
// camera that alternates between two sizes) makes no more of them than this allows. Used by one thread.
#pragma once

#include <deque>
#include <optional>

#include "core/clock.h"
#include "core/packet.h"

namespace campipe {

class ChangeLimit {
 public:
  // A file is to begin. Throws RecordFileError where there were too many since the stream has changed.
  void check(const StreamParameters& stream);
  // It has begun.
  void begun(const StreamParameters& stream) { newest_ = stream; }

 private:
  std::optional<StreamParameters> newest_;  // of the newest file
  std::deque<Clock::time_point> changes_;   // when files were to begin since the stream had changed
};

}  // namespace campipe
