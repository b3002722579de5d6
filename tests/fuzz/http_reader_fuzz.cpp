// Bytes of a connection, behind a line with the size of the pieces in which they come: requests, one after the other,
// or a refusal. How they are cut into pieces makes no difference, and nothing that is kept has no end.
#include "app/publisher/server/http/reader.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

constexpr std::size_t surely_fits = 8192;
const std::string refused = "refused";

// As a connection reads them: what is left waits for what comes next.
std::vector<std::string> read_requests(const std::string& bytes, std::size_t piece) {
  std::vector<std::string> seen;
  std::string waiting;
  std::optional<HttpReader> reader(std::in_place);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    waiting += bytes.substr(at, piece);
    for (;;) {
      const std::size_t taken = reader->take(boost::asio::buffer(waiting));
      require(taken <= waiting.size(), "no more is taken than there is", bytes);
      waiting.erase(0, taken);
      if (!reader->done()) break;
      if (reader->refusal()) {
        require(reader->refusal()->status >= 400, "a refusal says that it is one", bytes);
        seen.push_back(refused);
        return seen;
      }
      HttpMessage message = reader->release();
      const HttpFacts facts = facts_of(message);
      require(facts.body.size() <= HttpReader::body_limit, "a body is bounded", bytes);
      const auto hosts = message.count(boost::beast::http::field::host);
      require(hosts == 1 || (hosts == 0 && message.version() < 11), "there is one Host, but of HTTP/1.0", bytes);
      seen.push_back(facts.method + " " + facts.target + " " + facts.host + " " + facts.credentials.authorization +
                     " " + facts.forwarded.addresses + " " + facts.body);
      reader.emplace();
    }
    require(waiting.size() < HttpReader::header_limit, "what waits is bounded", bytes);
  }
  return seen;
}

void check(std::string input) {
  const auto wanted = static_cast<std::size_t>(std::abs(std::atoi(take_line(input).c_str()) % 5000));
  const std::size_t piece = std::clamp<std::size_t>(wanted, 1, HttpReader::most_at_once);
  auto in_pieces = read_requests(input, piece);
  if (input.size() > surely_fits) return;  // limits may be met sooner or later
  auto at_once = read_requests(input, HttpReader::most_at_once);
  // What is wrong with a request that is not all there may be found before its end.
  std::erase(in_pieces, refused);
  std::erase(at_once, refused);
  require(in_pieces == at_once, "pieces make no difference", input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
