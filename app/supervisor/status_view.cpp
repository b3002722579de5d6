#include "app/supervisor/status_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "app/supervisor/report.h"
#include "core/log.h"
#include "core/milliseconds_text.h"
#include "core/printable.h"
#include "core/text_columns.h"
#include "ipc/drop_causes.h"

namespace campipe {
namespace {

constexpr auto terminal_interval = std::chrono::milliseconds(500);
constexpr auto log_interval = std::chrono::seconds(10);  // between two looks at what has changed
constexpr auto log_anyway = std::chrono::hours(1);
constexpr unsigned narrowest = 40;

unsigned terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::max<unsigned>(size.ws_col, narrowest);
}

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
    std::string line =
        row(c.name, c.state, fmt::format("{:.1f}", c.fps_in), fmt::format("{:.1f}", c.fps_out),
            milliseconds_text(c.p50_ms), milliseconds_text(c.p95_ms), fmt::format("{}", c.worker), c.gpu, drops_of(c));
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
  std::string line = fmt::format(
      "{}: {}, {:.1f} fps in, {:.1f} out, latency p50 {} ms, p95 {} ms, dropped {}, worker {}", c.name, c.state,
      c.fps_in, c.fps_out, milliseconds_text(c.p50_ms), milliseconds_text(c.p95_ms), drops_of(c), c.worker);
  if (c.gpu != "cpu") line += " on GPU " + c.gpu;
  if (!c.note.empty()) line += ", " + c.note;
  return line;
}

std::string format_outcome(const Output& output, const FrameCounts& counts) {
  std::string text =
      fmt::format("{}, {} frames decoded, {} encoded", name_of(output.state), counts.decoded, counts.encoded);
  if (counts.repeated > 0) text += fmt::format(" ({} repeated)", counts.repeated);
  const OutputRecording& recording = output.recording;
  for (const auto& [cause, number] : counts.dropped) text += fmt::format(", {} dropped ({})", number, cause);
  if (!recording.file.empty()) text += fmt::format(", {} recorded", counts.recorded);
  if (counts.unrecorded > 0) text += fmt::format(", {} not recorded", counts.unrecorded);
  if (!recording.file.empty()) text += fmt::format("; newest file: {}", recording.file);
  if (!recording.paused.empty()) text += fmt::format("; recording paused: {}", recording.paused);
  if (!output.reason.empty()) text += fmt::format("; {}", output.reason);
  return text;
}

std::string format_summary(const Output& output, const FrameCounts& counts) {
  return output.config.name + ": " + format_outcome(output, counts);
}

StatusView::StatusView()
    : out_(STDERR_FILENO),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(started_ + (terminal_ ? terminal_interval : log_interval)) {}

void StatusView::log_line(const std::string& given) {
  // What libraries and sanitizers write themselves.
  const bool foreign = log_format() == LogFormat::json && !given.starts_with('{');
  const std::string line = foreign ? json_log_line(std::chrono::system_clock::now(), "warning", "", given) : given;
  if (!terminal_) return out_.put(line + "\n");
  const std::string before = erased();
  out_.put(before + line + "\n" + drawn());
}

std::vector<CameraStatus> StatusView::measure(const Cameras& cameras, const RigPage& page) {
  std::vector<CameraStatus> result;
  for (const Camera& camera : cameras.all()) {
    for (const Output& output : camera.outputs) result.push_back(measure(camera, output, page));
  }
  return result;
}

CameraStatus StatusView::measure(const Camera& camera, const Output& output, const RigPage& page) {
  const Sample now{output.config.name, Clock::now(), count(camera, output, page), latency_of(camera, output, page)};
  // Its place may have been another output's.
  const Sample begin = output.before ? now : Sample{now.name, camera.begun, {}, {}};
  Sample& before = samples_.try_emplace(output.id, begin).first->second;
  if (now.name != before.name || now.counts.decoded < before.counts.decoded) before = begin;
  const double seconds = std::max(std::chrono::duration<double>(now.at - before.at).count(), 1e-3);
  const auto dropped = lost(now.counts);
  const HistogramCounts latency = now.latency.since(before.latency);
  CameraStatus status{output.config.name,
                      name_of(output.state),
                      static_cast<double>(now.counts.decoded - before.counts.decoded) / seconds,
                      static_cast<double>(now.counts.encoded - before.counts.encoded) / seconds,
                      latency.quantile(0.5) / 1e6,
                      latency.quantile(0.95) / 1e6,
                      total_of(dropped),
                      main_cause(dropped),
                      camera.encoder_of(camera.own()).worker,
                      camera.encoder_of(camera.own()).gpu,
                      output.reason};
  // The terminal shows a window of some seconds, so that its numbers can be read.
  if (!terminal_ || seconds > 3) before = now;
  return status;
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
  table_ = format_table(cameras, uptime, terminal_width(), over);
  const std::string before = erased();
  out_.put(before + drawn());
}

void StatusView::update(const Cameras& cameras, const RigPage& page) {
  if (Clock::now() < next_) return;
  next_ = Clock::now() + (terminal_ ? Clock::duration(terminal_interval) : Clock::duration(log_interval));
  const auto statuses = measure(cameras, page);
  if (terminal_) return draw(statuses, false);
  for (const CameraStatus& status : changes_.take(statuses, Clock::now())) spdlog::info("{}", format_line(status));
}

std::vector<CameraStatus> StatusChanges::take(const std::vector<CameraStatus>& cameras, Clock::time_point now) {
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
    samples_.clear();  // the averages of the whole run
    draw(measure(cameras, page), true);
  }
  lines_drawn_ = 0;
  table_.clear();
  const bool json = log_format() == LogFormat::json;
  for (const Camera& camera : cameras.all()) {
    for (const Output& output : camera.outputs) {
      const std::string summary = printable(format_summary(output, count(camera, output, page)));
      const auto now = std::chrono::system_clock::now();
      out_.put((json ? json_log_line(now, "info", "supervisor", summary) : summary) + "\n");
    }
  }
}

}  // namespace campipe
