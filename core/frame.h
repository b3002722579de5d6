// What a frame is, wherever it lies: its format, the view of its planes, and what is known of its time.
// Plain values: a view owns nothing; who owns the pixels stands beside each function that hands out a view.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>

#include "core/frame_metadata.h"

namespace campipe {

// 8-bit 4:2:0. i420: planes Y, U, V. nv12: planes Y, UV interleaved.
enum class PixelFormat : std::uint8_t { i420, nv12 };

// Where pixels lie and how another process reaches them (docs/architecture.md, "memory kinds"). `cuda`: on a GPU, and
// no other process does.
enum class MemoryKind : std::uint8_t { host, cuda_vmm, cuda_legacy, cuda_fabric, cuda };

// How a reader learns that the pixels of a published frame are complete. `immediate`: when it is published,
// they are (all host memory). The others are CUDA's and need a stream to wait on.
enum class ReadySignal : std::uint8_t { immediate, ipc_event, timeline };

// The device that the pixels lie on: the CPU, or a GPU by UUID (never by index: CUDA_VISIBLE_DEVICES renumbers). An
// instance of a GPU (MIG) is a device of its own, with a UUID of its own.
struct Device {
  enum class Kind : std::uint8_t { gpu, mig };
  std::array<std::uint8_t, 16> gpu_uuid{};  // all zero: the CPU
  Kind kind = Kind::gpu;
  friend bool operator==(const Device&, const Device&) = default;
};

struct FrameFormat {
  PixelFormat pixels = PixelFormat::i420;
  std::int32_t width = 0;  // luma samples; chroma planes have (width + 1) / 2
  std::int32_t height = 0;
  // Colour as FFmpeg numbers it (AVColorRange, AVColorSpace, AVColorPrimaries, AVColorTransferCharacteristic,
  // AVChromaLocation); 0 or "unspecified" where the source does not say. Handed on to the encoder.
  std::uint8_t color_range = 0;
  std::uint8_t color_space = 2;
  std::uint8_t color_primaries = 2;
  std::uint8_t color_transfer = 2;
  std::uint8_t chroma_location = 0;
  std::int32_t sample_aspect_num = 0;  // 0: unknown
  std::int32_t sample_aspect_den = 1;
  friend bool operator==(const FrameFormat&, const FrameFormat&) = default;
};

struct PlaneSize {
  int width = 0;   // bytes per row
  int height = 0;  // rows
};

inline int plane_count(PixelFormat format) { return format == PixelFormat::nv12 ? 2 : 3; }

inline PlaneSize plane_size(const FrameFormat& format, int plane) {
  if (plane == 0) return {format.width, format.height};
  const int chroma_width = (format.width + 1) / 2;
  return {format.pixels == PixelFormat::nv12 ? 2 * chroma_width : chroma_width, (format.height + 1) / 2};
}

// Rows [begin, end) of a plane.
struct RowRange {
  std::int32_t begin = 0;
  std::int32_t end = std::numeric_limits<std::int32_t>::max();
  [[nodiscard]] constexpr std::int32_t count() const { return end - begin; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};
inline constexpr RowRange all_rows{};  // however many the plane has

// Of the planes of a frame. Both chroma planes of i420 have the same rows.
struct FrameRows {
  RowRange luma = all_rows;
  RowRange chroma = all_rows;
  [[nodiscard]] RowRange of(int plane) const { return plane == 0 ? luma : chroma; }
  friend bool operator==(const FrameRows&, const FrameRows&) = default;
};

// Planes of one frame. Strides in bytes, at least the plane's width.
template <typename Byte>
struct BasicFrameView {
  FrameFormat format;
  std::array<Byte*, 3> data{};
  std::array<std::int32_t, 3> stride{};
  MemoryKind memory = MemoryKind::host;
  Device device;
  // A view of a band of the frame has these rows alone: the others have no memory. Row y of plane p is at
  // data[p] + y · stride[p] all the same.
  FrameRows rows = {};
};
using FrameView = BasicFrameView<const std::uint8_t>;
using MutableFrameView = BasicFrameView<std::uint8_t>;

inline FrameView as_const(const MutableFrameView& view) {
  return {view.format, {view.data[0], view.data[1], view.data[2]}, view.stride, view.memory, view.device, view.rows};
}

template <typename Byte>
RowRange plane_rows(const BasicFrameView<Byte>& view, int plane) {
  const RowRange rows = view.rows.of(plane);
  return {rows.begin, std::min<std::int32_t>(rows.end, plane_size(view.format, plane).height)};
}

// A readable frame, what is known of it, and what keeps its pixels alive and unchanged: a ring lease, a pool's buffer.
// The pixels are given back when the last copy of `owner` is gone.
struct FrameRef {
  FrameView view;
  std::shared_ptr<const void> owner;
  FrameMetadata metadata = {};
};

enum class CaptureClock : std::uint8_t { arrival, camera };  // which clock capture_utc_ns comes from

// Whether a frame belongs to a set of its camera's synchronised group (app/master/camera_sets.h): it is not in a group;
// it is the set's; the set has one of its camera already; or it is too far from the present of its group.
enum class SetState : std::uint8_t { none, own, taken, far };

// Times of one frame, in nanoseconds. The stamps are of the monotonic clock (core/clock.h); 0: not reached yet.
struct FrameTimes {
  std::int64_t pts = 0;       // from the start of the camera's stream; strictly grows
  std::int64_t duration = 0;  // 0: unknown
  // Of decoded frames, by the media clock: a file's pts; of a live source about the UTC at which it was taken, without
  // the steps of clocks that are set (app/master/media_clock.h).
  std::int64_t media_time = 0;
  std::int64_t capture_utc = 0;
  CaptureClock capture_clock = CaptureClock::arrival;
  std::int64_t arrival = 0;      // the packet that completed it was read
  std::int64_t decode_cost = 0;  // time spent in the decoder for it (not a stamp)
  std::int64_t decoded = 0;      // it was published to its camera's ring
  std::int64_t published = 0;    // to the ring that it was leased from
  std::int64_t leased = 0;       // the node took it
  std::int64_t filter_cost = 0;  // time spent in filters for it, of all nodes (not a stamp)
  std::int64_t filtered = 0;
  std::int64_t encoded = 0;  // its packet was published
  std::uint64_t set = 0;     // the number of its set, if that is its own
  SetState set_state = SetState::none;
};

}  // namespace campipe
