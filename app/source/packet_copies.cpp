#include "app/source/packet_copies.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "app/rings/timeline.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/frame_age.h"
#include "core/log.h"
#include "core/media_limits.h"
#include "ipc/drop_causes.h"
#include "ipc/rig_page.h"
#include "ipc/ring_checks.h"
#include "ipc/source_blocks.h"
#include "stages/decoders/frame_format.h"
#include "stages/sinks/stream_headers.h"
#include "stages/sources/accepted_media.h"
#include "stages/sources/source.h"

namespace campipe {
namespace {

constexpr std::size_t video_capacity = std::size_t{32} << 20;  // some GOPs of a good camera
constexpr std::size_t audio_capacity = std::size_t{1} << 20;
constexpr auto publisher_deadline = std::chrono::seconds(30);
constexpr std::int64_t longest_overlap = 50'000'000;  // of audio; where a clock was corrected, more is left out
constexpr std::int64_t longest_tail = 1'000'000'000;  // of a file's audio behind its video, that frames wait for

constexpr int packets_of_new_sound = 3;                    // that follow one another
constexpr std::int64_t least_with_sound = 10'000'000'000;  // ns, from one change to the next

constexpr std::array aac_rates{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350};

std::vector<std::uint8_t> extradata_of(const AVCodecParameters& codec) {
  return {codec.extradata, codec.extradata + codec.extradata_size};
}

// Else the supervisor would take this process, which has all cameras, for one that is out of its mind.
void require_header_fits(const std::vector<std::uint8_t>& header, const std::string& whose) {
  const auto problem = refused_codec_header(std::ssize(header));
  if (problem) throw SourceError(SourceError::Kind::unsupported, whose + " " + *problem);
}

void record_latency(CopyBlock& block, const FrameTimes& times) {
  const auto transit = transit_of(times);
  if (transit) block.transit.record(*transit);
  block.latency.record(transit.value_or(0) + times.encoded - times.arrival);
}

StreamParameters video_of(const SourceStream& stream) {
  const AVCodecParameters& codec = *stream.codec;
  StreamParameters parameters;
  parameters.codec = avcodec_get_name(codec.codec_id);
  parameters.encoder = "copy";
  parameters.format = expected_format(codec, PixelFormat::i420);
  parameters.frame_rate = stream.frame_rate;
  if (tells_headers(codec)) parameters.extradata = extradata_of(codec);  // else the first key frame does
  require_header_fits(parameters.extradata, "its video");
  parameters.rotation = stream.rotation;
  return parameters;
}

// The AudioSpecificConfig of AAC that comes with a header of its own in each packet (ADTS), so that no reader has to
// wait for the first one. Only of the plain kind, where what libavformat found out is enough.
std::vector<std::uint8_t> aac_headers_of(const AVCodecParameters& codec) {
  const auto* rate = std::ranges::find(aac_rates, codec.sample_rate);
  const int channels = codec.ch_layout.nb_channels;
  const bool plain = codec.profile == FF_PROFILE_AAC_LOW && (channels == 1 || channels == 2) && rate != aac_rates.end();
  if (!plain) return {};
  const auto config =
      2U << 11U | static_cast<unsigned>(rate - aac_rates.begin()) << 7U | static_cast<unsigned>(channels) << 3U;
  return {static_cast<std::uint8_t>(config >> 8U), static_cast<std::uint8_t>(config & 255U)};
}

AudioParameters audio_of(const AVCodecParameters& codec) {
  AudioParameters parameters;
  parameters.codec = avcodec_get_name(codec.codec_id);
  parameters.sample_rate = codec.sample_rate;
  parameters.channels = codec.ch_layout.nb_channels;
  parameters.frame_size = codec.frame_size;
  parameters.bits_per_coded_sample = codec.bits_per_coded_sample;
  parameters.block_align = codec.block_align;
  parameters.extradata = extradata_of(codec);
  if (codec.codec_id == AV_CODEC_ID_AAC && parameters.extradata.empty()) parameters.extradata = aac_headers_of(codec);
  return parameters;
}

// The AudioSpecificConfig in the header that AAC has in streams; empty: there is no such header.
std::vector<std::uint8_t> config_in(const AVCodecParameters& codec, const AVPacket& packet) {
  if (codec.codec_id != AV_CODEC_ID_AAC || codec.extradata_size > 0) return {};
  AudioParameters audio;
  audio.codec = "aac";
  return with_headers(std::move(audio), {packet.data, static_cast<std::size_t>(packet.size)}).extradata;
}

// ISO/IEC 14496-3, 1.6.2.1, as far as it is said in its first bytes. What is not in the table of rates stays as it was.
void take_config(AudioParameters& audio, const std::vector<std::uint8_t>& config) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 4; ++i) bits = bits << 8U | (i < config.size() ? config[i] : 0U);
  const unsigned type = bits >> 27U;
  const unsigned channels = bits >> 19U & 15U;
  const bool is_extended = type == 5 || type == 29;  // SBR, PS: then the rate that is heard follows
  const unsigned rate = (is_extended ? bits >> 15U : bits >> 23U) & 15U;
  audio.extradata = config;
  if (rate < aac_rates.size()) audio.sample_rate = aac_rates.at(rate);
  if (channels > 0) audio.channels = static_cast<int>(channels == 7 ? 8 : channels);
}

// The AAC header that a container changes at this packet (FLV, an init segment of HLS); empty: it changes none.
std::vector<std::uint8_t> new_config_of(const AVCodecParameters& codec, const AVPacket& packet) {
  std::size_t size = 0;
  const std::uint8_t* data = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
  const bool is_one = data != nullptr && size >= 2 && !refused_codec_header(static_cast<std::int64_t>(size));
  if (codec.codec_id != AV_CODEC_ID_AAC || !is_one) return {};
  return {data, data + size};
}

}  // namespace

PacketCopies::PacketCopies(const std::vector<CopyTarget>& video, const std::vector<CopyTarget>& audio, bool block,
                           const RigPage& page, Events events)
    : block_(block), page_(page), events_(std::move(events)) {
  for (const CopyTarget& target : video) video_.push_back({target, nullptr});
  for (const CopyTarget& target : audio) audio_.push_back({target, nullptr});
}

void PacketCopies::begin(const SourceStream& stream) {
  stream_ = &stream;
  for (Track& track : video_) track.need_key = true;
  begin_audio(stream);  // the publisher shall know of it before the first frame comes
  if (!video_.empty() && stream.codec == nullptr) throw Error("the test pattern has no packets that could be copied");
  begin_video(stream);
}

void PacketCopies::begin_video(const SourceStream& stream) {
  if (video_.empty()) return;
  StreamParameters parameters = video_of(stream);
  if (!is_possible(parameters.format, false)) throw Error("the source describes its frames as none can be");
  if (video_parameters_ != parameters) {
    video_parameters_ = std::move(parameters);
    for (Track& track : video_) track.current = false;
  }
  for (Track& track : video_) {
    renew(track, video_capacity, [this](const Track& renewed, const PacketRingMemory& ring) {
      events_.on_video(renewed.target.output, renewed.target.epoch, ring, *video_parameters_);
    });
  }
}

void PacketCopies::begin_audio(const SourceStream& stream) {
  heard_.now.reset();
  heard_.told.clear();
  if (audio_.empty()) return;
  if (stream.audio == nullptr) {
    if (audio_parameters_) set_audio({});  // a file begun from now on has no track for it
    return;
  }
  const AudioParameters audio = audio_of(*stream.audio);
  require_header_fits(audio.extradata, "its sound");  // where it is known before, there is no sound
  set_audio(audio);
}

void PacketCopies::set_audio(const AudioParameters& parameters) {
  if (audio_parameters_ != parameters) {
    audio_parameters_ = parameters;
    for (Track& track : audio_) track.current = false;
  }
  for (Track& track : audio_) {
    renew(track, audio_capacity, [this](const Track& renewed, const PacketRingMemory& ring) {
      events_.on_audio(renewed.target.output, renewed.target.epoch, ring, *audio_parameters_);
    });
  }
}

// Of a stream that has come up in the midst libavformat knows no more than the codec: then its packets say the rest, or
// it goes on as it was.
PacketCopies::Sound PacketCopies::sound_of(const AVCodecParameters& codec, const AVPacket& packet) const {
  Sound sound{codec.codec_id, codec.sample_rate, codec.ch_layout.nb_channels, config_in(codec, packet)};
  if (!heard_.told.empty() && codec.codec_id == AV_CODEC_ID_AAC) sound.config = heard_.told;
  if (sound.sample_rate > 0) return sound;
  if (!sound.config.empty()) {
    AudioParameters audio;
    take_config(audio, sound.config);
    sound.sample_rate = audio.sample_rate;
    sound.channels = audio.channels;
  } else if (heard_.now && heard_.now->codec == sound.codec) {
    sound.sample_rate = heard_.now->sample_rate;
    sound.channels = heard_.now->channels;
  }
  return sound;
}

// In MPEG-TS it may become another one in the midst of the stream. Each time makes rings, for which a stream that
// changes with every few packets would take all descriptors. `no`: it is none that is taken.
PacketCopies::Follow PacketCopies::follow_sound(const AVPacket& packet, std::int64_t arrival) {
  const AVCodecParameters& codec = *stream_->audio;
  if (codec.codec_type != AVMEDIA_TYPE_AUDIO || !is_accepted_audio(codec.codec_id)) return Follow::no;
  if (std::exchange(heard_.told_in, stream_->serial) != stream_->serial) heard_.told.clear();
  const auto config = new_config_of(codec, packet);
  if (!config.empty() && (!heard_.told.empty() || config != extradata_of(codec))) heard_.told = config;
  const Sound sound = sound_of(codec, packet);
  if (heard_.now && *heard_.now != sound) {
    // What is no such sound at all looks like another one now and then, too.
    heard_.times_coming = sound == heard_.coming ? heard_.times_coming + 1 : 1;
    heard_.coming = sound;
    const bool lost_header = sound.codec == heard_.now->codec && sound.config.empty() && !heard_.now->config.empty();
    const bool is_certain = sound.config == heard_.told && !sound.config.empty();
    if (!is_certain && (heard_.times_coming < packets_of_new_sound || lost_header)) return Follow::no;
    if (heard_.changed_at && arrival - *heard_.changed_at < least_with_sound) return Follow::too_soon;
    heard_.changed_at = arrival;
    AudioParameters parameters = audio_of(codec);
    if (!sound.config.empty()) take_config(parameters, sound.config);
    set_audio(parameters);
  }
  heard_.now = sound;
  heard_.coming.reset();
  return Follow::yes;
}

// A track changes as a whole or, when something throws (no memory, no descriptors), not at all: then it is its turn
// again when the source has been opened again.
void PacketCopies::renew(Track& track, std::size_t capacity, const Announce& announce) {
  if (track.current) return;
  auto ring = std::make_unique<PacketRingWriter>(
      PacketRingMemory::create(capacity, track.target.epoch, track.target.base + track.pushed));
  watch(track, *ring);
  announce(track, ring->memory());
  if (track.ring) track.ring->close();
  track.ring = std::move(ring);
  ++track.target.epoch;
  track.current = true;
}

void PacketCopies::watch(const Track& track, PacketRingWriter& ring) {
  Accusation& accusation = page_.copy(track.target.output).accusation;
  ring.on_faulty_reader([&accusation] { accuse(accusation, Accused::publisher); });
}

std::optional<std::int64_t> PacketCopies::resume_at() const {
  std::optional<std::int64_t> first;
  for (const Track& track : video_) {
    if (!track.target.resume) return std::nullopt;
    first = std::min(first.value_or(*track.target.resume), *track.target.resume);
  }
  return first;
}

void PacketCopies::resume(bool goes_back) {
  for (Track& track : video_) {
    if (goes_back || !track.target.resume) continue;
    packet_times_.set_last(std::max(packet_times_.last(), *track.target.resume), 0);
    end_ = std::max({end_, packet_times_.end(), track.target.shown_until.value_or(-1)});
    track.target.resume.reset();
  }
  for (Track& track : audio_) {
    if (goes_back || !track.target.resume) continue;
    last_audio_ = audio_end_ = std::max(last_audio_, *track.target.resume);
    track.target.resume.reset();
  }
}

// Outputs whose source died between them know different packets.
bool PacketCopies::is_passed_on(Track& audio, std::int64_t at) {
  if (audio.target.resume && at > *audio.target.resume) audio.target.resume.reset();
  return audio.target.resume.has_value();
}

void PacketCopies::change_headers() { begin_video(*stream_); }

void PacketCopies::change_stream() {
  for (Track& track : video_) track.need_key = true;
  begin_video(*stream_);
}

std::optional<Correction> PacketCopies::video(const AVPacket& packet, const SourceClock& clock,
                                              const PacketTimes& times, bool decodable) {
  if (video_.empty()) return std::nullopt;
  const auto ns = [this](std::int64_t time) { return source_ns(*stream_, time); };
  const std::optional<std::int64_t> decoded = decode_time(*stream_, packet);
  if ((packet.flags & AV_PKT_FLAG_DISCARD) != 0) {
    const bool key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
    hide(key || packet.pts == AV_NOPTS_VALUE ? std::nullopt : std::optional(clock.map(ns(packet.pts))));
    return std::nullopt;
  }
  PacketView view;
  view.data = {packet.data, static_cast<std::size_t>(packet.size)};
  view.key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  view.times.duration = av_rescale_q(packet.duration, stream_->time_base, nanoseconds);
  if (view.times.duration <= 0 && stream_->frame_rate > 0)
    view.times.duration = static_cast<std::int64_t>(1e9 / stream_->frame_rate);
  std::optional<Timeline::Mapped> mapped;
  if (decoded) mapped = {*decoded, clock.map(*decoded)};
  const Timeline::Time time = packet_times_.next(mapped, view.times.duration);
  view.dts = time.pts;
  view.times.pts = packet.pts != AV_NOPTS_VALUE ? std::max(clock.map(ns(packet.pts)), view.dts) : view.dts;
  end_ = std::max(end_, view.times.pts + std::max(view.times.duration, smallest_step));
  view.times.arrival = times.arrival;
  view.times.capture_utc = times.capture_utc;
  view.times.capture_clock = times.capture_clock;
  view.times.decoded = view.times.leased = view.times.filtered = view.times.encoded = now_ns();
  for (Track& track : video_) pass(track, view, decodable);
  return time.correction;
}

void PacketCopies::pass(Track& track, PacketView& packet, bool decodable) {
  if (track.target.resume) {
    if (packet.dts <= *track.target.resume) return;
    track.need_key = false;  // what it refers to has been passed on
    track.target.resume.reset();
  }
  if (packet.key || !decodable) track.undecodable = track.need_key = !decodable;
  if (packet.key) track.key_shown = packet.times.pts;
  if (track.need_key) {
    if (!track.undecodable) return;
    counter(page_.copy(track.target.output).unpublished, DropCause::undecodable).fetch_add(1);
    cut_ = cut_ || !packet.key;
    return;
  }
  packet.metadata = events_.metadata(track.target.output);
  push(track, packet, true);
}

// It is no loss, and has no place on the timeline. `shown`: when it would be; nothing: it is a key frame. Frames that
// come behind a key frame, and are shown before it, are none that others refer to.
void PacketCopies::hide(std::optional<std::int64_t> shown) {
  for (Track& track : video_) {
    if (track.target.resume) continue;  // what it refers to has been passed on
    const bool is_leading = shown && !track.need_key && track.key_shown && *shown < *track.key_shown;
    if (!is_leading) track.undecodable = track.need_key = true;
  }
}

bool PacketCopies::audio(const AVPacket& packet, std::optional<std::int64_t> at, std::int64_t arrival) {
  if (audio_.empty() || !audio_parameters_ || !at) return true;
  if (*at < 0 || *at + longest_overlap < last_audio_) return true;
  if (std::ranges::count_if(audio_, [&](Track& track) { return !is_passed_on(track, *at); }) == 0) return true;
  const Follow follow = follow_sound(packet, arrival);
  if (follow != Follow::yes) return follow != Follow::too_soon;
  PacketView view;
  view.data = {packet.data, static_cast<std::size_t>(packet.size)};
  view.key = true;
  view.dts = last_audio_ < 0 ? *at : std::max(*at, last_audio_ + smallest_step);
  last_audio_ = view.dts;
  view.times.pts = view.dts;
  view.times.duration = av_rescale_q(packet.duration, stream_->audio_time_base, nanoseconds);
  audio_end_ = view.dts + view.times.duration;
  view.times.arrival = arrival;
  for (Track& track : audio_) {
    if (!is_passed_on(track, *at)) push(track, view, false);
  }
  return true;
}

void PacketCopies::keep(const std::vector<OutputId>& outputs) {
  for (std::vector<Track>* const tracks : {&video_, &audio_}) {
    std::erase_if(*tracks, [&](Track& track) {
      const bool ends = std::ranges::find(outputs, track.target.output) == outputs.end();
      if (ends && track.ring) track.ring->close();
      return ends;
    });
  }
}

// The last packet of the audio may last a little longer than the video: the next one comes behind it all the same.
std::int64_t PacketCopies::next_turn(std::int64_t end) const {
  return last_audio_ >= end && audio_end_ - end <= longest_tail ? audio_end_ : end;
}

void PacketCopies::push(Track& track, const PacketView& packet, bool of_video) {
  if (!track.current) return;
  CopyBlock& block = page_.copy(track.target.output);
  const Deadline deadline = Clock::now() + (of_video && block_ ? publisher_deadline : std::chrono::seconds(0));
  bool pushed = false;
  try {
    pushed = track.ring->push(packet, deadline, events_.interrupted);
  } catch (const Error& error) {
    spdlog::debug("a packet of {} bytes is left out: {}", packet.data.size(), error.what());
  }
  if (pushed) {
    ++track.pushed;
    if (of_video) record_latency(block, packet.times);
  } else if (of_video) {
    track.need_key = true;
    counter(block.unpublished, DropCause::publisher_slow).fetch_add(1);
  }
}

void PacketCopies::close() {
  for (Track& track : video_) {
    if (track.ring) track.ring->close();
  }
  for (Track& track : audio_) {
    if (track.ring) track.ring->close();
  }
}

}  // namespace campipe
