// How far a recording is, in the rig page (ipc/rig_page.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace campipe {

// Two copies, of which `current` names the valid one, so that a death cannot tear it.
struct RecordState {
  // The file; the same as long as it is open.
  struct File {
    std::array<char, 4096> path;
    std::uint64_t stream;        // a hash of the stream's parameters
    std::uint64_t audio;         // likewise of its audio; 0: it has none
    std::int64_t begin;          // of its first frame, on the stream's time line
    std::int64_t start_utc;      // when that was taken
    std::uint32_t camera_clock;  // 1: by the camera's clock
  };
  // One that has ended, by what is in the copy of its end.
  struct Ended {
    std::uint64_t offset;
    std::uint64_t packets;
    std::int64_t end;
    std::int64_t end_utc;
    std::uint32_t ended;  // 0: there is none
    File file;
  };
  // A field for each number of app/control/record_state.h.
  struct Copy {
    std::uint64_t offset;
    std::uint64_t packets;
    std::uint64_t fragments;
    std::int64_t last_dts;
    std::uint64_t number;        // of the newest packet that is dealt with, as PacketRingReader counts
    std::uint64_t recorded;      // packets in all files of the camera
    std::uint64_t unrecorded;    // those that should be in a file and never will be
    std::uint64_t audio_epoch;   // of the ring that the newest packet of audio in the file came from
    std::uint64_t audio_number;  // of that packet
    std::int64_t end;            // of the newest frame in the file, on the stream's time line
    std::int64_t end_utc;        // likewise, by the clock
    std::int64_t last_motion;    // pts of the newest frame that moved; -1: no motion is recorded
    std::uint32_t open;          // 1: the file is to be gone on in, or to be ended
    std::uint32_t ended;         // a FileEnd: why it is over; 0: it is not
    File file;
    Ended before;  // the file before: the index may not have its end yet
  };
  std::atomic<std::uint32_t> current;  // 0: no file yet; else copy[current - 1]
  std::array<Copy, 2> copy;
  std::atomic<std::uint32_t> failed;
};

}  // namespace campipe
