#include "app/source/followed_stream.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/av1_units.h"
#include "core/extradata.h"
#include "core/log.h"
#include "core/nal_units.h"
#include "core/reorder_depth.h"
#include "core/start_codes.h"
#include "stages/decoders/clean_start.h"
#include "stages/decoders/trial.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

// The publisher allows two more, which a new connection may need.
constexpr std::size_t most_changes = 8;
constexpr auto changes_in = std::chrono::seconds(20);

Bytes bytes_of(const AVPacket& packet) { return {packet.data, static_cast<std::size_t>(std::max(packet.size, 0))}; }

Bytes extradata_of(const AVCodecParameters& codec) {
  return {codec.extradata, static_cast<std::size_t>(std::max(codec.extradata_size, 0))};
}

// A stream's own headers say what its colours are; those of the one before need not be right.
void forget_colours(AVCodecParameters& codec) {
  codec.color_range = AVCOL_RANGE_UNSPECIFIED;
  codec.color_primaries = AVCOL_PRI_UNSPECIFIED;
  codec.color_trc = AVCOL_TRC_UNSPECIFIED;
  codec.color_space = AVCOL_SPC_UNSPECIFIED;
  codec.sample_aspect_ratio = {0, 1};
}

// The part of a header that a decoder goes by, without what encoders write beside it: the video object layer of MPEG-4
// (ISO/IEC 14496-2, 6.2.3), the sequence header of AV1 (5.5).
Bytes essence_of(AVCodecID codec, Bytes header) {
  if (codec == AV_CODEC_ID_MPEG4) {
    for (auto found = std::ranges::search(header, start_code); !found.empty();) {
      const Bytes rest(found.end(), header.end());
      found = std::ranges::search(rest, start_code);
      const bool is_layer = !rest.empty() && rest[0] >= 0x20 && rest[0] <= 0x2f;
      if (is_layer) return rest.first(static_cast<std::size_t>(found.begin() - rest.begin()));
    }
    return {};
  }
  constexpr std::size_t box = 4;  // of av1C, before the units
  if (!header.empty() && header[0] == 0x81) header = header.subspan(std::min(box, header.size()));
  constexpr unsigned sequence_header = 1;
  for (auto unit = take_av1_unit(header); unit && unit->whole; unit = take_av1_unit(header)) {
    if (unit->type == sequence_header) return unit->content;
  }
  return {};
}

bool is_like(const SentFormat& a, const SentFormat& b) { return a.width == b.width && a.height == b.height; }

bool has_header_of_packets(AVCodecID codec) { return codec == AV_CODEC_ID_MPEG4 || codec == AV_CODEC_ID_AV1; }

}  // namespace

void FollowedStream::begin(const SourceStream& announced) {
  announced_ = &announced;
  packet_ = nullptr;
  if (announced.codec == nullptr) {
    source_codec_ = nullptr;
    stream_ = announced;
    return;
  }
  follow_source();
  const Described before = describe_announced();
  keep_form(before);
  awaits_key_frame_ = false;
}

// What its packets say from now on is another stream's.
void FollowedStream::follow_source() {
  source_codec_ = announced_->codec;
  serial_ = announced_->serial;
  codec_id_ = source_codec_->codec_id;
  any_key_frame_ = false;
  awaits_key_frame_ = true;
  is_verified_ = false;
  container_.clear();
  sent_.reset();
  newest_.reset();
  known_.reset();
  decoders_.reset();
  decoders_differ_ = sets_came_alone_ = false;
  if (ParameterSets::has(codec_id_)) known_.emplace(codec_id_, extradata_of(*source_codec_));
}

// Returns what was described before.
FollowedStream::Described FollowedStream::describe_announced() {
  Described before{std::exchange(described_, std::nullopt), std::exchange(codec_, nullptr)};
  stream_ = *announced_;
  codec_.reset(avcodec_parameters_alloc());
  if (!codec_) throw std::bad_alloc();
  av_check(avcodec_parameters_copy(codec_.get(), source_codec_), "the stream's parameters");
  stream_.codec = codec_.get();
  if (ParameterSets::has(codec_id_)) described_.emplace(codec_id_, extradata_of(*codec_));
  return before;
}

// The same in another form would be another file.
void FollowedStream::keep_form(const Described& before) {
  const bool same = before.sets && described_ && *before.sets == *described_ && described_->complete() &&
                    before.codec->width == codec_->width && before.codec->height == codec_->height;
  if (same) av_check(avcodec_parameters_copy(codec_.get(), before.codec.get()), "the stream's parameters");
}

void FollowedStream::follow_audio() {
  stream_.audio = announced_->audio;
  stream_.audio_time_base = announced_->audio_time_base;
}

FollowedStream::Change FollowedStream::take(const AVPacket& packet, Clock::time_point now) {
  packet_ = &packet;
  fault_ = Fault::none;
  if (source_codec_ == nullptr) return Change::none;
  const bool is_key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  if (announced_->serial != serial_ || announced_->codec->codec_id != codec_id_) {
    follow_source();
    if (const auto more = other_lines_.pass(now)) {
      spdlog::info("{}: its source goes on with another stream ({}){}", camera_, avcodec_get_name(codec_id_), *more);
    }
  }
  take_side_data(packet);
  const bool breaks = known_ && is_broken(awaits_key_frame_ ? *source_codec_ : *codec_, packet);
  if (breaks) fault_ = Fault::broken;
  const bool is_damaged = breaks || (packet.flags & AV_PKT_FLAG_CORRUPT) != 0;
  shows_picture_ = true;
  has_own_sets_ = false;
  if (known_ && !is_damaged) take_sets(packet);
  const bool may_begin = is_key && !is_damaged && shows_picture_;
  if (!may_begin) {
    if (awaits_key_frame_) {
      fault_ = Fault::no_key_frame;
    } else if (!is_damaged && shows_picture_) {
      compare_with_key_frame(packet);
    }
    return Change::none;
  }
  Change change = Change::stream;
  if (std::exchange(awaits_key_frame_, false)) {
    const Described before = describe_announced();
    take_key_frame(packet, now);
    keep_form(before);
  } else {
    change = take_key_frame(packet, now);
  }
  try_to_decode(packet);
  return change;
}

void FollowedStream::take_sets(const AVPacket& packet) {
  const Bytes bytes = bytes_of(packet);
  has_own_sets_ = known_->take(bytes);
  is_verified_ = is_verified_ || has_own_sets_;
  shows_picture_ = known_->picture_in(bytes) != ParameterSets::Picture::none;
  sets_came_alone_ = sets_came_alone_ || (has_own_sets_ && !shows_picture_);
}

// Sets may change between key frames. Who plays a file has those of its header, and begins with any key frame: of what
// came since then files have nothing but pictures' sets of H.264, since libavformat leaves out others of HEVC, and
// those of a sequence cannot change there.
void FollowedStream::compare_with_key_frame(const AVPacket& packet) {
  if (!known_ || !decoders_ || !known_->complete()) return;
  const Bytes bytes = bytes_of(packet);
  if (has_own_sets_ && codec_id_ == AV_CODEC_ID_H264) decoders_->take_pictures(bytes);
  if (has_own_sets_ || sets_came_alone_ || !container_.empty()) decoders_differ_ = *known_ != *decoders_;
  if (known_->picture_in(bytes) == ParameterSets::Picture::unknown) {
    fault_ = Fault::no_sets;
  } else if (decoders_differ_ && !known_->refers_alike(bytes, *decoders_)) {
    fault_ = Fault::other_sets;
  }
}

void FollowedStream::try_to_decode(const AVPacket& packet) {
  const bool may_try = tries_ && known_ && known_->complete() && !is_verified_ && fault_ == Fault::none;
  if (!may_try || !is_clean_start(*codec_, packet)) return;
  is_verified_ = try_key_frame(*codec_, packet) != Trial::faulty;
  if (!is_verified_) fault_ = Fault::wrong_sets;
}

void FollowedStream::take_side_data(const AVPacket& packet) {
  std::size_t size = 0;
  const std::uint8_t* data = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
  if (data == nullptr || size == 0) return;
  const Bytes header(data, size);
  if (known_) {
    ParameterSets sets(codec_id_, header);
    if (!sets.complete()) return;
    is_verified_ = is_verified_ && sets == *known_;
    known_ = std::move(sets);
  }
  container_.assign(header.begin(), header.end());
}

FollowedStream::Change FollowedStream::take_key_frame(const AVPacket& packet, Clock::time_point now) {
  const Bytes bytes = bytes_of(packet);
  if (known_) known_->begin_at(bytes);
  if (known_ && known_->complete() && known_->picture_in(bytes) == ParameterSets::Picture::unknown)
    fault_ = Fault::no_sets;
  if (known_ && (!decoders_ || *decoders_ != *known_)) decoders_ = known_;
  decoders_differ_ = false;
  const bool came_alone = std::exchange(sets_came_alone_, false);
  const std::optional<Headers> headers = known_ ? changed_sets(bytes) : changed_headers(bytes);
  container_.clear();
  const bool is_news = std::exchange(newest_, headers) != headers;
  if (settled_at_ && is_news) settled_at_ = now + changes_in;
  const bool must_change = known_ && known_->length_size() != described_->length_size();
  const bool may_lack_sets = known_ && known_->complete() && !has_own_sets_;
  Change change = Change::none;
  if (headers && (may_change(now) || must_change)) {
    change = apply(*headers);
  } else {
    any_key_frame_ = true;
    if (settled_at_ && now >= *settled_at_) settled_at_.reset();
  }
  // A decoder has had others, perhaps; or they came in a packet that copies are without.
  if (may_lack_sets && (settled_at_ || came_alone)) put_sets_into(packet);
  return change;
}

std::optional<FollowedStream::Headers> FollowedStream::changed_sets(Bytes packet) {
  const bool has_size = codec_->width > 0 && codec_->height > 0;
  const bool same = *known_ == *described_;
  if (!known_->complete() || (same && has_size && any_key_frame_)) return std::nullopt;
  // As the container wrote it, where the packet does not say otherwise.
  const bool as_written = !container_.empty() && *known_ == ParameterSets(codec_id_, container_);
  Headers headers{as_written ? container_ : known_->extradata(), {}};
  headers.format = format_in(codec_id_, headers.extradata, packet);
  if (!headers.format) {  // no decoder could read them
    if (!same && fault_ == Fault::none) fault_ = Fault::unreadable_sets;
    return std::nullopt;
  }
  // What libavformat has read ahead may have shown it another size.
  if (same && headers.format->width == codec_->width && headers.format->height == codec_->height) return std::nullopt;
  if (same) headers.extradata.assign(codec_->extradata, codec_->extradata + codec_->extradata_size);
  return headers;
}

// Its size by the packets is compared with that of packets before: containers have their own idea of it (of fields,
// of what is shown), which is no change.
std::optional<FollowedStream::Headers> FollowedStream::changed_headers(Bytes packet) {
  Headers headers{container_, format_in(codec_id_, extradata_of(*codec_), packet)};
  if (has_header_of_packets(codec_id_)) {
    const std::vector<std::uint8_t> sent = headers_in(codec_id_, packet);
    const Bytes essence = essence_of(codec_id_, sent);
    const Bytes now = essence_of(codec_id_, extradata_of(*codec_));
    if (!essence.empty() && !std::ranges::equal(essence, now)) headers.extradata = sent;
  }
  const bool other_header = !headers.extradata.empty() && !std::ranges::equal(headers.extradata, extradata_of(*codec_));
  if (other_header) headers.format = format_in(codec_id_, headers.extradata, packet);
  const bool has_size = codec_->width > 0 && codec_->height > 0;
  const bool other_size = headers.format && (sent_ ? !is_like(*sent_, *headers.format) : !has_size);
  if (!sent_) sent_ = headers.format;
  if (!other_header && !other_size) return std::nullopt;
  if (!other_header) {
    const Bytes extradata = extradata_of(*codec_);
    headers.extradata.assign(extradata.begin(), extradata.end());
  }
  return headers;
}

// What was announced wrongly, or not at all, is no change of the stream.
bool FollowedStream::may_change(Clock::time_point now) {
  if (!any_key_frame_) return true;
  while (!changes_.empty() && now - changes_.front() > changes_in) changes_.pop_front();
  if (changes_.size() < most_changes && (!settled_at_ || now >= *settled_at_)) {
    settled_at_.reset();
    changes_.push_back(now);
    return true;
  }
  if (!settled_at_) {
    settled_at_ = now + changes_in;
    spdlog::warn(
        "{}: its stream changes (size or parameter sets) again and again: it goes on in the same files, in which "
        "frames have the parameter sets that they need; look at the camera's settings",
        camera_);
  }
  return false;
}

FollowedStream::Change FollowedStream::apply(const Headers& headers) {
  const int width = codec_->width;
  const int height = codec_->height;
  const bool was_known = described_ ? described_->complete() : codec_->extradata_size > 0;
  const bool form_changed = known_ && known_->length_size() != described_->length_size();
  set_extradata(*codec_, headers.extradata);
  described_ = known_;
  if (known_) codec_->video_delay = reorder_depth(codec_id_, headers.extradata).value_or(codec_->video_delay);
  if (any_key_frame_) forget_colours(*codec_);
  newest_.reset();
  if (headers.format) {
    sent_ = headers.format;
    codec_->width = headers.format->width;
    codec_->height = headers.format->height;
    if (headers.format->pixels != AV_PIX_FMT_NONE) codec_->format = headers.format->pixels;
  }
  const bool first = !std::exchange(any_key_frame_, true);
  const bool other_size = width > 0 && (codec_->width != width || codec_->height != height);
  const auto more = other_size || was_known ? lines_.pass() : std::nullopt;
  if (more && other_size && first) {
    spdlog::info("{}: its frames are {}x{}, and {}x{} was announced{}", camera_, codec_->width, codec_->height, width,
                 height, *more);
  } else if (more && other_size) {
    spdlog::info("{}: its frames are {}x{} now{}", camera_, codec_->width, codec_->height, *more);
  } else if (more) {
    spdlog::info("{}: its stream has other parameter sets {}{}", camera_,
                 first ? "than were announced, which count" : "now", *more);
  }
  return form_changed ? Change::stream : Change::headers;
}

void FollowedStream::put_sets_into(const AVPacket& packet) {
  const std::vector<std::uint8_t> bytes = known_->in_front_of(bytes_of(packet));
  av_packet_unref(with_sets_.get());
  av_check(av_new_packet(with_sets_.get(), static_cast<int>(bytes.size())), "no memory for a packet");
  av_check(av_packet_copy_props(with_sets_.get(), &packet), "no memory for a packet");
  std::ranges::copy(bytes, with_sets_->data);
  packet_ = with_sets_.get();
}

}  // namespace campipe
