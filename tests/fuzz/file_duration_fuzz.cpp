// The beginning of a recorded file, which somebody may have damaged before its length is written there.
#include <vector>

#include "core/error.h"
#include "stages/sinks/file_duration.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(Container container, const std::vector<std::uint8_t>& head) {
  const auto patch = duration_patch(container, head, 1'234'567'890);
  if (!patch) return;
  require(patch->offset <= head.size() && patch->bytes.size() <= head.size() - patch->offset,
          "the length is written where the header is");
}

void check_reserved(std::vector<std::uint8_t> head) {
  try {
    reserve_duration(Container::mp4, head);
  } catch (const Error&) {
    return;
  }
  check(Container::mp4, head);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> head(data, data + size);
  campipe::fuzz::check(campipe::Container::mkv, head);
  campipe::fuzz::check(campipe::Container::mp4, head);
  campipe::fuzz::check_reserved(head);
  return 0;
}
