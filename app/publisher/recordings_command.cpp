#include "app/publisher/recordings_command.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/config/units.h"
#include "app/publisher/recording/record_archive.h"
#include "core/error.h"
#include "core/files_below.h"
#include "core/line_reader.h"
#include "core/printable.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Given {
  std::string age, bytes, free;
};

// What the lines of an index say. Damaged ones are left out, as by whoever else reads them.
struct Listed {
  std::optional<RecordAbout> about;
  std::map<std::string, std::uint64_t> files;  // and their bytes
  std::string first, last;                     // UTC
};

void take_line(const json& line, Listed& listed) {
  const std::string event = line.at("event");
  if (event == "recording") {
    listed.about = about_in(line);
  } else if (event == "end") {
    const std::string file = line.at("file");
    const std::string start = line.at("start");
    const std::string end = line.at("end");
    listed.files[file] = line.at("bytes").get<std::uint64_t>();
    if (listed.first.empty() || start < listed.first) listed.first = start;
    listed.last = std::max(listed.last, end);
  } else if (event == "deleted") {
    const std::string file = line.at("file");
    listed.files.erase(file);
  }
}

Listed read_index(const fs::path& index) {
  Listed listed;
  LineReader in(open_below(in_own_folder(index), O_RDONLY));
  std::string text;
  for (auto next = in.next(text); next != LineReader::Next::end; next = in.next(text)) {
    if (next != LineReader::Next::line) continue;
    try {
      take_line(json::parse(text), listed);
    } catch (const std::exception&) {
      continue;
    }
  }
  return listed;
}

std::string limits_text(const std::optional<RecordAbout>& about) {
  if (!about || !about->limits.any()) return "kept for ever";
  std::string text;
  if (about->limits.age) text += ", delete_after " + time_text(*about->limits.age);
  if (about->limits.bytes) text += fmt::format(", max_size {}M", *about->limits.bytes / 1'000'000);
  if (about->limits.free) text += fmt::format(", keep_free {}M", *about->limits.free / 1'000'000);
  return text.substr(2);
}

int list_indexes(const std::string& folder) {
  std::error_code error;
  fs::recursive_directory_iterator each(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && each != fs::end(each); each.increment(error)) {
    if (!each->path().native().ends_with(index_ending)) continue;
    const Listed listed = read_index(each->path());
    std::uint64_t bytes = 0;
    for (const auto& [file, size] : listed.files) bytes += size;
    std::cout << fmt::format("{}: {} files, {:.1f} MB", printable(each->path().string()), listed.files.size(),
                             static_cast<double>(bytes) / 1e6);
    if (!listed.files.empty()) std::cout << fmt::format(", {} to {}", printable(listed.first), printable(listed.last));
    std::cout << ", " << limits_text(listed.about) << '\n';
  }
  if (error) throw Error("cannot search " + folder + ": " + error.message());
  return 0;
}

// `limits`: none of any kind to leave its files alone.
int set_limits(const fs::path& index, const RetentionLimits& limits) {
  if (!index.native().ends_with(index_ending) || fs::symlink_status(index).type() != fs::file_type::regular)
    throw Error(index.string() + ": is no index (a file NAME" + std::string(index_ending) + "; `list` has them)");
  RecordArchive archive(index);
  if (!archive.take())
    throw Error(index.string() + ": there is no such index, or a rig records there; change its configuration then");
  while (!archive.load_some()) continue;
  archive.use([&](RecordIndex& lines) {
    RecordAbout about = lines.about().value_or(RecordAbout());
    about.limits = limits;
    lines.set_about(about);
    lines.sync();
  });
  archive.let_go();
  const auto written = read_index(index).about;
  if (!written || written->limits != limits) throw Error(index.string() + ": its limits could not be written");
  std::cout << index.string() << ": " << limits_text(read_index(index).about) << '\n';
  return 0;
}

RetentionLimits given_limits(const Given& given) {
  RetentionLimits limits;
  if (!given.age.empty()) limits.age = parse_time(given.age);
  if (!given.bytes.empty()) limits.bytes = parse_size(given.bytes);
  if (!given.free.empty()) limits.free = parse_size(given.free);
  return limits;
}

std::string check_age(const std::string& text) {
  const auto time = parse_time(text);
  const bool is_taken = time && time->count() > 0 && *time <= longest_age_of_files;
  return is_taken ? "" : "expected a time such as 7d, at most 3650d, not '" + printable(text) + "'";
}

std::string check_size(const std::string& text) {
  const auto size = parse_size(text);
  return size && *size > 0 ? "" : "expected a size such as 200G, not '" + printable(text) + "'";
}

}  // namespace

void add_recordings_command(CLI::App& app, std::function<int()>& chosen) {
  CLI::App& recordings = *app.add_subcommand("recordings", "indexes of recordings, and the limits of their files");
  recordings.require_subcommand(1);
  CLI::App& listing = *recordings.add_subcommand("list", "list the indexes below a folder");
  auto folder = std::make_shared<std::string>();
  listing.add_option("FOLDER", *folder, "where rigs record to")->required()->type_name("");
  listing.callback([&chosen, folder] { chosen = [=] { return list_indexes(*folder); }; });

  CLI::App& adopt = *recordings.add_subcommand(
      "adopt",
      "give limits to the files of a camera that is in no configuration; a rig that records beside them keeps "
      "these within minutes");
  auto index = std::make_shared<std::string>();
  auto given = std::make_shared<Given>();
  adopt.add_option("INDEX", *index, "NAME.index.jsonl, as `list` has it")->required()->type_name("");
  adopt.add_option("--delete-after", given->age, "delete files that ended longer ago")
      ->type_name("TIME")
      ->check(check_age);
  adopt.add_option("--max-size", given->bytes, "delete the oldest where they are larger together")
      ->type_name("SIZE")
      ->check(check_size);
  adopt.add_option("--keep-free", given->free, "delete the oldest where the disk has less free")
      ->type_name("SIZE")
      ->check(check_size);
  adopt.callback([&chosen, index, given] {
    chosen = [=] {
      const RetentionLimits limits = given_limits(*given);
      if (!limits.any()) throw Error("give --delete-after, --max-size or --keep-free");
      return set_limits(*index, limits);
    };
  });

  CLI::App& forget = *recordings.add_subcommand("forget", "take the limits away: no rig deletes these files any more");
  forget.add_option("INDEX", *index, "likewise")->required()->type_name("");
  forget.callback([&chosen, index] { chosen = [=] { return set_limits(*index, {}); }; });
}

}  // namespace campipe
