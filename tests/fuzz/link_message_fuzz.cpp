// What the other end of a link says: what is taken can be, and says the same when it is written again.
#include <cmath>
#include <vector>

#include "app/link/message.h"
#include "ipc/ring_checks.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(const link::Frame& frame) {
  require(is_possible(frame.record, frame.bytes), "the planes lie in the body");
  require(frame.record.ready == ReadySignal::immediate && frame.record.fill == 0, "no GPU is waited for");
}

void check(const link::Shape& shape) {
  require(shape.slot_bytes > 0 && shape.slot_bytes <= std::uint64_t{1} << 31, "a slot is of a size that there is");
  require(std::isfinite(shape.frame_rate), "its rate is a number");
}

void check(const link::Hello& hello) { require(hello.name.size() <= link::longest_name, "names are short"); }

void check(const link::Credit& credit) { require(credit.settled <= credit.up_to, "what is settled was allowed"); }

void check(const link::Beat& beat) { require(is_possible_time(beat.sent), "the time is one"); }

void check(const link::Bye& bye) { require(bye.reason <= link::Bye::Reason::busy, "its reason is one that there is"); }

void check(const std::uint8_t* data, std::size_t size) {
  const auto message = link::decode({data, size});
  if (!message) return;
  std::visit([](const auto& of) { check(of); }, *message);
  std::vector<std::uint8_t> again;
  link::encode(*message, again);
  const auto* const hello = std::get_if<link::Hello>(&*message);
  if (hello != nullptr && hello->version != link::version) return;  // the rest of it was not read
  require(again == std::vector<std::uint8_t>(data, data + size), "it is written as it was read");
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(data, size);
  return 0;
}
