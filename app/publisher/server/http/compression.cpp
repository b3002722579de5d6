#include "app/publisher/server/http/compression.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "core/ascii_case.h"
#include "core/error.h"
#include "core/trimmed.h"

namespace campipe {
namespace {

constexpr std::size_t worth_it = 1024;  // less fits one packet anyway
constexpr int window_bits = 15;
constexpr int with_gzip_header = 16;  // zlib.h: is added to the window's bits
constexpr int memory_level = 8;

// "gzip;q=0" is a refusal, as is "gzip; Q=0.000".
bool is_refused(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view item = parameters.substr(0, parameters.find(';'));
    parameters.remove_prefix(std::min(parameters.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || lower_case(trimmed(item.substr(0, equals))) != "q") continue;
    return item.substr(equals + 1).find_first_of("123456789") == std::string_view::npos;
  }
  return false;
}

void begin_gzip(z_stream& stream, int level) {
  if (::deflateInit2(&stream, level, Z_DEFLATED, window_bits + with_gzip_header, memory_level, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw Error("zlib cannot be used");
}

void give(z_stream& stream, std::string_view text) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib's C does not know const
  stream.avail_in = static_cast<uInt>(text.size());
}

}  // namespace

bool takes_gzip(std::string_view accept_encoding) {
  bool takes = false;
  while (!accept_encoding.empty()) {
    const std::string_view item = accept_encoding.substr(0, accept_encoding.find(','));
    accept_encoding.remove_prefix(std::min(accept_encoding.size(), item.size() + 1));
    const std::string_view coding = item.substr(0, item.find(';'));
    const std::string name = lower_case(trimmed(coding));
    if (name == "gzip") return !is_refused(item.substr(std::min(item.size(), coding.size() + 1)));
    if (name == "*") takes = !is_refused(item.substr(std::min(item.size(), coding.size() + 1)));
  }
  return takes;
}

std::string gzip(std::string_view text, GzipLevel level) {
  z_stream stream{};
  begin_gzip(stream, static_cast<int>(level));
  std::string out(::deflateBound(&stream, text.size()), '\0');
  give(stream, text);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (result != Z_STREAM_END) throw Error("zlib did not compress all of a text");
  return out;
}

GzipStream::GzipStream() : stream_(std::make_unique<z_stream>()) { begin_gzip(*stream_, Z_DEFAULT_COMPRESSION); }

GzipStream::~GzipStream() { ::deflateEnd(stream_.get()); }

std::string GzipStream::add(std::string_view text) {
  give(*stream_, text);
  std::string out;
  std::array<char, 16384> part{};
  do {
    stream_->next_out = reinterpret_cast<Bytef*>(part.data());
    stream_->avail_out = static_cast<uInt>(part.size());
    const int result = ::deflate(stream_.get(), Z_SYNC_FLUSH);
    if (result != Z_OK && result != Z_BUF_ERROR) throw Error("zlib did not compress all of a text");
    out.append(part.data(), part.size() - stream_->avail_out);
  } while (stream_->avail_out == 0);
  return out;
}

void compress(HttpAnswer& answer, bool takes_gzip) {
  if (answer.body.size() < worth_it || !answer.file.name.empty()) return;
  const bool is_text = answer.type.starts_with("application/json") || answer.type.starts_with("text/");
  const bool is_named = std::ranges::any_of(answer.headers, [](const auto& header) { return header.first == "Vary"; });
  if (!is_text || is_named) return;
  name_encoding(answer, takes_gzip);
  if (takes_gzip) answer.body = gzip(answer.body, GzipLevel::quick);
}

void name_encoding(HttpAnswer& answer, bool is_gzip) {
  if (is_gzip) {
    // A strong tag names bytes (RFC 9110, 8.8.3), and these are others.
    for (auto& [name, value] : answer.headers) {
      if (name == "ETag" && value.ends_with('"')) value.insert(value.size() - 1, "-gzip");
    }
    answer.headers.emplace_back("Content-Encoding", "gzip");
  }
  answer.headers.emplace_back("Vary", "Accept-Encoding");
}

}  // namespace campipe
