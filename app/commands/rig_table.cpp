#include "app/commands/rig_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "core/milliseconds_text.h"
#include "core/text_columns.h"

namespace campipe {
namespace {

constexpr std::size_t widest_text = 24;      // but for names
constexpr std::size_t narrowest_notes = 12;  // fewer columns hold no reason
constexpr int worth_of_notes = 4;            // as of a column; they are worth more than others of that worth

constexpr double noticeably_behind_s = 3;  // as on the pages

bool is_behind(const StreamSample& s) { return s.behind_s > noticeably_behind_s; }

Look look_of_state(const std::string& state) {
  if (state == "running") return Look::good;
  if (state == "failed") return Look::bad;
  return state == "starting" || state == "waiting" ? Look::warning : Look::dim;
}

// One that runs, and is not what it looks like.
Look look_of_stream(const StreamSample& s) {
  return s.state == "running" && (is_behind(s) || !s.overloaded.empty()) ? Look::warning : look_of_state(s.state);
}

std::string recording_of(const StreamSample& s) {
  if (!s.recording.paused.empty()) return "paused";
  return s.recording.on ? "on" : "-";
}

Look look_of_recording(const StreamSample& s) {
  if (!s.recording.paused.empty()) return Look::bad;
  return s.recording.on ? Look::plain : Look::dim;
}

std::string causes_of(const StreamSample& s) {
  std::string text;
  for (const auto& [cause, number] : s.frames.dropped) {
    if (number > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, number);
  }
  return text;
}

std::string motion_of(const StreamSample& s) {
  if (!s.motion) return "";
  return fmt::format("motion {:.4g} % (from {:.4g} %)", s.motion->score, s.motion->threshold);
}

std::string note_of(const StreamSample& s) {
  std::string note = s.reason;
  const std::string paused = s.recording.paused.empty() ? "" : "recording paused: " + s.recording.paused;
  const std::string behind = is_behind(s) ? fmt::format("{:.0f} s behind", s.behind_s) : "";
  for (const std::string& more : {paused, s.pushes_down, behind, s.overloaded, s.shed, causes_of(s), motion_of(s)}) {
    if (!more.empty()) note += (note.empty() ? "" : "; ") + more;
  }
  return note;
}

struct ColumnForm {
  const char* title;
  bool number;
  int worth;  // those that are worth less are left out first
  std::string (*text)(const StreamSample&);
  double (*value)(const StreamSample&);  // of numbers
  Look (*look)(const StreamSample&);
};

Look no_look(const StreamSample&) { return Look::plain; }
Look bad_if_dropping(const StreamSample& s) { return s.rates.drops_per_s > 0 ? Look::bad : Look::plain; }
double no_value(const StreamSample&) { return 0; }

using Sample = const StreamSample&;
const std::array<ColumnForm, column_count> forms{{
    {"CAMERA", false, 10, [](Sample s) { return s.name; }, no_value, no_look},
    {"STATE", false, 9, [](Sample s) { return s.state; }, no_value, look_of_stream},
    {"FPS", true, 8, [](Sample s) { return fmt::format("{:.1f}", s.rates.fps); }, [](Sample s) { return s.rates.fps; },
     no_look},
    {"P50 ms", true, 4, [](Sample s) { return milliseconds_text(s.latency.p50); },
     [](Sample s) { return s.latency.p50; }, no_look},
    {"P95 ms", true, 7, [](Sample s) { return milliseconds_text(s.latency.p95); },
     [](Sample s) { return s.latency.p95; }, no_look},
    {"DROP/s", true, 6, [](Sample s) { return fmt::format("{:.1f}", s.rates.drops_per_s); },
     [](Sample s) { return s.rates.drops_per_s; }, bad_if_dropping},
    {"DROPPED", true, 5, [](Sample s) { return fmt::format("{}", s.frames.dropped_total); },
     [](Sample s) { return static_cast<double>(s.frames.dropped_total); }, no_look},
    {"Mb/s", true, 3, [](Sample s) { return fmt::format("{:.2f}", s.rates.mbit_per_s); },
     [](Sample s) { return s.rates.mbit_per_s; }, no_look},
    {"WORKER", true, 2, [](Sample s) { return s.processing.worker < 0 ? "-" : fmt::to_string(s.processing.worker); },
     [](Sample s) { return static_cast<double>(s.processing.worker); }, no_look},
    {"VIEWERS", true, 1, [](Sample s) { return s.viewers ? fmt::format("{}", *s.viewers) : std::string("-"); },
     [](Sample s) { return static_cast<double>(s.viewers.value_or(0)); }, no_look},
    {"REC", false, 2, recording_of, no_value, look_of_recording},
}};

const ColumnForm& form_of(Column column) { return forms.at(static_cast<std::size_t>(column)); }

std::size_t width_of(const ColumnForm& form, const std::vector<StreamSample>& streams, std::size_t most) {
  std::size_t width = columns_of(form.title) + 1;  // room for the mark
  for (const StreamSample& s : streams) width = std::max(width, columns_of(form.text(s)));
  return std::min(width, most);
}

struct Shown {
  Column column;
  std::size_t width;
};

struct Layout {
  std::vector<Shown> columns;
  bool notes;
};

// Each column has a space behind it; the last needs none.
std::size_t needed_by(const std::vector<Shown>& columns) {
  std::size_t needed = 0;
  for (const Shown& shown : columns) needed += shown.width + 1;
  return needed;
}

Layout choose_layout(const std::vector<StreamSample>& streams, std::size_t width) {
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < column_count; ++i) {
    const auto column = static_cast<Column>(i);
    const std::size_t most = column == Column::name ? widest_name(width) : widest_text;
    shown.push_back({column, width_of(forms.at(i), streams, most)});
  }
  bool notes = std::ranges::any_of(streams, [](Sample s) { return !note_of(s).empty(); });
  while (needed_by(shown) + (notes ? narrowest_notes : 0) > width + (notes ? 0 : 1) && shown.size() > 1) {
    const auto least = std::ranges::min_element(shown, {}, [](const Shown& one) { return form_of(one.column).worth; });
    if (notes && form_of(least->column).worth > worth_of_notes) {
      notes = false;
    } else {
      shown.erase(least);
    }
  }
  return {shown, needed_by(shown) + narrowest_notes <= width};
}

std::string head_of(const ColumnForm& form, std::size_t width, bool sorted) {
  const std::string mark = sorted ? "▾" : " ";
  return form.number ? fit(mark + form.title, width, true) : fit(form.title + mark, width);
}

std::string length_of_time(double seconds) {
  constexpr double longest = 1e15;  // another program may send anything
  const auto s = static_cast<long>(std::clamp(seconds, 0.0, longest));
  const std::string clock = fmt::format("{}:{:02}:{:02}", s / 3600 % 24, s / 60 % 60, s % 60);
  return s < 86400 ? clock : fmt::format("{} d {}", s / 86400, clock);
}

// An output stands below its camera: "a", "a/small", "a-b".
std::pair<std::string_view, std::string_view> parts_of(const StreamSample& s) {
  const std::string_view name = s.name;
  const auto slash = std::min(name.find('/'), name.size());
  return {name.substr(0, slash), name.substr(slash)};
}

bool is_camera(const StreamSample& s) { return s.name.find('/') == std::string::npos; }

}  // namespace

void sort_streams(std::vector<StreamSample>& streams, Column by, bool reversed) {
  const ColumnForm& form = form_of(by);
  std::stable_sort(streams.begin(), streams.end(), [](Sample a, Sample b) { return parts_of(a) < parts_of(b); });
  if (by == Column::name && !reversed) return;
  std::stable_sort(streams.begin(), streams.end(), [&](Sample a, Sample b) {
    const StreamSample& first = reversed ? b : a;
    const StreamSample& second = reversed ? a : b;
    return form.number ? form.value(first) > form.value(second) : form.text(first) < form.text(second);
  });
}

std::vector<StyledLine> stream_table(const std::vector<StreamSample>& streams, std::size_t width,
                                     std::optional<Column> sorted) {
  const auto [shown, notes] = choose_layout(streams, width);
  std::vector<StyledLine> lines(1);
  for (const auto& [column, size] : shown) {
    lines[0].add(head_of(form_of(column), size, column == sorted) + " ", Look::bold);
  }
  if (notes) lines[0].add("NOTES", Look::bold);
  lines[0].invert();
  for (const StreamSample& s : streams) {
    StyledLine& line = lines.emplace_back();
    for (const auto& [column, size] : shown) {
      const ColumnForm& form = form_of(column);
      const std::string text = column == Column::name ? shorten_name(s.name, size) : form.text(s);
      line.add(fit(text, size, form.number), form.look(s)).add(" ");
    }
    if (notes) line.add(note_of(s), s.state == "failed" ? Look::bad : Look::plain);
  }
  return lines;
}

std::vector<StyledLine> process_table(const std::vector<ProcessSample>& processes) {
  std::vector<StyledLine> lines(1);
  lines[0].add(
      fmt::format("{:<12} {:>8} {:>7} {:>11} {:>4} {:>9}", "PROCESS", "PID", "CPU %", "MEMORY MiB", "GPU", "RESTARTS"));
  lines[0].invert();
  for (const ProcessSample& p : processes) {
    lines.emplace_back()
        .add(fmt::format("{} {:>8} {:>7.1f} {:>11.1f} {} ", fit(p.role, 12), p.pid ? fmt::to_string(*p.pid) : "-",
                         p.cpu_percent, p.memory_mib, fit(p.gpu.empty() ? "-" : p.gpu, 4, true)))
        .add(fmt::format("{:>9}", p.restarts), p.restarts > 0 ? Look::warning : Look::plain)
        .add(p.restarts_in_s ? fmt::format("  next in {:.0f} s", *p.restarts_in_s) : "", Look::bad);
  }
  return lines;
}

StyledLine gpu_line(const GpuSample& gpu) {
  const auto number = [](const std::optional<double>& value) { return value ? fmt::format("{:.0f}", *value) : "?"; };
  StyledLine line;
  line.add(fmt::format("GPU {}: {} % busy, decoder {} %, memory {} of {} MiB", gpu.name, number(gpu.utilization),
                       number(gpu.decoder), number(gpu.memory_used_mib), number(gpu.memory_mib)));
  return line;
}

StyledLine rig_line(const RigSample& rig) {
  StyledLine line;
  line.add("campipe " + rig.version, Look::bold).add("  " + rig.config + "  ");
  line.add(rig.state, rig.state == "running" ? Look::good : Look::warning);
  line.add("  for " + length_of_time(rig.uptime_s));
  return line;
}

StyledLine summary_line(const RigSample& rig) {
  std::map<std::string, unsigned> states;
  unsigned cameras = 0;
  unsigned viewers = 0;
  double fps = 0;
  double mbit = 0;
  for (const StreamSample& s : rig.streams) {
    viewers += s.viewers.value_or(0);
    mbit += s.rates.mbit_per_s;
    if (!is_camera(s)) continue;
    ++cameras;
    ++states[s.state];
    fps += s.rates.fps;
  }
  double cpu = 0;
  double memory = 0;
  for (const ProcessSample& p : rig.processes) {
    cpu += p.cpu_percent;
    memory += p.memory_mib;
  }
  StyledLine line;
  line.add(fmt::format("{} camera{}", cameras, cameras == 1 ? "" : "s"));
  const char* before = ": ";
  for (const auto& [state, number] : states) {
    line.add(before).add(fmt::format("{} {}", number, state), look_of_state(state));
    before = ", ";
  }
  line.add(fmt::format("   {:.1f} fps   {:.1f} Mb/s   {} viewer{}   CPU {:.0f} %   {:.0f} MiB", fps, mbit, viewers,
                       viewers == 1 ? "" : "s", cpu, memory));
  return line;
}

StyledLine cluster_line(const ClusterSample& cluster) {
  StyledLine line;
  line.add(fmt::format("node {} of cluster {}: ", cluster.node, cluster.name))
      .add(fmt::format("{} of {} nodes here", cluster.here, cluster.nodes),
           cluster.here < cluster.nodes ? Look::warning : Look::plain)
      .add(fmt::format(", {} cameras", cluster.cameras));
  if (cluster.without_node > 0) line.add(fmt::format(", {} without a node", cluster.without_node), Look::bad);
  line.add(cluster.planner.empty() ? ", nobody plans" : ", " + cluster.planner + " plans");
  if (!cluster.problem.empty()) line.add("; " + cluster.problem, Look::bad);
  return line;
}

StyledLine link_line(const LinkSample& link) {
  StyledLine line;
  line.add(fmt::format("link {} node {}: {} -> {}, by {}{}: ", link.sends ? "to" : "from", link.peer, link.camera,
                       link.mosaic.empty() ? link.part : link.mosaic, link.transport,
                       link.encrypted ? ", encrypted" : ""))
      .add(link.connected ? "connected" : "not connected", link.connected ? Look::good : Look::bad)
      .add(fmt::format(", {} frames", link.frames));
  if (link.lost > 0) line.add(fmt::format(", {} lost", link.lost), Look::warning);
  return line;
}

std::vector<StyledLine> stream_details(const StreamSample& s) {
  std::vector<StyledLine> lines;
  lines.emplace_back()
      .add(s.name, Look::bold)
      .add("  " + s.state, look_of_stream(s))
      .add((s.since_utc.empty() ? "" : " since " + s.since_utc) + (s.reason.empty() ? "" : ": " + s.reason));
  if (is_camera(s)) {
    lines.emplace_back().add(fmt::format(
        "{}{}{} -> {} {}x{}  worker {} on {}  reconnects {}  worker restarts {}", s.processing.source,
        s.processing.source.empty() ? "" : "  ", s.processing.decoder, s.processing.encoder, s.processing.width,
        s.processing.height, s.processing.worker, s.processing.gpu, s.reconnects, s.worker_restarts));
  } else {
    lines.emplace_back().add(fmt::format("{} {}x{}", s.processing.encoder, s.processing.width, s.processing.height));
  }
  std::string times;
  for (const auto& [stage, p50] : s.latency.stages) times += fmt::format("  {} {} ms", stage, milliseconds_text(p50));
  lines.emplace_back().add(fmt::format("{} decoded, {} encoded{}", s.frames.decoded, s.frames.encoded, times));
  std::string file = s.recording.file.empty() ? "no recording" : "recording to " + s.recording.file;
  if (!s.recording.paused.empty()) file = "recording paused: " + s.recording.paused;
  const std::string causes = causes_of(s);
  lines.emplace_back().add(file + (causes.empty() ? "  nothing dropped" : "  dropped: " + causes));
  return lines;
}

}  // namespace campipe
