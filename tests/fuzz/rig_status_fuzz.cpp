// What another program answers to `campipe status` and `campipe top`: it is refused, or shown without anything that a
// terminal would obey. A second line is the list of viewers.
#include <algorithm>

#include "app/commands/rig_sample.h"
#include "app/commands/rig_table.h"
#include "core/error.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check_lines(const std::vector<StyledLine>& lines) {
  for (const StyledLine& line : lines) {
    const std::string text = line.render(200, StyledLine::Form::plain);
    require(std::ranges::none_of(text, [](unsigned char c) { return c < 32 || c == 127; }), "it can be shown", text);
  }
}

void show(const std::string& status, const std::string& viewers) {
  RigSample sample = parse_status(status);
  RigHistory history;
  history.add(sample);
  sample.uptime_s += 1;
  if (!viewers.empty()) count_viewers(sample, viewers);
  history.add(sample);
  const RigSample now = history.newest();
  check_lines({rig_line(now), summary_line(now)});
  check_lines(stream_table(now.streams, 200));
  check_lines(process_table(now.processes));
  for (const StreamSample& stream : now.streams) check_lines(stream_details(stream));
  for (const GpuSample& gpu : now.gpus) check_lines({gpu_line(gpu)});
}

void check(std::string input) {
  const std::string status = take_line(input);
  try {
    show(status, input);
  } catch (const Error& error) {
    require(error.what()[0] != '\0', "a refusal has its reason");
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
