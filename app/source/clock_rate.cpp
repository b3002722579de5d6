#include "app/source/clock_rate.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace campipe {
namespace {

constexpr std::int64_t at_once = 10'000'000;  // ns between packets, of which the one with the shortest lag counts
constexpr std::int64_t longest_kept = ClockRate::longest_span + 2'000'000'000;
constexpr std::size_t most_kept_for_few = 8;              // packets of a slow camera,
constexpr std::int64_t longest_for_few = 60'000'000'000;  // and for how long
constexpr double close = 80e6;                            // ns over the line; more by a part of what the line rises
constexpr double close_part = 1.0 / 8;
constexpr double nearly_all = 0.85;
constexpr double longest_gap = 0.4;  // of the time
constexpr std::int64_t drained_part = 5;
constexpr double noise_of_ten = 8;  // that ten packets show, in medians of what lies over the line

struct Point {
  double at = 0;   // ns since the first
  double lag = 0;  // ns more than the first one's
};

// Whether `b` lies on or over the line from `a` to `c`.
bool is_over(const Point& a, const Point& b, const Point& c) {
  return (b.lag - a.lag) * (c.at - a.at) >= (c.lag - a.lag) * (b.at - a.at);
}

// The edge of the lower hull over the middle of the time. At least two points, in the order of their times.
std::pair<Point, Point> edge_below(const std::vector<Point>& points) {
  std::vector<Point> hull;
  for (const Point& point : points) {
    while (hull.size() >= 2 && is_over(hull[hull.size() - 2], hull.back(), point)) hull.pop_back();
    hull.push_back(point);
  }
  const double middle = (points.front().at + points.back().at) / 2;
  std::size_t end = 1;
  while (end + 1 < hull.size() && hull[end].at < middle) ++end;
  return {hull[end - 1], hull[end]};
}

}  // namespace

void ClockRate::add(std::int64_t source, std::int64_t arrival, std::int64_t waited) {
  Packet packet{source, arrival, waited};
  if (!packets_.empty() && arrival - packets_.back().arrival < at_once) {
    Packet& last = packets_.back();
    packet.waited += last.waited;
    packet.count += last.count;
    if (packet.lag() > last.lag()) {
      packet.source = last.source;
      packet.arrival = last.arrival;
    }
    last = packet;
  } else {
    packets_.push_back(packet);
  }
  const auto is_old = [&] {
    const std::int64_t age = arrival - packets_.front().arrival;
    return age > longest_for_few || (age > longest_kept && packets_.size() > most_kept_for_few);
  };
  while (is_old()) packets_.pop_front();
}

ClockRate::Estimate ClockRate::estimate(std::int64_t span) const {
  Estimate estimate;
  if (packets_.size() < fewest_packets) return estimate;
  auto first = std::ranges::upper_bound(packets_, packets_.back().arrival - span, {}, &Packet::arrival);
  if (first != packets_.begin()) --first;
  first = std::min(first, packets_.end() - fewest_packets);
  std::int64_t waited = 0;
  std::vector<Point> points;
  for (auto packet = first; packet != packets_.end(); ++packet) {
    points.push_back({static_cast<double>(packet->arrival - first->arrival),
                      static_cast<double>(packet->lag()) - static_cast<double>(first->lag())});
    if (packet != first) waited += packet->waited;
  }
  estimate.span = packets_.back().arrival - first->arrival;
  if (estimate.span <= 0) return {};
  estimate.drained = waited * drained_part >= estimate.span;
  const auto [a, b] = edge_below(points);
  const double growth = (b.lag - a.lag) / (b.at - a.at);
  estimate.rate = 1 - growth;
  const double rise = std::abs(growth) * static_cast<double>(estimate.span);
  std::vector<double> over;
  double gap = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    over.push_back(points[i].lag - (a.lag + growth * (points[i].at - a.at)));
    if (i > 0) gap = std::max(gap, points[i].at - points[i - 1].at);
  }
  const auto is_close = [&](double distance) { return distance <= close + close_part * rise; };
  const auto close_ones = static_cast<double>(std::ranges::count_if(over, is_close));
  const auto count = static_cast<double>(over.size());
  estimate.straight = close_ones >= nearly_all * count && gap <= longest_gap * static_cast<double>(estimate.span);
  estimate.newest_over = std::llround(over.back());
  const auto median = over.begin() + std::ssize(over) / 2;
  std::ranges::nth_element(over, median);
  estimate.noise = noise_of_ten * *median / std::sqrt(count / 10);
  return estimate;
}

std::int64_t ClockRate::shortest_lag() const { return std::ranges::min(packets_, {}, &Packet::lag).lag(); }

std::int64_t ClockRate::usual_step() const {
  if (packets_.size() < fewest_packets) return 0;
  std::int64_t count = 0;
  for (const Packet& packet : packets_) count += packet.count;
  return (packets_.back().arrival - packets_.front().arrival) / (count - packets_.front().count);
}

}  // namespace campipe
