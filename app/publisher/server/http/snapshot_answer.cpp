#include "app/publisher/server/http/snapshot_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "app/config/units.h"
#include "app/publisher/server/http/files.h"
#include "app/publisher/server/live/shown_times.h"
#include "core/error.h"
#include "core/frame_age.h"
#include "core/nanoseconds.h"

namespace campipe {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds least_max_age = std::chrono::seconds(10);

struct Wish {
  std::optional<nanoseconds> max_age;
  bool stale = false;
};

// Throws Error.
Wish wish_of(const std::map<std::string, std::string>& query) {
  Wish wish;
  if (const auto age = query.find("max_age"); age != query.end()) {
    wish.max_age = parse_time(age->second);
    if (!wish.max_age || *wish.max_age < nanoseconds(0)) throw Error("max_age: expected a time such as 500ms or 10s");
  }
  if (const auto stale = query.find("stale"); stale != query.end()) {
    wish.stale = stale->second == "true";
    if (!wish.stale && stale->second != "false") throw Error("stale: expected true or false");
  }
  return wish;
}

// A camera that sends a frame a minute is there as well.
nanoseconds usual_max_age(const LiveStream& stream, const FrameTimes& newest) {
  const auto parameters = stream.parameters();
  const double rate = parameters ? parameters->frame_rate : 0;
  const nanoseconds announced(rate > 0 ? static_cast<std::int64_t>(1e9 / rate) : 0);
  return std::max(least_max_age, 3 * std::max(announced, nanoseconds(newest.duration)));
}

// "waiting: connection refused"
std::string state_of(const RigView& rig, const std::string& camera) {
  const auto status = rig.status();
  const auto cameras = status->find("cameras");
  if (cameras == status->end() || !cameras->contains(camera)) return "unknown";
  const nlohmann::json& one = (*cameras)[camera];
  const std::string reason = one.value("reason", "");
  return one.value("state", "unknown") + (reason.empty() ? "" : ": " + reason);
}

void add_times(HttpAnswer& answer, const ShownTimes& times) {
  answer.headers.insert(answer.headers.end(), {{"X-Capture-UTC", times.capture_utc},
                                               {"X-Capture-Clock", times.capture_clock},
                                               {"X-Frame-Age", fmt::format("{:.3f}", times.age_s)}});
}

HttpAnswer too_old(const FrameTimes& newest, nanoseconds max_age, const std::string& state) {
  const ShownTimes times(newest);
  HttpAnswer answer = http_error(
      503, fmt::format("the newest frame is {:.1f} s old, and at most {:.1f} s are wanted (max_age); the camera is {}; "
                       "stale=true has that frame sent",
                       times.age_s, std::chrono::duration<double>(max_age).count(), state));
  add_times(answer, times);
  return answer;
}

}  // namespace

HttpAnswer snapshot_answer(HttpSnapshots& snapshots, const RigView& rig, const SnapshotPlace& place,
                           const std::map<std::string, std::string>& query) {
  Wish wish;
  try {
    wish = wish_of(query);
  } catch (const Error& error) {
    return http_error(400, error.what());
  }
  const auto stream = rig.stream(place.stream);
  const auto newest = stream ? stream->newest_times() : std::nullopt;
  if (!newest)
    return http_error(503, "no frame came from this camera yet; the camera is " + state_of(rig, place.camera));
  const nanoseconds wanted = wish.max_age.value_or(usual_max_age(*stream, *newest));
  if (!wish.stale && since_arrival(*newest) > wanted.count())
    return too_old(*newest, wanted, state_of(rig, place.camera));
  try {
    const auto snapshot = snapshots.take(place.stream, *stream, wish.stale ? nanoseconds::max() : wanted);
    if (!snapshot) return http_error(503, "no frame came from this camera yet");
    HttpAnswer answer;
    answer.type = "image/jpeg";
    answer.body.assign(snapshot->jpeg->begin(), snapshot->jpeg->end());
    const ShownTimes times(snapshot->times);
    add_times(answer, times);
    answer.headers.emplace_back("Last-Modified", http_date(times.taken / ns_per_s));
    return answer;
  } catch (const Error& error) {
    return http_error(500, error.what());
  }
}

}  // namespace campipe
