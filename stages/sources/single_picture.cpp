#include "stages/sources/single_picture.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <thread>

#include "core/clock.h"
#include "core/libav_log.h"
#include "core/libav_options.h"
#include "core/media_limits.h"
#include "core/name_lookup.h"
#include "stages/sources/accepted_media.h"
#include "stages/sources/http_pieces.h"
#include "stages/sources/io_beginning.h"
#include "stages/sources/jpeg_picture.h"
#include "stages/sources/live_options.h"
#include "stages/sources/read_watch.h"
#include "stages/sources/receive_limit.h"
#include "stages/sources/rtsp_text.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_errors.h"
#include "stages/sources/source_peers.h"

namespace campipe {
namespace {

using Kind = SourceError::Kind;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr double usual_rate = 1;                              // pictures a second
constexpr auto asking = milliseconds(50);                     // whether it is to stop waiting
constexpr std::size_t largest = std::size_t{16} << 20;        // bytes
constexpr std::size_t most_received = std::size_t{32} << 20;  // with an answer's headers, and what TLS adds
constexpr AVRational arrival_base{1, 1'000'000};

struct IoCloser {
  void operator()(AVIOContext* io) const { avio_closep(&io); }
};
using Io = std::unique_ptr<AVIOContext, IoCloser>;
struct ContextFreer {
  void operator()(AVFormatContext* context) const { avformat_free_context(context); }
};
using Context = std::unique_ptr<AVFormatContext, ContextFreer>;

void copy(const std::string& data, AVPacket& packet) {
  if (av_new_packet(&packet, static_cast<int>(data.size())) < 0) throw std::bad_alloc();
  std::ranges::copy(data, packet.data);
}

// Pixel format, colours and the like, as libavformat finds them out of other streams. What cannot be decoded keeps what
// is known.
void describe(AVCodecParameters& codec, const std::string& data) {
  const AVCodec* decoder = avcodec_find_decoder(codec.codec_id);
  const AvCodecContext context(decoder != nullptr ? avcodec_alloc_context3(decoder) : nullptr);
  if (context == nullptr) return;
  context->thread_count = 1;
  context->max_pixels = most_pixels;
  const AvPacket packet = make_av_packet();
  const AvFrame frame = make_av_frame();
  copy(data, *packet);
  const bool decoded = avcodec_open2(context.get(), decoder, nullptr) >= 0 &&
                       avcodec_send_packet(context.get(), packet.get()) >= 0 &&
                       avcodec_receive_frame(context.get(), frame.get()) >= 0;
  if (decoded) avcodec_parameters_from_context(&codec, context.get());
}

class SinglePictures final : public Source {
 public:
  SinglePictures(const SourceConfig& config, const Interrupt& interrupt)
      : config_(config),
        shown_(shown_url(config)),
        interrupt_(interrupt),
        watch_(interrupt),
        interval_(picture_interval(config)),
        codec_(avcodec_parameters_alloc()) {
    if (codec_ == nullptr) throw std::bad_alloc();
    watch_.end_when([this] { return strayed(); });
    data_ = fetch();
    begin(*find_jpeg(data_));
    due_ = Clock::now();
  }

  const SourceStream& stream() const override { return description_; }
  bool asks_for_each() const override { return true; }

  ReadResult read(AVPacket& packet) override {
    if (data_.empty()) {
      if (!wait()) return ReadResult::interrupted;
      try {
        data_ = fetch();
      } catch (const SourceError&) {
        throw;
      } catch (const Error&) {
        if (watch_.interrupted()) return ReadResult::interrupted;
        throw;
      }
      const JpegPicture picture = *find_jpeg(data_);
      if (picture.width != codec_->width || picture.height != codec_->height) {
        throw SourceError(Kind::lost, shown_ + " sends pictures of another size now");
      }
    }
    fill(packet);
    data_.clear();
    // Those that were missed are not fetched all at once.
    const auto now = Clock::now();
    due_ += interval_ * std::max<std::int64_t>(1, (now - due_) / interval_);
    return ReadResult::packet;
  }

  void rewind() override { throw Error(shown_ + " cannot be played again: it is live"); }
  void seek(std::int64_t /*pts*/) override { throw Error(shown_ + " has no place to go back to: it is live"); }

 private:
  void begin(const JpegPicture& picture) {
    if (const auto problem = refused_size(picture.width, picture.height)) {
      throw SourceError(Kind::unsupported, shown_ + " " + *problem);
    }
    codec_->codec_type = AVMEDIA_TYPE_VIDEO;
    codec_->codec_id = AV_CODEC_ID_MJPEG;
    codec_->width = picture.width;
    codec_->height = picture.height;
    describe(*codec_, data_);
    description_.codec = codec_.get();
    description_.time_base = arrival_base;
    description_.decoder = avcodec_get_name(codec_->codec_id);
    description_.start = av_rescale_q(now_ns() - opened_, {1, 1'000'000'000}, arrival_base);
    arrived_ = description_.start;
  }

  // False: interrupted.
  bool wait() {
    while (Clock::now() < due_) {
      if (interrupt_()) return false;
      std::this_thread::sleep_for(std::min<nanoseconds>(asking, due_ - Clock::now()));
    }
    return !interrupt_();
  }

  void fill(AVPacket& packet) {
    copy(data_, packet);
    packet.pts = packet.dts = arrived_;
    packet.flags |= AV_PKT_FLAG_KEY;
  }

  bool strayed() { return !pieces_.elsewhere().empty() || received_.exceeded(); }

  void throw_if_over() {
    if (watch_.interrupted()) throw interrupted_error(shown_);
    if (!pieces_.elsewhere().empty()) throw redirect_error(shown_, pieces_.elsewhere());
    if (received_.exceeded()) throw SourceError(Kind::unsupported, shown_ + " sends more than a picture");
    if (watch_.timed_out()) {
      throw SourceError(Kind::timed_out,
                        shown_ + " sends no picture within " + seconds_text(watch_.allowed()) + " (read_timeout)");
    }
  }

  std::string fetch() {
    const ReceiveLimit::Use use(received_);
    const SourcePeers::Use with_peers(peers_);
    watch_.allow(config_.read_timeout, config_.read_timeout);
    received_.allow(most_received, most_received);
    LibavMessages messages = source_messages();
    const LibavCapture capture(messages);
    if (!can_resolve(split_address(config_.url).host, [this] { return watch_.ask(); })) {
      throw_if_over();
      throw unknown_name_error(shown_);
    }
    pieces_.restart();
    const Context context(avformat_alloc_context());
    if (context == nullptr) throw std::bad_alloc();
    context->interrupt_callback = watch_.callback();
    context->url = av_strdup(config_.url.c_str());  // which its io_open reads
    if (context->url == nullptr) throw std::bad_alloc();
    limit_media(*context, formats_of_streams(), "http,https,httpproxy,tls,tcp");
    LibavOptions options;
    options.set("rw_timeout", microseconds(config_.read_timeout));
    options.set("timeout", microseconds(config_.read_timeout));
    AVIOContext* opened = nullptr;
    const int code = pieces_.open(*context, &opened, config_.url, AVIO_FLAG_READ, *options.get(), context->io_open);
    const Io io(opened);
    throw_if_over();
    if (code < 0) throw http_error(code, shown_, watch_, messages, pieces_, config_);
    std::string data = receive(*io);
    arrived_ = av_rescale_q(now_ns() - opened_, {1, 1'000'000'000}, arrival_base);
    return data;
  }

  // Up to the picture's end, or to that of what is sent.
  std::string receive(AVIOContext& io) {
    std::string data;
    JpegFinder finder;
    for (;;) {
      const int count = read_some(io, data);
      throw_if_over();
      if (const auto picture = finder.find(data)) {
        data.resize(picture->size);
        return data;
      }
      if (data.size() >= 3 && !begins_as_jpeg(data)) {
        const std::string type = content_type(io);
        throw SourceError(Kind::lost, shown_ + " sends something else than a JPEG picture" +
                                          (type.empty() ? "" : " (Content-Type: " + shown_line(type) + ")"));
      }
      if (count < 0) throw SourceError(Kind::lost, shown_ + " cannot be read any more: " + av_error_text(count));
      if (count == 0 || data.size() > largest) {
        throw SourceError(Kind::lost, shown_ + (count == 0 ? " closes the connection within a picture"
                                                           : " sends a picture of more than 16 MiB"));
      }
    }
  }

  SourceConfig config_;
  std::string shown_;
  Interrupt interrupt_;
  ReadWatch watch_;
  nanoseconds interval_;
  ReceiveLimit received_;
  SourcePeers peers_{[this] { return strayed(); }, config_.allow_redirects};
  HttpPieces pieces_{config_, shown_, HttpPieces::For::pictures};
  AvCodecParameters codec_;
  SourceStream description_;
  std::string data_;  // the newest picture, which is not read yet; empty: none
  std::int64_t opened_ = now_ns();
  std::int64_t arrived_ = 0;  // that picture, in arrival_base
  Clock::time_point due_;     // the newest picture; the next one an interval later
};

}  // namespace

std::chrono::nanoseconds picture_interval(const SourceConfig& config) {
  const double rate = config.capture.rate > 0 ? config.capture.rate : usual_rate;
  return std::chrono::nanoseconds(std::llround(1e9 / rate));
}

std::unique_ptr<Source> open_single_pictures(const SourceConfig& config, const Source::Interrupt& interrupt) {
  return std::make_unique<SinglePictures>(config, interrupt);
}

}  // namespace campipe
