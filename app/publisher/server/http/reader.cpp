#include "app/publisher/server/http/reader.h"

#include <boost/beast/websocket/rfc6455.hpp>

#include "app/publisher/server/nodes/request.h"

namespace campipe {
namespace {

namespace http = boost::beast::http;

// "0\r\n\r\n". The parser asserts that the last chunk has as many bytes when it looks at it again; with fewer no body
// is at its end.
constexpr std::size_t shortest_last_chunk = 5;

// One reader of it takes the next line for a part of the header, and another one for a header.
bool has_folded_line(std::string_view text) {
  const std::string_view header = text.substr(0, text.find("\r\n\r\n"));
  return header.find("\r\n ") != std::string_view::npos || header.find("\r\n\t") != std::string_view::npos;
}

}  // namespace

HttpReader::HttpReader() {
  parser_.header_limit(header_limit);
  parser_.body_limit(body_limit);
}

std::size_t HttpReader::take(boost::asio::const_buffer bytes) {
  const std::size_t size = bytes.size();
  while (!done() && bytes.size() >= (header_ && parser_.chunked() ? shortest_last_chunk : 1)) {
    boost::beast::error_code error;
    const std::string_view given(static_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t used = parser_.put(bytes, error);
    bytes += used;
    if (header_) sent_ += used;
    if (error == http::error::need_more) break;
    if (error) {
      refuse(error);
    } else if (!header_ && parser_.is_header_done()) {
      look_at_header(given.substr(0, used));
    } else if (sent_ > sent_limit) {
      refusal_ = http_error(413, "the chunks are more than a body of 64 KiB needs");
    }
  }
  if (!done() && bytes.size() >= header_limit) {
    refusal_ = http_error(header_ ? 400 : 431, header_ ? "extensions of chunks, or trailers, are longer than 16 KiB"
                                                       : "the headers are longer than 16 KiB");
  }
  return size - bytes.size();
}

// Trailers are headers to the parser: they must not take the place of those that were sent first.
void HttpReader::look_at_header(std::string_view text) {
  header_ = parser_.get().base();
  const auto coding = parser_.get()[http::field::transfer_encoding];
  const bool is_plain = parser_.get().count(http::field::transfer_encoding) == 0;
  if (!is_plain && (parser_.get().version() < 11 || !boost::beast::iequals(coding, "chunked"))) {
    refusal_ = http_error(501, "the only Transfer-Encoding that is known here is chunked, of HTTP/1.1");
  } else if (const auto hosts = parser_.get().count(http::field::host);
             hosts > 1 || (hosts == 1 ? parser_.get()[http::field::host].empty() : parser_.get().version() >= 11)) {
    refusal_ = http_error(400, "there must be one header Host");
  } else if (has_folded_line(text)) {
    refusal_ = http_error(400, "a header goes on in the line behind it");
  }
}

void HttpReader::refuse(boost::beast::error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    refusal_ = http_error(431, "the headers are longer than 16 KiB");
  } else if (error == http::error::body_limit) {
    refusal_ = http_error(413, "the body is longer than 64 KiB");
  } else {
    refusal_ = http_error(400, "this is not HTTP");
  }
}

HttpMessage HttpReader::release() {
  HttpMessage message = parser_.release();
  message.base() = std::move(*header_);
  return message;
}

HttpFacts facts_of(HttpMessage& message) {
  const auto header = [&message](auto name) { return text_of(message[name]); };
  HttpFacts facts;
  facts.method = text_of(message.method_string());
  facts.target = text_of(message.target());
  facts.host = header(http::field::host);
  facts.origin = header(http::field::origin);
  facts.fetch.mode = header("Sec-Fetch-Mode");
  facts.fetch.site = header("Sec-Fetch-Site");
  facts.accept = header(http::field::accept);
  facts.browser = header(http::field::user_agent).starts_with("Mozilla/");
  facts.accept_encoding = header(http::field::accept_encoding);
  facts.credentials.cookie = header(http::field::cookie);
  facts.credentials.authorization = header(http::field::authorization);
  facts.node.user = header(node_user_header);
  facts.node.visitor = header(node_visitor_header);
  facts.node.own = header(node_own_header);
  facts.credentials.csrf = header("X-CSRF-Token");
  facts.forwarded.proto = header("X-Forwarded-Proto");
  facts.forwarded.prefix = header("X-Forwarded-Prefix");
  // There may be several, which are one.
  const auto [first, last] = message.equal_range("X-Forwarded-For");
  for (auto field = first; field != last; ++field)
    facts.forwarded.addresses += (facts.forwarded.addresses.empty() ? "" : ",") + text_of(field->value());
  facts.conditions.range = header(http::field::range);
  facts.conditions.if_range = header(http::field::if_range);
  facts.conditions.if_none_match = header(http::field::if_none_match);
  facts.body = std::move(message.body());
  facts.upgrade = boost::beast::websocket::is_upgrade(message);
  return facts;
}

}  // namespace campipe
