#include "app/commands/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace campipe {
namespace {

constexpr std::size_t fewest_rows = 3;  // of cameras, whatever else is shown

struct SortKey {
  char key;
  Column column;
  const char* meaning;
};
constexpr std::array<SortKey, column_count> sort_keys{{{'n', Column::name, "name"},
                                                       {'s', Column::state, "state"},
                                                       {'f', Column::fps, "fps"},
                                                       {'m', Column::p50, "p50"},
                                                       {'l', Column::p95, "p95"},
                                                       {'d', Column::drops, "drops a second"},
                                                       {'t', Column::dropped, "dropped in total"},
                                                       {'b', Column::bitrate, "bit rate"},
                                                       {'w', Column::worker, "worker"},
                                                       {'v', Column::viewers, "viewers"},
                                                       {'c', Column::recording, "recording"}}};

constexpr std::string_view left = "\x1b[D";
constexpr std::string_view right = "\x1b[C";
constexpr std::string_view up = "\x1b[A";
constexpr std::string_view down = "\x1b[B";
constexpr std::string_view page_up = "\x1b[5~";
constexpr std::string_view page_down = "\x1b[6~";
constexpr std::string_view home = "\x1b[H";
constexpr std::string_view end = "\x1b[F";
constexpr char escape = '\x1b';

// How many bytes of `typed` are its first key; 0: the rest of it has not come yet.
std::size_t key_length(const std::string& typed) {
  if (typed.front() != escape || typed.size() == 1) return 1;  // terminals send a key's bytes at once: this is Escape
  if (typed[1] != '[' && typed[1] != 'O') return 1;
  const auto is_last = [](char c) { return c >= '@' && c <= '~'; };
  const auto last = std::find_if(typed.begin() + 2, typed.end(), is_last);
  return last == typed.end() ? 0 : static_cast<std::size_t>(last - typed.begin()) + 1;
}

std::vector<StyledLine> help_lines() {
  std::vector<StyledLine> lines;
  lines.emplace_back().add("Keys", Look::bold);
  for (const SortKey& sort : sort_keys) {
    lines.emplace_back().add(fmt::format("  {}            sort by {}", sort.key, sort.meaning));
  }
  for (const char* line :
       {"  left, right  sort by the column beside", "  r            reverse order",
        "  up, down     choose a camera: all about it (also Page Up, Page Down, Home, End; Escape: none)",
        "  p, space     pause", "  q            leave", "  h, ?         this help; any key closes it"}) {
    lines.emplace_back().add(line);
  }
  return lines;
}

StyledLine foot() {
  StyledLine line;
  line.add("q", Look::bold).add(" leave  ").add("p", Look::bold).add(" pause  ").add("r", Look::bold);
  line.add(" reverse  ").add("left right", Look::bold).add(" sort  ").add("up down", Look::bold).add(" choose  ");
  return line.add("h", Look::bold).add(" all keys");
}

void append(std::vector<StyledLine>& lines, const std::vector<StyledLine>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

bool TopView::type(const std::string& bytes) {
  typed_ += bytes;
  while (!typed_.empty()) {
    const std::size_t length = key_length(typed_);
    if (length == 0) return true;
    std::string key = typed_.substr(0, length);
    typed_.erase(0, length);
    if (key.size() == 3 && key[1] == 'O') key[1] = '[';    // the same key of a terminal in application mode
    if (key == "\x1b[1~" || key == "\x1b[7~") key = home;  // as tmux, screen and rxvt send it
    if (key == "\x1b[4~" || key == "\x1b[8~") key = end;
    if (!press(key)) return false;
  }
  return true;
}

bool TopView::press(const std::string& key) {
  if (key == "q" || key == "\x03") return false;
  if (help_) {
    help_ = false;
    return true;
  }
  const auto count = static_cast<int>(rig_.streams.size());
  if (key == "h" || key == "?") help_ = true;
  if (key == "p" || key == " ") paused_ = !paused_;
  if (key == "r") reversed_ = !reversed_;
  if (key == left) sort_by(static_cast<Column>((static_cast<std::size_t>(column_) + column_count - 1) % column_count));
  if (key == right) sort_by(static_cast<Column>((static_cast<std::size_t>(column_) + 1) % column_count));
  if (key == up) move(-1);
  if (key == down) move(1);
  if (key == page_up) move(-static_cast<int>(page_));
  if (key == page_down) move(static_cast<int>(page_));
  if (key == home) move(-count);
  if (key == end) move(count);
  if (key.size() == 1 && key[0] == escape) selected_.reset();
  for (const SortKey& sort : sort_keys) {
    if (key.size() == 1 && key[0] == sort.key) sort_by(sort.column);
  }
  return true;
}

void TopView::sort_by(Column column) {
  reversed_ = false;
  column_ = column;
}

std::vector<StreamSample> TopView::sorted() const {
  auto streams = rig_.streams;
  sort_streams(streams, column_, reversed_);
  return streams;
}

void TopView::move(int rows) {
  const auto streams = sorted();
  if (streams.empty()) return;
  const auto last = static_cast<int>(streams.size()) - 1;
  const auto is_selected = [this](const StreamSample& s) { return s.name == selected_; };
  const auto found = std::find_if(streams.begin(), streams.end(), is_selected);
  // The first key chooses the first row.
  const int from = found == streams.end() ? (rows > 0 ? -1 : 0) : static_cast<int>(found - streams.begin());
  selected_ = streams[static_cast<std::size_t>(std::clamp(from + rows, 0, last))].name;
}

std::vector<std::string> TopView::draw(const TerminalSize& size) {
  std::vector<std::string> screen;
  for (const StyledLine& line : compose(size)) {
    if (screen.size() < size.rows) screen.push_back(line.render(size.columns, form_));
  }
  return screen;
}

std::vector<StyledLine> TopView::lower_part(const TerminalSize& size, const StreamSample* selected) const {
  std::vector<StyledLine> lines;
  if (selected != nullptr) {
    lines.emplace_back();
    append(lines, stream_details(*selected));
  }
  auto processes = process_table(rig_.processes);
  const std::size_t most = std::max<std::size_t>(4, size.rows / 3);
  if (processes.size() > most) {
    const std::size_t hidden = processes.size() - most + 1;
    processes.resize(most - 1);
    processes.emplace_back().add(fmt::format("and {} more processes", hidden), Look::dim);
  }
  lines.emplace_back();
  append(lines, processes);
  for (const GpuSample& gpu : rig_.gpus) lines.push_back(gpu_line(gpu));
  return lines;
}

std::vector<StyledLine> TopView::compose(const TerminalSize& size) {
  if (help_) return help_lines();
  const auto streams = sorted();
  std::size_t chosen = streams.size();
  for (std::size_t i = 0; i < streams.size(); ++i) chosen = streams[i].name == selected_ ? i : chosen;

  std::vector<StyledLine> lines{rig_line(rig_), summary_line(rig_)};
  if (paused_) lines[0].add("  paused", Look::warning);
  if (!trouble_.empty()) lines.emplace_back().add(trouble_, Look::bad);
  auto table = stream_table(streams, size.columns, column_);
  if (chosen < streams.size()) table[chosen + 1].invert();
  auto lower = lower_part(size, chosen < streams.size() ? &streams[chosen] : nullptr);

  // Cameras get what is left; on a low terminal the lower part gives way.
  const std::size_t frame = lines.size() + 2;  // the table's head and the foot
  const std::size_t room = size.rows > frame ? size.rows - frame : 0;
  const std::size_t wanted = std::min(std::max(streams.size(), fewest_rows), std::max(room, fewest_rows));
  if (lower.size() + fewest_rows > room) lower.resize(room > fewest_rows ? room - fewest_rows : 0);
  page_ = std::max<std::size_t>(1, std::min(wanted, room - std::min(room, lower.size())));
  if (chosen < streams.size()) first_ = std::clamp(first_, chosen + 1 > page_ ? chosen + 1 - page_ : 0, chosen);
  first_ = std::min(first_, streams.size() > page_ ? streams.size() - page_ : 0);

  lines.push_back(table[0]);
  for (std::size_t i = first_; i < std::min(first_ + page_, streams.size()); ++i) lines.push_back(table[i + 1]);
  append(lines, lower);
  lines.resize(std::max<std::size_t>(size.rows, 1) - 1);
  lines.push_back(foot());
  return lines;
}

}  // namespace campipe
