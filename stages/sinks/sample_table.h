// The samples of one track, as the fragments of an MP4 file say them one after the other, and the boxes that say the
// same of a whole file (ISO/IEC 14496-12, 8.6 and 8.7): the table takes 16 bytes for a frame at the most, and is a
// tenth of that where the frames are steady.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace campipe {

class SampleTable {
 public:
  struct Sample {
    std::uint32_t size = 0;
    std::int64_t dts = 0;  // ticks, as all times here
    std::uint32_t duration = 0;
    std::int32_t offset = 0;  // of the time at which it is shown
    bool sync = false;        // decoding can begin with it
  };

  // The samples that follow lie one behind the other from there on in the file.
  void begin_chunk(std::uint64_t offset);
  // False: the boxes could not say it, nor anything that follows.
  bool add(const Sample& sample);

  [[nodiscard]] bool empty() const { return sizes_.empty(); }
  [[nodiscard]] std::int64_t begin() const { return first_dts_; }
  [[nodiscard]] std::int64_t end() const { return last_dts_ + last_duration_; }
  // The last sample lasts until then, where that is later.
  void stretch_to(std::int64_t end);
  // All that a box `stbl` has beside its descriptions. Where begin() is not 0, the track needs an edit list.
  [[nodiscard]] std::vector<std::uint8_t> boxes() const;

 private:
  struct Run {
    std::uint32_t count = 0;
    std::uint32_t value = 0;
  };
  struct Chunk {
    std::uint64_t offset = 0;
    std::uint32_t samples = 0;
  };
  static void add_to(std::vector<Run>& runs, std::uint32_t value);
  static void put_runs(std::vector<std::uint8_t>& out, const std::vector<Run>& runs);
  void add_sync(bool sync);
  [[nodiscard]] std::vector<std::uint8_t> chunk_lengths() const;
  [[nodiscard]] std::vector<std::uint8_t> chunk_offsets(int size) const;

  std::vector<std::uint32_t> sizes_;
  std::vector<Run> steps_;  // from each sample to the next
  std::vector<Run> offsets_;
  bool has_offsets_ = false;
  bool has_negative_offsets_ = false;
  std::optional<std::vector<std::uint32_t>> sync_;  // numbers from 1 on; nothing: all are
  std::vector<Chunk> chunks_;
  std::int64_t first_dts_ = 0;
  std::int64_t last_dts_ = 0;
  std::int64_t last_duration_ = 0;
};

}  // namespace campipe
