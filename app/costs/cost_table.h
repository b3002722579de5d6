// What work costs on one device, as app/calibrate measures it, and what is predicted from that: a time for each frame,
// linear in its pixels between the sizes that were measured, and in one parameter of the work that matters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/frame.h"

namespace campipe {

inline double megapixels(const FrameFormat& format) { return static_cast<double>(format.width) * format.height / 1e6; }

// Something that is done to one frame.
struct Work {
  std::string name;  // "blur", "rotate/90", "decode/h264", "encode/libx264", "copy"; see filter_work.h, codec_work.h
  double megapixels = 0;  // that its time grows with
  double parameter = 0;   // likewise: a reach, the area of a window, a ratio of sizes; 0: it has none
  double share = 1;       // of the frames; of a filter that does not look at all of them
};

struct CostPoint {
  double megapixels = 0;
  double us = 0;  // for a frame: CPU time, or time of the GPU
  friend bool operator==(const CostPoint&, const CostPoint&) = default;
};

// For one value of the parameter.
struct CostCurve {
  double parameter = 0;
  std::vector<CostPoint> points;  // at least one; their megapixels grow
  friend bool operator==(const CostCurve&, const CostCurve&) = default;
};

struct WorkCost {
  std::string work;
  std::vector<CostCurve> curves;  // at least one; their parameters grow
  bool merges = false;            // with others of this kind that it is next to: a GPU does them at once
  friend bool operator==(const WorkCost&, const WorkCost&) = default;

  // Keeps the order; of two points of the same place the lower one stays: what is measured is never too short.
  // Parameters that differ by less than a hundredth, as ratios of sizes do that are rounded, are one.
  void add(double parameter, const CostPoint& point);
};

// For whom a measurement holds: another device, driver or version may be as different as it likes.
struct CostKey {
  std::string device;   // "cpu", or a GPU's UUID
  std::string name;     // of its model
  std::string driver;   // of a GPU; of the CPU: the libraries that decode and encode
  std::string version;  // campipe's
  friend bool operator==(const CostKey&, const CostKey&) = default;
};

struct DeviceCosts {
  CostKey key;
  std::string measured;  // when, in UTC; empty: never, these are estimates (estimates.h)
  std::vector<WorkCost> work = {};
  [[nodiscard]] bool estimated() const { return measured.empty(); }
  [[nodiscard]] const WorkCost* find(std::string_view name) const;
  WorkCost& at(const std::string& name);  // which is added where there is none
  friend bool operator==(const DeviceCosts&, const DeviceCosts&) = default;
};

// µs for a frame; nothing: such work was not measured there.
std::optional<double> cost_us(const DeviceCosts& costs, const Work& work);

// Of several that are done one after the other to the same frame. `unknown` gets the names of those that nothing is
// known of, which count as nothing.
double chain_us(const DeviceCosts& costs, const std::vector<Work>& all, std::vector<std::string>* unknown = nullptr);

}  // namespace campipe
