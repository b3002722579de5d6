#include "stages/sources/file_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

int ask_interrupt(void* opaque) { return (*static_cast<const Source::Interrupt*>(opaque))() ? 1 : 0; }

double rate_of(const AVStream& stream) {
  const AVRational rate = stream.avg_frame_rate.num > 0 ? stream.avg_frame_rate : stream.r_frame_rate;
  return rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
}

class FileSource final : public Source {
 public:
  FileSource(const std::string& path, const Interrupt& interrupt) : path_(path), interrupt_(interrupt) {
    open();
    choose_stream();
  }

  const SourceStream& stream() const override { return stream_; }

  ReadResult read(AVPacket& packet) override {
    if (found_->data != nullptr) {
      av_packet_move_ref(&packet, found_.get());
      return ReadResult::packet;
    }
    for (;;) {
      const int code = av_read_frame(input_.get(), &packet);
      if (code == AVERROR_EOF) return ReadResult::end;
      if (code == AVERROR_EXIT) return ReadResult::interrupted;
      if (code == AVERROR(EAGAIN)) continue;
      av_check(code, "cannot read '" + path_ + "'");
      if (packet.stream_index == index_) return ReadResult::packet;
      av_packet_unref(&packet);
    }
  }

  void rewind() override {
    av_packet_unref(found_.get());
    go_to(stream_.start);
  }

  // Containers without an index (MPEG-TS) find a place by its time alone, whether decoding can begin there or not:
  // further back then, each time twice as far.
  void seek(std::int64_t pts) override {
    const std::int64_t target = stream_.start + av_rescale_q(pts, nanoseconds, stream_.time_base);
    const std::int64_t second = std::max<std::int64_t>(av_rescale_q(1, {1, 1}, stream_.time_base), 1);
    for (std::int64_t back = 0; target - back > stream_.start; back = std::max(2 * back, second)) {
      go_to(target - back);
      if (!find_key_frame(target, second)) continue;
      if (found_->pts == AV_NOPTS_VALUE && found_->dts == AV_NOPTS_VALUE) break;
      return;
    }
    begin_again();
  }

 private:
  // Raw streams have no times: those that libavformat counts are right only from the beginning.
  void begin_again() {
    av_packet_unref(found_.get());
    input_.reset();
    open();
    choose_stream();
  }

  // From here on, a key frame at or before `target`; the next read() hands it out. False: there is none.
  bool find_key_frame(std::int64_t target, std::int64_t second) {
    while (read(*found_) == ReadResult::packet) {
      // Where only decode times are told (AVI), pictures that are decoded later may be shown before this one.
      const bool shown_later = found_->pts != AV_NOPTS_VALUE ? found_->pts > target : found_->dts > target - second;
      if ((found_->flags & AV_PKT_FLAG_KEY) != 0 && !shown_later) return true;
      const bool none_will_come = found_->dts != AV_NOPTS_VALUE && found_->dts > target;
      av_packet_unref(found_.get());
      if (none_will_come) return false;
    }
    return false;
  }

  void open() {
    AVFormatContext* context = avformat_alloc_context();
    if (context == nullptr) throw std::bad_alloc();
    context->interrupt_callback = {ask_interrupt, &interrupt_};
    // "file:" keeps libavformat from taking a name with a colon for another protocol; the context is freed on error.
    av_check(avformat_open_input(&context, ("file:" + path_).c_str(), nullptr, nullptr), "cannot open '" + path_ + "'");
    input_.reset(context);
    av_check(avformat_find_stream_info(context, nullptr), "cannot read '" + path_ + "'");
  }

  void choose_stream() {
    index_ = av_find_best_stream(input_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    if (index_ < 0) throw Error("'" + path_ + "' has no video");
    for (unsigned i = 0; i < input_->nb_streams; ++i) {
      if (static_cast<int>(i) != index_) input_->streams[i]->discard = AVDISCARD_ALL;
    }
    const AVStream& video = *input_->streams[index_];
    stream_.codec = video.codecpar;
    stream_.time_base = video.time_base;
    stream_.start = video.start_time != AV_NOPTS_VALUE ? video.start_time : 0;
    stream_.frame_rate = rate_of(video);
    stream_.decoder = avcodec_get_name(video.codecpar->codec_id);
  }

  void go_to(std::int64_t timestamp) {
    if (av_seek_frame(input_.get(), index_, timestamp, AVSEEK_FLAG_BACKWARD) >= 0) return;
    // Raw streams have no timestamps to seek by; their beginning can be found by its byte.
    if (av_seek_frame(input_.get(), index_, 0, AVSEEK_FLAG_BYTE) >= 0) return;
    input_.reset();
    open();
    choose_stream();
  }

  std::string path_;
  Interrupt interrupt_;
  AvInput input_;
  AvPacket found_ = make_av_packet();  // by seek()
  int index_ = -1;
  SourceStream stream_;
};

}  // namespace

std::unique_ptr<Source> open_file_source(const std::string& path, const Source::Interrupt& interrupt) {
  return std::make_unique<FileSource>(path, interrupt);
}

std::optional<std::string> check_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return "there is no file '" + path + "' (paths start at the current directory)";
  if (std::filesystem::is_directory(status)) return "'" + path + "' is a folder, not a video file";
  // Opening a pipe waits for its writer, and nothing could interrupt that.
  if (!std::filesystem::is_regular_file(status)) return "'" + path + "' is a pipe or a device, not a video file";
  if (::access(path.c_str(), R_OK) != 0) return "'" + path + "' cannot be read: " + std::strerror(errno);
  return std::nullopt;
}

}  // namespace campipe
