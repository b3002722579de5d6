#include "app/supervisor/show/status_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "app/supervisor/rig/outcome.h"
#include "app/supervisor/show/report.h"
#include "core/log.h"
#include "core/milliseconds_text.h"
#include "core/printable.h"
#include "core/text_columns.h"
#include "ipc/drop_causes.h"

namespace campipe {
namespace {

constexpr auto note_interval = std::chrono::milliseconds(200);
constexpr auto terminal_interval = std::chrono::milliseconds(500);
constexpr auto log_interval = std::chrono::seconds(10);  // between two looks at what has changed
constexpr auto log_anyway = std::chrono::hours(1);
constexpr unsigned narrowest = 40;
constexpr unsigned usual_width = 100;

std::map<std::string, std::uint64_t> lost(const FrameCounts& counts) {
  auto dropped = counts.dropped;
  std::erase_if(dropped, [](const auto& cause) { return is_intentional_drop(cause.first); });
  return dropped;
}

std::uint64_t total_of(const std::map<std::string, std::uint64_t>& dropped) {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& cause) { return sum + cause.second; });
}

std::string main_cause(const std::map<std::string, std::uint64_t>& dropped) {
  const auto most = std::max_element(dropped.begin(), dropped.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == dropped.end() ? "" : most->first;
}

constexpr double least_table_window_s = 1;  // that a frame rate is reckoned over
constexpr auto longest_window = std::chrono::seconds(3);

std::string rate_text(std::optional<double> fps) { return fps ? fmt::format("{:.1f}", *fps) : "-"; }

std::string drops_of(const CameraStatus& camera) {
  if (camera.dropped == 0) return "0";
  return fmt::format("{} {}", camera.dropped, camera.main_cause);
}

}  // namespace

std::vector<std::string> format_table(const std::vector<CameraStatus>& cameras, double uptime_s, unsigned width,
                                      bool over) {
  std::size_t name_width = 6;
  for (const CameraStatus& camera : cameras) name_width = std::max(name_width, columns_of(camera.name));
  name_width = std::min(name_width, widest_name(width));
  const auto row = [&](const auto& name, const auto& state, const auto& in, const auto& out, const auto& p50,
                       const auto& p95, const auto& worker, const auto& gpu, const auto& drops) {
    return fmt::format("{}  {:<8}  {:>7}  {:>7}  {:>8}  {:>8}  {:>6}  {:>3}  {}",
                       fit(shorten_name(name, name_width), name_width), state, in, out, p50, p95, worker, gpu, drops);
  };
  std::vector<std::string> lines;
  lines.push_back(row("camera", "state", "fps in", "fps out", "p50 ms", "p95 ms", "worker", "gpu", "drops"));
  for (const CameraStatus& c : cameras) {
    std::string line = row(c.name, c.state, rate_text(c.fps_in), rate_text(c.fps_out), milliseconds_text(c.p50_ms),
                           milliseconds_text(c.p95_ms), fmt::format("{}", c.worker), c.gpu, drops_of(c));
    if (!c.note.empty()) line += "  " + c.note;
    lines.push_back(std::move(line));
  }
  const auto seconds = static_cast<long>(uptime_s);
  lines.push_back(fmt::format("{} {}:{:02}:{:02}{}", over ? "ended after" : "running", seconds / 3600,
                              seconds / 60 % 60, seconds % 60, over ? "" : "; Ctrl-C ends it"));
  for (std::string& line : lines) line = cut(line, width);
  return lines;
}

std::string format_line(const CameraStatus& c) {
  std::string line = fmt::format("{}: {}, {} fps in, {} out, latency p50 {} ms, p95 {} ms, dropped {}, worker {}",
                                 c.name, c.state, rate_text(c.fps_in), rate_text(c.fps_out),
                                 milliseconds_text(c.p50_ms), milliseconds_text(c.p95_ms), drops_of(c), c.worker);
  if (c.gpu != "cpu") line += " on GPU " + c.gpu;
  if (!c.note.empty()) line += ", " + c.note;
  return line;
}

StatusView::StatusView(Terminal& terminal)
    : out_(terminal),
      terminal_(terminal.is_terminal()),
      next_(started_ + (terminal_ ? terminal_interval : log_interval)) {}

void StatusView::log_line(const std::string& given) {
  // What libraries and sanitizers write themselves.
  const bool foreign = log_format() == LogFormat::json && !given.starts_with('{');
  const std::string line = foreign ? json_log_line(utc_now(), "warning", "", given) : given;
  if (!terminal_) return out_.put(line + "\n");
  const std::string before = erased();
  out_.put(before + line + "\n" + drawn());
}

std::vector<CameraStatus> StatusView::measure(const Cameras& cameras, const RigPage& page, bool over) {
  std::vector<CameraStatus> result;
  for (const Camera& camera : cameras.all()) {
    for (const Output& output : camera.outputs) result.push_back(measure(camera, output, page, over));
  }
  return result;
}

StatusView::Sample StatusView::sample_of(const Camera& camera, const Output& output, const RigPage& page) {
  return {output.config.name, Clock::now(), count(camera, output, page), latency_of(camera, output, page)};
}

// What passed before them, such as a camera's connecting, is no part of their rate.
void StatusView::note_first_frames(const Cameras& cameras, const RigPage& page) {
  for (const Camera& camera : cameras.all()) {
    for (const Output& output : camera.outputs) {
      const auto before = samples_.find(output.id);
      const bool began =
          before != samples_.end() && before->second.name == output.config.name && before->second.counts.decoded > 0;
      if (!began && output.state == CameraState::running)
        samples_.insert_or_assign(output.id, sample_of(camera, output, page));
    }
  }
}

CameraStatus StatusView::measure(const Camera& camera, const Output& output, const RigPage& page, bool over) {
  const Sample now = sample_of(camera, output, page);
  Sample before{now.name, camera.begun, {}, {}};
  if (!over) {
    Sample& kept = samples_.try_emplace(output.id, now).first->second;
    // Its place may have been another output's.
    if (now.name != kept.name || now.counts.decoded < kept.counts.decoded) kept = now;
    before = kept;
    // The terminal shows a window of some seconds, so that its numbers can be read.
    if (!terminal_ || now.at - kept.at > longest_window) kept = now;
  }
  const double seconds = std::max(std::chrono::duration<double>(now.at - before.at).count(), 1e-3);
  const auto rate = [&](std::uint64_t frames) {
    const bool known = over || now.counts.decoded == 0 || seconds >= least_table_window_s;
    return known ? std::optional(static_cast<double>(frames) / seconds) : std::nullopt;
  };
  const auto dropped = lost(now.counts);
  const HistogramCounts latency = now.latency.since(before.latency);
  return {output.config.name,
          name_of(output.state),
          rate(now.counts.decoded - before.counts.decoded),
          rate(now.counts.encoded - before.counts.encoded),
          latency.quantile(0.5) / 1e6,
          latency.quantile(0.95) / 1e6,
          total_of(dropped),
          main_cause(dropped),
          camera.encoder_of(camera.own()).worker,
          camera.encoder_of(camera.own()).gpu,
          output.reason};
}

// What takes the table off the terminal.
std::string StatusView::erased() {
  const std::size_t lines = std::exchange(lines_drawn_, 0);
  return lines > 0 ? fmt::format("\r\x1b[{}A\x1b[J", lines) : "";  // \r: a typed ^C may stand there
}

std::string StatusView::drawn() {
  std::string text;
  for (const std::string& row : table_) text += row + "\n";
  lines_drawn_ = table_.size();
  return text;
}

void StatusView::draw(const std::vector<CameraStatus>& cameras, bool over) {
  const double uptime = std::chrono::duration<double>(Clock::now() - started_).count();
  table_ = format_table(cameras, uptime, std::max(out_.width().value_or(usual_width), narrowest), over);
  const std::string before = erased();
  out_.put(before + drawn());
}

void StatusView::update(const Cameras& cameras, const RigPage& page) {
  const auto now = Clock::now();
  if (now >= next_note_) {
    next_note_ = now + note_interval;
    note_first_frames(cameras, page);
  }
  if (now < next_) return;
  next_ = now + (terminal_ ? Clock::duration(terminal_interval) : Clock::duration(log_interval));
  const auto statuses = measure(cameras, page, false);
  if (terminal_) return draw(statuses, false);
  for (const CameraStatus& status : changes_.take(statuses, Clock::now())) spdlog::info("{}", format_line(status));
}

std::vector<CameraStatus> ChangesToLog::take(const std::vector<CameraStatus>& cameras, Clock::time_point now) {
  std::vector<CameraStatus> due;
  std::map<std::string, Logged> logged;
  for (const CameraStatus& camera : cameras) {
    const Logged before = logged_[camera.name];
    Logged after{camera.state, camera.dropped > before.dropped, camera.dropped, before.at};
    const bool changed = after.state != before.state || after.drops != before.drops;
    if (changed || now - before.at >= log_anyway) {
      due.push_back(camera);
      after.at = now;
    }
    logged[camera.name] = after;
  }
  logged_ = std::move(logged);
  return due;
}

void StatusView::finish(const Cameras& cameras, const RigPage& page) {
  if (terminal_) {
    draw(measure(cameras, page, true), true);
  }
  lines_drawn_ = 0;
  table_.clear();
  const bool json = log_format() == LogFormat::json;
  for (const Camera& camera : cameras.all()) {
    for (const Output& output : camera.outputs) {
      const std::string summary =
          printable(output.config.name + ": " + format_outcome(output, count(camera, output, page)));
      const auto now = utc_now();
      out_.put((json ? json_log_line(now, "info", "supervisor", summary) : summary) + "\n");
    }
  }
}

}  // namespace campipe
