// The process that makes a JPEG file of a group of packets, and what it may do meanwhile.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "app/control/stream_json.h"
#include "app/publisher/server/snapshot_decoder.h"
#include "core/big_endian.h"
#include "core/error.h"
#include "core/ffmpeg.h"
#include "core/libav_log.h"
#include "core/media_limits.h"
#include "stages/decoders/frame_format.h"
#include "stages/sinks/codec_parameters.h"
#include "stages/sinks/jpeg.h"

namespace campipe {
namespace {

constexpr rlim_t most_memory = rlim_t{8} << 30U;  // of addresses: 17 references of the largest frames
constexpr rlim_t most_cpu_seconds = 10;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool with_sanitizer = true;  // which need all addresses, threads and files
#else
constexpr bool with_sanitizer = false;
#endif

struct SnapshotInput {
  StreamParameters stream;
  std::vector<std::vector<std::uint8_t>> packets;
};

AvCodecContext open_decoder_of(const StreamParameters& stream) {
  const AvCodecParameters codec(avcodec_parameters_alloc());
  if (!codec) throw std::bad_alloc();
  set_codec_parameters(*codec, stream);
  const AVCodec* found = avcodec_find_decoder(codec->codec_id);
  if (found == nullptr) throw Error("this FFmpeg was built without a decoder for " + stream.codec);
  AvCodecContext decoder(avcodec_alloc_context3(found));
  if (!decoder) throw std::bad_alloc();
  av_check(avcodec_parameters_to_context(decoder.get(), codec.get()), "decoder");
  decoder->thread_count = 1;
  decoder->max_pixels = most_pixels;
  av_check(avcodec_open2(decoder.get(), found, nullptr), "cannot open the decoder for " + stream.codec);
  return decoder;
}

// Moves what the decoder has into `newest`, which stays what it is if there is nothing.
void receive(AVCodecContext& decoder, AVFrame& newest) {
  const AvFrame frame = make_av_frame();
  while (avcodec_receive_frame(&decoder, frame.get()) == 0) {
    av_frame_unref(&newest);
    av_frame_move_ref(&newest, frame.get());
  }
}

// Its pts is the place of its packet.
AvFrame newest_frame(const SnapshotInput& input) {
  const AvCodecContext decoder = open_decoder_of(input.stream);
  const AvPacket packet = make_av_packet();
  AvFrame newest = make_av_frame();
  std::int64_t place = 0;
  for (const std::vector<std::uint8_t>& bytes : input.packets) {
    av_check(av_new_packet(packet.get(), static_cast<int>(bytes.size())), "no memory for a packet");
    std::ranges::copy(bytes, packet->data);
    packet->pts = place++;
    avcodec_send_packet(decoder.get(), packet.get());  // a damaged one is left out
    av_packet_unref(packet.get());
    receive(*decoder, *newest);
  }
  avcodec_send_packet(decoder.get(), nullptr);
  receive(*decoder, *newest);
  if (newest->width == 0) throw Error("the newest frames cannot be decoded");
  return newest;
}

// Into a format that JpegEncoder takes, where it is another.
AvFrame convert(AvFrame frame) {
  const auto format = static_cast<AVPixelFormat>(frame->format);
  if (format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_NV12) return frame;
  AvFrame out = make_av_frame();
  av_check(av_frame_copy_props(out.get(), frame.get()), "no memory for a frame");
  out->format = AV_PIX_FMT_YUV420P;
  out->width = frame->width;
  out->height = frame->height;
  av_check(av_frame_get_buffer(out.get(), 0), "no memory for a frame");
  const Scaler scaler(sws_getContext(frame->width, frame->height, format, out->width, out->height, AV_PIX_FMT_YUV420P,
                                     SWS_BICUBIC, nullptr, nullptr, nullptr));
  if (!scaler) throw Error("a frame cannot be converted for JPEG");
  const int range =
      frame->color_range == AVCOL_RANGE_JPEG || format == AV_PIX_FMT_YUVJ422P || format == AV_PIX_FMT_YUVJ444P ? 1 : 0;
  out->color_range = range != 0 ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  const int* colours = sws_getCoefficients(SWS_CS_DEFAULT);
  sws_setColorspaceDetails(scaler.get(), colours, range, colours, range, 0, 1 << 16, 1 << 16);
  av_check(sws_scale(scaler.get(), frame->data, frame->linesize, 0, frame->height, out->data, out->linesize),
           "a frame cannot be converted for JPEG");
  return out;
}

FrameView view_of(const AVFrame& frame, FrameFormat format) {
  format.pixels = frame.format == AV_PIX_FMT_NV12 ? PixelFormat::nv12 : PixelFormat::i420;
  format.width = frame.width;
  format.height = frame.height;
  const bool full = frame.color_range == AVCOL_RANGE_JPEG || frame.format == AV_PIX_FMT_YUVJ420P;
  format.color_range = static_cast<std::uint8_t>(full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG);
  // Decoders pass on whatever number the stream has.
  const FrameFormat decoded = format_of(frame, static_cast<AVPixelFormat>(frame.format), format.pixels);
  if (decoded.color_space != AVCOL_SPC_UNSPECIFIED) format.color_space = decoded.color_space;
  FrameView view;
  view.format = format;
  for (std::size_t plane = 0; plane < view.data.size(); ++plane) {
    view.data[plane] = frame.data[plane];
    view.stride[plane] = frame.linesize[plane];
  }
  return view;
}

std::vector<std::uint8_t> answer_to(const SnapshotInput& input) {
  const AvFrame frame = convert(newest_frame(input));
  JpegEncoder encoder;
  const auto jpeg = encoder.encode(view_of(*frame, input.stream.format));
  std::vector<std::uint8_t> answer(snapshot_head, snapshot_made);
  put_big_endian(static_cast<std::uint64_t>(frame->pts), 4, &answer[1]);
  answer.insert(answer.end(), jpeg.begin(), jpeg.end());
  return answer;
}

void limit(__rlimit_resource resource, rlim_t value) {
  const rlimit both{value, value};
  if (::setrlimit(resource, &both) != 0) throw system_error("setrlimit", errno);
}

constexpr sock_filter statement(unsigned code, std::uint32_t value) {
  return {static_cast<std::uint16_t>(code), 0, 0, value};
}

// Memory, the descriptors that are open, and the end: what decoding needs. Nothing that reaches another process, a file
// or a network; such a call fails.
void allow_decoding_only() {
#if defined(__x86_64__)
  constexpr std::uint32_t machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
  constexpr std::uint32_t machine = AUDIT_ARCH_AARCH64;
#else
#error "which machine is this for seccomp?"
#endif
  constexpr std::array<std::uint32_t, 22> allowed{
      SYS_read,          SYS_write,        SYS_close,        SYS_brk,          SYS_mmap,
      SYS_munmap,        SYS_mremap,       SYS_mprotect,     SYS_madvise,      SYS_futex,
      SYS_exit,          SYS_exit_group,   SYS_rt_sigreturn, SYS_rt_sigaction, SYS_rt_sigprocmask,
      SYS_clock_gettime, SYS_gettimeofday, SYS_getrandom,    SYS_sched_yield,  SYS_sched_getaffinity,
      SYS_getpid,        SYS_gettid};
  constexpr std::uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> program{
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, machine},
      statement(BPF_RET | BPF_K, refused),
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const std::uint32_t call : allowed) {
    program.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call});
    program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(statement(BPF_RET | BPF_K, refused));
  const sock_fprog all{static_cast<unsigned short>(program.size()), program.data()};
  // Containers may forbid it; the limits hold anyway.
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

void confine() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw system_error("no_new_privs", errno);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, most_cpu_seconds);
  if (with_sanitizer) return;
  limit(RLIMIT_AS, most_memory);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 0);  // no file, socket or pipe beside those that are open
  allow_decoding_only();
}

std::vector<std::uint8_t> read_all(int fd) {
  std::vector<std::uint8_t> all;
  std::array<std::uint8_t, 65536> piece{};
  for (;;) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count == 0) return all;
    if (count < 0) throw system_error("cannot read", errno);
    all.insert(all.end(), piece.begin(), piece.begin() + count);
  }
}

// False: the reader is gone.
bool write_all(int fd, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

SnapshotInput parse(const std::vector<std::uint8_t>& message) {
  const nlohmann::json parsed = nlohmann::json::from_cbor(message);
  SnapshotInput input{stream_from_json(parsed.at("stream")), {}};
  for (const nlohmann::json& packet : parsed.at("packets")) {
    const auto& bytes = packet.get_binary();
    input.packets.emplace_back(bytes.begin(), bytes.end());
  }
  return input;
}

}  // namespace

int run_snapshot_child() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  install_libav_log();
  std::vector<std::uint8_t> answer;
  try {
    confine();
    answer = answer_to(parse(read_all(STDIN_FILENO)));
  } catch (const std::exception& error) {
    const std::string text = error.what();
    answer.assign(text.begin(), text.end());
    answer.insert(answer.begin(), snapshot_failed);
  }
  return write_all(STDOUT_FILENO, answer) ? 0 : 1;
}

}  // namespace campipe
