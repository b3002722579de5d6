// What is found in packets that are passed on as they came: the filters of the outputs with codec `copy`, which only
// look at each frame of them (`motion`), and a decoder on the CPU for this alone where nothing else decodes them there.
// In the master; used by the camera's decoding thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "app/rings/copy_target.h"
#include "app/rings/motion_meter.h"
#include "core/source_stream.h"
#include "ipc/frame_ring.h"
#include "stages/decoders/decoder.h"
#include "stages/filters/chain.h"

namespace campipe {

class RigPage;

class CopyMotion {
 public:
  // `process`: that this is; its page has what is found.
  CopyMotion(const std::vector<CopyTarget>& targets, const RigPage& page, ProcessId process);

  // No output has such a filter.
  [[nodiscard]] bool empty() const { return outputs_.empty(); }
  // The source was opened (again). `decoder`: a new one for this stream; none: another decoder's frames come to look().
  void begin(const SourceStream& stream, std::unique_ptr<Decoder> decoder);
  // Nothing is looked at until it begins again: something failed, or the source is over.
  void end();
  // Packets were left out; the next one is a key frame.
  void skip();
  [[nodiscard]] bool decodes() const { return decoder_ != nullptr; }
  // Only if it decodes: looks at what comes out of the packet.
  void decode(const AVPacket& packet);
  // At a frame of another decoder, in a slot of a ring in host memory; `pts` in nanoseconds.
  void look(const FrameRingMemory& ring, const DecodedFrame& frame, std::int64_t pts);
  // What was found in the newest frame, for that output.
  [[nodiscard]] FrameMetadata metadata(OutputId output) const;

 private:
  struct Output {
    Output(const CopyTarget& target, MotionBlock& block) : id(target.output), filters(target.filters), meter(block) {}
    OutputId id;
    FilterChain filters;
    MotionMeter meter;
    FrameMetadata metadata;
  };
  void make_ring();
  void configure(const FrameFormat& format);
  [[nodiscard]] std::int64_t time_of(const DecodedFrame& frame) const;

  std::list<Output> outputs_;
  const SourceStream* stream_ = nullptr;
  std::shared_ptr<FrameRingWriter> ring_;  // without readers: the decoder's slots
  std::unique_ptr<Decoder> decoder_;       // goes before its ring
  FrameFormat format_;                     // that the filters are configured for
  bool looks_ = false;                     // between begin() and end()
  std::int64_t last_ = 0;
};

}  // namespace campipe
