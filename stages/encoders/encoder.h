// The contract of an encoder: frames in, packets out, in decoding order, one packet for every frame, with the frame's
// times and metadata.
//
// Life and threads: one object per camera, used by that camera's thread alone. Opening may throw Error, with the
// encoder's own reason; so may encode() when the encoder fails, and then the object must be dropped.
// The first packet is a key frame. Nothing of a frame is kept once its FrameRef's owner has been released;
// the encoder copies the FrameRef when it needs the pixels longer than the call.
// An encoder on a GPU takes frames in that GPU's memory: it copies them on the stream that it was given, so that it
// works behind what made them, and later work on that stream may overwrite them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/frame.h"
#include "core/gpu.h"
#include "core/packet.h"

namespace campipe {

struct EncoderConfig;  // encoder_config.h

// Where an encoder works.
struct EncoderPlace {
  double cores = 1;            // its share of the process's, for `threads: auto`
  Device gpu;                  // the CPU: its frames come from there. The thread's GPU, where it is one
  GpuStream stream = nullptr;  // of that GPU; outlives the encoder
  bool hardware = false;       // that GPU has an encoder of the codec
};

class Encoder {
 public:
  using PacketHandler = std::function<void(const PacketView&)>;  // the packet is valid during the call

  virtual ~Encoder() = default;
  [[nodiscard]] virtual const StreamParameters& parameters() const = 0;
  // encode() takes nv12 frames in the GPU's memory, and no others.
  [[nodiscard]] virtual bool wants_gpu_frames() const = 0;
  // Why it is not the encoder that `auto` prefers there, for the log; else empty.
  [[nodiscard]] virtual const std::string& remark() const = 0;
  // The next frame will be a key frame, whenever the last one was.
  virtual void want_key_frame() = 0;
  // Calls `handler` for every packet that came out (none, one or several).
  // Key frames: the first; those that want_key_frame() asked for; where the gop is a number of frames, the first of
  // each; and those that the encoder adds, as at a cut.
  virtual void encode(const FrameRef& in, const FrameTimes& times, const PacketHandler& handler) = 0;
  // The frames still inside come out. Nothing may be encoded afterwards.
  virtual void flush(const PacketHandler& handler) = 0;
};

// Opens what `config` asks for. `input`: the frames' format (odd sizes lose their last row or column, since
// 4:2:0 encoders want even ones). `frame_rate`: 0 if unknown. Throws Error with FFmpeg's reason, naming the option
// where there is one, when the encoder is unknown, refuses a value or does not know an option; GpuError when the GPU's
// context is lost. `encoder: auto` is the GPU's (h264_nvenc, hevc_nvenc) where `place` has hardware and it opens, else
// libx264, libx265 or mjpeg.
std::unique_ptr<Encoder> open_encoder(const EncoderConfig& config, const FrameFormat& input, double frame_rate,
                                      const EncoderPlace& place = {});

// FFmpeg's name of the encoder that open_encoder() opens first; `hardware` as in EncoderPlace. Throws Error for a codec
// that is not encoded.
std::string first_encoder(const EncoderConfig& config, bool hardware);

// `threads: auto`: as many as such frames need at that rate (0: unknown), within `cores`; at least one, which is what
// ordinary frames get, since slices that are encoded side by side cost bits.
int encode_threads(double cores, const FrameFormat& format, double frame_rate, const std::string& codec = "h264");

// Opens and closes such an encoder for a small frame, so that the configuration can be refused at start.
// Returns what is wrong, or nothing. With codec `copy` only that no encoder is asked for.
std::optional<std::string> check_encoder(const EncoderConfig& config);

}  // namespace campipe
