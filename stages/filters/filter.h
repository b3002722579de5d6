// The contract of a filter: one operation on 4:2:0 frames, with a CPU path and a GPU path. A filter is one file in
// this folder; the last thing in it registers the filter, and nothing else has to be edited: configuration, tests and
// benchmarks find it in the registry (the tests ask for parameters to try it with: tests/unit/filter_cases.h).
//
// Life and threads: one object per camera and place in its chain, used by that camera's thread alone:
// create → configure → process, process, … → (configure again when the input's format changes) → destroy.
// - configure() may allocate and may throw Error (e.g. the input is too small); its text reaches the user.
// - process() reads `in` and writes every sample of the rows of `out` (FrameView::rows), and no other; both have the
//   formats agreed in configure(). The two never overlap. It must not keep a view, must not allocate after the first
//   frames of the same rows, and must not start threads.
// - Several devices can share a frame: each computes a band of its rows. `out` has the rows that are asked for, which
//   may be any, in luma and chroma apart; `in` has at least those that needs() returns for them. Formats and the
//   numbers of rows are the whole frame's. So a filter mirrors or clamps at the frame's edges, never at a band's, and a
//   row is the same to the bit whichever others are computed with it.
// - What a filter finds in a frame travels with it, of types that core/metadata_types.h declares: add_metadata(). A
//   filter that finds something leaves needs() as it is: its data are of whole frames.
// - Frames are 4:2:0, i420 or nv12; the filter works on the planes as they are and never converts the format.
//
// The GPU path (class GpuFilter) has the same life and contract, and gets the rows that Filter::needs() names. Its
// frames are nv12 in device memory, and it enqueues its work on the stream that it is given and returns at once: no
// waiting, no synchronisation, and after configure() no allocation. Both paths compute the same frame;
// tests/unit/filters_test.cpp holds the CPU's to a reference in double precision, tests/gpu/filters_gpu_test.cpp the
// GPU's to the CPU's; tests/unit/filter_bands_test.cpp and tests/gpu/filter_bands_gpu_test.cpp hold bands to the whole
// frame.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/frame.h"
#include "core/gpu.h"
#include "stages/filters/filter_config.h"

namespace campipe {

// One number that the configuration may give a filter. Out of [min, max], not whole where `whole`, not a multiple of
// `multiple` where that is more than 1, or even where `odd`: an error.
struct ParameterInfo {
  std::string_view name;
  double min = 0;
  double max = 0;
  std::optional<double> fallback;  // the value when it is not given; none: it must be given
  bool whole = false;
  std::string_view unit;  // e.g. "samples"; empty: a plain number
  std::string_view description;
  int multiple = 1;
  bool odd = false;
};

class Filter {
 public:
  virtual ~Filter() = default;
  // The format that `in` becomes.
  virtual FrameFormat configure(const FrameFormat& in) = 0;
  // After configure(): the rows of plane `plane` of the input (0: luma; 1: chroma) that process() reads to make `rows`
  // of the same plane of the output, and GpuFilter::enqueue() too. `rows` is not empty; what is returned may reach
  // beyond the frame, or be empty. all_rows: the filter needs whole frames, so that behind others it cannot be tiled.
  [[nodiscard]] virtual RowRange needs(int /*plane*/, RowRange /*rows*/) const { return all_rows; }
  virtual void process(const FrameView& in, const MutableFrameView& out) = 0;
  // Only where FilterInfo::only_looks: a chain calls this in place of process(), and hands its own input on. `pts`: of
  // the frame, in nanoseconds.
  virtual void look(const FrameView& /*in*/, std::int64_t /*pts*/) {}
  // After process() or look(): adds what the filter found in the frame (FrameMetadata::add), if it looks for anything.
  virtual void add_metadata(FrameMetadata& /*metadata*/) const {}
};

// What a point-wise filter does to each sample: a table for luma and one for both chroma components, and the place in
// the input of the output's first sample (even numbers). Filters of this kind that follow one another are one kernel.
struct Pointwise {
  std::array<std::uint8_t, 256> luma{};
  std::array<std::uint8_t, 256> chroma{};
  int x = 0;
  int y = 0;
};

class GpuFilter {
 public:
  virtual ~GpuFilter() = default;
  virtual FrameFormat configure(const FrameFormat& in) = 0;
  virtual void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) = 0;
  // After configure(): all that it does, if it is point-wise. Then it may be merged with others, and enqueue() is not
  // called (see gpu_pointwise.h).
  [[nodiscard]] virtual const Pointwise* pointwise() const { return nullptr; }
  // As Filter::look(), and as little waiting as in enqueue().
  virtual void enqueue_look(const FrameView& /*in*/, std::int64_t /*pts*/, GpuStream /*stream*/) {}
  // Once what was enqueued last is complete: as Filter::add_metadata().
  virtual void add_metadata(FrameMetadata& /*metadata*/) const {}
};

struct FilterInfo {
  std::string_view name;
  std::string_view description;
  std::span<const ParameterInfo> parameters;
  std::unique_ptr<Filter> (*create)(const FilterParameters&);
  std::unique_ptr<GpuFilter> (*create_gpu)(const FilterParameters&) = nullptr;  // null in a build without CUDA
  bool only_looks = false;  // it changes nothing, so that a frame is not copied for it: see Filter::look()
};

// For FilterInfo::create_gpu.
template <typename T>
constexpr std::unique_ptr<GpuFilter> (*gpu_path())(const FilterParameters&) {
  if constexpr (with_cuda) {
    return [](const FilterParameters& given) -> std::unique_ptr<GpuFilter> { return std::make_unique<T>(given); };
  } else {
    return nullptr;
  }
}

// All filters, by name. Filled before main() by FilterRegistration objects; read-only afterwards.
std::vector<FilterInfo> filter_registry();
// Null for an unknown name. The pointer lives as long as the program.
const FilterInfo* find_filter(std::string_view name);

// Throws Error for an unknown name.
const FilterInfo& known_filter(std::string_view name);
// `given`, checked and with the fallbacks filled in. Throws Error, naming filter and parameter.
FilterParameters complete_parameters(const FilterInfo& filter, const FilterParameters& given);

struct FilterRegistration {
  explicit FilterRegistration(const FilterInfo& info);
};

}  // namespace campipe
