#include "app/publisher/server/http/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <span>

#include "core/url_text.h"

namespace campipe {
namespace {

constexpr std::size_t first_size = 1024;  // in which a recording has the room for what is written at its end

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string etag_of(const struct stat& file) {
  return "\"" + std::to_string(file.st_size) + "-" + std::to_string(file.st_mtim.tv_sec) + "." +
         std::to_string(file.st_mtim.tv_nsec) + "\"";
}

// RFC 6266: the name in ASCII for old programs, and as it is.
std::string disposition_of(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const bool is_safe = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
    plain += is_safe ? c : '_';
  }
  return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + percent_encoded(name);
}

std::vector<char> read_at(const UniqueFd& fd, std::uint64_t from, std::size_t most) {
  std::vector<char> part(most);
  const ssize_t got = ::pread(fd.get(), part.data(), most, static_cast<off_t>(from));
  part.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return part;
}

FileAnswer failed(int status, const std::string& why) { return {http_error(status, why), {}, {}}; }

}  // namespace

std::string http_date(std::time_t time) {
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  std::array<char, 40> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

RangeWish parse_range(std::string_view header, std::uint64_t file_size, ByteRange& range) {
  constexpr std::string_view unit = "bytes=";
  range = {0, file_size};
  if (!header.starts_with(unit)) return RangeWish::whole;
  header.remove_prefix(unit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos || header.find(',') != std::string_view::npos) return RangeWish::whole;
  const auto first = number(header.substr(0, dash));
  const auto last = number(header.substr(dash + 1));
  if (dash == 0) {  // the last so many
    if (!last) return RangeWish::whole;
    if (*last == 0 || file_size == 0) return RangeWish::impossible;
    range.size = std::min(*last, file_size);
    range.begin = file_size - range.size;
    return RangeWish::part;
  }
  const bool is_open = dash + 1 == header.size();
  if (!first || (!last && !is_open) || (last && *last < *first)) return RangeWish::whole;
  if (*first >= file_size) return RangeWish::impossible;
  range.begin = *first;
  range.size = std::min(is_open ? file_size - 1 : *last, file_size - 1) - *first + 1;
  return RangeWish::part;
}

std::string type_of_file(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, const char*>, 8> types{{{".mp4", "video/mp4"},
                                                                           {".mkv", "video/x-matroska"},
                                                                           {".ts", "video/mp2t"},
                                                                           {".jpg", "image/jpeg"},
                                                                           {".png", "image/png"},
                                                                           {".json", "application/json"},
                                                                           {".jsonl", "application/x-ndjson"},
                                                                           {".txt", "text/plain; charset=utf-8"}}};
  for (const auto& [ending, type] : types) {
    if (path.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

bool matches_etag(std::string_view header, std::string_view etag) {
  while (!header.empty()) {
    std::string_view item = header.substr(0, header.find(','));
    header.remove_prefix(std::min(header.size(), item.size() + 1));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (item.starts_with("W/")) item.remove_prefix(2);
    if (item == "*" || item == etag) return true;
  }
  return false;
}

FileAnswer open_file(const HttpAnswer& answer, const HttpFacts& facts, bool download) {
  FileAnswer out;
  out.fd = open_below(answer.file, O_RDONLY);
  if (out.fd) out.first_bytes = read_at(out.fd, 0, first_size);
  struct stat file {};
  if (!out.fd && (errno == ELOOP || errno == ENXIO)) return failed(404, "this is no file");
  if (!out.fd || ::fstat(out.fd.get(), &file) != 0)
    return failed(errno == ENOENT ? 404 : 500, "the file cannot be read");
  const std::string etag = etag_of(file);
  const std::string modified = http_date(file.st_mtim.tv_sec);
  out.head.status = answer.status;
  out.head.type = type_of_file(answer.file.name.native());
  out.head.headers = answer.headers;
  out.head.headers.insert(out.head.headers.end(),
                          {{"ETag", etag}, {"Last-Modified", modified}, {"Accept-Ranges", "bytes"}});
  if (download) out.head.headers.emplace_back("Content-Disposition", disposition_of(answer.saved_as));
  if (matches_etag(facts.conditions.if_none_match, etag)) {
    out.head.status = 304;
    out.fd.reset();
    return out;
  }
  const auto size = static_cast<std::uint64_t>(file.st_size);
  const bool is_other_file =
      !facts.conditions.if_range.empty() && facts.conditions.if_range != etag && facts.conditions.if_range != modified;
  const RangeWish wish = parse_range(is_other_file ? std::string_view() : facts.conditions.range, size, out.range);
  if (wish == RangeWish::impossible) {
    FileAnswer refusal = failed(416, "the file has only " + std::to_string(size) + " bytes");
    refusal.head.headers.emplace_back("Content-Range", "bytes */" + std::to_string(size));
    return refusal;
  }
  if (wish == RangeWish::part) {
    out.head.status = 206;
    out.head.headers.emplace_back("Content-Range", "bytes " + std::to_string(out.range.begin) + "-" +
                                                       std::to_string(out.range.begin + out.range.size - 1) + "/" +
                                                       std::to_string(size));
  }
  return out;
}

std::vector<char> read_part(const FileAnswer& file, std::uint64_t from, std::size_t most) {
  std::vector<char> part = read_at(file.fd, from, most);
  if (from >= file.first_bytes.size()) return part;
  const auto first = std::span(file.first_bytes).subspan(from);
  std::ranges::copy(first.first(std::min(first.size(), part.size())), part.begin());
  return part;
}

}  // namespace campipe
