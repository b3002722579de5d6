// Answers of etcd, which may be anybody's who listens there: whatever they are, they are values or refused, and what is
// shown of them begins no line of a log.
#include "app/cluster/etcd_json.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

template <typename Parse>
void try_parse(const Parse& parse, const std::string& input) {
  try {
    static_cast<void>(parse(input));
  } catch (const BadEtcdAnswer&) {
    // As it should be.
  }
}

void check(const std::string& input) {
  try_parse(parse_header, input);
  try_parse(parse_range, input);
  try_parse(parse_txn, input);
  try_parse(parse_grant, input);
  try_parse(parse_keep_alive, input);
  try_parse(parse_time_to_live, input);
  try_parse(parse_no_space, input);
  try_parse(
      [](const std::string& line) {
        const EtcdWatchAnswer answer = parse_watch(line);
        require(answer.reason.find('\n') == std::string::npos, "a reason is one line", answer.reason);
        return answer;
      },
      input);
  const EtcdError error = parse_error(400, input);
  require(!error.message.empty() && error.message.find('\n') == std::string::npos, "an error is one line", input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
