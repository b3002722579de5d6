#include "app/placement/rig_needs.h"

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "app/config/limited_rate.h"
#include "app/config/rig_config.h"
#include "app/costs/codec_work.h"
#include "app/costs/filter_work.h"
#include "app/placement/mosaic_plan.h"
#include "app/placement/quarantine.h"
#include "core/error.h"
#include "core/gpu.h"
#include "ipc/packet_ring_capacity.h"
#include "ipc/ring_slots.h"
#include "stages/encoders/encoder.h"
#include "stages/filters/filter_sequence.h"
#include "stages/filters/tile_parts.h"
#include "stages/sources/source.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

// CPU time of a frame beside decoder, filters and encoder. Of a GPU: what its calls, copies and waits take, as
// gpu-check's streams found it (7.7 ms a frame on an H200, of which x264 has 6).
constexpr double packet_us = 30;
constexpr double node_us = 60;
constexpr double gpu_decode_calls_us = 500;
constexpr double gpu_node_calls_us = 1000;

// Memory. Of the processes without cameras; and of a camera beside its frames.
constexpr double process_bytes = 25e6;
constexpr double camera_bytes = 8e6;
constexpr double gpu_process_bytes = 500e6;  // a context
constexpr unsigned decoder_frames = 6;       // that are in use at once, of common streams
constexpr unsigned gpu_surfaces = 12;        // of a hardware's decoder
constexpr unsigned encoder_frames = 8;
constexpr unsigned pool_frames = 3;  // of a chain, for each filter

double frame_bytes(const FrameFormat& format) { return 1.5e6 * megapixels(format); }

bool has_filters_for_copies(const CameraConfig& camera) {
  const auto looks = [](const StreamConfig& stream) { return is_copy(stream.encode) && !stream.filters.empty(); };
  return looks(camera) || std::ranges::any_of(camera.outputs, looks);
}

// What filters make of frames of a size, and what that is as work; the same for all cameras of a kind.
struct Chain {
  std::vector<FilterConfig> filters;
  int width = 0;
  int height = 0;
  double rate = 0;
  bool refused = false;                   // the filters do not take such frames
  std::vector<FrameFormat> formats = {};  // [i] is the input of filter i, the last one what comes out
  std::vector<Work> work = {};
};

class Chains {
 public:
  const Chain& of(const std::vector<FilterConfig>& filters, const FrameFormat& in, double rate) {
    for (const Chain& chain : all_) {
      const bool same = chain.width == in.width && chain.height == in.height && chain.rate == rate;
      if (same && chain.filters == filters) return chain;
    }
    Chain& chain = all_.emplace_back(Chain{filters, in.width, in.height, rate});
    try {
      FilterSequence sequence(filters);
      const auto formats = sequence.configure(in);
      chain.formats.assign(formats.begin(), formats.end());
      chain.work = chain_work(filters, in, rate);
    } catch (const Error&) {
      chain.refused = true;
    }
    return chain;
  }

 private:
  std::list<Chain> all_;
};

class Counting {
 public:
  Counting(const RigConfig& rig, const RigPlan& plan, const Devices& devices, const MachineCosts& costs,
           const KnownStreams& streams)
      : rig_(rig), plan_(plan), devices_(devices), costs_(costs), streams_(streams), shown_(shown_cameras(rig)) {
    for (const Gpu& gpu : devices.gpus) needs_.gpus.push_back({.gpu = gpu.device});
  }

  RigNeeds count() {
    for (std::size_t c = 0; c < rig_.cameras.size(); ++c) {
      const CameraConfig& camera = rig_.cameras[c];
      if (camera.enabled) camera.mosaic ? add_mosaic(camera, plan_.cameras[c]) : add_camera(camera, plan_.cameras[c]);
    }
    needs_.descriptors = descriptors_needed(rig_);
    add_processes();
    std::erase_if(needs_.threads, [](const ThreadNeeds& thread) { return thread.busy <= 0; });
    return std::move(needs_);
  }

 private:
  struct Stream {
    FrameFormat format;
    double rate = 0;
  };

  // Null: of the CPU.
  GpuNeeds* gpu_needs(const Device& device) {
    const auto found = std::ranges::find(needs_.gpus, device, &GpuNeeds::gpu);
    return found == needs_.gpus.end() ? nullptr : &*found;
  }

  // Frames in rings and pools on that device.
  void add_memory(const Device& device, double bytes) {
    if (GpuNeeds* gpu = gpu_needs(device)) {
      gpu->memory += bytes;
    } else {
      needs_.memory += bytes;
    }
  }

  void add_camera(const CameraConfig& camera, const CameraPlan& where) {
    needs_.memory += camera_bytes;
    const auto known = streams_.find(camera.name);
    if (known == streams_.end()) {
      needs_.unknown_streams.push_back(camera.name);
      return;
    }
    Stream in;
    in.format.width = known->second.width;
    in.format.height = known->second.height;
    in.rate = !keeps_time(camera.source) ? 0 : known->second.rate > 0 ? known->second.rate : assumed_rate;
    if (!filters_fit(camera, in)) return;  // then nothing of it runs
    needs_.cores.rest += in.rate * packet_us / 1e6;
    const bool shown = shown_.contains(camera.name);
    if (encoded_outputs(camera) > 0 || shown) {
      const bool on_gpu_now = add_decoding(camera, where.placement.decode_gpu, known->second.codec, in);
      add_nodes(camera, where, in, on_gpu_now);
    } else if (has_filters_for_copies(camera)) {
      add_decoding(camera, {}, known->second.codec, in);
      add_filters_of_copies(camera, in);
    }
  }

  bool filters_fit(const CameraConfig& camera, const Stream& in) {
    return std::ranges::none_of(resolved_outputs(camera), [&](const ResolvedOutput& output) {
      return chains_.of(output.filters, in.format, in.rate).refused;
    });
  }

  // Returns whether a GPU does.
  bool add_decoding(const CameraConfig& camera, const Device& asked, const std::string& codec, const Stream& in) {
    const Work work = decode_work(codec, in.format);
    const bool painted = codec == "pattern";
    const auto on_hardware = painted ? std::nullopt : gpu_decode_us(asked, codec, work);
    const double frame = frame_bytes(in.format);
    const auto queue = static_cast<unsigned>(camera.queue_size);
    const auto pixels = static_cast<std::uint64_t>(in.format.width) * static_cast<std::uint64_t>(in.format.height);
    needs_.memory += static_cast<double>(painted ? least_packet_ring : packet_ring_capacity(pixels));
    if (on_hardware) {
      GpuNeeds& gpu = *gpu_needs(asked);
      gpu.decode += in.rate * *on_hardware / 1e6;
      gpu.decode_megapixels += in.rate * work.megapixels;
      gpu.memory += (ring_slots(1, queue, 1) + gpu_surfaces) * frame;
      needs_.cores.decode += in.rate * gpu_decode_calls_us / 1e6;
      needs_.threads.push_back({camera.name + ": decoding", in.rate * gpu_decode_calls_us / 1e6, true});
      return true;
    }
    const double us = cost_us(costs_.cpu, work).value_or(0);
    needs_.cores.decode += in.rate * us / 1e6;
    needs_.memory += ring_slots(decoder_frames, queue, 1) * frame;
    needs_.threads.push_back({camera.name + ": decoding", in.rate * us / 1e6 / std::max(camera.decode_threads, 1)});
    return false;
  }

  std::optional<double> gpu_decode_us(const Device& device, const std::string& codec, const Work& work) {
    const Gpu* gpu = on_gpu(device) ? find_gpu(devices_, device) : nullptr;
    if (gpu == nullptr) return std::nullopt;
    const auto decoder = std::ranges::find(gpu->decoders, codec, &HardwareDecoder::codec);
    if (decoder == gpu->decoders.end() || !decoder->problem.empty()) return std::nullopt;
    return cost_us(costs_.of(device), work);
  }

  // `formats`: [i] is the input of filter i.
  void add_nodes(const CameraConfig& camera, const CameraPlan& where, const Stream& in, bool decoded_on_gpu) {
    const Chain& chain = chains_.of(camera.filters, in.format, in.rate);
    const std::vector<FrameFormat>& formats = chain.formats;
    const std::vector<Work>& work = chain.work;
    std::size_t tiled = 0;  // filters that tiles do
    if (where.tiles > 0) tiled = usual_tiles(camera.filters).filters;
    for (std::size_t n = 0; n < where.nodes.size(); ++n) {
      const NodePlan& node = where.nodes[n];
      const bool is_last = n + 1 == where.nodes.size();
      const bool is_tile = n < where.tiles;
      const std::size_t first = is_tile ? 0 : where.tiles > 0 ? tiled : node.first_filter;
      const std::size_t end = is_tile ? tiled : is_last ? work.size() : where.nodes[n + 1].first_filter;
      const double part = is_tile ? 1.0 / where.tiles : 1;
      if (!node.remote.empty()) continue;  // another machine does it
      const double rate = is_last ? limited_rate(in.rate, camera.rate) : in.rate;
      Thread thread{camera.name +
                    (where.nodes.size() > 1 ? ": stage " + std::to_string(n + 1) : ": filters and encoding")};
      if (first <= end)
        add_filters(
            node.gpu,
            {work.begin() + static_cast<std::ptrdiff_t>(first), work.begin() + static_cast<std::ptrdiff_t>(end)}, rate,
            part, thread);
      add_pools(node.gpu, formats, first, end, part);
      add_calls(node.gpu, rate, thread);
      if (on_gpu(node.gpu) && n < std::max(where.tiles, 1U) && !decoded_on_gpu)
        add_bus(node.gpu, rate * frame_bytes(formats[0]) * part, 0);
      if (is_last && encodes_own(camera))
        add_encoding(camera.name, camera, node, where, {formats.back(), rate}, thread);
      if (n == 0) add_outputs(camera, node, where, in, thread);
      if (is_last) add_cells(camera, node, first, {formats[std::min(first, formats.size() - 1)], in.rate}, thread);
      needs_.threads.push_back({thread.name, thread.busy, on_gpu(node.gpu)});
    }
  }

  struct Thread {
    std::string name;
    double busy = 0;
  };

  void add_filters(const Device& device, const std::vector<Work>& work, double rate, double part, Thread& thread) {
    const double busy = rate * part * chain_us(costs_.of(device), work) / 1e6;
    thread.busy += busy;
    if (GpuNeeds* gpu = gpu_needs(device)) {
      gpu->busy += busy;
    } else {
      needs_.cores.filter += busy;
    }
  }

  void add_pools(const Device& device, const std::vector<FrameFormat>& formats, std::size_t first, std::size_t end,
                 double part) {
    for (std::size_t f = first; f < end; ++f) add_memory(device, part * pool_frames * frame_bytes(formats[f + 1]));
  }

  void add_calls(const Device& device, double rate, Thread& thread) {
    const double busy = rate * (on_gpu(device) ? gpu_node_calls_us : node_us) / 1e6;
    needs_.cores.rest += busy;
    if (!on_gpu(device)) thread.busy += busy;
  }

  void add_bus(const Device& device, double up, double down) {
    if (GpuNeeds* gpu = gpu_needs(device)) gpu->up += up, gpu->down += down;
  }

  // Of a stream of `camera` that `node` encodes.
  void add_encoding(const std::string& camera, const StreamConfig& stream, const NodePlan& node,
                    const CameraPlan& where, const Stream& in, Thread& thread) {
    const Placement placement = placement_of_output(where, node, stream, devices_);
    if (tries_gpu_encoder(placement, stream)) return;  // its cost is not known, and not the CPU's
    const double bytes = frame_bytes(in.format);
    add_bus(node.gpu, 0, in.rate * bytes);
    if (on_gpu(node.gpu)) {
      needs_.locked_memory += held_by_reader * bytes;
      needs_.memory += held_by_reader * bytes;
    }
    needs_.memory += encoder_frames * bytes;
    const std::string encoder = first_encoder(stream.encode, false);
    const auto measured = costs_.encode_factors.find(camera);
    const double factor = measured == costs_.encode_factors.end() ? 1 : measured->second;
    const Work work = encode_work(encoder, stream.encode, in.format, in.rate);
    const double busy = factor * in.rate * cost_us(costs_.cpu, work).value_or(0) / 1e6;
    const int asked = stream.encode.threads;
    const int threads = asked > 0 ? asked : encode_threads(node.encode_cores, in.format, in.rate, stream.encode.codec);
    needs_.cores.encode += busy;
    thread.busy += busy / std::max(threads, 1);
  }

  // Each is made of the source's frames.
  void add_outputs(const CameraConfig& camera, const NodePlan& node, const CameraPlan& where, const Stream& in,
                   Thread& thread) {
    const std::vector<ResolvedOutput> outputs = resolved_outputs(camera);
    for (std::size_t o = 1; o < outputs.size(); ++o) {
      const ResolvedOutput& output = outputs[o];
      if (output.on_demand || is_copy(output.encode)) continue;
      const double rate = limited_rate(in.rate, output.rate);
      const Chain& chain = chains_.of(output.filters, in.format, rate);
      if (chain.refused) continue;
      add_filters(node.gpu, chain.work, rate, 1, thread);
      add_encoding(camera.name, output, node, where, {chain.formats.back(), rate}, thread);
    }
  }

  // What the camera's last node makes for mosaics.
  void add_cells(const CameraConfig& camera, const NodePlan& node, std::size_t first, const Stream& in,
                 Thread& thread) {
    for (const CameraConfig& mosaic : rig_.cameras) {
      if (!mosaic.mosaic || !mosaic.enabled) continue;
      for (std::size_t cell = 0; cell < mosaic.mosaic->cells.size(); ++cell) {
        if (mosaic.mosaic->cells[cell].camera != camera.name) continue;
        const double rate = limited_rate(in.rate, mosaic.mosaic->rate);
        const auto filters = cell_filters(camera, first, *mosaic.mosaic, cell);
        add_filters(node.gpu, chains_.of(filters, in.format, rate).work, rate, 1, thread);
      }
    }
  }

  void add_filters_of_copies(const CameraConfig& camera, const Stream& in) {
    Thread thread{camera.name + ": filters of copies"};
    for (const ResolvedOutput& output : resolved_outputs(camera)) {
      if (!is_copy(output.encode) || output.filters.empty()) continue;
      add_filters({}, chains_.of(output.filters, in.format, in.rate).work, in.rate, 1, thread);
    }
    needs_.threads.push_back({thread.name, thread.busy});
  }

  void add_mosaic(const CameraConfig& camera, const CameraPlan& where) {
    Stream in;
    in.format.width = camera.mosaic->width;
    in.format.height = camera.mosaic->height;
    in.rate = camera.mosaic->rate;
    const NodePlan& node = where.nodes.front();
    Thread thread{camera.name + ": drawing and encoding"};
    add_filters(node.gpu, {copy_work(in.format)}, in.rate, 1, thread);
    const double rate = limited_rate(in.rate, camera.rate);
    const Chain& chain = chains_.of(camera.filters, in.format, rate);
    if (chain.refused) return;
    add_filters(node.gpu, chain.work, rate, 1, thread);
    add_calls(node.gpu, in.rate, thread);
    add_memory(node.gpu, (pool_frames + 2) * frame_bytes(in.format));
    if (encodes_own(camera)) add_encoding(camera.name, camera, node, where, {chain.formats.back(), rate}, thread);
    add_outputs(camera, node, where, in, thread);
    needs_.threads.push_back({thread.name, thread.busy, on_gpu(node.gpu)});
  }

  // Supervisor, source, publisher and a master for each device that decodes, besides the workers; and the contexts on
  // GPUs.
  void add_processes() {
    std::set<std::string> decoding;
    std::map<std::string, std::size_t> apart;  // in masters of their own
    std::set<unsigned> quarantines;
    const auto numbers = first_quarantines(rig_.cameras);
    for (std::size_t c = 0; c < plan_.cameras.size(); ++c) {
      const std::string device = to_string(plan_.cameras[c].placement.decode_gpu);
      const auto number = numbers.find(rig_.cameras[c].name);
      if (number == numbers.end()) {
        decoding.insert(device);
      } else if (quarantines.insert(number->second).second) {
        ++apart[device];
      }
    }
    const std::size_t processes = 3 + decoding.size() + quarantines.size() + plan_.workers.size();
    needs_.memory += process_bytes * static_cast<double>(processes);
    for (GpuNeeds& gpu : needs_.gpus) {
      const auto workers = std::ranges::count(plan_.workers, gpu.gpu, &WorkerPlan::gpu);
      const std::size_t masters = decoding.count(to_string(gpu.gpu)) + apart[to_string(gpu.gpu)];
      gpu.memory += gpu_process_bytes * static_cast<double>(static_cast<std::size_t>(workers) + masters);
    }
  }

  const RigConfig& rig_;
  const RigPlan& plan_;
  const Devices& devices_;
  const MachineCosts& costs_;
  const KnownStreams& streams_;
  std::set<std::string, std::less<>> shown_;
  Chains chains_;
  RigNeeds needs_;
};

}  // namespace

std::optional<KnownStream> configured_stream(const CameraConfig& camera) {
  if (camera.mosaic || !source_kind_of(camera.source.url).painted) return std::nullopt;
  const auto source = open_source(camera.source, [] { return false; });  // which opens nothing: it is painted
  return known_stream(source->stream());
}

KnownStream expected_stream(const CameraConfig& camera, const KnownStreams& opened) {
  const auto found = opened.find(camera.name);
  if (found != opened.end()) return found->second;
  return configured_stream(camera).value_or(KnownStream{"h264", 1920, 1080, 0});
}

KnownStreams configured_streams(const RigConfig& rig) {
  KnownStreams known;
  for (const CameraConfig& camera : rig.cameras) {
    if (const auto stream = configured_stream(camera)) known[camera.name] = *stream;
  }
  return known;
}

RigNeeds find_needs(const RigConfig& rig, const RigPlan& plan, const Devices& devices, const MachineCosts& costs,
                    const KnownStreams& streams) {
  return Counting(rig, plan, devices, costs, streams).count();
}

}  // namespace campipe
