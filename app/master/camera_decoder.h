// A camera's decoder: its GPU's until that refuses the stream or gives up, then one on the CPU until the source is
// opened again.
//
// Used by the camera's decoding thread. While the decoder works the thread says so in the rig page (ThreadWait), since
// the decoder's own threads may work for it.
#pragma once

#include <memory>
#include <string>

#include "app/master/decoding_context.h"
#include "stages/decoders/decoder.h"

namespace campipe {

// A decoder for the camera's stream, without a ring to write to.
std::unique_ptr<Decoder> make_decoder(const DecodingContext& camera, const SourceStream& stream, const Device& gpu);

class CameraDecoder {
 public:
  explicit CameraDecoder(const DecodingContext& camera) : camera_(camera) {}

  // The stream was opened (again) and outlives the decoder. Throws Error if no decoder can be opened.
  void open(const SourceStream& stream);
  void close() { decoder_.reset(); }
  [[nodiscard]] bool is_open() const { return decoder_ != nullptr; }
  // Replaces the GPU's decoder by one of the CPU, which has no ring yet; logs the reason.
  void leave_gpu(const std::string& reason);
  [[nodiscard]] bool on_hardware() const { return on_hardware_; }
  // For people: "h264" or "h264 (nvdec)".
  [[nodiscard]] std::string name() const;
  // Of the opened source.
  [[nodiscard]] const SourceStream& stream() const { return *stream_; }

  // As Decoder's.
  bool send(const AVPacket* packet, std::int64_t capture_utc);
  Decoder::Receive receive(DecodedFrame& frame);
  // What does no work.
  Decoder* operator->() { return decoder_.get(); }

 private:
  const DecodingContext& camera_;
  const SourceStream* stream_ = nullptr;
  std::unique_ptr<Decoder> decoder_;
  bool on_hardware_ = false;
};

}  // namespace campipe
