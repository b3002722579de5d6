// A time as a request or an index has it: what is taken for one is the same when it is written again.
#include "app/publisher/server/recordings.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = campipe::fuzz::text_of(data, size);
  const auto utc = campipe::utc_of(text);
  campipe::fuzz::require(!utc || utc->size() == std::string_view("2026-11-21T10:15:30.250Z").size(), "a time's form",
                         text);
  campipe::fuzz::require(!utc || campipe::utc_of(*utc) == utc, "the same when written again", text);
  return 0;
}
