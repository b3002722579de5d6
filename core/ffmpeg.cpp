#include "core/ffmpeg.h"

#include <array>
#include <new>

namespace campipe {

AvFrame make_av_frame() {
  AvFrame frame(av_frame_alloc());
  if (!frame) throw std::bad_alloc();
  return frame;
}

AvPacket make_av_packet() {
  AvPacket packet(av_packet_alloc());
  if (!packet) throw std::bad_alloc();
  return packet;
}

std::string av_error_text(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(code, text.data(), text.size());
  return text.data();
}

int av_check(int code, const std::string& what) {
  if (code < 0) throw Error(what + ": " + av_error_text(code));
  return code;
}

}  // namespace campipe
