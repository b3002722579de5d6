// Files of any container and codec that FFmpeg reads, and numbered pictures.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

extern "C" {
#include <libavutil/avstring.h>
#include <libavutil/common.h>
}

#include "core/c_callback.h"
#include "core/error.h"
#include "core/gradual_refresh.h"
#include "core/libav_log.h"
#include "core/libav_options.h"
#include "core/log.h"
#include "stages/sources/accepted_media.h"
#include "stages/sources/flv_video.h"
#include "stages/sources/many_units.h"
#include "stages/sources/media_streams.h"
#include "stages/sources/numbered_pictures.h"
#include "stages/sources/repeated_times.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_errors.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

constexpr double picture_rate = 25;  // of numbered pictures, a second
// Of a disk, or its mount: it may be there later.
constexpr std::array errors_that_pass{ENOENT, ENOTDIR, EACCES, EPERM,    EIO,       ENODEV,
                                      ENXIO,  ELOOP,   ESTALE, ENOTCONN, EHOSTDOWN, ETIMEDOUT};
constexpr double least_missing = 1;  // s; less may be rounding, or a last frame that is shown for long

// Whatever is there.
bool can_only_be_a_folder(const std::string& path) {
  const std::filesystem::path name = std::filesystem::path(path).filename();
  return name.empty() || name == "." || name == "..";
}

// What is there instead of a file that can be read, in words; nothing: a file, or nothing at all. It may be another one
// later, such as where a disk is mounted. Opening a pipe would wait for its writer, and nothing could interrupt that.
std::optional<std::string> not_a_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return std::nullopt;
  return std::filesystem::is_directory(status) ? "is a folder, not a video file"
                                               : "is a pipe or a device, not a video file";
}

int ask_interrupt(void* opaque) { return (*static_cast<const Source::Interrupt*>(opaque))() ? 1 : 0; }

class FileSource final : public Source {
 public:
  FileSource(const SourceConfig& config, const Interrupt& interrupt)
      : config_(config), path_(config.url), name_("'" + shown_url(config) + "'"), interrupt_(interrupt) {
    open();
  }

  std::string remark() const override { return streams_.remark; }
  const SourceStream& stream() const override { return streams_.description; }

  ReadResult read(AVPacket& packet) override {
    if (found_->data != nullptr) {
      av_packet_move_ref(&packet, found_.get());
      return ReadResult::packet;
    }
    for (;;) {
      const int code = av_read_frame(input_.get(), &packet);
      if (code == AVERROR_EOF) {
        warn_if_cut_off();
        warn_if_late();
        return ReadResult::end;
      }
      if (code == AVERROR_EXIT) return ReadResult::interrupted;
      if (code == AVERROR(EAGAIN)) continue;
      av_check(code, "cannot read " + name_);
      follow_program(*input_, streams_, packet);
      if (packet.stream_index == streams_.video) {
        if (is_left_over(packet)) {
          ++late_;
          av_packet_unref(&packet);
          continue;
        }
        if (has_too_many_units(*stream().codec, packet)) throw Error(name_ + " " + too_many_units_text());
        times_.show(packet);
        if (first_time_ == AV_NOPTS_VALUE) first_time_ = packet.dts;
        tell_decode_time(packet);
        note_end(packet);
        const bool has_header = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, nullptr) != nullptr;
        changes_header_ = changes_header_ || has_header;
        return ReadResult::packet;
      }
      if (packet.stream_index == streams_.audio) return ReadResult::audio;
      if (packet.stream_index == streams_.before) ++late_;
      av_packet_unref(&packet);
    }
  }

  // Where frames are reordered, the first one is decoded before any is shown: containers without an index (MPEG-TS)
  // find a later packet by the time of showing.
  void rewind() override {
    av_packet_unref(found_.get());
    if (changes_header_) return open();
    const std::int64_t start = stream().start;
    go_to(first_time_ == AV_NOPTS_VALUE ? start : std::min(start, first_time_));
  }

  // Containers without an index (MPEG-TS) find a place by its time alone, whether decoding can begin there or not:
  // further back then, each time twice as far.
  // FLV has headers between its packets, which a seek would pass over.
  void seek(std::int64_t pts) override {
    if (av_match_name("flv", input_->iformat->name) != 0) return begin_again();
    const std::int64_t target = av_sat_add64(stream().start, av_rescale_q(pts, nanoseconds, stream().time_base));
    const std::int64_t second = std::max<std::int64_t>(av_rescale_q(1, {1, 1}, stream().time_base), 1);
    for (std::int64_t back = 0; av_sat_sub64(target, back) > stream().start;
         back = std::max(av_sat_add64(back, back), second)) {
      go_to(target - back);
      if (!find_key_frame(target, second)) continue;
      if (found_->pts == AV_NOPTS_VALUE && found_->dts == AV_NOPTS_VALUE) break;
      return;
    }
    begin_again();
  }

 private:
  // Matroska stores when frames are shown. Where they are reordered, libavformat finds out from that when they are
  // decoded, but for the first ones of the file or behind a seek: those before which none has been shown.
  void tell_decode_time(AVPacket& packet) {
    const int delay = stream().codec->video_delay;
    if (packets_ >= delay) return;
    if (packets_ == 0) first_shown_ = packet.pts;
    const int before = delay - packets_++;
    const bool known = packet.dts != AV_NOPTS_VALUE || packet.pts == AV_NOPTS_VALUE;
    if (known || packet.duration <= 0 || first_shown_ == AV_NOPTS_VALUE) return;
    packet.dts = av_sat_sub64(first_shown_, av_rescale(packet.duration, before, 1));
  }

  void note_end(const AVPacket& packet) {
    const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
    if (time != AV_NOPTS_VALUE)
      end_ = std::max(end_, av_sat_sub64(av_sat_add64(time, packet.duration), stream().start));
  }

  // What it holds is read as it is. Only containers that store how long their video is show that its end is missing.
  void warn_if_cut_off() {
    const AVStream& video = *input_->streams[streams_.video];
    const bool has_duration = input_->duration_estimation_method == AVFMT_DURATION_FROM_STREAM && video.duration > 0;
    const double missing =
        has_duration ? static_cast<double>(av_sat_sub64(video.duration, end_)) * av_q2d(video.time_base) : 0;
    if (missing < least_missing || std::exchange(cut_off_, true)) return;
    spdlog::warn("{} is cut off: its header has a length of {:.1f} s, and {:.1f} s are missing at its end", name_,
                 static_cast<double>(video.duration) * av_q2d(video.time_base), missing);
  }

  // The video has moved back to a stream, and its parser hands out a frame from before the video left.
  bool is_left_over(const AVPacket& packet) {
    if (std::exchange(serial_, stream().serial) != stream().serial) moved_at_ = newest_position_;
    newest_position_ = std::max(newest_position_, packet.pos);
    return packet.pos >= 0 && packet.pos < moved_at_;
  }

  // libavformat finds the end of a stream's last frames at the end of the file: they belong before what was read since.
  void warn_if_late() {
    if (late_ == 0) return;
    spdlog::warn("{}: where its video moved to another stream, {} frames of the one before are lost", name_,
                 std::exchange(late_, 0));
  }

  // Raw streams have no times: those that libavformat counts are right only from the beginning.
  void begin_again() {
    av_packet_unref(found_.get());
    open();
  }

  // How long after a key frame the first frame is shown that a decoder gets right which begins there.
  [[nodiscard]] std::int64_t time_until_right(const AVPacket& key_frame) const {
    const int frames = frames_until_right(*stream().codec, key_frame);
    const double rate = stream().frame_rate > 0 ? stream().frame_rate : 25;
    return frames == 0 ? 0 : av_rescale_q(std::llround(frames / rate * 1e6), {1, 1'000'000}, stream().time_base);
  }

  // From here on, a key frame so far before `target` that that is shown rightly; the next read() hands it out. False:
  // there is none.
  bool find_key_frame(std::int64_t target, std::int64_t second) {
    for (;;) {
      const ReadResult result = read(*found_);
      if (result == ReadResult::audio) {
        av_packet_unref(found_.get());
        continue;
      }
      if (result != ReadResult::packet) return false;
      // Where there are only decode times (AVI), frames that are decoded later may be shown before this one.
      const bool shown_later =
          found_->pts != AV_NOPTS_VALUE ? found_->pts > target : found_->dts > av_sat_sub64(target, second);
      if ((found_->flags & AV_PKT_FLAG_KEY) != 0 && !shown_later) {
        const std::int64_t time = found_->pts != AV_NOPTS_VALUE ? found_->pts : found_->dts;
        if (av_sat_add64(time, time_until_right(*found_)) <= target) return true;
        av_packet_unref(found_.get());
        return false;
      }
      const bool none_will_come = found_->dts != AV_NOPTS_VALUE && found_->dts > target;
      av_packet_unref(found_.get());
      if (none_will_come) return false;
    }
  }

  void open() {
    changes_header_ = false;
    packets_ = 0;
    times_ = {};
    forget_positions();
    first_time_ = AV_NOPTS_VALUE;
    input_.reset();
    if (const auto other = not_a_file(path_)) throw SourceError(SourceError::Kind::not_found, name_ + " " + *other);
    AVFormatContext* context = avformat_alloc_context();
    if (context == nullptr) throw std::bad_alloc();
    context->interrupt_callback = {c_callback<ask_interrupt, 1>, &interrupt_};
    limit_media(*context, formats_of_files(), "file");
    LibavMessages messages = source_messages();
    const LibavCapture capture(messages);
    LibavOptions options = picture_options();
    // "file:" keeps libavformat from taking a name with a colon for another protocol; the context is freed on error.
    const int code = avformat_open_input(&context, ("file:" + path_).c_str(), nullptr, options.get());
    if (code < 0) {
      if (const std::string format = refused_format(messages); !format.empty()) {
        throw Error(name_ + " " + refused_format_text(format));
      }
    }
    if (std::ranges::find(errors_that_pass, AVUNERROR(code)) != errors_that_pass.end()) throw not_there(code);
    av_check(code, "cannot open " + name_);
    input_.reset(context);
    refuse_unknown_flv();
    av_check(find_stream_info(*context), "cannot read " + name_);
    const unsigned serial = streams_.description.serial + 1;
    streams_ = choose_streams(*context, config_, shown_url(config_));
    streams_.description.serial = serial_ = serial;
  }

  [[nodiscard]] SourceError not_there(int code) const {
    return {SourceError::Kind::not_found, "cannot open " + name_ + ": " + av_error_text(code)};
  }

  // Read by itself: libavformat has passed its beginning.
  void refuse_unknown_flv() const {
    if (std::string_view(input_->iformat->name) != "flv") return;
    AVIOContext* io = nullptr;
    if (avio_open(&io, ("file:" + path_).c_str(), AVIO_FLAG_READ) < 0) return;
    const std::string problem = unknown_flv_video(*io);
    avio_closep(&io);
    if (!problem.empty()) throw Error(name_ + " " + problem);
  }

  // Frames have no times of their own.
  [[nodiscard]] LibavOptions picture_options() const {
    LibavOptions options;
    if (!is_numbered_pictures(path_)) return options;
    const double rate = config_.capture.rate > 0 ? config_.capture.rate : picture_rate;
    const AVRational exact = av_d2q(rate, 1'000'000);  // a frame an hour has no few decimals
    options.set("framerate", std::to_string(exact.num) + "/" + std::to_string(exact.den));
    options.set("start_number", first_number(path_).value_or(0));
    return options;
  }

  void forget_positions() { newest_position_ = moved_at_ = -1; }

  void go_to(std::int64_t timestamp) {
    packets_ = 0;
    times_ = {};
    forget_positions();
    if (av_seek_frame(input_.get(), streams_.video, timestamp, AVSEEK_FLAG_BACKWARD) >= 0) return;
    // Raw streams have no timestamps to seek by; their beginning can be found by its byte.
    if (av_seek_frame(input_.get(), streams_.video, 0, AVSEEK_FLAG_BYTE) >= 0) return;
    open();
  }

  SourceConfig config_;
  std::string path_;
  std::string name_;  // for people
  Interrupt interrupt_;
  AvInput input_;
  AvPacket found_ = make_av_packet();  // by seek()
  MediaStreams streams_;
  RepeatedTimes times_;
  int packets_ = 0;  // of its video, since it was opened or since the last seek; those of tell_decode_time()
  std::int64_t first_shown_ = AV_NOPTS_VALUE;  // the first of these
  std::int64_t first_time_ = AV_NOPTS_VALUE;   // when the first packet of all is decoded
  std::int64_t end_ = 0;                       // of its video so far, from its start
  int late_ = 0;                               // packets of streams that had its video before
  unsigned serial_ = 0;                        // of the video's stream
  std::int64_t newest_position_ = -1;          // in the file, of its packets
  std::int64_t moved_at_ = -1;                 // that before the last change of the stream
  bool cut_off_ = false;                       // and that was logged
  bool changes_header_ = false;                // in its midst: at its beginning it has another one
};

std::unique_ptr<Source> open(const SourceConfig& config, const Source::Interrupt& interrupt) {
  return std::make_unique<FileSource>(config, interrupt);
}

std::optional<std::string> check(const std::string& path) {
  if (path.find("://") != std::string::npos) return unknown_scheme_text(split_address(path).scheme);
  if (is_numbered_pictures(path)) return std::nullopt;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    const auto url = likely_url(path);
    return url ? std::optional("there is no file '" + path + "' (is it a camera? Then write " + *url + ")")
               : std::nullopt;
  }
  if (can_only_be_a_folder(path)) return "'" + path + "' is a folder, not a video file";
  return std::nullopt;
}

std::optional<std::string> not_now(const std::string& path) {
  if (is_numbered_pictures(path)) return missing_pictures(path);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error == std::errc::permission_denied)
    return "'" + path + "' cannot be reached: " + error.message() + " (of a folder above it)";
  if (!std::filesystem::exists(status)) return "there is no file '" + path + "' (paths start at the current directory)";
  if (const auto other = not_a_file(path)) return "'" + path + "' " + *other;
  if (::access(path.c_str(), R_OK) != 0) return "'" + path + "' cannot be read: " + std::strerror(errno);
  return std::nullopt;
}

constexpr std::array keys{
    SourceKeysOf{SourceKeys::playback, "files"},
    SourceKeysOf{SourceKeys::rate, "numbered pictures", is_numbered_pictures},
};

// Numbered pictures are not a kind of their own: only the disk knows whether a name with a %d in it is that of a file.
const SourceKindRegistration registration{{.name = "file",
                                           .place = 80,
                                           .keys = keys,
                                           .check = check,
                                           .not_now = not_now,
                                           .open = open,
                                           .can_end = [](const SourceConfig& config) { return !config.loop; },
                                           .tried_at_check = true}};

}  // namespace
}  // namespace campipe
