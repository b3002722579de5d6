// A transport stream, as libavformat reads it through TsUnits: it comes to an end, however often parts of it are handed
// out again, and makes no more of it than there is.
#include "stages/sources/ts_units.h"

#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(const std::string& stream) {
  static const Folder folder;
  Folder::write("stream.ts", stream);
  av_log_set_level(AV_LOG_QUIET);
  AVFormatContext* raw = nullptr;
  if (avformat_open_input(&raw, "stream.ts", av_find_input_format("mpegts"), nullptr) < 0) return;
  AvInput input(raw);
  MediaStreams streams;
  for (unsigned i = 0; i < input->nb_streams && streams.video < 0; ++i) {
    if (input->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO) streams.video = static_cast<int>(i);
  }
  if (streams.video < 0 || !TsUnits::reads(*input)) return;
  std::optional<TsUnits> units;
  units.emplace(*input, streams);
  const AvPacket packet = make_av_packet();
  std::size_t bytes = 0;
  while (units->read(*packet) >= 0) {
    if (packet->stream_index == streams.video) bytes += static_cast<std::size_t>(packet->size);
    // What was handed out too early comes again, a few times at most.
    require(bytes <= 4 * stream.size(), "it comes to an end");
    av_packet_unref(packet.get());
  }
  input.reset();
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
