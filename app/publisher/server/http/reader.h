// A request out of the bytes of a connection, all of which come from strangers. What it keeps is bounded by `limits`
// whatever comes: headers, extensions of chunks, trailers, body. Only for the files that use Boost.Beast.
#pragma once

#include <utility>  // before asio, whose headers of this age forget it

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string_type.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/publisher/server/http/rules.h"

namespace campipe {

using HttpMessage = boost::beast::http::request<boost::beast::http::string_body>;

inline std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

class HttpReader {
 public:
  static constexpr std::uint32_t header_limit = 16 * 1024;  // of trailers and of a chunk's head likewise
  static constexpr std::uint64_t body_limit = 64 * 1024;
  // Of a body in chunks as it is sent: enough for one in chunks of one byte.
  static constexpr std::uint64_t sent_limit = 8 * body_limit;
  static constexpr std::size_t most_at_once = 4096;  // is to be read from the connection

  HttpReader();

  // Takes what it can of `bytes`, and returns how many those were. The rest is to be given again with what comes after
  // it; it is shorter than header_limit for as long as there is no refusal.
  std::size_t take(boost::asio::const_buffer bytes);
  [[nodiscard]] bool done() const { return refusal_ || parser_.is_done(); }
  // What the sender did wrong; where there is something, no further request of the connection can be found.
  [[nodiscard]] const std::optional<HttpAnswer>& refusal() const { return refusal_; }
  // When done() without refusal(): the request, with the headers that came before its body.
  HttpMessage release();

 private:
  void look_at_header(std::string_view text);
  void refuse(boost::beast::error_code error);

  boost::beast::http::request_parser<boost::beast::http::string_body> parser_;
  std::optional<HttpMessage::header_type> header_;
  std::optional<HttpAnswer> refusal_;
  std::uint64_t sent_ = 0;  // behind the header
};

// What of a request matters for whether it may be answered. Its body is moved there.
HttpFacts facts_of(HttpMessage& message);

}  // namespace campipe
