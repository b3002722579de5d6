// What a rig needs beside what the machine has, and how many cameras more would fit. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/placement/rig_needs.h"

namespace campipe {

struct RigConfig;

enum class Resource : std::uint8_t {
  decode,         // the hardware's decoders of a GPU, or of all, in millions of pixels a second
  gpu_time,       // for filters, in GPUs
  cores,          // for decoding, filters and encoding
  thread,         // one thread's time: no core can do its work in time
  memory,         // of the host, bytes
  gpu_memory,     // bytes
  locked_memory,  // of the host, that GPUs use, bytes
  bus,            // between host and GPU, bytes a second
  descriptors     // of a process
};
std::string_view name_of(Resource resource);

struct ResourceUse {
  Resource resource{};
  std::string where;  // "GPU 1", "GPUs", "dock: decoding"; empty: the machine
  double needs = 0;
  double has = 0;          // that can be used: a part of all of it, since what is full is late
  bool estimated = false;  // what it needs, from costs that were not measured
  std::string parts = {};  // "decoding 3.1, filters 0.4, encoding 9.8"; empty: it has none
  [[nodiscard]] double part() const { return has > 0 ? needs / has : needs > 0 ? 1e9 : 0; }
};

// What the rig takes of everything, the most scarce first.
std::vector<ResourceUse> resource_uses(const RigNeeds& needs, const Machine& machine, const MachineCosts& costs);

// Those of which there is too little; single threads last. What is estimated may be twice as much as it is, so it
// counts half. Where all GPUs together lack what each of them lacks, they are named once.
std::vector<ResourceUse> shortages(const std::vector<ResourceUse>& uses);
// "needs 5,400 Mpx/s of decode; the machine's GPUs have 3,100"
std::string describe(const ResourceUse& use);
// Of all of them, in one line; empty: there is none.
std::string describe(const std::vector<ResourceUse>& shortages);

struct CameraRoom {
  std::string camera;
  unsigned more = 0;  // of its kind that fit besides
  // What is short with one more than these: "cores"; empty: nothing, a rig has no more than 256 cameras.
  std::string bottleneck = {};
  std::string reason = {};  // the same in a sentence
};

struct Capacity {
  std::vector<ResourceUse> uses;    // of the rig as it is
  std::vector<CameraRoom> cameras;  // in the configuration's order; none that is disabled, or whose stream is unknown
  std::vector<std::string> unknown_streams;
};

// Throws Error where the rig cannot be planned on this machine.
Capacity find_capacity(const RigConfig& rig, const Machine& machine, const MachineCosts& costs,
                       const KnownStreams& streams);

inline constexpr unsigned most_cameras = 256;  // of a rig

}  // namespace campipe
