#include "stages/sources/read_watch.h"

namespace campipe {

bool has_video_packets(const AVFormatContext& input) {
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    const AVStream& stream = *input.streams[i];
    const bool video = stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO;
    if (video && (stream.event_flags & AVSTREAM_EVENT_FLAG_NEW_PACKETS) != 0) return true;
  }
  return false;
}

bool knows_video(const AVFormatContext& input) {
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    const AVCodecParameters& codec = *input.streams[i]->codecpar;
    if (codec.codec_type == AVMEDIA_TYPE_VIDEO && codec.codec_id != AV_CODEC_ID_NONE) return true;
  }
  return false;
}

void ReadWatch::allow(std::chrono::nanoseconds time, std::chrono::nanoseconds total) {
  deadline_ = Clock::now() + time;
  allowed_ = total;
}

void ReadWatch::expect_packets(const AVFormatContext& input, std::chrono::nanoseconds within) {
  input_ = &input;
  first_packet_ = Clock::now() + within;
  no_packets_ = false;
}

void ReadWatch::bound_analysis(const AVFormatContext& input, std::chrono::nanoseconds longest,
                               std::function<bool()> may_end) {
  analyzed_ = &input;
  longest_analysis_ = longest;
  may_end_analysis_ = std::move(may_end);
  analysis_end_.reset();
}

bool ReadWatch::analysis_is_long() {
  if (analyzed_ == nullptr) return false;
  if (!analysis_end_ && has_video_packets(*analyzed_)) analysis_end_ = Clock::now() + longest_analysis_;
  return analysis_end_ && Clock::now() >= *analysis_end_ && may_end_analysis_();
}

void ReadWatch::close_within(std::chrono::nanoseconds time) {
  interrupt_ = [] { return false; };
  stop_ = [] { return false; };
  forget_packets();
  allow(time, time);
}

bool ReadWatch::ask() {
  if (interrupt_()) {
    interrupted_ = true;
    return true;
  }
  if (stop_()) return true;
  const auto now = Clock::now();
  if (now >= deadline_) {
    timed_out_ = true;
    return true;
  }
  if (input_ != nullptr && now >= first_packet_) no_packets_ = !has_video_packets(*input_);
  return no_packets_;
}

}  // namespace campipe
