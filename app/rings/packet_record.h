// A packet of a camera's video, as bytes of a packet ring: from who has the connection to who decodes it. Beside what
// the source gave it holds what is known of its time (PacketNote) and, with each key frame and each connection's first
// packet, what the stream is: whoever begins there needs nothing from before.
//
// Of side data only that travels which decoders need. Names, addresses and passwords do not.
//
// The writer is not trusted: whoever reads copies, and checks what he copied. The bytes of the packet itself are
// anybody's in any case.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "app/rings/packet_note.h"
#include "core/ffmpeg.h"
#include "core/source_stream.h"

namespace campipe {

// packet: to be decoded. The others have neither packet nor note:
// empty: none follows for now; what is still in the decoder is shown, and it goes on at a key frame.
// lost: the connection is; what is still in the decoder is not worth waiting for.
// round: a file begins again. The decoder goes on where it can, since its first packet refers to nothing before it.
// end: no packet follows.
enum class RecordKind : std::uint8_t { packet, empty, lost, round, end };

struct PacketRecord {
  RecordKind kind = RecordKind::packet;
  std::uint64_t connection = 0;  // counts how often the source was opened
  PacketNote note;
  AvPacket packet;                             // of other kinds: none
  std::shared_ptr<const SourceStream> stream;  // with the parameters that it refers to; null: as before
};

// Replaces what is in `bytes`. `stream`: null where it need not be said again. Throws Error, of the source, where no
// reader would take it.
void write_packet(std::vector<std::uint8_t>& bytes, std::uint64_t connection, const AVPacket& packet,
                  const PacketNote& note, const SourceStream* stream);
void write_mark(std::vector<std::uint8_t>& bytes, std::uint64_t connection, RecordKind kind);

// False: that cannot be. `bytes` may be changed by another process meanwhile.
bool read_record(std::span<const std::uint8_t> bytes, PacketRecord& record);

}  // namespace campipe
