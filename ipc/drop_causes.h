// Why a frame that was decoded did not become a packet: the one table of causes. Counters, report, status, metrics,
// page and commands take them from here; docs/architecture.md has a row for each.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "ipc/drop_counters.h"

namespace campipe {

enum class DropCause : std::uint8_t {
  queue_full,
  worker_lost,
  master_lost,
  decoder_slow,
  filter_failed,
  encoder_failed,
  publisher_slow,
  stopped,
  no_gpu_memory,
  part_missing,
  link_lost,
  corrupt,
  late,
  set_incomplete,
  out_of_step,
  shed,
  undecodable,
  rate,
  unwatched,
};

struct DropCauseInfo {
  DropCause cause;
  const char* name;
  bool intentional = false;  // the configuration asks for it: no loss
};

// In the order of the enumeration.
inline constexpr std::array drop_cause_table{
    DropCauseInfo{DropCause::queue_full, "queue_full"},    // the worker was too slow, and the camera's policy is `drop`
    DropCauseInfo{DropCause::worker_lost, "worker_lost"},  // its worker died or was away
    DropCauseInfo{DropCause::master_lost, "master_lost"},  // the master died between decoding and handing over
    DropCauseInfo{DropCause::decoder_slow, "decoder_slow"},    // its packets were not taken in time
    DropCauseInfo{DropCause::filter_failed, "filter_failed"},  // a filter or the encoder reported an error
    DropCauseInfo{DropCause::encoder_failed, "encoder_failed"},
    DropCauseInfo{DropCause::publisher_slow, "publisher_slow"},  // the publisher did not take packets in time
    DropCauseInfo{DropCause::stopped, "stopped"},                // in flight when the rig was stopped at once
    DropCauseInfo{DropCause::no_gpu_memory, "no_gpu_memory"},    // the worker's GPU had no room for the frames
    DropCauseInfo{DropCause::part_missing, "part_missing"},      // the part that one of its tiles makes did not come
    DropCauseInfo{DropCause::link_lost, "link_lost"},            // on its way to another machine, or there, or back
    DropCauseInfo{DropCause::corrupt, "corrupt"},                // parts of it were missing, and `on_corrupt` is `skip`
    DropCauseInfo{DropCause::late, "late"},                      // its set was decided, and encoded, without it
    DropCauseInfo{DropCause::set_incomplete, "set_incomplete"},  // its set lacks a frame, and `on_missing` is `drop`
    DropCauseInfo{DropCause::out_of_step, "out_of_step"},        // its time is too far from that of its group
    DropCauseInfo{DropCause::shed, "shed"},                      // it gave way to cameras of a higher `priority`
    DropCauseInfo{DropCause::undecodable, "undecodable"},        // of a copy: what it refers to was never passed on
    DropCauseInfo{DropCause::rate, "rate", true},                // the output takes fewer frames a second (`rate`)
    DropCauseInfo{DropCause::unwatched, "unwatched", true},      // encoded only while it has viewers
};
inline constexpr std::size_t drop_causes = drop_cause_table.size();
static_assert(drop_causes <= max_drop_causes);
static_assert(std::ranges::all_of(drop_cause_table, [](const DropCauseInfo& info) {
  return &info == &drop_cause_table[static_cast<std::size_t>(info.cause)];
}));

constexpr const char* name_of(DropCause cause) { return drop_cause_table[static_cast<std::size_t>(cause)].name; }

// By the cause's name.
constexpr bool is_intentional_drop(std::string_view name) {
  return std::ranges::any_of(drop_cause_table,
                             [&](const DropCauseInfo& info) { return info.name == name && info.intentional; });
}

}  // namespace campipe
