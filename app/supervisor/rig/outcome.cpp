#include "app/supervisor/rig/outcome.h"

#include <fmt/format.h>

namespace campipe {

std::string format_outcome(const Output& output, const FrameCounts& counts) {
  std::string text =
      fmt::format("{}, {} frames decoded, {} encoded", name_of(output.state), counts.decoded, counts.encoded);
  if (counts.repeated > 0) text += fmt::format(" ({} repeated)", counts.repeated);
  const OutputRecording& recording = output.recording;
  for (const auto& [cause, number] : counts.dropped) text += fmt::format(", {} dropped ({})", number, cause);
  if (!recording.file.empty()) text += fmt::format(", {} recorded", counts.recorded);
  if (counts.unrecorded > 0) text += fmt::format(", {} not recorded", counts.unrecorded);
  if (!recording.file.empty()) text += fmt::format("; newest file: {}", recording.file);
  if (!recording.paused.empty()) text += fmt::format("; recording paused: {}", recording.paused);
  if (!output.reason.empty()) text += fmt::format("; {}", output.reason);
  return text;
}

}  // namespace campipe
