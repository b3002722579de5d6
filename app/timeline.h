// One camera's time: from the times that its source tells, which may be missing, repeated, running backwards or
// jumping, to times that strictly grow and go on over reconnections.
//
// A time that cannot follow the one before is replaced by what was due: a live source's by how much later it arrived, a
// file's by its duration; what comes after counts from there. All times in ns. Used by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace campipe {

// How a picture's time was mended.
enum class Mended : std::uint8_t { missing, repeated, backwards, jumped };
inline constexpr std::size_t mended_kinds = 4;
const char* name_of(Mended kind);

class Timeline {
 public:
  explicit Timeline(bool live) : live_(live) {}

  // The source's time `source` is the stream's time `at` from now on: where a source begins, or begins again.
  void begin(std::int64_t source, std::int64_t at);
  // The source was opened again, and its clock may be another one: the next picture follows the last one.
  void reconnect() { reconnected_ = true; }

  struct Time {
    std::int64_t pts = 0;
    std::optional<Mended> mended;
  };
  // The time of the next picture. `duration`: 0 where it is not known. `arrival`: monotonic.
  Time next(std::optional<std::int64_t> source, std::int64_t duration, std::int64_t arrival);

  // Where a time of the source lies, without mending.
  [[nodiscard]] std::int64_t map(std::int64_t source) const { return source + offset_; }
  // The same for what comes beside the pictures, as sound does. Nothing where that is not known: a reconnection is
  // open, or a live source's clock has jumped and no picture has shown it yet.
  [[nodiscard]] std::optional<std::int64_t> map_beside(std::int64_t source, std::int64_t arrival) const;
  // map() is right: no reconnection is open.
  [[nodiscard]] bool anchored() const { return anchored_ && !reconnected_; }
  // Of the newest picture; -1: there was none.
  [[nodiscard]] std::int64_t last() const { return last_; }
  // Where the next picture is expected if it comes right behind the last.
  [[nodiscard]] std::int64_t end() const;
  // As if that had been the newest picture.
  void set_last(std::int64_t pts, std::int64_t duration);

  // How much the source's clock has run ahead of (more) or behind (less) this machine's since it was connected: ns.
  [[nodiscard]] std::int64_t drift() const { return drift_; }

 private:
  [[nodiscard]] std::int64_t due(std::int64_t arrival) const;
  void watch_clock(std::int64_t source, std::int64_t arrival);

  bool live_;
  bool anchored_ = false;
  bool reconnected_ = false;
  std::int64_t offset_ = 0;
  std::int64_t last_ = -1;
  std::int64_t last_duration_ = 0;
  std::int64_t last_arrival_ = 0;

  // The shortest way from the camera to here, of the first seconds and of the last: their difference is its clock's.
  struct Window {
    std::int64_t begin = 0;
    std::int64_t shortest = 0;
  };
  std::optional<std::int64_t> first_shortest_;
  std::optional<Window> window_;
  std::int64_t drift_ = 0;
};

}  // namespace campipe
