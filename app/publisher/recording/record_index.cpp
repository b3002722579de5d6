#include "app/publisher/recording/record_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/clock.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "core/nanoseconds.h"
#include "core/utc_text.h"
#include "stages/sinks/file_ending.h"
#include "stages/sinks/recorder.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int lines_at_once = 500;  // some milliseconds
constexpr std::uint64_t behind_all_lines = std::uint64_t{1} << 40U;
constexpr std::uint64_t newest_lines = 64UL << 10U;  // bytes; what was recorded last stands there

// Throws Error.
std::int64_t time_of(const json& line, const char* key) {
  const std::string text = line.at(key);
  const auto utc = utc_from_text(text);
  if (!utc) throw Error("'" + text + "' is no time");
  return *utc;
}

std::int64_t changed_at(const struct stat& file) {
  return std::int64_t{file.st_mtim.tv_sec} * ns_per_s + file.st_mtim.tv_nsec;
}

double seconds_of(std::int64_t ns) {
  const std::int64_t ms = ns / 1'000'000;
  return static_cast<double>(ms) / 1000;
}

// An index that was edited must not make us delete what lies elsewhere.
bool is_inside(const fs::path& relative) {
  return !relative.empty() && relative.is_relative() && relative.native().find('\0') == std::string::npos &&
         std::find(relative.begin(), relative.end(), fs::path("..")) == relative.end();
}

template <typename Closed>
json end_line(const std::string& name, const Closed& file, std::int64_t duration, const std::string& reason,
              const std::string& clock) {
  return {{"event", "end"},
          {"file", name},
          {"start", utc_text(file.start)},
          {"end", utc_text(file.end)},
          {"duration_s", seconds_of(duration)},
          {"bytes", file.bytes},
          {"reason", reason},
          {"clock", clock},
          {"written", utc_text(file.time.written)}};
}

void add_up_time(json& line, const UpTime& up) {
  if (up.boot.empty()) return;
  line["boot"] = up.boot;
  line["up_s"] = seconds_of(up.ns);
}

std::optional<UpTime> up_time_in(const json& line) {
  const auto boot = line.find("boot");
  const auto up = line.find("up_s");
  if (boot == line.end() || up == line.end() || !boot->is_string() || !up->is_number()) return std::nullopt;
  const double seconds = up->get<double>();
  constexpr double a_century = 3.2e9;
  if (!(seconds >= 0 && seconds < a_century)) return std::nullopt;
  return UpTime{boot->get<std::string>(), std::llround(seconds * 1e9)};
}

const char* clock_of(const RecordIndex::Begin& file) { return file.camera_clock ? "camera" : "arrival"; }

json begin_line(const std::string& name, const RecordIndex::Begin& file) {
  return {{"event", "begin"}, {"file", name}, {"start", utc_text(file.start)}, {"clock", clock_of(file)}};
}

std::string text_of(const json& line) { return line.dump(-1, ' ', false, json::error_handler_t::replace); }

// A power cut or a full disk leaves a last line without an end.
bool ends_within_a_line(const UniqueFd& fd, std::uint64_t size) {
  char last = '\n';
  return size > 0 && ::pread(fd.get(), &last, 1, static_cast<off_t>(size) - 1) == 1 && last != '\n';
}

}  // namespace

RecordIndex::RecordIndex(const fs::path& path, const std::optional<Begin>& left, const std::optional<Ended>& before,
                         std::optional<RecordAbout> about, const OpenFile* open_file)
    : path_(path), out_(path), next_order_(behind_all_lines), about_(std::move(about)), open_file_(open_file) {
  if (about_) own_.emplace(*about_);
  failpoint("index.opening", path_.filename().string());
  UniqueFd fd = open_below(in_own_folder(path_), O_RDONLY);
  if (!fd && errno != ENOENT && errno != ENOTDIR)
    spdlog::error("{}", file_error("cannot read " + path_.string(), errno).what());
  struct stat status {};
  if (fd && ::fstat(fd.get(), &status) == 0) in_size_ = static_cast<std::uint64_t>(status.st_size);
  out_.set_cut_off(ends_within_a_line(fd, in_size_));
  in_ = LineReader(std::move(fd), in_size_ - std::min(in_size_, most_index_bytes), in_size_);
  if (before && !is_gone(below(name_of(before->begin.file)))) {
    look_for(before->begin);
    end(before->end);
  }
  if (left) look_for(*left);
}

// Whether the predecessor, which was killed, could write that the file had begun, or even that it had ended.
void RecordIndex::look_for(const Begin& left) {
  const std::string name = name_of(left.file);
  const std::string start = utc_text(left.start);
  LineReader in = newest(newest_lines);
  bool begun = false;
  bool ended = false;
  std::string text;
  for (auto next = in.next(text); next != LineReader::Next::end; next = in.next(text)) {
    if (next != LineReader::Next::line && next != LineReader::Next::unended) continue;
    const json line = json::parse(text, nullptr, false);
    const auto is = [&line](const char* key, const std::string& value) {
      const auto found = line.find(key);
      return found != line.end() && *found == value;
    };
    if (!line.is_object() || !is("file", name)) continue;
    const bool same = is("start", start);  // whose beginning may stand far before its end
    begun = begun || (same && (is("event", "begin") || is("event", "end")));
    ended = begun && !is("event", "begin");
  }
  if (ended) return;
  open_ = left;
  touch(name);
  if (!begun) append(begin_line(name, left));
}

// Of what stood there, and all that is ours.
LineReader RecordIndex::newest(std::uint64_t bytes) const {
  return LineReader(open_below(in_own_folder(path_), O_RDONLY), in_size_ - std::min(in_size_, bytes));
}

void RecordIndex::touch(const std::string& name) {
  if (loading_ == Loading::done) return;
  touched_.insert(name);
  begun_.erase(name);
}

bool RecordIndex::load_some() {
  if (loading_ == Loading::lines) {
    load_lines();
  } else if (loading_ == Loading::files) {
    check_files();
  } else if (loading_ == Loading::folder) {
    search_folder();
  }
  return loading_ == Loading::done;
}

void RecordIndex::load_lines() {
  std::string text;
  for (int i = 0; i < lines_at_once; ++i) {
    const LineReader::Next next = in_.next(text);
    if (next == LineReader::Next::end) {
      loading_ = Loading::files;
      return;
    }
    if (next == LineReader::Next::skipped) continue;
    ++lines_;
    try {
      if (next == LineReader::Next::too_long) throw Error("the line is too long");
      read(text);
    } catch (const std::exception&) {  // a power cut leaves such lines, or a full disk
      ++damaged_;
    }
  }
}

void RecordIndex::check_files() {
  auto file = files_.upper_bound(checked_);
  for (int i = 0; i < lines_at_once && file != files_.end(); ++i) {
    checked_ = file->first;
    file = is_gone(below(file->first)) ? files_.erase(file) : std::next(file);
  }
  if (file == files_.end()) finish_loading();
  if (own_ && loading_ == Loading::done) loading_ = Loading::folder;
}

// Lines are lost in a power cut, or with the whole index.
void RecordIndex::search_folder() {
  std::error_code error;
  if (!search_) search_.emplace(folder(), fs::directory_options::skip_permission_denied, error);
  for (int i = 0; i < lines_at_once && !error && *search_ != fs::end(*search_); ++i) {
    if (search_->depth() >= own_->depth()) search_->disable_recursion_pending();
    const fs::path name = path_below(folder(), (*search_)->path()).name;
    if (own_->may_be(name) && !files_.contains(name) && !touched_.contains(name)) take_in(name);
    search_->increment(error);
  }
  if (!error && *search_ != fs::end(*search_)) return;
  if (error && !is_gone(in_own_folder(path_))) spdlog::warn("cannot search {}: {}", folder().string(), error.message());
  if (taken_in_ > 0) spdlog::warn("{}: {} files that were in no line are taken in", path_.string(), taken_in_);
  sort_in();
  search_.reset();
  own_.reset();
  touched_.clear();
  loading_ = Loading::done;
  if (about_->limits.any() || told_) set_about(*about_);
}

void RecordIndex::set_about(const RecordAbout& about) {
  if (told_ == about) return;
  told_ = about;
  append(line_of(about));
}

// Among the others by when they were closed.
void RecordIndex::sort_in() {
  if (found_.empty()) return;
  std::vector<std::pair<std::uint64_t, std::int64_t>> others;  // order, and when they were closed
  for (const auto& [name, file] : files_) {
    if (!found_.contains(name)) others.emplace_back(file.order, file.time.written);
  }
  std::ranges::sort(others);
  for (const std::string& name : found_) {
    if (!files_.contains(name)) continue;
    Closed& file = files_.at(name);
    const auto next =
        std::ranges::lower_bound(others, file.time.written, {}, &std::pair<std::uint64_t, std::int64_t>::second);
    file.order = next == others.end() ? behind_all_lines - 1 : next->first;
  }
  found_.clear();
}

void RecordIndex::take_in(const std::string& name) {
  const bool is_open = open_file_ != nullptr && open_file_->get() == (folder() / name).lexically_normal();
  if (is_open) return;  // its line comes
  struct stat status {};
  if (files_.size() >= most_index_files || !status_below(below(name), status) || !S_ISREG(status.st_mode)) return;
  const auto start = own_->begun_at(name);
  if (!start) return;
  if (!may_hold_frames(below(name))) return remove_empty(name);
  Closed found{0, *start, 0, {changed_at(status)}, static_cast<std::uint64_t>(status.st_size)};
  found.end = std::max(found.time.written, found.start);
  files_[name] = found;
  append(end_line(name, found, found.end - found.start, "found", "arrival"));
  found_.insert(name);
  ++taken_in_;
}

void RecordIndex::finish_loading() {
  loading_ = Loading::done;
  in_ = {};
  if (damaged_ > 0) spdlog::warn("{}: {} damaged lines are left out", path_.string(), damaged_);
  if (lines_ > files_.size() * 3 + 1000) rewrite();
  for (const auto& [name, file] : begun_) {
    if (!is_gone(below(name))) end_interrupted(name, file);
  }
  begun_.clear();
  if (own_) return;
  touched_.clear();
  sort_in();
}

// What a kill left before its first frame came.
void RecordIndex::remove_empty(const std::string& name) const {
  if (open_file_ == nullptr) return;
  const auto lock = open_file_->lock_other(folder() / name);
  if (lock) static_cast<void>(remove_below(below(name)));
}

void RecordIndex::read(const std::string& text) {
  const json line = json::parse(text);
  if (line.at("event") == "recording") {
    told_ = about_in(line);
    return;
  }
  const std::string file = line.at("file");
  if (!is_inside(file)) throw Error("'" + file + "' does not lie in the index's folder");
  const std::string& event = line.at("event").get_ref<const std::string&>();
  if (touched_.contains(file)) return;
  if (files_.size() + begun_.size() >= most_index_files && !files_.contains(file)) return;
  begun_.erase(file);
  found_.erase(file);
  if (event == "begin") {
    files_.erase(file);  // it was overwritten
    begun_[file] = {time_of(line, "start"), line.at("clock")};
  } else if (event == "end") {
    const std::int64_t end = time_of(line, "end");
    const std::int64_t written = time_of(line, "written");
    if (!line.at("bytes").is_number_unsigned()) throw Error("'bytes' is no size");
    files_[file] = {lines_, time_of(line, "start"), end, {written, up_time_in(line)}, line["bytes"]};
    if (line.value("reason", "") == "found") found_.insert(file);
  } else {
    files_.erase(file);
  }
}

void RecordIndex::end_interrupted(const std::string& name, const Open& file) {
  struct stat status {};
  if (!status_below(below(name), status) || !S_ISREG(status.st_mode)) return;
  if (!may_hold_frames(below(name)) && remove_below(below(name))) return deleted(folder() / name, "empty");
  Closed ended{lines_, file.start, 0, {changed_at(status)}, static_cast<std::uint64_t>(status.st_size)};
  ended.end = std::max(ended.time.written, ended.start);
  const auto ending = ending_of(below(name));
  if (ending) ended.bytes = ending->try_to_add_index(ended.bytes, std::nullopt);
  files_[name] = ended;
  append(end_line(name, ended, ended.end - ended.start, "interrupted", file.clock));
  try {
    if (ending) ending->complete();
  } catch (const Error& error) {
    spdlog::warn("{}", error.what());
  }
}

// Only what is still there.
void RecordIndex::rewrite() {
  constexpr std::size_t written_at_once = std::size_t{1} << 16U;
  try {
    LineReader in = newest(most_index_bytes);
    ReplacingFile out(in_own_folder(path_), path_.filename().string() + ".new");
    std::string text;
    std::string kept = told_ ? text_of(line_of(*told_)) + '\n' : "";
    for (auto next = in.next(text); next != LineReader::Next::end; next = in.next(text)) {
      if (next != LineReader::Next::line && next != LineReader::Next::unended) continue;
      const json line = json::parse(text, nullptr, false);
      const bool named = line.is_object() && line.contains("file") && line["file"].is_string();
      if (named && !is_gone(below(line["file"].get<std::string>()))) kept += text + '\n';
      if (kept.size() < written_at_once) continue;
      out.write(kept);
      kept.clear();
    }
    if (in.failed()) throw file_error("cannot read " + path_.string(), EIO);
    out.write(kept);
    out.replace();
    out_.set_cut_off(false);
  } catch (const Error& error) {
    spdlog::warn("cannot make {} shorter: {}", path_.string(), error.what());
  }
}

std::string RecordIndex::name_of(const fs::path& file) const { return path_below(folder(), file).name; }

void RecordIndex::append(const json& line) {
  ++lines_;
  out_.append(text_of(line));
}

void RecordIndex::begin(const Begin& file) {
  const std::string name = name_of(file.file);
  open_ = file;
  files_.erase(name);  // it was overwritten
  touch(name);
  append(begin_line(name, file));
}

void RecordIndex::end(const End& end) {
  if (!open_) return;
  failpoint("index.ending");
  const Begin file = *std::exchange(open_, std::nullopt);
  const std::string name = name_of(file.file);
  const UpTime up{this_boot(), now_ns()};
  const Closed closed{next_order_++, file.start, std::max(end.utc, file.start), {utc_now_ns(), up}, end.bytes};
  files_[name] = closed;
  json line = end_line(name, closed, end.duration, end.reason, clock_of(file));
  line["packets"] = end.packets;
  add_up_time(line, up);
  append(line);
}

void RecordIndex::deleted(const fs::path& file, const std::string& reason) {
  if (open_ && open_->file == file) open_.reset();
  const std::string name = name_of(file);
  files_.erase(name);
  touch(name);
  append({{"event", "deleted"}, {"file", name}, {"time", utc_text(utc_now_ns())}, {"reason", reason}});
}

std::vector<RecordedFile> RecordIndex::files(std::size_t most) {
  while (!load_some()) continue;
  std::vector<std::pair<const std::string, Closed>*> order;
  for (auto& file : files_) order.push_back(&file);
  std::ranges::sort(order, {},
                    [](const auto* file) { return std::pair(file->second.order, file->second.time.written); });
  std::vector<ClosingTime> times;
  times.reserve(order.size());
  for (const auto* file : order) times.push_back(file->second.time);
  const std::int64_t utc = utc_now_ns();
  const std::vector<std::int64_t> ages = ages_.of(times, utc);
  std::vector<RecordedFile> files;
  const std::size_t count = std::min(most, order.size());
  files.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    files.push_back({folder() / order[i]->first, utc - ages[i], order[i]->second.bytes});
  }
  return files;
}

}  // namespace campipe
