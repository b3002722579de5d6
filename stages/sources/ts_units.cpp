#include "stages/sources/ts_units.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "core/c_callback.h"
#include "stages/sources/coded_fragment.h"

namespace campipe {
namespace {

constexpr int first_wanted = 4;
constexpr int wanted_more = 4;  // times as many, after each that was not right
constexpr int most_wanted = 1 << 20;
constexpr std::size_t most_left_out = std::size_t{64} << 10;  // bytes that are no packets

// The first zero of the next start code may be at its end, and its own at the end of the one before.
bool is_whole(const AVPacket& unit, const Pes& pes) {
  const auto size = static_cast<std::size_t>(unit.size);
  return size == pes.size || (size == pes.size + 1 && unit.data[pes.size] == 0);
}

}  // namespace

bool TsUnits::reads(const AVFormatContext& input) {
  std::int64_t size = 0;
  return std::strcmp(input.iformat->name, "mpegts") == 0 &&
         av_opt_get_int(input.priv_data, "ts_packetsize", 0, &size) >= 0 && size == std::int64_t{ts_packet_size};
}

TsUnits::TsUnits(AVFormatContext& input, const MediaStreams& streams)
    : input_(input),
      streams_(streams),
      received_(input.pb),
      handed_(open_avio(ts_packet_size, this, c_callback<&TsUnits::hand_to_libav, AVERROR_EXTERNAL>, nullptr)),
      position_(avio_tell(received_)) {
  follow_video();
  handed_->pos = position_;
  input.pb = handed_.get();
  input.flags |= AVFMT_FLAG_CUSTOM_IO;  // it does not close that
}

TsUnits::~TsUnits() { avio_closep(&received_); }

int TsUnits::read(AVPacket& packet) {
  if (next_->data != nullptr) {
    av_packet_move_ref(&packet, next_.get());
    return 0;
  }
  for (;;) {
    follow_video();
    handed_video_ = false;
    const int code = av_read_frame(&input_, &packet);
    if (code >= 0 && is_left_over(packet)) {
      av_packet_unref(&packet);
      continue;
    }
    if (code >= 0 && packet.stream_index != video_ && moved_at_) take_last(packet);
    if (code < 0 || packet.stream_index != video_ || next_->data != nullptr) return code;
    const bool again = packet.pos >= 0 && packet.pos < valid_from_;
    if (!again && (cuts_ ? check(packet) : compare(packet)) == Use::take) return code;
    av_packet_unref(&packet);
  }
}

void TsUnits::follow_video() {
  const AVStream& stream = *input_.streams[streams_.video];
  if (streams_.video == video_ && stream.codecpar->codec_id == codec_) return;
  video_ = streams_.video;
  codec_ = stream.codecpar->codec_id;
  pid_ = static_cast<unsigned>(stream.id);
  const AVProgram* program = av_find_program_from_stream(&input_, nullptr, video_);
  map_pid_ = program != nullptr ? program->pmt_pid : -1;
  type_.reset();
  parser_.emplace(*stream.codecpar);
  check_.emplace(*stream.codecpar);
  pes_.restart();
  av_packet_unref(part_.get());
  cuts_ = false;
  end_due_ = awaited_ = false;
  // The parser of a stream that has come back may have its last unit of then.
  valid_from_ = std::exchange(moved_at_, std::nullopt).value_or(0);
  newest_.reset();
  whole_ = 0;
  wanted_ = first_wanted;
  found_ = 0;
}

int TsUnits::hand_to_libav(void* self, std::uint8_t* to, int size) {
  if (size < static_cast<int>(ts_packet_size)) return AVERROR(EINVAL);
  return static_cast<TsUnits*>(self)->hand_out(std::span<std::uint8_t, ts_packet_size>(to, ts_packet_size));
}

// One packet at a time: what libavformat makes of it is done before it asks for the next.
int TsUnits::hand_out(std::span<std::uint8_t, ts_packet_size> to) {
  // It keeps the PES packet, as it does while it finds out what another stream is.
  if (end_handed_ && awaited_ && part_->size > 0) {
    go_back(0);
  } else if (end_handed_ && awaited_) {
    doubt();
    cuts_ = awaited_ = false;
  }
  while (!end_due_) {
    const auto packet = next_packet();
    if (!packet) {
      if (framing_.left_out() > most_left_out) return AVERROR_INVALIDDATA;
      const int code = receive();
      over_ = code < 0;
      if (over_ && cuts_) input_.flags |= AVFMT_FLAG_NOPARSE;  // of the video it may still have a PES packet
      if (over_) return code;
    } else if (follow(*packet)) {
      std::ranges::copy(*packet, to.begin());
      position_ += ts_packet_size;
      end_handed_ = false;
      return ts_packet_size;
    }
  }
  std::ranges::copy(end_of_pes(pid_, pes_.counter()), to.begin());
  position_ += ts_packet_size;
  input_.flags |= AVFMT_FLAG_NOPARSE;
  end_due_ = false;
  end_handed_ = handed_video_ = true;
  return ts_packet_size;
}

int TsUnits::receive() {
  std::array<std::uint8_t, 16384> bytes;
  const int count = avio_read_partial(received_, bytes.data(), static_cast<int>(bytes.size()));
  if (count > 0) framing_.add(std::span(bytes).first(static_cast<std::size_t>(count)));
  return count != 0 ? count : AVERROR_EOF;
}

std::optional<TsPacket> TsUnits::next_packet() {
  if (again_at_ == again_.size()) return framing_.next();
  const auto packet = std::span(std::as_const(again_)).subspan(again_at_).first<ts_packet_size>();
  again_at_ += ts_packet_size;
  return packet;
}

// False: it is not handed out, but comes again.
bool TsUnits::follow(TsPacket packet) {
  const auto head = read_ts_head(packet);
  handed_video_ = head && head->pid == pid_;
  // Other streams' parsers are made as before. A parser that is there stays in use whatever this says.
  const bool parse = !handed_video_ || !cuts_;
  input_.flags = parse ? input_.flags & ~AVFMT_FLAG_NOPARSE : input_.flags | AVFMT_FLAG_NOPARSE;
  if (head && static_cast<int>(head->pid) == map_pid_) return follow_map(packet, *head);
  if (!handed_video_) return true;
  moved_at_.reset();  // it has not, or is back
  const auto step = pes_.add(packet, *head, position_);
  if (step == PesTracker::Step::ended) {
    awaited_ = cuts_;
    end_due_ = cuts_ || found_ >= wanted_;
  } else if (step == PesTracker::Step::went_on && cuts_) {
    go_back(pes_.seen().size() - 1);
    return false;
  } else if (step == PesTracker::Step::went_on) {
    doubt();
  }
  return true;
}

// The map itself comes again, behind the end of the last PES packet.
bool TsUnits::follow_map(TsPacket packet, const TsHead& head) {
  if (moved_at_) return true;
  const auto type = type_in_map(packet, head, pid_);
  if (!type) return true;
  if (*type != not_listed) {
    changed_ = changed_ || (type_ && type_ != type);
    type_ = type;
    return true;
  }
  moved_at_ = position_ + ts_packet_size;
  // Where they are cut, it has come already.
  const bool has_come = cuts_ && !pes_.seen().empty() && pes_.seen().back().ended;
  if (has_come || !pes_.end()) return true;
  again_.insert(again_.begin() + static_cast<std::ptrdiff_t>(again_at_), packet.begin(), packet.end());
  awaited_ = cuts_;
  end_due_ = true;
  return false;
}

// The parser of a stream to which the video moves back had it since then.
bool TsUnits::is_left_over(const AVPacket& packet) const {
  const bool is_video = input_.streams[packet.stream_index]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO;
  return moved_at_ && is_video && packet.stream_index != video_ && packet.pos < *moved_at_;
}

// Before `packet`, which comes behind it. False: there is none that is known to be one.
bool TsUnits::take_last(AVPacket& packet) {
  auto& seen = pes_.seen();
  const bool is_one = !cuts_ && whole_ >= first_wanted && newest_ && seen.size() == 1 && !seen.front().damaged;
  const auto unit = is_one ? content_of(seen.front()) : std::nullopt;
  if (!unit || unit->data.empty()) return false;
  constexpr std::int64_t period = std::int64_t{1} << 33;
  const AvPacket last = make_av_packet();
  if (av_new_packet(last.get(), static_cast<int>(unit->data.size())) < 0) throw std::bad_alloc();
  std::ranges::copy(unit->data, last->data);
  last->stream_index = video_;
  last->dts = newest_->dts + (unit->dts - newest_->raw_dts + period) % period;
  last->pts = last->dts + (unit->pts - unit->dts + period) % period;
  last->duration = newest_->duration;
  last->pos = seen.front().position;
  parser_->flag_key(*last);
  seen.clear();
  valid_from_ = *moved_at_;  // the parser has it, too
  av_packet_move_ref(next_.get(), &packet);
  av_packet_move_ref(&packet, last.get());
  return true;
}

// What the parser has found, with what has come.
TsUnits::Use TsUnits::compare(const AVPacket& unit) {
  auto& seen = pes_.seen();
  while (!seen.empty() && seen.front().position < unit.pos) {
    if (!seen.front().damaged) doubt();  // none of it
    seen.pop_front();
  }
  if (unit.pos < 0) doubt();  // it is not the first one in its PES packet
  if (seen.empty() || seen.front().position != unit.pos) {
    whole_ = 0;
    return Use::take;
  }
  const Pes& pes = seen.front();
  const bool complete = pes.ended || seen.size() > 1;
  const bool whole = complete && pes.dated && is_whole(unit, pes);
  whole_ = whole ? whole_ + 1 : 0;
  if (const auto content = whole && unit.dts != AV_NOPTS_VALUE ? content_of(pes) : std::nullopt)
    newest_ = {content->dts, unit.dts, unit.duration};
  if (pes.damaged || pes.unclear || (unit.flags & AV_PKT_FLAG_CORRUPT) != 0) {
    found_ = 0;
  } else if (!whole) {
    doubt();
  } else if (pes.ended) {
    ++found_;
  }
  seen.pop_front();
  // It comes of what libavformat has got last, which was the end of a PES packet: it has nothing else to lose.
  if (found_ >= wanted_ && handed_video_ && !seen.empty() && seen.back().ended) begin_cutting();
  return Use::take;
}

// Sets what the parser would. What is not right comes again, parsed.
TsUnits::Use TsUnits::check(AVPacket& packet) {
  auto& seen = pes_.seen();
  const auto pes = std::ranges::find(seen, packet.pos, &Pes::position);
  if (pes == seen.end()) {
    go_back(0);
    return Use::take;
  }
  join_parts(packet);
  const auto at = static_cast<std::size_t>(pes - seen.begin());
  const bool complete = pes->ended || at + 1 < seen.size() || over_;
  const bool more = (!complete || end_due_) && static_cast<std::size_t>(packet.size) < pes->size;
  if (more && !pes->damaged) {
    av_packet_move_ref(part_.get(), &packet);
    return Use::drop;
  }
  if (pes->ended) awaited_ = false;
  if (pes->damaged || (packet.flags & AV_PKT_FLAG_CORRUPT) != 0) {
    check_->restart();
  } else {
    const std::span data(packet.data, static_cast<std::size_t>(packet.size));
    const bool whole = complete && pes->size == data.size();
    auto answer = whole ? check_->add(packet) : UnitCheck::Answer::several;
    const bool usual = pes->dated && holds_picture(input_.streams[video_]->codecpar->codec_id, data);
    if (answer == UnitCheck::Answer::unit && !usual) answer = UnitCheck::Answer::several;
    if (answer != UnitCheck::Answer::unit) {
      go_back(answer == UnitCheck::Answer::goes_on_before && at > 0 ? at - 1 : at);
      return Use::drop;
    }
  }
  seen.erase(seen.begin(), pes);
  // Of a stream that came up in the midst nothing but its parser knew how long a frame is.
  if (newest_ && input_.streams[video_]->avg_frame_rate.num == 0) packet.duration = newest_->duration;
  parser_->flag_key(packet);
  return Use::take;
}

// What is longer than libavformat keeps comes in parts, of which the first one has the times.
void TsUnits::join_parts(AVPacket& packet) {
  if (part_->size == 0) return;
  const int before = part_->size;
  if (av_grow_packet(part_.get(), packet.size) < 0) throw std::bad_alloc();
  std::memcpy(part_->data + before, packet.data, static_cast<std::size_t>(packet.size));
  part_->flags |= packet.flags;
  av_packet_unref(&packet);
  av_packet_move_ref(&packet, part_.get());
}

void TsUnits::begin_cutting() {
  avformat_flush(&input_);  // closes parsers
  check_->restart();
  cuts_ = true;
  replay(0);
}

// As it was before cutting, from that PES packet on.
void TsUnits::go_back(std::size_t from) {
  doubt();
  cuts_ = false;
  replay(from);
}

// What libavformat has of these PES packets is left out by their positions.
void TsUnits::replay(std::size_t from) {
  std::vector<std::uint8_t> packets;
  for (std::size_t i = from; i < pes_.seen().size(); ++i) {
    const auto& some = pes_.seen()[i].packets;
    packets.insert(packets.end(), some.begin(), some.end());
  }
  packets.insert(packets.end(), again_.begin() + static_cast<std::ptrdiff_t>(again_at_), again_.end());
  again_ = std::move(packets);
  again_at_ = 0;
  pes_.restart();
  av_packet_unref(part_.get());
  handed_->eof_reached = 0;  // there is more, although nothing more is received
  valid_from_ = position_ + ts_packet_size;
  end_due_ = true;
  end_handed_ = awaited_ = false;
}

void TsUnits::doubt() {
  found_ = 0;
  wanted_ = std::min(wanted_ * wanted_more, most_wanted);
}

}  // namespace campipe
