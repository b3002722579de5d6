// How a connection sends its answers.
#include "app/publisher/server/http/connection.h"

#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>

namespace campipe {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::awaitable;
using asio::use_awaitable;

constexpr std::size_t file_part = 256 * 1024;

// All answers are of one type, as each type takes the compiler seconds: those without a body have an empty one.
using Response = http::response<http::string_body>;

awaitable<void> write_moving(HttpStream& stream, Response& response, std::chrono::milliseconds patience) {
  http::response_serializer<http::string_body> serializer(response);
  while (!serializer.is_done()) {
    stream.tcp().expires_after(patience);
    co_await http::async_write_some(stream, serializer, use_awaitable);
  }
}

Response make_response(const HttpAnswer& answer, const HttpConnection::Exchange& exchange) {
  Response response(http::int_to_status(static_cast<unsigned>(answer.status)), exchange.message.version());
  set_headers(response, answer);
  response.keep_alive(exchange.keep_alive);
  return response;
}

std::string header_of(const HttpAnswer& answer, std::string_view name) {
  const auto found = std::ranges::find(answer.headers, name, &std::pair<std::string, std::string>::first);
  return found == answer.headers.end() ? "" : found->second;
}

}  // namespace

void set_headers(http::fields& fields, const HttpAnswer& answer) {
  // Scripts, styles and connections from here only, nothing inline, and no other site may put a page into a frame.
  fields.set("Content-Security-Policy",
             "default-src 'self'; media-src 'self' blob:; img-src 'self' data: blob:; connect-src 'self'; "
             "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("Referrer-Policy", "no-referrer");
  fields.set("Cross-Origin-Resource-Policy", "same-origin");
  fields.set("Cross-Origin-Opener-Policy", "same-origin");
  fields.set(http::field::cache_control, "no-store");
  fields.set(http::field::content_type, answer.type);
  for (const auto& [name, value] : answer.headers) {
    if (name == "Set-Cookie")
      fields.insert(name, value);
    else
      fields.set(name, value);
  }
}

awaitable<void> HttpConnection::send(HttpAnswer& answer, const Exchange& exchange) {
  if (!answer.file.name.empty()) {
    co_await send_file(answer, exchange);
    co_return;
  }
  const std::string etag = header_of(answer, "ETag");
  if (answer.status == 200 && !etag.empty() && matches_etag(exchange.facts.conditions.if_none_match, etag))
    answer.status = 304;
  if (answer.status == 304 || exchange.facts.method == "HEAD") {
    auto response = make_response(answer, exchange);
    if (answer.status != 304) response.content_length(answer.body.size());
    co_await write_moving(stream_, response, shared_->limits.send);
    co_return;
  }
  auto response = make_response(answer, exchange);
  response.body() = std::move(answer.body);
  response.prepare_payload();
  co_await write_moving(stream_, response, shared_->limits.send);
}

awaitable<void> HttpConnection::send_file(const HttpAnswer& answer, const Exchange& exchange) {
  const bool download = exchange.passed.request.query.contains("download");
  const HttpFacts& facts = exchange.facts;
  const auto open = [answer, facts, download] {
    return std::make_shared<FileAnswer>(open_file(answer, facts, download));
  };
  const auto opened = co_await shared_->threads.disks.run(place_.holder(), open, shared_->limits.disk);
  if (!opened) {
    HttpAnswer refusal = no_answer_from_disk("");
    co_await send(refusal, exchange);
    co_return;
  }
  const std::shared_ptr<FileAnswer> file = *opened;
  if (!file->fd) {
    co_await send(file->head, exchange);
    co_return;
  }
  auto response = make_response(file->head, exchange);
  response.content_length(file->range.size);
  co_await write_moving(stream_, response, shared_->limits.send);
  if (facts.method == "HEAD") co_return;
  std::uint64_t done = 0;
  while (done < file->range.size) {
    const auto from = file->range.begin + done;
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(file_part, file->range.size - done));
    const auto read = [file, from, most] { return read_part(*file, from, most); };
    const auto part = co_await shared_->threads.disks.run(place_.holder(), read, shared_->limits.disk);
    if (!part) throw Error("the disk with a file does not answer");
    if (part->empty()) throw Error("a file became shorter while it was sent");
    co_await send_bytes(asio::buffer(*part));
    done += part->size();
  }
}

awaitable<void> HttpConnection::send_bytes(asio::const_buffer bytes) {
  while (bytes.size() > 0) {
    stream_.tcp().expires_after(shared_->limits.send);
    bytes += co_await stream_.async_write_some(bytes, use_awaitable);
  }
}

}  // namespace campipe
