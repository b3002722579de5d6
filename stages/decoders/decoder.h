// The contract of a decoder: compressed packets in, frames in slots of the camera's frame ring out.
//
// Life and threads: one object per camera, used by its ingest thread: open_decoder → needs → write_to → (send,
// receive until none)… → destroy, before the ring writer. Decoders may have threads of their own, which claim slots.
// The frame that receive() found stays in its slot until the next receive() or flush(); the caller publishes the
// slot in between, or lets it fall back.
// Frames lie where the codec wrote them ("direct"); where the codec cannot write into a slot (no direct rendering,
// other pixel format, bit depth or size, no slot free), there is one conversion by libswscale into one. A GPU's decoder
// makes one copy on the device, from its own surface into the slot, and records the slot's ready signal behind it
// (FrameRingWriter::filled) before receive() returns.
#pragma once

#include <cstdint>
#include <memory>

#include "core/ffmpeg.h"
#include "core/source_stream.h"
#include "ipc/frame_ring.h"

namespace campipe {

// Slots that a decoder on the CPU with so many threads uses at once, whatever it decodes.
unsigned most_slots_kept(int threads);

struct SlotNeeds {
  std::size_t bytes = 0;   // of one slot
  unsigned kept = 0;       // slots that the decoder may use at once (references, threads)
  bool on_gpu = false;     // a GPU fills them: the ring's memory must be of a kind that it can write
  FrameFormat expected{};  // what its frames will be, as far as the stream's headers announce
};

struct DecoderOptions {
  int threads = 1;
  Device gpu = {};  // decode with this GPU's hardware; the CPU: with libavcodec's own decoders
};

// The hardware does not do this (codec, profile, format, size), or gave up. The stream can still be decoded on the CPU.
struct HardwareRefused : Error {
  using Error::Error;
};

struct DecodedFrame {
  unsigned slot = 0;
  FrameRecord record;                 // format, offsets, strides; of the times only the duration, where it is known
  std::int64_t pts = AV_NOPTS_VALUE;  // in the source's time_base
  bool converted = false;
  bool corrupt = false;      // parts of it were missing or damaged, and are guessed
  std::int64_t packet = -1;  // AVPacket::pos of the packet that it came in
};

class Decoder {
 public:
  // no_slot: a frame was lost for want of a slot. changed: the next frame has another size than those before; it
  // comes once write_to() was given a ring with the slots that needs() now asks for.
  enum class Receive : std::uint8_t { frame, none, no_slot, changed };

  virtual ~Decoder() = default;
  [[nodiscard]] virtual SlotNeeds needs() const = 0;
  // Where frames go from now on. The decoder must be empty (new or flushed), or have just returned `changed`.
  virtual void write_to(std::shared_ptr<FrameRingWriter> ring) = 0;
  // Takes one packet, or null: no more will come, and receive() hands out what is inside. A damaged packet is not
  // an error; false is returned. `capture_utc`: for frames that carry their time. Throws HardwareRefused; so does
  // receive(). Then the decoder must be dropped, and what was sent since the last key frame sent to another.
  virtual bool send(const AVPacket* packet, std::int64_t capture_utc) = 0;
  virtual Receive receive(DecodedFrame& frame) = 0;
  // Forgets everything, and can begin at any key frame.
  virtual void flush() = 0;
};

// Throws Error where there is no decoder for the stream, HardwareRefused where it is known already that the GPU's
// hardware cannot do it.
std::unique_ptr<Decoder> open_decoder(const SourceStream& stream, const DecoderOptions& options);

}  // namespace campipe
