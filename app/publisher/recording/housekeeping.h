// The limits of all recordings that this process knows, whether they record or not: a housekeeper for each file system,
// on a thread of its own. A disk that does not answer holds up its own housekeeper and nobody else.
//
// Recordings are known by their index. One stays known, with the limits that it had last, when its camera is disabled,
// changed or removed.
//
// Any thread, unless stated otherwise. Threads that wait for a disk are left behind at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "app/config/stream_config.h"
#include "core/clock.h"

namespace campipe {

class RecordArchive;

class Housekeeping {
 public:
  Housekeeping();
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

  // Sets the limits of an output's recordings. They hold from now on, whether the output records or not. Does nothing
  // where `config` has no `record`.
  void keep(const ResolvedOutput& config);
  // Several times a second, on a thread that works for no camera: starts the threads, and looks for the disks of
  // recordings that do not record.
  void tick();

  // The index is a recording's: the housekeeper leaves it alone, but for what enter() gives it. For as long as it
  // lives.
  class Claim {
   public:
    Claim(std::shared_ptr<Housekeeping> house, std::filesystem::path index);
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    const std::shared_ptr<Housekeeping> house_;
    const std::filesystem::path index_;
  };
  // Something is recorded there, as long as it lives. Waits for the disk.
  void enter(const std::shared_ptr<RecordArchive>& archive);
  // A file has come into the index: its limits are looked at soon.
  void file_ended(const std::filesystem::path& index);
  // False: the limits have not been looked at since a file ended. `index` is known, by keep() or a Claim.
  [[nodiscard]] bool is_at_rest(const std::filesystem::path& index) const;
  // Something did not fit on the disk, `bytes` or one more file: the oldest files there go. Waits until that has been
  // done. False: none can go, or not until then.
  bool make_room(const std::filesystem::path& index, std::uint64_t bytes, Deadline deadline);

 private:
  struct State;
  const std::shared_ptr<State> state_;  // the threads have a part in it
};

}  // namespace campipe
