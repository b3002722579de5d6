// In the place of libavcodec's function that opens encoders and decoders: one that crashes where 666 kb/s are asked
// for, never returns where 667 are, and with 668 makes a file `opening` and waits until there is one called `opened`.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

extern "C" {
#include <libavcodec/avcodec.h>

int avcodec_open2(AVCodecContext* context, const AVCodec* codec, AVDictionary** options) {
  if (context->bit_rate == 666'000) ::raise(SIGSEGV);
  while (context->bit_rate == 667'000) ::pause();
  if (context->bit_rate == 668'000) {
    ::close(::open("opening", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    while (::access("opened", F_OK) != 0) ::usleep(1000);
  }
  static const auto real = reinterpret_cast<decltype(&avcodec_open2)>(::dlsym(RTLD_NEXT, "avcodec_open2"));
  return real(context, codec, options);
}
}
