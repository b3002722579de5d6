#include "stages/sinks/muxer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace campipe {
namespace {

constexpr int io_buffer_size = 64 * 1024;
constexpr std::int64_t longest_step_ns = 10'000'000'000;  // more is a gap, and says nothing of the next picture
constexpr AVRational mp4_time_base{1, 90'000};

int append(void* opaque, std::uint8_t* data, int size) {
  auto& bytes = *static_cast<std::vector<std::uint8_t>*>(opaque);
  bytes.insert(bytes.end(), data, data + size);
  return size;
}

AVIOContext* open_io(std::vector<std::uint8_t>& bytes) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(io_buffer_size));
  if (buffer == nullptr) throw std::bad_alloc();
  AVIOContext* io = avio_alloc_context(buffer, io_buffer_size, 1, &bytes, nullptr, append, nullptr);
  if (io != nullptr) return io;
  av_free(buffer);
  throw std::bad_alloc();
}

AVFormatContext* open_context(Container container) {
  AVFormatContext* context = nullptr;
  const char* name = container == Container::mp4 ? "mp4" : "matroska";
  av_check(avformat_alloc_output_context2(&context, nullptr, name, nullptr), name);
  return context;
}

void set_extradata(AVCodecParameters& out, const std::vector<std::uint8_t>& extradata) {
  out.extradata = static_cast<std::uint8_t*>(av_mallocz(extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  if (out.extradata == nullptr) throw std::bad_alloc();
  std::ranges::copy(extradata, out.extradata);
  out.extradata_size = static_cast<int>(extradata.size());
}

void set_parameters(AVCodecParameters& out, const StreamParameters& in) {
  const AVCodecDescriptor* codec = avcodec_descriptor_get_by_name(in.codec.c_str());
  if (codec == nullptr) throw Error("cannot record the unknown codec '" + in.codec + "'");
  const FrameFormat& format = in.format;
  out.codec_type = AVMEDIA_TYPE_VIDEO;
  out.codec_id = codec->id;
  out.format = format.pixels == PixelFormat::nv12 ? AV_PIX_FMT_NV12 : AV_PIX_FMT_YUV420P;
  out.width = format.width;
  out.height = format.height;
  out.color_range = static_cast<AVColorRange>(format.color_range);
  out.color_space = static_cast<AVColorSpace>(format.color_space);
  out.color_primaries = static_cast<AVColorPrimaries>(format.color_primaries);
  out.color_trc = static_cast<AVColorTransferCharacteristic>(format.color_transfer);
  out.chroma_location = static_cast<AVChromaLocation>(format.chroma_location);
  if (format.sample_aspect_num > 0 && format.sample_aspect_den > 0) {
    out.sample_aspect_ratio = {format.sample_aspect_num, format.sample_aspect_den};
  }
  set_extradata(out, in.extradata);
}

void add_track(AVFormatContext& context, const StreamParameters& parameters) {
  AVStream* track = avformat_new_stream(&context, nullptr);
  if (track == nullptr) throw std::bad_alloc();
  set_parameters(*track->codecpar, parameters);
  track->sample_aspect_ratio = track->codecpar->sample_aspect_ratio;
  track->time_base = mp4_time_base;  // Matroska makes milliseconds of it
}

// The header must not depend on what comes: it is written once, and every fragment must go with it. So no edit
// list, and no shift of times that start below zero; see next_decode_time().
void write_header(AVFormatContext& context, Container container, std::uint64_t fragments) {
  context.avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
  AVDictionary* options = nullptr;
  if (container == Container::mp4) {
    av_dict_set(&options, "movflags", "empty_moov+default_base_moof+frag_custom+frag_discont", 0);
    av_dict_set(&options, "use_editlist", "0", 0);
    av_dict_set_int(&options, "video_track_timescale", mp4_time_base.den, 0);
    av_dict_set_int(&options, "fragment_index", static_cast<std::int64_t>(fragments) + 1, 0);
  } else {
    av_dict_set_int(&options, "cluster_size_limit", std::numeric_limits<int>::max(), 0);
    av_dict_set_int(&options, "cluster_time_limit", 30'000, 0);  // block times are 16 bit
  }
  const int status = avformat_write_header(&context, &options);
  av_dict_free(&options);
  av_check(status, "cannot begin the recording");
  avio_flush(context.pb);
}

}  // namespace

std::optional<Container> container_of(std::string_view path) {
  if (path.ends_with(".mp4")) return Container::mp4;
  if (path.ends_with(".mkv")) return Container::mkv;
  return std::nullopt;
}

void Muxer::Closer::operator()(AVIOContext* io) const {
  av_freep(&io->buffer);
  avio_context_free(&io);
}

Muxer::Muxer(Container container, const StreamParameters& parameters, const RecordPosition& position)
    : container_(container),
      parameters_(parameters),
      fragments_(position.fragments),
      io_(open_io(written_)),
      packet_(make_av_packet()) {
  begin_fragment();
  time_base_ = context_->streams[0]->time_base;
  const double rate = parameters.frame_rate;
  step_ = ticks(std::isfinite(rate) && rate > 0 ? std::llround(1e9 / rate) : 40'000'000);
  if (position.packets == 0) return;
  last_dts_ = ticks(position.last_dts);
  // Squeezed decode times (see next_decode_time) were one tick apart, so the last one was at least this.
  if (container_ == Container::mp4) last_dts_ = std::max(*last_dts_, static_cast<std::int64_t>(position.packets) - 1);
}

// Each fragment has a muxer of its own, whose header is dropped: so the first fragment, the next one and a
// successor's are made alike, and each begins at the time of its first packet. A muxer that goes on lets an MP4
// fragment begin where the last one's durations ended, and the duration of its last picture was only a guess.
void Muxer::begin_fragment() {
  context_.reset(open_context(container_));
  context_->pb = io_.get();
  add_track(*context_, parameters_);
  write_header(*context_, container_, fragments_);
  header_ = std::exchange(written_, {});
}

std::int64_t Muxer::ticks(std::int64_t ns) const { return av_rescale_q(ns, nanoseconds, time_base_); }

// Decode times below zero, which the first packets have where pictures are reordered, do not exist in an MP4
// fragment: they are squeezed in behind zero. Presentation times stay what they are.
std::int64_t Muxer::next_decode_time(std::int64_t dts_ns) {
  std::int64_t dts = ticks(dts_ns);
  if (container_ == Container::mp4) dts = std::max<std::int64_t>(dts, 0);
  if (last_dts_) {
    dts = std::max(dts, *last_dts_ + 1);
    if (const std::int64_t step = dts - *last_dts_; step < ticks(longest_step_ns)) step_ = step;
  }
  last_dts_ = dts;
  return dts;
}

void Muxer::write(const PacketView& packet) {
  if (!context_) begin_fragment();
  empty_ = false;
  packet_->data = const_cast<std::uint8_t*>(packet.data.data());  // av_write_frame only reads
  packet_->size = static_cast<int>(packet.data.size());
  packet_->dts = next_decode_time(packet.dts);
  packet_->pts = std::max(ticks(packet.times.pts), packet_->dts);
  // Of use for a fragment's last packet, whose successor is not known yet.
  const std::int64_t duration = packet.times.duration > 0 ? ticks(packet.times.duration) : step_;
  packet_->duration = std::clamp<std::int64_t>(duration, 1, ticks(longest_step_ns));
  packet_->flags = packet.key ? AV_PKT_FLAG_KEY : 0;
  const int status = av_write_frame(context_.get(), packet_.get());
  av_packet_unref(packet_.get());
  av_check(status, "cannot record a packet");
}

std::vector<std::uint8_t> Muxer::end_fragment() {
  if (empty_) return {};
  av_check(av_write_frame(context_.get(), nullptr), "cannot end a fragment");
  avio_flush(io_.get());
  context_.reset();
  ++fragments_;
  empty_ = true;
  return std::exchange(written_, {});
}

}  // namespace campipe
