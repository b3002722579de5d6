// In the place of libavcodec's function that opens encoders and decoders: one that crashes where 666 kb/s are asked
// for, and never returns where 667 are.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

extern "C" {
#include <libavcodec/avcodec.h>

int avcodec_open2(AVCodecContext* context, const AVCodec* codec, AVDictionary** options) {
  if (context->bit_rate == 666'000) ::raise(SIGSEGV);
  while (context->bit_rate == 667'000) ::pause();
  static const auto real = reinterpret_cast<decltype(&avcodec_open2)>(::dlsym(RTLD_NEXT, "avcodec_open2"));
  return real(context, codec, options);
}
}
