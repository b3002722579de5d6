#include "app/master/camera_decoder.h"

#include "app/control/thread_scope.h"
#include "app/master/ingest_refusal.h"
#include "core/log.h"

namespace campipe {

std::unique_ptr<Decoder> make_decoder(const DecodingContext& camera, const SourceStream& stream, const Device& gpu) {
  const ThreadWait wait(WaitsFor::decoder);
  return camera.start.open_decoder(stream, {camera.start.decode_threads, gpu});
}

void CameraDecoder::open(const SourceStream& stream) {
  stream_ = &stream;
  const Device gpu = first_decoder(camera_.start.placement, stream.codec != nullptr);
  on_hardware_ = on_gpu(gpu);
  const auto refusal = refusal_of([&] { decoder_ = make_decoder(camera_, stream, gpu); });
  if (refusal) leave_gpu(*refusal);
}

void CameraDecoder::leave_gpu(const std::string& reason) {
  spdlog::warn("{}: decoded on the CPU: {}", camera_.name(), reason);
  on_hardware_ = false;
  decoder_.reset();
  decoder_ = make_decoder(camera_, *stream_, {});
}

std::string CameraDecoder::name() const { return on_hardware_ ? stream_->decoder + " (nvdec)" : stream_->decoder; }

bool CameraDecoder::send(const AVPacket* packet, std::int64_t capture_utc) {
  const ThreadWait wait(WaitsFor::decoder);
  return decoder_->send(packet, capture_utc);
}

Decoder::Receive CameraDecoder::receive(DecodedFrame& frame) {
  const ThreadWait wait(WaitsFor::decoder);
  return decoder_->receive(frame);
}

}  // namespace campipe
