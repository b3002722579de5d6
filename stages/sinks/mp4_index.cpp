#include "stages/sinks/mp4_index.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "core/big_endian.h"
#include "core/error.h"
#include "core/ffmpeg.h"
#include "stages/sinks/mp4_boxes.h"

namespace campipe {
namespace {

using ByteVector = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

constexpr std::size_t version_and_flags = 4;

// Numbers, one behind the other. Beyond the end all are 0, and `short_of` is set.
class BoxFields {
 public:
  explicit BoxFields(ByteView bytes) : rest_(bytes) {}
  std::uint64_t take(int size) {
    const auto length = static_cast<std::size_t>(size);
    if (rest_.size() < length) {
      short_of_ = true;
      return 0;
    }
    const std::uint64_t value = get_big_endian(rest_.data(), size);
    rest_ = rest_.subspan(length);
    return value;
  }
  std::uint32_t take32() { return static_cast<std::uint32_t>(take(4)); }
  [[nodiscard]] bool short_of() const { return short_of_; }

 private:
  ByteView rest_;
  bool short_of_ = false;
};

ByteView contents_of(ByteView boxes, std::string_view name) {
  for (const BoxView& box : boxes_in(boxes)) {
    if (box.name == name) return box.contents();
  }
  throw Error("the header of an MP4 file has no box " + std::string(name));
}

// mvhd, mdhd and tkhd, as version 1, whose times have 64 bits. `between`: bytes from the times to the duration.
ByteVector with_duration(std::string_view name, ByteView contents, std::size_t between, std::int64_t duration) {
  const bool is_long = !contents.empty() && contents[0] == 1;
  const int size = is_long ? 8 : 4;
  const std::size_t old = version_and_flags + 3 * static_cast<std::size_t>(size) + between;
  if (contents.size() < old) throw Error("the header of an MP4 file is cut off");
  BoxFields in(contents);
  ByteVector out;
  put(out, (in.take(4) & 0xFF'FFFFU) | std::uint64_t{1} << 24U, 4);
  for (int i = 0; i < 2; ++i) put(out, in.take(size), 8);  // created, changed
  put(out, contents.subspan(old - between - static_cast<std::size_t>(size), between));
  put(out, static_cast<std::uint64_t>(duration), 8);
  put(out, contents.subspan(old));
  ByteVector box;
  put_box(box, name, out);
  return box;
}

std::uint32_t timescale_of(ByteView mdhd) {
  BoxFields in(mdhd);
  const int size = in.take(4) >> 24U == 1 ? 8 : 4;
  for (int i = 0; i < 2; ++i) in.take(size);
  const std::uint32_t timescale = in.take32();
  if (timescale == 0 || timescale > INT32_MAX) throw Error("a track of an MP4 file has no clock");
  return timescale;
}

// Of its samples, where a trun does not say it: tfhd.
struct SampleDefaults {
  std::uint32_t duration = 0;
  std::uint32_t size = 0;
  std::uint32_t flags = 0;
};

// 8.8.8, from `*offset` in the file and `dts` on.
bool add_run(ByteView trun, const SampleDefaults& defaults, std::uint64_t moof, std::uint64_t& offset,
             std::int64_t& dts, SampleTable& samples, std::uint32_t& samples_left) {
  constexpr std::uint32_t has_place = 0x1, has_first_flags = 0x4, has_durations = 0x100, has_sizes = 0x200,
                          has_flags = 0x400, has_offsets = 0x800;
  BoxFields in(trun);
  const std::uint32_t flags = in.take32();
  const std::uint32_t count = in.take32();
  if ((flags & has_place) != 0) offset = moof + static_cast<std::uint64_t>(static_cast<std::int32_t>(in.take32()));
  const bool first_differs = (flags & has_first_flags) != 0;
  const std::uint32_t first_flags = first_differs ? in.take32() : 0;
  if (count == 0) return true;
  if (count > samples_left) return false;
  samples_left -= count;
  samples.begin_chunk(offset);
  for (std::uint32_t i = 0; i < count; ++i) {
    SampleTable::Sample sample{.size = defaults.size, .dts = dts, .duration = defaults.duration};
    std::uint32_t sample_flags = defaults.flags;
    if ((flags & has_durations) != 0) sample.duration = in.take32();
    if ((flags & has_sizes) != 0) sample.size = in.take32();
    if ((flags & has_flags) != 0) sample_flags = in.take32();
    if ((flags & has_offsets) != 0) sample.offset = static_cast<std::int32_t>(in.take32());
    if (i == 0 && first_differs) sample_flags = first_flags;
    constexpr std::uint32_t is_no_sync_sample = 0x10000;
    sample.sync = (sample_flags & is_no_sync_sample) == 0;
    if (in.short_of() || !samples.add(sample)) return false;
    dts += sample.duration;
    offset += sample.size;
  }
  return true;
}

}  // namespace

Mp4Index::Mp4Index(ByteView moov) : moov_(moov.begin(), moov.end()) {
  if (moov_.size() < box_head) throw Error("an MP4 file without a header");
  std::uint64_t timescale = 1;
  for (const BoxView& box : boxes_in(ByteView(moov_).subspan(box_head))) {
    if (box.name != "trak") continue;
    Track& track = tracks_.emplace_back();
    BoxFields header(contents_of(box.contents(), "tkhd"));
    const int size = header.take(4) >> 24U == 1 ? 8 : 4;
    for (int i = 0; i < 2; ++i) header.take(size);
    track.id = header.take32();
    track.timescale = timescale_of(contents_of(contents_of(box.contents(), "mdia"), "mdhd"));
    timescale = std::lcm(timescale, std::uint64_t{track.timescale});
    if (timescale > INT32_MAX) timescale = 1000;
  }
  if (tracks_.empty()) throw Error("an MP4 file without tracks");
  timescale_ = static_cast<std::uint32_t>(timescale);
}

bool Mp4Index::add_fragment(ByteView moof, std::uint64_t at) {
  if (moof.size() < box_head) return false;
  return std::ranges::all_of(boxes_in(moof.subspan(box_head)), [&](const BoxView& box) {
    return box.name != "traf" || add_track_fragment(box.contents(), at);
  });
}

bool Mp4Index::has_samples() const {
  return !std::ranges::all_of(tracks_, [](const Track& track) { return track.samples.empty(); });
}

// 8.8.7 and 8.8.12. Offsets count from the beginning of the fragment, and nothing is left to the defaults of the file.
bool Mp4Index::add_track_fragment(ByteView traf, std::uint64_t at) {
  constexpr std::uint32_t has_place = 0x1, has_description = 0x2, has_duration = 0x8, has_size = 0x10, has_flags = 0x20,
                          is_from_fragment = 0x20000;
  Track* track = nullptr;
  SampleDefaults defaults;
  std::optional<std::int64_t> dts;
  std::uint64_t offset = at;
  for (const BoxView& box : boxes_in(traf)) {
    BoxFields in(box.contents());
    if (box.name == "tfhd") {
      const std::uint32_t flags = in.take32();
      const auto found = std::ranges::find(tracks_, in.take32(), &Track::id);
      const bool all = (flags & (has_duration | has_size | has_flags)) == (has_duration | has_size | has_flags);
      if (found == tracks_.end() || (flags & has_place) != 0 || (flags & is_from_fragment) == 0 || !all) return false;
      if ((flags & has_description) != 0 && in.take32() != 1) return false;
      defaults = {.duration = in.take32(), .size = in.take32(), .flags = in.take32()};
      track = &*found;
    } else if (box.name == "tfdt") {
      const int size = in.take(4) >> 24U == 1 ? 8 : 4;
      dts = static_cast<std::int64_t>(in.take(size));
    } else if (box.name == "trun") {
      if (track == nullptr || !dts) return false;
      if (!add_run(box.contents(), defaults, at, offset, *dts, track->samples, samples_left_)) return false;
    }
    if (in.short_of()) return false;
  }
  return true;
}

std::int64_t Mp4Index::in_movie(std::int64_t ticks, const Track& track) const {
  return av_rescale_q(ticks, {1, static_cast<int>(track.timescale)}, {1, static_cast<int>(timescale_)});
}

ByteVector Mp4Index::movie(std::optional<std::int64_t> duration) {
  std::int64_t longest = 0;
  if (duration) {
    Track& video = tracks_.front();
    video.samples.stretch_to(av_rescale_q(*duration, nanoseconds, {1, static_cast<int>(video.timescale)}));
    longest = av_rescale_q(*duration, nanoseconds, {1, static_cast<int>(timescale_)});
  }
  for (const Track& track : tracks_) longest = std::max(longest, in_movie(track.samples.end(), track));
  ByteVector contents;
  auto track = tracks_.begin();
  for (const BoxView& box : boxes_in(ByteView(moov_).subspan(box_head))) {
    if (box.name == "mvhd") {
      ByteVector header = with_duration(box.name, box.contents(), 4, longest);
      put_big_endian(timescale_, 4, &header[box_head + version_and_flags + 16]);
      put(contents, header);
    } else if (box.name == "trak") {
      put_track(contents, box, *track++);
    } else if (box.name != "mvex") {  // which says that fragments follow
      put(contents, box.whole);
    }
  }
  ByteVector out;
  put_box(out, "moov", contents);
  return out;
}

// A box of a track, with what is inside.
void Mp4Index::put_track(ByteVector& out, const BoxView& box, const Track& track) const {
  const std::int64_t length = track.samples.end() - track.samples.begin();
  if (box.name == "trak" || box.name == "mdia" || box.name == "minf") {
    ByteVector contents;
    for (const BoxView& inner : boxes_in(box.contents())) put_track(contents, inner, track);
    put_box(out, box.name, contents);
  } else if (box.name == "tkhd") {
    put(out, with_duration(box.name, box.contents(), 8, in_movie(track.samples.end(), track)));
    if (track.samples.begin() != 0) put_edits(out, track);
  } else if (box.name == "mdhd") {
    put(out, with_duration(box.name, box.contents(), 4, length));
  } else if (box.name == "stbl") {
    ByteVector tables;
    put_box(tables, "stsd", contents_of(box.contents(), "stsd"));
    put(tables, track.samples.boxes());
    put_box(out, box.name, tables);
  } else {
    put(out, box.whole);
  }
}

// 8.6.6: a track that begins later than the file shows nothing until then, then all that it has.
void Mp4Index::put_edits(ByteVector& out, const Track& track) const {
  constexpr std::uint64_t nothing = UINT64_MAX;
  ByteVector edits;
  put(edits, std::uint64_t{1} << 24U, 4);
  put(edits, 2, 4);
  const auto put_edit = [&](std::int64_t length, std::uint64_t from) {
    put(edits, static_cast<std::uint64_t>(in_movie(length, track)), 8);
    put(edits, from, 8);
    put(edits, std::uint64_t{1} << 16U, 4);  // at the usual speed
  };
  put_edit(track.samples.begin(), nothing);
  put_edit(track.samples.end() - track.samples.begin(), 0);
  ByteVector list;
  put_box(list, "elst", edits);
  put_box(out, "edts", list);
}

}  // namespace campipe
