#include "app/costs/cost_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace campipe {
namespace {

double between(double x, double x0, double y0, double x1, double y1) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

// The place of the first of two neighbours that `x` is between, or is nearest to. At least two.
template <typename T>
std::size_t first_of_two(std::span<const T> all, double T::*place, double x) {
  const auto above = std::ranges::upper_bound(all, x, {}, place);
  const auto at = static_cast<std::size_t>(above - all.begin());
  return std::clamp<std::size_t>(at, 1, all.size() - 1) - 1;
}

// Beyond the ends the line through the last two goes on. Small frames have costs that do not depend on their size, but
// never more than the smallest one that was measured, and large ones never less than in proportion to half of it.
double at_size(const CostCurve& curve, double megapixels) {
  const CostPoint& least = curve.points.front();
  const CostPoint& most = curve.points.back();
  if (curve.points.size() == 1) return least.us * megapixels / least.megapixels;
  const std::size_t i = first_of_two<CostPoint>(curve.points, &CostPoint::megapixels, megapixels);
  const CostPoint& a = curve.points[i];
  const CostPoint& b = curve.points[i + 1];
  const double us = between(megapixels, a.megapixels, a.us, b.megapixels, b.us);
  if (megapixels < least.megapixels) return std::clamp(us, least.us * megapixels / least.megapixels / 2, least.us);
  if (megapixels > most.megapixels) return std::max(us, most.us * megapixels / most.megapixels / 2);
  return us;
}

// Beyond the ends as at the ends.
double at_parameter(const WorkCost& cost, const Work& work) {
  if (cost.curves.size() == 1) return at_size(cost.curves.front(), work.megapixels);
  const double parameter = std::clamp(work.parameter, cost.curves.front().parameter, cost.curves.back().parameter);
  const std::size_t i = first_of_two<CostCurve>(cost.curves, &CostCurve::parameter, parameter);
  const CostCurve& a = cost.curves[i];
  const CostCurve& b = cost.curves[i + 1];
  return between(parameter, a.parameter, at_size(a, work.megapixels), b.parameter, at_size(b, work.megapixels));
}

// The place of `value`, where a new one is put if there is none.
template <typename T>
T& place_for(std::vector<T>& all, double T::*key, double value) {
  auto found = std::ranges::lower_bound(all, value, {}, key);
  if (found == all.end() || (*found).*key != value) {
    found = all.insert(found, T{});
    (*found).*key = value;
  }
  return *found;
}

}  // namespace

void WorkCost::add(double parameter, const CostPoint& point) {
  const auto near = std::ranges::find_if(
      curves, [&](const CostCurve& curve) { return std::abs(curve.parameter - parameter) < 0.01 * parameter; });
  CostCurve& curve = near != curves.end() ? *near : place_for(curves, &CostCurve::parameter, parameter);
  CostPoint& place = place_for(curve.points, &CostPoint::megapixels, point.megapixels);
  place.us = place.us > 0 ? std::min(place.us, point.us) : point.us;
}

const WorkCost* DeviceCosts::find(std::string_view name) const {
  const auto found = std::ranges::find(work, name, &WorkCost::work);
  return found == work.end() ? nullptr : &*found;
}

WorkCost& DeviceCosts::at(const std::string& name) {
  const auto found = std::ranges::find(work, name, &WorkCost::work);
  if (found != work.end()) return *found;
  work.push_back({name, {}, false});
  return work.back();
}

std::optional<double> cost_us(const DeviceCosts& costs, const Work& work) {
  const WorkCost* const cost = costs.find(work.name);
  if (cost == nullptr || cost->curves.empty()) return std::nullopt;
  return work.share * at_parameter(*cost, work);
}

double chain_us(const DeviceCosts& costs, const std::vector<Work>& all, std::vector<std::string>* unknown) {
  double sum = 0;
  double merged = 0;  // of those so far that are done at once: as long as the longest
  for (const Work& work : all) {
    const auto us = cost_us(costs, work);
    if (!us) {
      if (unknown != nullptr) unknown->push_back(work.name);
      continue;
    }
    const bool merges = costs.find(work.name)->merges;
    if (!merges) {
      sum += merged + *us;
      merged = 0;
    } else {
      merged = std::max(merged, *us);
    }
  }
  return sum + merged;
}

}  // namespace campipe
