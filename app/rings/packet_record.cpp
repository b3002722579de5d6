#include "app/rings/packet_record.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <type_traits>

#include "core/extradata.h"
#include "core/media_limits.h"
#include "core/orientation.h"
#include "ipc/ring_checks.h"
#include "stages/sources/accepted_media.h"

namespace campipe {
namespace {

constexpr std::uint32_t magic = 0x64636572;  // "recd"
constexpr std::uint32_t most_extra = 1U << 20;
constexpr std::uint32_t most_side_data = 4;
constexpr std::int64_t latest_utc = std::int64_t{1} << 62;  // ns since 1970, as in ring_checks.cpp
constexpr std::int64_t farthest = std::int64_t{1} << 61;    // ns; the sum of two of them fits
constexpr int most_bits = 64;                               // of a sample
constexpr int longest_delay = 64;                           // packets; FFmpeg knows 16
constexpr double fastest_rate = 1000;                       // frames a second
// What says how to decode. Not AV_PKT_FLAG_TRUSTED: the packet would be taken for this process's own.
constexpr int known_flags = AV_PKT_FLAG_KEY | AV_PKT_FLAG_CORRUPT | AV_PKT_FLAG_DISCARD | AV_PKT_FLAG_DISPOSABLE;
constexpr std::array travelling{AV_PKT_DATA_NEW_EXTRADATA, AV_PKT_DATA_PALETTE};

// A record is: Head; where it has one, Stream and extradata; side data, each behind a SideHead; the packet's bytes.
struct Head {
  std::uint32_t magic;
  std::uint32_t size;       // of the packet
  std::uint32_t side_data;  // how many
  std::int32_t flags;
  std::uint64_t connection;
  std::int64_t pts;
  std::int64_t dts;
  std::int64_t duration;
  PacketNote note;
  RecordKind kind;
  std::uint8_t has_stream;
};

// Of SourceStream; and below, of AVCodecParameters.
struct Stream {
  AVRational time_base;
  std::int64_t start;
  double frame_rate;
  std::int32_t pattern_width;
  std::int32_t pattern_height;
  std::int32_t rotation;
  std::uint8_t in_bursts;
  std::uint8_t finite;
  std::uint8_t discontinuous;

  std::uint8_t has_codec;  // else it is the test pattern
  std::uint32_t extra;     // bytes of extradata
  std::int32_t codec;
  std::uint32_t tag;
  std::int32_t format;
  std::int64_t bit_rate;
  std::int32_t bits_coded;
  std::int32_t bits_raw;
  std::int32_t profile;
  std::int32_t level;
  std::int32_t width;
  std::int32_t height;
  AVRational sample_aspect;
  std::int32_t field_order;
  std::int32_t color_range;
  std::int32_t color_primaries;
  std::int32_t color_trc;
  std::int32_t color_space;
  std::int32_t chroma_location;
  std::int32_t video_delay;
};

struct SideHead {
  std::uint32_t type;
  std::uint32_t size;
};

template <typename Part>
Part blank() {
  static_assert(std::is_trivially_copyable_v<Part>);
  Part part;
  std::memset(static_cast<void*>(&part), 0, sizeof part);  // what lies between its members is written, too
  return part;
}

using Bytes = std::vector<std::uint8_t>;

void append(Bytes& bytes, const void* data, std::size_t size) {
  const auto* begin = static_cast<const std::uint8_t*>(data);
  bytes.insert(bytes.end(), begin, begin + size);
}

bool within(std::int64_t value, std::int64_t least, std::int64_t most) { return value >= least && value <= most; }

bool is_possible(const PacketNote& note) {
  const bool stamps = is_possible_time(note.arrival) && is_possible_time(note.waited) && is_possible_time(note.late);
  const bool offsets = within(note.offset, -farthest, farthest) && within(note.media_offset, -latest_utc, latest_utc) &&
                       within(note.group_offset, -latest_utc, latest_utc);
  const bool utc =
      within(note.arrival_utc, -latest_utc, latest_utc) && within(note.capture_utc, -latest_utc, latest_utc);
  return stamps && offsets && utc && note.packet >= 0 && note.capture_clock <= CaptureClock::camera;
}

bool is_possible(const Head& head) {
  if (head.magic != magic || head.kind > RecordKind::end || head.has_stream > 1) return false;
  if (head.kind != RecordKind::packet) return head.size == 0 && head.side_data == 0 && head.has_stream == 0;
  return is_possible(head.note) && head.side_data <= most_side_data && head.duration >= 0;
}

bool are_possible_colors(const Stream& in) {
  return within(in.color_range, 0, AVCOL_RANGE_NB - 1) && within(in.color_primaries, 0, AVCOL_PRI_NB - 1) &&
         within(in.color_trc, 0, AVCOL_TRC_NB - 1) && within(in.color_space, 0, AVCOL_SPC_NB - 1) &&
         within(in.chroma_location, 0, AVCHROMA_LOC_NB - 1);
}

// Before a number becomes one of libav's enumerators, which must be one that there is.
bool is_possible_codec(const Stream& in) {
  const auto is_this = [&in](AVCodecID codec) { return in.codec == static_cast<std::int32_t>(codec); };
  if (!std::ranges::any_of(accepted_video(), is_this)) return false;
  const bool unknown_size = in.width == 0 && in.height == 0;
  if (!unknown_size && refused_size(in.width, in.height)) return false;
  return are_possible_colors(in) && in.extra <= most_extra && within(in.format, AV_PIX_FMT_NONE, AV_PIX_FMT_NB - 1) &&
         in.bit_rate >= 0 && within(in.bits_coded, 0, most_bits) && within(in.bits_raw, 0, most_bits) &&
         in.sample_aspect.num >= 0 && in.sample_aspect.den >= 0 &&
         within(in.field_order, AV_FIELD_UNKNOWN, AV_FIELD_BT) && within(in.video_delay, 0, longest_delay);
}

bool is_possible(const Stream& in) {
  const bool turned = is_orientation(in.rotation);
  const bool rate = in.frame_rate >= 0 && in.frame_rate <= fastest_rate;  // which NaN is not
  const bool flags = in.in_bursts <= 1 && in.finite <= 1 && in.discontinuous <= 1 && in.has_codec <= 1;
  if (!turned || !rate || !flags || in.time_base.num <= 0 || in.time_base.den <= 0) return false;
  if (in.has_codec != 0) return is_possible_codec(in);
  return in.extra == 0 && !refused_size(in.pattern_width, in.pattern_height);
}

// A container may have put any number there: it is not looked at as the enumerator that it might not be.
template <typename Enum>
int in_range_or(const Enum& from, int end, int other) {
  int value = 0;
  static_assert(sizeof value == sizeof from);
  std::memcpy(&value, &from, sizeof value);
  return value >= 0 && value < end ? value : other;
}

void describe_codec(Stream& out, const AVCodecParameters& codec) {
  const AVRational aspect = codec.sample_aspect_ratio;
  out.has_codec = 1;
  out.extra = static_cast<std::uint32_t>(std::max(codec.extradata_size, 0));
  out.codec = codec.codec_id;
  out.tag = codec.codec_tag;
  out.format = codec.format;
  out.bit_rate = std::max<std::int64_t>(codec.bit_rate, 0);
  out.bits_coded = std::clamp(codec.bits_per_coded_sample, 0, most_bits);
  out.bits_raw = std::clamp(codec.bits_per_raw_sample, 0, most_bits);
  out.profile = codec.profile;
  out.level = codec.level;
  out.width = codec.width;
  out.height = codec.height;
  out.sample_aspect = aspect.num >= 0 && aspect.den >= 0 ? aspect : AVRational{0, 1};
  out.field_order = in_range_or(codec.field_order, AV_FIELD_BT + 1, AV_FIELD_UNKNOWN);
  out.color_range = in_range_or(codec.color_range, AVCOL_RANGE_NB, AVCOL_RANGE_UNSPECIFIED);
  out.color_primaries = in_range_or(codec.color_primaries, AVCOL_PRI_NB, AVCOL_PRI_UNSPECIFIED);
  out.color_trc = in_range_or(codec.color_trc, AVCOL_TRC_NB, AVCOL_TRC_UNSPECIFIED);
  out.color_space = in_range_or(codec.color_space, AVCOL_SPC_NB, AVCOL_SPC_UNSPECIFIED);
  out.chroma_location = in_range_or(codec.chroma_location, AVCHROMA_LOC_NB, AVCHROMA_LOC_UNSPECIFIED);
  out.video_delay = std::clamp(codec.video_delay, 0, longest_delay);
}

// What a source may announce and no decoder needs to believe is left out. What is left is checked as its reader will:
// that would take this process for one that is out of its mind.
void append_stream(Bytes& bytes, const SourceStream& stream) {
  auto out = blank<Stream>();
  out.time_base = stream.time_base;
  out.start = stream.start;
  out.frame_rate = stream.frame_rate >= 0 && stream.frame_rate <= fastest_rate ? stream.frame_rate : 0;
  out.pattern_width = stream.width;
  out.pattern_height = stream.height;
  out.rotation = stream.rotation;
  out.in_bursts = stream.in_bursts ? 1 : 0;
  out.finite = stream.finite ? 1 : 0;
  out.discontinuous = stream.discontinuous ? 1 : 0;
  if (stream.codec != nullptr) describe_codec(out, *stream.codec);
  if (!is_possible(out)) throw Error("the source describes its stream as none can be");
  append(bytes, &out, sizeof out);
  if (out.extra > 0) append(bytes, stream.codec->extradata, out.extra);
}

bool travels(const AVPacketSideData& side) {
  return side.size <= most_extra && std::ranges::find(travelling, side.type) != travelling.end();
}

// The next `size` bytes, of which no more than once a copy is made; nothing: there are not so many.
std::optional<std::span<const std::uint8_t>> take(std::span<const std::uint8_t>& rest, std::size_t size) {
  if (size > rest.size()) return std::nullopt;
  const auto taken = rest.first(size);
  rest = rest.subspan(size);
  return taken;
}

template <typename Part>
bool take_part(std::span<const std::uint8_t>& rest, Part& part) {
  const auto bytes = take(rest, sizeof part);
  if (bytes) std::memcpy(static_cast<void*>(&part), bytes->data(), sizeof part);
  return bytes.has_value();
}

// What owns the parameters beside the stream that refers to them.
struct ReceivedStream {
  AvCodecParameters codec;
  SourceStream stream;
};

AvCodecParameters codec_of(const Stream& in, std::span<const std::uint8_t> extra) {
  AvCodecParameters codec(avcodec_parameters_alloc());
  if (!codec) throw std::bad_alloc();
  codec->codec_type = AVMEDIA_TYPE_VIDEO;
  codec->codec_id = static_cast<AVCodecID>(in.codec);
  codec->codec_tag = in.tag;
  codec->format = in.format;
  codec->bit_rate = in.bit_rate;
  codec->bits_per_coded_sample = in.bits_coded;
  codec->bits_per_raw_sample = in.bits_raw;
  codec->profile = in.profile;
  codec->level = in.level;
  codec->width = in.width;
  codec->height = in.height;
  codec->sample_aspect_ratio = in.sample_aspect;
  codec->field_order = static_cast<AVFieldOrder>(in.field_order);
  codec->color_range = static_cast<AVColorRange>(in.color_range);
  codec->color_primaries = static_cast<AVColorPrimaries>(in.color_primaries);
  codec->color_trc = static_cast<AVColorTransferCharacteristic>(in.color_trc);
  codec->color_space = static_cast<AVColorSpace>(in.color_space);
  codec->chroma_location = static_cast<AVChromaLocation>(in.chroma_location);
  codec->video_delay = in.video_delay;
  if (!extra.empty()) set_extradata(*codec, extra);
  return codec;
}

std::shared_ptr<const SourceStream> take_stream(std::span<const std::uint8_t>& rest) {
  Stream in;
  if (!take_part(rest, in) || !is_possible(in)) return nullptr;
  const auto extra = take(rest, in.extra);
  if (!extra) return nullptr;
  auto received = std::make_shared<ReceivedStream>();
  SourceStream& stream = received->stream;
  stream.time_base = in.time_base;
  stream.start = in.start;
  stream.frame_rate = in.frame_rate;
  stream.width = in.pattern_width;
  stream.height = in.pattern_height;
  stream.rotation = in.rotation;
  stream.in_bursts = in.in_bursts != 0;
  stream.finite = in.finite != 0;
  stream.discontinuous = in.discontinuous != 0;
  stream.decoder = "pattern";
  if (in.has_codec != 0) {
    received->codec = codec_of(in, *extra);
    stream.codec = received->codec.get();
    stream.decoder = avcodec_get_name(stream.codec->codec_id);
  }
  return {received, &received->stream};
}

bool take_side_data(std::span<const std::uint8_t>& rest, AVPacket& packet) {
  SideHead head{};
  if (!take_part(rest, head) || head.size > most_extra) return false;
  const auto type =
      std::ranges::find_if(travelling, [&](auto kind) { return head.type == static_cast<std::uint32_t>(kind); });
  const auto data = take(rest, head.size);
  if (!data || type == travelling.end()) return false;
  std::uint8_t* copy = av_packet_new_side_data(&packet, *type, data->size());
  if (copy == nullptr) throw std::bad_alloc();
  std::ranges::copy(*data, copy);
  return true;
}

bool take_packet(std::span<const std::uint8_t>& rest, const Head& head, AVPacket& packet) {
  for (std::uint32_t i = 0; i < head.side_data; ++i) {
    if (!take_side_data(rest, packet)) return false;
  }
  if (rest.size() != head.size) return false;
  AVBufferRef* buffer = av_buffer_alloc(rest.size() + AV_INPUT_BUFFER_PADDING_SIZE);
  if (buffer == nullptr) throw std::bad_alloc();
  packet.buf = buffer;
  packet.data = buffer->data;
  packet.size = static_cast<int>(rest.size());
  std::ranges::copy(rest, packet.data);
  std::memset(packet.data + rest.size(), 0, AV_INPUT_BUFFER_PADDING_SIZE);
  packet.pts = head.pts;
  packet.dts = head.dts;
  packet.duration = head.duration;
  packet.pos = head.note.packet;
  packet.flags = head.flags & known_flags;
  return true;
}

}  // namespace

void write_packet(Bytes& bytes, std::uint64_t connection, const AVPacket& packet, const PacketNote& note,
                  const SourceStream* stream) {
  bytes.clear();
  auto head = blank<Head>();
  head.magic = magic;
  head.size = static_cast<std::uint32_t>(std::max(packet.size, 0));
  head.flags = packet.flags;
  head.connection = connection;
  head.pts = packet.pts;
  head.dts = packet.dts;
  head.duration = std::max<std::int64_t>(packet.duration, 0);
  head.note = note;
  head.has_stream = stream != nullptr ? 1 : 0;
  const std::span<const AVPacketSideData> all(packet.side_data, static_cast<std::size_t>(packet.side_data_elems));
  head.side_data =
      static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(std::ranges::count_if(all, travels), most_side_data));
  if (!is_possible(head)) throw Error("the source has a packet that cannot be");
  append(bytes, &head, sizeof head);
  if (stream != nullptr) append_stream(bytes, *stream);
  std::uint32_t written = 0;
  for (const AVPacketSideData& side : all) {
    if (!travels(side) || written == head.side_data) continue;
    const SideHead side_head{static_cast<std::uint32_t>(side.type), static_cast<std::uint32_t>(side.size)};
    append(bytes, &side_head, sizeof side_head);
    append(bytes, side.data, side.size);
    ++written;
  }
  append(bytes, packet.data, head.size);
}

void write_mark(Bytes& bytes, std::uint64_t connection, RecordKind kind) {
  bytes.clear();
  auto head = blank<Head>();
  head.magic = magic;
  head.connection = connection;
  head.kind = kind;
  append(bytes, &head, sizeof head);
}

bool read_record(std::span<const std::uint8_t> bytes, PacketRecord& record) {
  Head head;
  if (!take_part(bytes, head) || !is_possible(head)) return false;
  record = {};
  record.kind = head.kind;
  record.connection = head.connection;
  if (head.kind != RecordKind::packet) return bytes.empty();
  record.note = head.note;
  if (head.has_stream != 0) {
    record.stream = take_stream(bytes);
    if (!record.stream) return false;
  }
  record.packet = make_av_packet();
  return take_packet(bytes, head, *record.packet);
}

}  // namespace campipe
