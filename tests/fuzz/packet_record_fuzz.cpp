// A record of a packet, as a process that was taken over may write it: what is taken can be given to libavcodec, and
// says the same when it is written again.
#include <vector>

#include "app/rings/packet_record.h"
#include "core/source_stream.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(const std::uint8_t* data, std::size_t size) {
  PacketRecord record;
  if (!read_record({data, size}, record)) return;
  require(record.kind <= RecordKind::end, "it is of a kind that there is");
  require((record.packet != nullptr) == (record.kind == RecordKind::packet), "a packet has a packet");
  if (!record.packet) return;
  if (record.stream && record.stream->codec != nullptr) {
    const AvCodecContext context(avcodec_alloc_context3(nullptr));
    require(avcodec_parameters_to_context(context.get(), record.stream->codec) >= 0, "libavcodec takes the stream");
  }
  std::vector<std::uint8_t> bytes;
  write_packet(bytes, record.connection, *record.packet, record.note, record.stream.get());
  PacketRecord again;
  require(read_record(bytes, again), "it can be read again");
  require(again.packet->pts == record.packet->pts && again.packet->size == record.packet->size, "as it was");
  require(again.packet->flags == record.packet->flags, "with its flags");
  require(again.note.packet == record.note.packet && again.note.offset == record.note.offset, "and its note");
  require((again.stream != nullptr) == (record.stream != nullptr), "and its stream");
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(data, size);
  return 0;
}
