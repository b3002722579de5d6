#include "app/publisher/recording/record_about.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/config/stream_config.h"
#include "core/error.h"

namespace campipe {
namespace {

std::optional<std::int64_t> bytes_in(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) return std::nullopt;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > INT64_MAX)
    throw Error(std::string("'") + key + "' is no size");
  return found->get<std::int64_t>();
}

bool is_of_node(const std::string& index, const std::string& node) {
  if (!index.ends_with(index_ending)) return false;
  const std::string name = index.substr(0, index.size() - index_ending.size());
  return node.empty() ? name.find('@') == std::string::npos : name.ends_with("@" + node);
}

}  // namespace

std::filesystem::path record_index_path(const std::string& record_path, const std::string& camera,
                                        const std::string& output, const std::string& node) {
  const std::string fixed = record_path.substr(0, record_path.find('%'));
  const auto slash = fixed.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : fixed.substr(0, slash + 1);
  const std::string name = output == "main" ? camera : camera + "." + output;
  const std::string of_node = node.empty() ? "" : "@" + node;
  return std::filesystem::path(expand_record_path(folder, camera, output, 0)) /
         (name + of_node + std::string(index_ending));
}

RecordAbout about_of(const ResolvedOutput& config) {
  const RecordConfig& record = *config.record;
  return {
      config.camera, config.output, record.path, config.node, {record.delete_after, record.max_size, record.keep_free}};
}

std::filesystem::path index_of(const RecordAbout& about) {
  return record_index_path(about.path, about.camera, about.output, about.node);
}

nlohmann::json line_of(const RecordAbout& about) {
  nlohmann::json line{{"event", "recording"}, {"camera", about.camera}, {"output", about.output}, {"path", about.path}};
  if (!about.node.empty()) line["node"] = about.node;
  if (about.limits.age) line["delete_after_s"] = std::chrono::duration<double>(*about.limits.age).count();
  if (about.limits.bytes) line["max_size"] = *about.limits.bytes;
  if (about.limits.free) line["keep_free"] = *about.limits.free;
  return line;
}

RecordAbout about_in(const nlohmann::json& line) {
  RecordAbout about{line.at("camera"), line.at("output"), line.at("path"), line.value("node", ""), {}};
  if (const auto age = line.find("delete_after_s"); age != line.end()) {
    const double seconds = age->get<double>();
    if (!(seconds > 0 && seconds <= std::chrono::duration<double>(longest_age_of_files).count()))
      throw Error("'delete_after_s' is no time");
    about.limits.age = std::chrono::nanoseconds(std::llround(seconds * 1e9));
  }
  about.limits.bytes = bytes_in(line, "max_size");
  about.limits.free = bytes_in(line, "keep_free");
  return about;
}

// Folders of which `{camera}` or `{output}` is a part may have any name.
std::vector<std::filesystem::path> indexes_beside(const RecordAbout& about) {
  namespace fs = std::filesystem;
  const std::string fixed = about.path.substr(0, about.path.find('%'));
  fs::path root;
  int depth = 0;
  for (const fs::path& part : fs::path(fixed.substr(0, fixed.rfind('/') + 1))) {
    if (part.empty()) continue;
    if (depth > 0 || part.native().find('{') != std::string::npos) {
      ++depth;
    } else {
      root /= part;
    }
  }
  std::vector<fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator each(root.empty() ? "." : root, fs::directory_options::skip_permission_denied,
                                        error);
  for (; !error && each != fs::end(each); each.increment(error)) {
    if (each.depth() >= depth) each.disable_recursion_pending();
    if (each.depth() == depth && is_of_node(each->path().filename(), about.node)) found.push_back(each->path());
  }
  return found;
}

}  // namespace campipe
